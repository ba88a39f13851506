"""Answers of earlier rounds that may still serve: what a question says of its own age, and what discovery found.

How a kind is served stays known until a read through it finds nothing, five minutes at most; that it is not served is
believed for five seconds, so that one installed meanwhile is soon noticed.
"""

from __future__ import annotations

from typing import TypeVar

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
"""Answers kept of each sort; the oldest go first."""

K = TypeVar("K")

_FOUND = msgspec.json.Decoder(tuple[ServedVersion, ...])


class _Entry(Struct):
    answer: Answer
    at: float
    until: float


class AnswerCache:
    """Belongs to one process; times are the loop's."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._answers: dict[Ask, _Entry] = {}
        self._kinds: dict[Discover, _Entry] = {}

    def __len__(self) -> int:
        return len(self._answers) + len(self._kinds)

    def get(self, question: Ask) -> Answer | None:
        """The answer that still serves, if there is one."""
        if isinstance(question.to, Discover):
            return _living(self._kinds, question.to)
        known = _living(self._answers, question) if question.max_age > 0 else None
        if known is None and question.no_reply_max_age > 0:
            there = _living(self._answers, _place(question))
            return there if isinstance(there, Bad) else None
        return known

    def put(self, question: Ask, answer: Answer) -> None:
        """Keeps the answer for as long as it may serve."""
        now = clock.monotonic()
        if isinstance(question.to, Discover):
            if isinstance(answer, Good):
                seconds = SERVED_FOR if _FOUND.decode(answer.value) else ABSENT_FOR
                _keep(self._kinds, question.to, _Entry(answer, now, now + seconds), self._most)
            return
        if question.max_age > 0:
            _keep(self._answers, question, _Entry(answer, now, now + question.max_age), self._most)
        if question.no_reply_max_age > 0 and _is_in_vain(question, answer):
            _keep(self._answers, _place(question), _Entry(answer, now, now + question.no_reply_max_age), self._most)

    def overtaken(self, call: Http) -> None:
        """This call is being made: what other methods were answered at the same place does not hold after it."""
        for question in [each for each in self._answers if isinstance(each.to, Http) and _undone(each.to, call)]:
            del self._answers[question]

    def absent(self, ref: Ref) -> None:
        """A live read of this object found nothing: its kind may not be served any more, or under another version."""
        entry = self._kinds.get(Discover(ref.resource.group, ref.resource.kind))
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


def _living(entries: dict[K, _Entry], key: K) -> Answer | None:
    entry = entries.get(key)
    if entry is None:
        return None
    if clock.monotonic() >= entry.until:
        del entries[key]
        return None
    return entry.answer


def _keep(entries: dict[K, _Entry], key: K, entry: _Entry, most: int) -> None:
    entries.pop(key, None)
    entries[key] = entry
    if len(entries) <= most:
        return
    for old in [old for old, each in entries.items() if each.until <= entry.at]:
        del entries[old]
    while len(entries) > most:
        del entries[next(iter(entries))]
