"""Every round and every review of an end-to-end run is written down and decided again, and must be decided alike."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from fairlead import __version__
from fairlead.contracts import deciders
from fairlead.core.replay import DecidedRound, Replayed, record_of, replayed
from fairlead.engine import assembly, manager
from fairlead.engine.rounds import Rounds
from fairlead.engine.webhooks.admission import AdmissionContext


class Judge:
    """Takes the place of whoever keeps rounds in files."""

    def __init__(self) -> None:
        self.wrong: list[Replayed] = []
        self._deciders = deciders()

    def record(self, decided: DecidedRound) -> None:
        decider = self._deciders.get(decided.controller)
        if decider is not None:
            again = replayed(record_of(decided, decider.seen, __version__), self._deciders)
            if again.changes:
                self.wrong.append(again)


@pytest.fixture(autouse=True)
def every_round_is_decided_again(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    judge = Judge()

    def judged(*given: Any, record: object, **named: Any) -> Rounds[Any]:
        return Rounds(*given, record=judge.record, **named)

    def admitted(*given: Any, **named: Any) -> AdmissionContext:
        return structs.replace(AdmissionContext(*given, **named), record=judge.record)

    monkeypatch.setattr(manager, "Rounds", judged)
    monkeypatch.setattr(assembly, "AdmissionContext", admitted)

    yield

    assert not judge.wrong, judge.wrong[0]
