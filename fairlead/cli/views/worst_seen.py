"""Sees a whole rollout, and keeps the worst of it for a summary."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlead.cli.views.screens import Journal
    from fairlead.core.explain import Explain


class Witness:
    """Passes on what is seen to a screen."""

    def __init__(self, screen: Journal) -> None:
        self._screen = screen
        self.last: Explain | None = None
        self.lanes_out = 0
        """Most lanes that had a cell which was not ready, at one moment."""
        self.cells_out = 0
        self.fewest_ready: int | None = None
        """Fewest cells that were ready at one moment; None before anything was seen."""
        self.most_lanes = 0

    def show(self, seen: Sequence[Explain], now: datetime, trouble: str) -> None:
        for one in seen:
            lanes = one.stands.lanes
            out = [sum(cell.state != "ready" for cell in lane.cells) for lane in lanes]
            ready = sum(len(lane.cells) for lane in lanes) - sum(out)
            self.cells_out = max(self.cells_out, sum(out))
            self.lanes_out = max(self.lanes_out, sum(map(bool, out)))
            self.fewest_ready = ready if self.fewest_ready is None else min(self.fewest_ready, ready)
            self.most_lanes = max(self.most_lanes, len(lanes))
            self.last = one
        self._screen.show(seen, now, trouble)

    def say(self, text: str, now: datetime) -> None:
        self._screen.say(text, now)
