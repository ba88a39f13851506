"""The objects of an installation of environments."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.environments.install import access, monitoring, workload
from fairlead.contracts.environments.install.values import Values
from fairlead.engine.charts import Object


def objects(values: Values) -> tuple[Object, ...]:
    """In the order in which they are to be applied; the operator registers its kinds itself."""
    return tuple(_objects(values))


def _objects(values: Values) -> Iterator[Object]:
    yield access.account(values)
    yield from access.roles(values)
    if not values.secret:
        yield from access.certificates(values)
    yield workload.service(values)
    yield workload.deployment(values)
    yield workload.budget(values)
    if values.monitoring:
        yield from monitoring.objects(values)
