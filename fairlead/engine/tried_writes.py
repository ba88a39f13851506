"""Refusable writes of late, and what became of them: facts for the decisions that follow, so that nothing is tried
again at once."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from fairlead.core.act import AnyWrite
from fairlead.core.ask import REFUSAL_HOLDS, Answer, Bad, Good, Question
from fairlead.engine.controller import RolloutKey


class _Tried(Struct):
    """A refusable write that was sent."""

    answer: Answer
    since: datetime | None = None
    """From when on it counts as answered; None until a pass was decided with it to its end."""

    def holds(self, now: datetime) -> bool:
        """Whether it counts as answered; a clock that was set back makes it no longer."""
        return self.since is None or abs(now - self.since) < REFUSAL_HOLDS


class TriedWrites:
    """Of the rollouts of one controller; `hold` says whether refusals count beyond the pass that met them."""

    def __init__(self, *, hold: bool) -> None:
        self._hold = hold
        self._tried: dict[RolloutKey, dict[Question, _Tried]] = {}

    def answers(self, key: RolloutKey, now: datetime) -> dict[Question, Answer]:
        """What is not tried again yet, because it was tried a moment ago."""
        tried = self._tried.pop(key, {})
        held = {write: each for write, each in tried.items() if each.holds(now)}
        if held:
            self._tried[key] = held
        return {write: each.answer for write, each in held.items()}

    def refused(self, key: RolloutKey, write: AnyWrite, bad: Bad) -> None:
        self._tried.setdefault(key, {})[write] = _Tried(bad)

    def succeeded(self, key: RolloutKey, write: AnyWrite, now: datetime) -> None:
        self._tried.setdefault(key, {})[write] = _Tried(Good(), now)

    def settled(self, key: RolloutKey, now: datetime) -> None:
        """A pass was decided with all refusals, be it that it failed because of them: they hold for a while now."""
        tried = self._tried.get(key, {})
        for write, each in list(tried.items()):
            if isinstance(each.answer, Bad) and not self._hold:
                del tried[write]
            each.since = each.since or now

    def forget(self, key: RolloutKey) -> None:
        self._tried.pop(key, None)


def before_refusal(
    writes: tuple[AnyWrite, ...], given: Mapping[Question, Answer]
) -> tuple[tuple[AnyWrite, ...], Bad | None]:
    """The writes before the first of which a refusal is known, and that refusal."""
    for place, write in enumerate(writes):
        if isinstance(answer := given.get(write), Bad):
            return writes[:place], answer
    return writes, None
