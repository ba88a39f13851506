"""Since when each wait has been seen by this process, for waits that no fact dates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from fairlead.core.explain import Block, Explain, wait_key
from fairlead.engine.controller import RolloutKey


class FirstSeen:
    def __init__(self) -> None:
        self._since: dict[RolloutKey, dict[str, datetime]] = {}
        """By rollout, then by wait: when it was first seen; only waits that were there at the last look."""

    def of(self, key: RolloutKey) -> Mapping[str, datetime]:
        return self._since.get(key, {})

    def note(self, key: RolloutKey, shown: Explain, now: datetime) -> None:
        before = self.of(key)
        undated = [wait_key(block) for block in waits_in(shown) if not block.since_exact]
        self._since[key] = {wait: before.get(wait, now) for wait in undated}


def waits_in(shown: Explain) -> Sequence[Block]:
    """Every wait that the document names, those of its lanes included."""
    return [*shown.blocked_by, *(block for lane in shown.stands.lanes for block in lane.waits)]
