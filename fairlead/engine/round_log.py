"""What the rounds of one controller say: log records and notes when they change, and one record per effect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Generic, TypeVar

from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.core.act import Does, EventNote
from fairlead.core.ask import Answer, Ask, Good, Question
from fairlead.core.audit import AuditLine
from fairlead.core.decision import Decision, SideNote
from fairlead.core.reason import Reason
from fairlead.engine.controller import Controller, LogRecord, RolloutKey
from fairlead.engine.driver.effects import audited, keys_of, said_of
from fairlead.engine.driver.perform import CONFLICT, DRY_RUN, EXISTS, Round
from kubeloop.ledger import Cache

S = TypeVar("S")


class _LastWords(Struct, frozen=True):
    """The last words about a rollout, so that they are logged and told when they change and not each round."""

    rule: str
    reason: Reason
    tells: tuple[EventNote, ...]
    asides: tuple[SideNote, ...]
    records: tuple[LogRecord, ...] = ()

    def is_of(self, decision: Decision) -> bool:
        return (self.rule, self.reason) == (decision.rule, decision.verdict.reason) and (self.tells, self.asides) == (
            decision.tell,
            decision.asides,
        )


_NOTHING = _LastWords("", Reason.COMPLETE, (), ())


class RoundLog(Generic[S]):
    def __init__(
        self,
        controller: Controller[S],
        log: FilteringBoundLogger,
        tell: Callable[[EventNote], None],
        notice: Callable[[EventNote], None],
    ) -> None:
        """`tell` makes an Event of a note, `notice` brings it elsewhere; neither waits."""
        self._controller = controller
        self._log = log
        self._tell = tell
        self._notice = notice
        self._said: dict[RolloutKey, _LastWords] = {}
        self._noticed: dict[RolloutKey, tuple[EventNote, ...]] = {}
        """What the last decision told whose writes all succeeded."""

    def __len__(self) -> int:
        """Of how many rollouts the last words are remembered."""
        return len(self._said)

    def announce(self, key: RolloutKey, seen: S, decision: Decision, now: datetime) -> None:
        """Tells the log and people what is new of a decision."""
        before = said = self._said.get(key, _NOTHING)
        if not before.is_of(decision):
            records = self._controller.say(seen, decision, now)
            said = _LastWords(decision.rule, decision.verdict.reason, decision.tell, decision.asides, records)
            self._said[key] = said
        for record in said.records:
            if record.repeated or record not in before.records:
                self._record(record, {"rollout": self._controller.title(key), "rule": decision.rule})
        for tell in decision.tell:
            if tell.repeated or tell not in before.tells:
                self._tell(tell)

    def give_notice(self, key: RolloutKey, decision: Decision) -> None:
        """Brings elsewhere what is new of a decision whose writes have all succeeded."""
        before = self._noticed.get(key, ())
        self._noticed[key] = decision.tell
        for note in decision.tell:
            if note.repeated or note not in before:
                self._notice(note)

    def happened(self, note: EventNote) -> None:
        """Tells what a write has done."""
        self._tell(note)
        self._notice(note)

    def heard(self, key: RolloutKey, number: str, question: Question, answer: Answer) -> None:
        """One record per effect in the middle of deciding: of a job's write, or outside of the API server."""
        if not isinstance(question, Ask):
            self.audit(audited(question, answer, Round(number, str(key), "", "")))
            if question.tell is not None and isinstance(answer, Good):
                self.happened(question.tell)
            return
        said = said_of(question, answer, Round(number, self._controller.title(key), "", ""))
        self._record(LogRecord(said.level, said.message, said.keys), {})

    def audit(self, line: AuditLine) -> None:
        """One record per effect: what was done to which object, why, and how it ended."""
        done = self._controller.done[Does(line.does)]
        keys = keys_of(line)
        if line.outcome in ("ok", "gone", EXISTS):
            record = LogRecord(done.level, done.message, keys)
        elif line.outcome == CONFLICT:
            record = LogRecord("debug", "somebody else wrote first", keys)
        elif line.outcome == DRY_RUN:
            record = LogRecord("debug", "write tried, and nothing stored", keys)
        else:
            record = LogRecord("warn", "write failed", keys)
        self._record(record, {})

    def waits_for_caches(self, key: RolloutKey, lacking: Iterable[Cache]) -> None:
        kinds = ",".join(dict.fromkeys(cache.selection.resource.plural for cache in lacking))
        self._log.warning("waiting for the caches", rollout=self._controller.title(key), resources=kinds)

    def forget(self, key: RolloutKey) -> None:
        self._said.pop(key, None)
        self._noticed.pop(key, None)

    def _record(self, record: LogRecord, keys: Mapping[str, object]) -> None:
        method = "warning" if record.level == "warn" else record.level
        getattr(self._log, method)(record.message, **keys, **record.keys)
