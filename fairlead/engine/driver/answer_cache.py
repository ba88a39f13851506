"""Answers of earlier rounds that may still serve: what a question says of its own age, and what discovery found.

How a kind is served stays known until a read through it finds nothing, five minutes at most; that it is not served is
believed for five seconds, so that one installed meanwhile is soon noticed.
"""

from __future__ import annotations

from typing import Generic, TypeVar

import msgspec
from msgspec import Struct, structs

from fairlead.core.ask import Answer, Ask, Bad, Discover, Good, Http
from kubeloop import clock
from kubeloop.objects.meta import Ref, ServedVersion

SERVED_FOR = 300.0
"""Seconds for which a kind counts as served the way it was found."""
ABSENT_FOR = 5.0
"""Seconds for which a kind counts as not served; also the least between two looks for one that reads do not find."""
MOST = 4096
"""Answers kept of each sort; those past their time go first, and then the oldest."""
MOST_BYTES = 32 * 1024 * 1024
"""Of all answers of a sort together: whoever is asked says how long an answer is."""

K = TypeVar("K")

_FOUND = msgspec.json.Decoder(tuple[ServedVersion, ...])


class _Entry(Struct):
    answer: Answer
    at: float
    until: float


class _Shelf(Generic[K]):
    """Answers of one sort, the oldest first."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self.entries: dict[K, _Entry] = {}
        self._most, self._most_bytes = most, most_bytes
        self._bytes = 0

    def __len__(self) -> int:
        return len(self.entries)

    def living(self, key: K) -> Answer | None:
        entry = self.entries.get(key)
        if entry is None:
            return None
        if clock.monotonic() >= entry.until:
            self.drop(key)
            return None
        return entry.answer

    def keep(self, key: K, entry: _Entry) -> None:
        self.drop(key)
        self.entries[key] = entry
        self._bytes += _bytes_of(entry)
        if self._fits:
            return
        for old in [old for old, each in self.entries.items() if each.until <= entry.at]:
            self.drop(old)
        while not self._fits:
            self.drop(next(iter(self.entries)))

    def drop(self, key: K) -> None:
        entry = self.entries.pop(key, None)
        if entry is not None:
            self._bytes -= _bytes_of(entry)

    @property
    def _fits(self) -> bool:
        return len(self.entries) <= self._most and self._bytes <= self._most_bytes


def _bytes_of(entry: _Entry) -> int:
    return len(entry.answer.value) if isinstance(entry.answer, Good) else len(entry.answer.text)


class AnswerCache:
    """Belongs to one process; times are the loop's."""

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._answers: _Shelf[Ask] = _Shelf(most, most_bytes)
        self._kinds: _Shelf[Discover] = _Shelf(most, most_bytes)

    def __len__(self) -> int:
        return len(self._answers) + len(self._kinds)

    def get(self, question: Ask) -> Answer | None:
        """The answer that still serves, if there is one."""
        if isinstance(question.to, Discover):
            return self._kinds.living(question.to)
        known = self._answers.living(question) if question.max_age > 0 else None
        if known is None and question.no_reply_max_age > 0:
            there = self._answers.living(_place(question))
            return there if isinstance(there, Bad) else None
        return known

    def put(self, question: Ask, answer: Answer) -> None:
        """Keeps the answer for as long as it may serve."""
        now = clock.monotonic()
        if isinstance(question.to, Discover):
            if isinstance(answer, Good):
                seconds = SERVED_FOR if _FOUND.decode(answer.value) else ABSENT_FOR
                self._kinds.keep(question.to, _Entry(answer, now, now + seconds))
            return
        if question.max_age > 0:
            self._answers.keep(question, _Entry(answer, now, now + question.max_age))
        if question.no_reply_max_age > 0 and _is_in_vain(question, answer):
            self._answers.keep(_place(question), _Entry(answer, now, now + question.no_reply_max_age))

    def overtaken(self, call: Http) -> None:
        """This call is being made: what other methods were answered at the same place does not hold after it."""
        for question in [
            each for each in self._answers.entries if isinstance(each.to, Http) and _undone(each.to, call)
        ]:
            self._answers.drop(question)

    def absent(self, ref: Ref) -> None:
        """A live read of this object found nothing: its kind may not be served any more, or under another version."""
        entry = self._kinds.entries.get(Discover(ref.resource.group, ref.resource.kind))
        if entry is not None:
            entry.until = min(entry.until, entry.at + ABSENT_FOR)


def _is_in_vain(question: Ask, answer: Answer) -> bool:
    """Whether asking again would be waiting in vain; where every answer counts, what failed at once is asked again."""
    if not isinstance(answer, Bad) or answer.code:
        return False
    return question.max_age > 0 or answer.kind == "timeout"


def _place(question: Ask) -> Ask:
    """The same question whomever it is about."""
    call = question.to
    return structs.replace(question, to=structs.replace(call, subject="")) if isinstance(call, Http) else question


def _undone(kept: Http, call: Http) -> bool:
    return kept.url == call.url and kept.method != call.method
