"""Rounds and reviews of an end-to-end run are written down and decided again, and must be decided alike.

Each that decides something new of its object is, and some of those that say what was said before; with `--soak` all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from fairlead import __version__
from fairlead.contracts import deciders
from fairlead.core.replay import DecidedRound, Replayed, RoundResult, record_of, replayed
from fairlead.engine import assembly, manager
from fairlead.engine.rounds import Rounds
from fairlead.engine.webhooks.admission import AdmissionContext

REPEATED = 10
"""Of so many rounds that decide what was decided before of the same object, one is decided again."""


class Judge:
    """Takes the place of whoever keeps rounds in files."""

    def __init__(self, *, all_of_them: bool) -> None:
        self.wrong: list[Replayed] = []
        self._all = all_of_them
        self._deciders = deciders()
        self._last: dict[tuple[str, str], RoundResult] = {}
        self._repeated = 0

    def record(self, decided: DecidedRound) -> None:
        decider = self._deciders.get(decided.controller)
        if decider is not None and self._chooses(decided):
            again = replayed(record_of(decided, decider.seen, __version__), self._deciders)
            if again.changes:
                self.wrong.append(again)

    def _chooses(self, decided: DecidedRound) -> bool:
        subject = decided.controller, decided.key
        last, self._last[subject] = self._last.get(subject), decided.made
        if self._all or last != decided.made:
            return True
        self._repeated += 1
        return self._repeated % REPEATED == 0


@pytest.fixture(autouse=True)
def rounds_are_decided_again(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> Iterator[None]:
    judge = Judge(all_of_them=pytestconfig.getoption("--soak"))

    def judged(*given: Any, record: object, **named: Any) -> Rounds[Any]:
        return Rounds(*given, record=judge.record, **named)

    def admitted(*given: Any, **named: Any) -> AdmissionContext:
        return structs.replace(AdmissionContext(*given, **named), record=judge.record)

    monkeypatch.setattr(manager, "Rounds", judged)
    monkeypatch.setattr(assembly, "AdmissionContext", admitted)

    yield

    assert not judge.wrong, judge.wrong[0]
