"""The disruption budgets of some namespaces: which are in force, and what each observation of them came to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from structlog.types import FilteringBoundLogger

from fairlead.api.zpdb import ZPDBS, Zpdb
from fairlead.control.troubles import Troubles
from fairlead.decide.zones.configurations import NONE, Observed, forget, observe
from fairlead.decide.zones.zpdb import Guard
from fairlead.kube.client import Client
from fairlead.kube.informer import Change
from fairlead.kube.optional import OptionalInformer

Counted = Callable[[str], None]
"""Hears the result of each observation."""


class Budgets:
    """Those of one namespace, or of all; a cluster that does not serve them has none."""

    def __init__(self, client: Client, namespace: str, log: FilteringBoundLogger, counted: Counted) -> None:
        troubles = Troubles(ZPDBS, namespace, log, optional=True)
        self.informer = OptionalInformer(
            client, ZPDBS, Zpdb, namespace=namespace, trouble=troubles.failed, restored=troubles.restored
        )
        self._configurations = NONE
        self._log = log
        self._counted = counted
        self._changed: list[Callable[[str, bool], None]] = []
        self.informer.subscribe(self._take)

    def subscribe(self, changed: Callable[[str, bool], None]) -> None:
        """Called with the namespace in which other budgets are in force than before; True when a first list told."""
        self._changed.append(changed)

    def of(self, namespace: str) -> tuple[Guard, ...]:
        """What is in force as far as it is known."""
        return self._configurations.of(namespace)

    def known_of(self, namespace: str) -> tuple[Guard, ...] | None:
        """None until it is known which budgets there are."""
        return self.of(namespace) if self.informer.settled.is_set() else None

    def _take(self, change: Change[Zpdb]) -> None:
        before = self._configurations
        item = change.new or change.old
        assert item is not None, "a change has a side"  # noqa: S101
        step = partial(observe if change.new is not None else forget, before)
        self._configurations, observed = step(item)
        self._counted(observed.result)
        self._say(item, observed)
        if self._configurations is not before:
            for changed in self._changed:
                changed(item.metadata.namespace, change.initial)

    def _say(self, item: Zpdb, observed: Observed) -> None:
        name = f"{item.metadata.namespace}/{item.metadata.name}"
        if observed.result == "invalid":
            self._log.warning("disruption budget invalid", name=name, error=observed.why)
        else:
            self._log.debug("disruption budget observed", name=name, result=observed.result)
