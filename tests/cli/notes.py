"""A screen for tests of watching."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from fairlead.cli.views.render import plain
from fairlead.cli.views.screens import page
from fairlead.core.explain import Explain


class Notes:
    """Remembers what was shown: phases, and the page as text."""

    def __init__(self) -> None:
        self.phases: list[str] = []
        self.pages: list[str] = []
        self.times: list[datetime] = []

    def show(self, seen: Sequence[Explain], now: datetime, trouble: str) -> None:
        phase = " ".join(one.stands.phase for one in seen)
        if self.phases[-1:] != [phase]:
            self.phases.append(phase)
        self.times.append(now)
        self.pages.append(plain(page(seen, now, 80, 50, trouble)))
