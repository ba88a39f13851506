"""Objects that configure zones, of some namespaces: which are in force, and what each observation came to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic

from msgspec import Struct

from fairlead.contracts.zones.configuration_kinds import HEALTH_CHECKS, ZPDBS, ConfigurationObject
from fairlead.contracts.zones.decide.budgets import zpdb
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.decide.configurations import C, Configurations, Observed, Reader, forget, observe
from fairlead.contracts.zones.decide.healthchecks import healthcheck_spec
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import HealthCheck
from kubeloop.caches import Caches
from kubeloop.informer import Change
from kubeloop.objects.meta import Resource

if TYPE_CHECKING:
    from structlog.types import FilteringBoundLogger  # takes as long to import as all that `get` needs of ours

Counted = Callable[[str], None]
"""Hears the result of each observation."""


class Sort(Struct, Generic[C], frozen=True):
    """One sort of configuring objects."""

    resource: Resource
    read: Reader[C]
    noun: str
    """For logs."""


BUDGETS: Sort[DisruptionBudget] = Sort(ZPDBS, zpdb.guard_of, "disruption budget")
CHECKS: Sort[HealthCheck] = Sort(HEALTH_CHECKS, healthcheck_spec.read, "health check")


class Configured(Generic[C]):
    """Those of one namespace, or of all; a cluster that does not serve them has none."""

    def __init__(
        self, sort: Sort[C], caches: Caches, namespace: str, log: FilteringBoundLogger, counted: Counted
    ) -> None:
        self.informer = caches.informer(sort.resource, ConfigurationObject, namespace=namespace, optional=True)
        self._sort = sort
        self._configurations: Configurations[C] = Configurations()
        self._log = log
        self._counted = counted
        self._changed: list[Callable[[str, bool], None]] = []
        self.informer.subscribe(self._take)

    def subscribe(self, changed: Callable[[str, bool], None]) -> None:
        """Called with the namespace in which others are in force than before; True when a first list told."""
        self._changed.append(changed)

    def of(self, namespace: str) -> tuple[C, ...]:
        """What is in force as far as it is known, by name."""
        return self._configurations.of(namespace)

    def known_of(self, namespace: str) -> tuple[C, ...] | None:
        """None until it is known which there are, and again when that was too long ago."""
        if self.informer.is_outdated and not self.informer.is_absent:
            self.informer.ask_for_list()
            return None
        return self.of(namespace) if self.informer.settled.is_set() else None

    def _take(self, change: Change[ConfigurationObject]) -> None:
        before = self._configurations
        if change.new is not None:
            item = change.new
            self._configurations, observed = observe(before, item, self._sort.read)
        elif change.old is not None:
            item = change.old
            self._configurations, observed = forget(before, item)
        else:
            raise TypeError("a change has a side")
        self._counted(observed.result)
        self._say(item, observed)
        if self._configurations is not before:
            for changed in self._changed:
                changed(item.metadata.namespace, change.initial)

    def _say(self, item: ConfigurationObject, observed: Observed) -> None:
        name = f"{item.metadata.namespace}/{item.metadata.name}"
        if observed.result == "invalid":
            self._log.warning(f"{self._sort.noun} invalid", name=name, error=observed.why)
        else:
            self._log.debug(f"{self._sort.noun} observed", name=name, result=observed.result)
