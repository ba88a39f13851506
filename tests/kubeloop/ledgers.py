"""A ledger that is shown other caches at every look."""

from __future__ import annotations

from collections.abc import Mapping

from kubeloop.ledger import SETTLE, Cache, Ledger
from kubeloop.objects.meta import Ref, Resource


class ShownLedger(Ledger):
    def __init__(self, catch_up_seconds: float, settle: float = SETTLE) -> None:
        super().__init__(catch_up_seconds, self._shown, settle)
        self.caches: Mapping[Resource, Cache] = {}

    def _shown(self, ref: Ref) -> list[Cache]:
        cache = self.caches.get(ref.resource)
        return [] if cache is None else [cache]

    def pending_in(self, scope: str, caches: Mapping[Resource, Cache]) -> tuple[Ref, ...]:
        self.caches = caches
        return self.pending(scope)

    def late(self, scope: str) -> tuple[Resource, ...]:
        """Of which resources a list is wanted."""
        return tuple(cache.selection.resource for cache in self.overdue(scope))
