"""A screen that keeps the worst of what it shows, for a summary."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairlead.cli.views.screens import Journal
    from fairlead.core.explain import Explain
    from fairlead.engine.demo import WorstSeen


class WorstSeenScreen:
    """Passes on what is seen to a screen."""

    def __init__(self, screen: Journal, worst: WorstSeen) -> None:
        self._screen = screen
        self._worst = worst

    def show(self, seen: Sequence[Explain], now: datetime, trouble: str) -> None:
        self._worst.see(seen)
        self._screen.show(seen, now, trouble)

    def say(self, text: str, now: datetime) -> None:
        self._screen.say(text, now)
