"""Rounds and reviews of an end-to-end run are written down and decided again, and must be decided alike.

Each that decides something new of its object is, and some of those that say what was said before; with `--soak` all.
What is written down holds nothing that a Secret held in the run, and no key that was made.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import structs

from fairlead import __version__
from fairlead.contracts import deciders
from fairlead.core.decision import Decision
from fairlead.core.replay import DecidedRound, Replayed, RoundResult, record_of, replayed
from fairlead.engine import assembly, manager
from fairlead.engine.driver import questions, secrets
from fairlead.engine.rounds import Rounds
from fairlead.engine.webhooks.admission import AdmissionContext
from kubeloop.sealed import Sealed
from kubeloop.sealing import seal

REPEATED = 40
"""Of so many rounds that decide what was decided before of the same object, one is decided again."""
SHORTEST = 8
"""Bytes of a secret that stands in no record by chance."""


class Judge:
    """Takes the place of whoever keeps rounds in files."""

    def __init__(self, *, all_of_them: bool) -> None:
        self.wrong: list[Replayed] = []
        self.told: list[tuple[bytes, bytes]] = []
        """Secrets, and the records that they stand in."""
        self._all = all_of_them
        self._deciders = deciders()
        self._secrets: set[bytes] = set()
        """As a record would show them."""
        self._last: dict[tuple[str, str], RoundResult] = {}
        self._repeated = 0

    def record(self, decided: DecidedRound) -> None:
        decider = self._deciders.get(decided.controller)
        if decider is not None and self._chooses(decided):
            record = record_of(decided, decider.seen, __version__)
            again = replayed(record, self._deciders)
            if again.changes:
                self.wrong.append(again)
            self.told += [(secret, record) for secret in self._secrets if secret in record]

    def hear_of(self, content: bytes) -> None:
        """This must be in no record. Of several lines the longest is looked for; certificates are for everybody."""
        longest = max(content.splitlines(), key=len, default=b"")
        if len(longest) >= SHORTEST and b"BEGIN CERTIFICATE" not in content:
            self._secrets |= {longest, b64encode(content[: len(content) // 3 * 3])}

    def _chooses(self, decided: DecidedRound) -> bool:
        subject = decided.controller, decided.key
        made = _whenever(decided.made)
        last, self._last[subject] = self._last.get(subject), made
        if self._all or last != made:
            return True
        self._repeated += 1
        return self._repeated % REPEATED == 0


def _whenever(made: RoundResult) -> RoundResult:
    """What was decided, whenever it is to be looked at again."""
    if not isinstance(made, Decision):
        return made
    return structs.replace(made, verdict=structs.replace(made.verdict, again=None))


@pytest.fixture(autouse=True)
def rounds_are_decided_again(monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config) -> Iterator[None]:
    judge = Judge(all_of_them=pytestconfig.getoption("--soak"))

    def judged(*given: Any, record: object, **named: Any) -> Rounds[Any]:
        return Rounds(*given, record=judge.record, **named)

    def admitted(*given: Any, **named: Any) -> AdmissionContext:
        return structs.replace(AdmissionContext(*given, **named), record=judge.record)

    def sealed(content: bytes) -> Sealed:
        judge.hear_of(content)
        return seal(content)

    for module in (questions, secrets):
        monkeypatch.setattr(module, "seal", sealed)
    monkeypatch.setattr(manager, "Rounds", judged)
    monkeypatch.setattr(assembly, "AdmissionContext", admitted)

    yield

    assert not judge.wrong, judge.wrong[0]
    assert not judge.told, judge.told[0]
