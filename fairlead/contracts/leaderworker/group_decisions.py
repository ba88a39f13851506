"""What was last decided about each group, for whoever looks at its set."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from fairlead.core.decision import Decision, Hold
from fairlead.core.explain import key_of_wait
from fairlead.engine.controller import RolloutKey


class GroupDecisions:
    """Of the groups of one process; when a wait began is what this process has seen of it."""

    def __init__(self) -> None:
        self._decisions: dict[RolloutKey, Decision] = {}
        self._since: dict[RolloutKey, dict[str, datetime]] = {}

    def decided(self, key: RolloutKey, decision: Decision, now: datetime) -> None:
        before = self._since.get(key, {})
        self._decisions[key] = decision
        self._since[key] = {each: before.get(each, now) for each in _waits(key, decision)}

    def forget(self, key: RolloutKey) -> None:
        self._decisions.pop(key, None)
        self._since.pop(key, None)

    def clear(self) -> None:
        self._decisions.clear()
        self._since.clear()

    def of(self, namespace: str, leaders: list[str]) -> tuple[Mapping[str, Decision], Mapping[str, datetime]]:
        """By the name of the leader, and by wait."""
        keys = [RolloutKey((namespace, name)) for name in leaders]
        decisions = {key.name: self._decisions[key] for key in keys if key in self._decisions}
        return decisions, {wait: at for key in keys for wait, at in self._since.get(key, {}).items()}


def _waits(key: RolloutKey, decision: Decision) -> list[str]:
    verdict = decision.verdict
    if not isinstance(verdict, Hold):
        return []
    word = verdict.reason.word
    return [key_of_wait(word, about) for about, _ in verdict.details or ((f"pod/{key.name}", ""),)]
