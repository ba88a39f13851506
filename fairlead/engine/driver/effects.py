"""What is said of an effect in the middle of deciding: one log record for each, complete enough to follow it up."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fairlead.core.act import AnyWrite, Apply, Create
from fairlead.core.ask import Answer, Ask, Bad, Good, Http, Question, SwapRecord
from fairlead.core.audit import CALL, SWAP_RECORD, AuditLine
from fairlead.engine.driver.perform import Round, line_of, version_in
from kubeloop import clock
from kubeloop.urls import shown_url


class EffectRecord(Struct, frozen=True):
    level: str
    """`debug`, `info`, `warn` or `error`."""
    message: str
    keys: Mapping[str, object] = {}


def said_of(question: Question, answer: Answer, this: Round) -> EffectRecord:
    """The record of an effect that was asked for in a round: its audit line, and what else is known of it."""
    line = keys_of(audited(question, answer, this))
    if isinstance(question, Ask):
        return _asked(question, answer, {**line, **({"rollout": this.key} if this.key else {})})
    return EffectRecord("info" if isinstance(answer, Good) else "warn", "written while deciding", line)


def audited(question: Question, answer: Answer, this: Round) -> AuditLine:
    """The audit line of an effect, be it a write, an outside call or the swap of a record."""
    if not isinstance(question, Ask):
        return _line_of_write(question, answer, this)
    outcome, version = ("ok", answer.version) if isinstance(answer, Good) else (answer.text or answer.kind, "")
    match question.to:
        case Http(method, url):
            does, verb, subject = CALL, method, shown_url(url)
        case SwapRecord(record):
            does, verb, subject = SWAP_RECORD, "swap", record
        case other:
            raise TypeError(f"{type(other).__name__} has no effect")
    return AuditLine(
        time=clock.now(),
        round=this.id,
        key=this.key,
        rule=this.rule,
        reason=this.reason,
        does=does,
        verb=verb,
        subject=subject,
        outcome=outcome,
        resource_version=version,
    )


def keys_of(line: AuditLine) -> dict[str, object]:
    """The line as keys of a log record, which has its own time; what is empty is left out."""
    return {name: value for name in AuditLine.__struct_fields__ if name != "time" and (value := getattr(line, name))}


def _line_of_write(write: AnyWrite, answer: Answer, this: Round) -> AuditLine:
    """The audit line of a write in the middle of deciding; that its object is gone is no failure."""
    if isinstance(answer, Good):
        return line_of(write, this, "ok", version_in(answer.value) or answer.version)
    gone = answer.kind == "absent" and not isinstance(write, Apply | Create)
    return line_of(write, this, "gone" if gone else answer.text or answer.kind)


def _asked(question: Ask, answer: Answer, this: Mapping[str, object]) -> EffectRecord:
    if isinstance(question.to, Http):
        keys = {**this, "url": this["subject"]}
        if isinstance(answer, Good):
            return EffectRecord("debug", "pod called", keys)
        # A pod that says it cannot cancel now is heard again in the next pass.
        level = "info" if question.to.method == "DELETE" and answer.code == 409 else "error"
        level = "warn" if question.is_expected_to_fail else level
        return EffectRecord(level, "pod call failed", keys | _failure(answer))
    keys = {**this, "record": this["subject"]}
    if isinstance(answer, Good):
        return EffectRecord("debug", "record written", keys)
    level = "debug" if answer.kind == "conflict" else "warn"
    return EffectRecord(level, "record not written", keys | _failure(answer))


def _failure(answer: Bad) -> dict[str, object]:
    return {"error": answer.text or answer.kind, **({"status_code": answer.code} if answer.code else {})}
