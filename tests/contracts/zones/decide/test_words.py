from __future__ import annotations

import string

import pytest

from fairlead.contracts.zones.words import INVALID_BUDGET, LOGGED, REASONS, WRITES, Words
from fairlead.core.act import Does
from fairlead.core.reason import Reason, ReasonKind

EVENTS = {"PodTerminated", "RevisionCompleted", "RolloutBlocked", "InvalidAnnotation", "ReplicasScaled"}
EVENTS |= {"ScalingFailed", "HealthCheckFailing"}
ALL = [*REASONS.values(), *WRITES.values(), *LOGGED.values()]

LEVELS = {
    Reason.WRONG_STRATEGY: "warn",
    Reason.REVISION_UNKNOWN: "warn",
    Reason.READ_FAILED: "warn",
    Reason.ZONES_NOT_READY: "warn",
    Reason.TWO_ZONES_NOT_READY: "warn",
    Reason.BUDGET_USED: "info",
    Reason.PODS_NOT_READY: "info",
    Reason.POD_TERMINATING: "debug",
}


@pytest.mark.parametrize(("reason", "level"), LEVELS.items(), ids=lambda value: getattr(value, "word", value))
def test_levels_are_those_of_the_contract(reason: Reason, level: str) -> None:
    assert REASONS[reason].level == level


def test_writes_are_told_at_info_and_an_invalid_annotation_as_a_warning() -> None:
    assert [WRITES[does].level for does in (Does.TERMINATE_POD, Does.COMPLETE_REVISION)] == ["info", "info"]
    assert INVALID_BUDGET.level == "warn"


@pytest.mark.parametrize("words", ALL, ids=lambda words: words.message)
def test_messages_are_constant_and_events_are_those_of_the_contract(words: Words) -> None:
    fields = {name for _, name, _, _ in string.Formatter().parse(words.text) if name}

    assert words.message == words.message.format()
    assert words.event in EVENTS | {""}
    assert fields <= {"object", "detail", "count", "limit"}


@pytest.mark.parametrize("reason", Reason, ids=lambda reason: reason.word)
def test_every_wait_says_how_it_clears_and_every_failure_is_a_warning(reason: Reason) -> None:
    assert bool(reason.clears) is (reason.kind not in (ReasonKind.MOVING, ReasonKind.DONE))
    assert not reason.fails or reason not in REASONS or REASONS[reason].level == "warn"
