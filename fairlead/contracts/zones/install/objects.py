"""The objects of an installation of zones."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.zones.install import access, monitoring, workload
from fairlead.contracts.zones.install.values import Values
from fairlead.engine.charts import Object


def objects(values: Values) -> tuple[Object, ...]:
    """In the order in which they are to be applied, without the kinds that the part brings."""
    return tuple(_objects(values))


def _objects(values: Values) -> Iterator[Object]:
    yield access.account(values)
    yield from access.roles(values)
    if values.network_policy:
        yield workload.network_policy(values)
    yield workload.service(values)
    yield workload.deployment(values)
    if values.high_availability:
        yield workload.budget(values)
    if values.monitoring:
        yield from monitoring.objects(values)
    if values.webhooks:
        # Last: they refuse what nobody answers yet.
        yield from access.webhooks(values)
