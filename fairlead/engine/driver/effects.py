"""What is said of an effect in the middle of deciding: one log record for each, complete enough to follow it up."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fairlead.core.act import AnyWrite, Apply, Create
from fairlead.core.ask import Answer, Ask, Bad, Good, Http, Question, SwapRecord
from fairlead.core.audit import Line
from fairlead.engine.driver.perform import Round, line_of, version_in
from kubeloop.urls import shown_url


class EffectRecord(Struct, frozen=True):
    level: str
    """`debug`, `info`, `warn` or `error`."""
    message: str
    keys: Mapping[str, object] = {}


def said_of(question: Question, answer: Answer, this: Round) -> EffectRecord:
    """The record of an effect that was asked for in a round."""
    who = (("round", this.id), ("rollout", this.key), ("rule", this.rule))
    if isinstance(question, Ask):
        return _asked(question, answer, {name: value for name, value in who if value})
    line = line_of_answer(question, answer, this)
    keys = {name: value for name in type(line).__struct_fields__ if name != "time" and (value := getattr(line, name))}
    return EffectRecord("info" if isinstance(answer, Good) else "warn", "written while deciding", keys)


def line_of_answer(write: AnyWrite, answer: Answer, this: Round) -> Line:
    """The audit line of a write in the middle of deciding; that its object is gone is no failure."""
    if isinstance(answer, Good):
        return line_of(write, this, "ok", version_in(answer.value) or answer.version)
    gone = answer.kind == "absent" and not isinstance(write, Apply | Create)
    return line_of(write, this, "gone" if gone else answer.text or answer.kind)


def _asked(question: Ask, answer: Answer, this: Mapping[str, object]) -> EffectRecord:
    match question.to:
        case Http(method, url):
            keys = {**this, "verb": method, "url": shown_url(url)}
            if isinstance(answer, Good):
                return EffectRecord("debug", "pod called", keys)
            # A pod that says it cannot cancel now is heard again in the next pass.
            level = "info" if method == "DELETE" and answer.code == 409 else "error"
            level = "warn" if question.is_expected_to_fail else level
            return EffectRecord(level, "pod call failed", keys | _failure(answer))
        case SwapRecord(record):
            keys = {**this, "record": record}
            if isinstance(answer, Good):
                return EffectRecord("debug", "record written", keys)
            level = "debug" if answer.kind == "conflict" else "warn"
            return EffectRecord(level, "record not written", keys | _failure(answer))
        case other:
            raise TypeError(f"{type(other).__name__} has no effect")


def _failure(answer: Bad) -> dict[str, object]:
    return {"error": answer.text or answer.kind, **({"status_code": answer.code} if answer.code else {})}
