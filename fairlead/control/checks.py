"""The health checks of some namespaces: which are in force, and what each observation of them came to.

The last valid version of an object stays in force while a newer one is invalid.
"""

from __future__ import annotations

from collections.abc import Callable

from structlog.types import FilteringBoundLogger

from fairlead.api.healthcheck import HEALTH_CHECKS, RolloutHealthCheck
from fairlead.control.troubles import Troubles
from fairlead.decide.zones.checks import HealthCheck, Invalid, read
from fairlead.kube.client import Client
from fairlead.kube.informer import Change
from fairlead.kube.optional import OptionalInformer

Counted = Callable[[str], None]
"""Hears the result of each observation: `updated`, `invalid` or `deleted`."""


class Checks:
    """Those of one namespace, or of all; a cluster that does not serve them has none."""

    def __init__(self, client: Client, namespace: str, log: FilteringBoundLogger, counted: Counted) -> None:
        troubles = Troubles(HEALTH_CHECKS, namespace, log, optional=True)
        self.informer = OptionalInformer(
            client,
            HEALTH_CHECKS,
            RolloutHealthCheck,
            namespace=namespace,
            trouble=troubles.failed,
            restored=troubles.restored,
        )
        self._in_force: dict[tuple[str, str], HealthCheck] = {}
        self._log = log
        self._counted = counted
        self._changed: list[Callable[[str, bool], None]] = []
        self.informer.subscribe(self._take)

    def subscribe(self, changed: Callable[[str, bool], None]) -> None:
        """Called with the namespace in which other checks are in force than before; True when a first list told."""
        self._changed.append(changed)

    def of(self, namespace: str) -> tuple[HealthCheck, ...]:
        """What is in force as far as it is known, by name."""
        return tuple(self._in_force[key] for key in sorted(self._in_force) if key[0] == namespace)

    def _take(self, change: Change[RolloutHealthCheck]) -> None:
        item = change.new or change.old
        assert item is not None, "a change has a side"  # noqa: S101
        key = (item.metadata.namespace, item.metadata.name)
        before = self._in_force.get(key)
        result, why = self._observe(key, change.new)
        self._counted(result)
        if why:
            self._log.warning("health check invalid", name="/".join(key), error=why)
        else:
            self._log.debug("health check observed", name="/".join(key), result=result)
        if self._in_force.get(key) != before:
            for changed in self._changed:
                changed(key[0], change.initial)

    def _observe(self, key: tuple[str, str], item: RolloutHealthCheck | None) -> tuple[str, str]:
        """What became of it, and why where it is not plain."""
        if item is None:
            self._in_force.pop(key, None)
            return "deleted", ""
        try:
            self._in_force[key] = read(item.metadata, item.spec)
        except Invalid as error:
            return "invalid", str(error)
        return "updated", ""
