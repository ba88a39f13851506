"""What a long run waits for, told once it has waited for a while, and again when that changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.core.decision import Decision, Hold
from fairlead.engine.decide.job import Passage
from kubeloop import clock

PATIENCE_SECONDS = 5.0
"""For which a wait is nothing that people need to know of."""


class ToldWaits:
    """Of one run."""

    def __init__(self, told: Callable[[str], object]) -> None:
        self._told = told
        self._waits = ""
        self._since = 0.0
        self._said = ""

    def heard(self, _: Passage[Any], decision: Decision) -> None:
        """Told of every step."""
        verdict = decision.verdict
        details = verdict.details if isinstance(verdict, Hold) else ()
        waits = "; ".join(f"{about} {what}" for about, what in details)
        if waits != self._waits:
            self._waits, self._since = waits, clock.monotonic()
        if waits and waits != self._said and clock.monotonic() - self._since >= PATIENCE_SECONDS:
            self._said = waits
            self._told(f"waiting: {waits}")
