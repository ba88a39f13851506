"""What the log is told of decisions and writes, in the words of a contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fairlead.core.act import Does
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.core.words import Words
from fairlead.engine.controller import LogRecord


def done(writes: Iterable[Does], words: Mapping[Does, Words]) -> dict[Does, LogRecord]:
    return {does: LogRecord(words[does].level, words[does].message) for does in writes}


def said(decision: Decision, words: Mapping[Reason, Words]) -> tuple[LogRecord, ...]:
    reason = decision.verdict.reason
    details = decision.verdict.details if isinstance(decision.verdict, Hold) else ()
    keys: dict[str, object] = {"reason": reason.word}
    if details:
        keys["waiting_for"] = "; ".join(text for _, text in details)
    return (LogRecord(words[reason].level, words[reason].message, keys),)
