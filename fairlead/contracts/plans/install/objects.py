"""The objects of an installation of plans."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.plans.install import access, monitoring, workload
from fairlead.contracts.plans.install.values import Values
from fairlead.engine.charts import Object


def objects(values: Values) -> tuple[Object, ...]:
    """In the order in which they are to be applied, without the kinds that the part brings."""
    return tuple(_objects(values))


def _objects(values: Values) -> Iterator[Object]:
    yield access.account(values)
    yield from access.roles(values)
    if values.network_policy:
        yield workload.network_policy(values)
    yield from workload.services(values)
    yield workload.deployment(values)
    if values.monitoring:
        yield from monitoring.objects(values)
    if values.webhooks:
        # Last: they refuse what nobody answers yet.
        yield from access.webhooks(values)
