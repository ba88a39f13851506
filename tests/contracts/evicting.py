"""What clusters of values have in common that answer what reviews of evictions ask."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

from msgspec import Struct, structs

from fairlead.core.ask import (
    Answer,
    Answers,
    Ask,
    Bad,
    Good,
    Listing,
    Need,
    Question,
    Read,
    ReadRecord,
    StartOver,
    SwapRecord,
)
from fairlead.core.decision import Admit

S = TypeVar("S", bound=Struct)
MOST_ATTEMPTS = 3
MOST_STAGES = 8


class LiveRecords:
    """Records, which are swapped as everywhere, and what `shown` answers; `refuse` may answer in their place."""

    def __init__(self) -> None:
        self.records: dict[str, tuple[bytes, str]] = {}
        self.asked: list[Ask] = []
        self.refuse: Callable[[Ask], Bad | None] = lambda _: None
        self.age: float | None = None
        """Seconds for which a record is known when it is read."""
        self._version = 0

    def shown(self, asked: Read | Listing) -> Answer:
        """What a live read shows."""
        raise NotImplementedError

    def answer(self, question: Question) -> Answer:
        assert isinstance(question, Ask)
        self.asked.append(question)
        if refused := self.refuse(question):
            return refused
        match question.to:
            case Read() | Listing() as asked:
                return self.shown(asked)
            case ReadRecord(record):
                return Good(*self.records.get(record, (b"", "")), age=self.age)
            case SwapRecord(record, version, value):
                if self.records.get(record, (b"", ""))[1] != version:
                    return Bad("conflict", "changed")
                self._version += 1
                self.records[record] = (value, str(self._version))
                return Good(version=str(self._version))
            case other:
                raise AssertionError(f"nobody should ask {other}")

    def settled(self, judge: Callable[[S, datetime], Admit | Need | StartOver], seen: S, now: datetime) -> Admit:
        """The verdict, all questions answered from here."""
        for _ in range(MOST_ATTEMPTS):
            known: dict[Question, Answer] = {}
            for _ in range(MOST_STAGES):
                verdict = judge(structs.replace(seen, answers=Answers(dict(known))), now)
                if not isinstance(verdict, Need):
                    break
                known |= {question: self.answer(question) for stage in verdict.stages for question in stage}
            if isinstance(verdict, Admit):
                return verdict
            assert isinstance(verdict, StartOver)
        raise AssertionError("it never settles")
