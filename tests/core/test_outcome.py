"""The word that all contracts share for how a rollout stands."""

from __future__ import annotations

import pytest

from fairlead.core.outcome import OUTCOMES, STOPPED, outcome_of
from fairlead.core.reason import Reason


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        (Reason.COMPLETE, "done"),
        (Reason.ROLLING, "moving"),
        (Reason.PODS_NOT_READY, "waiting"),
        (Reason.PAUSED, "held"),
        (Reason.POD_STUCK, "blocked"),
        (Reason.WRONG_STRATEGY, "blocked"),
        (Reason.READ_FAILED, "failed"),
        (Reason.GATE_CLOSED, "gated"),
        (Reason.AWAITING_PROMOTION, "gated"),
        (Reason.ROLLOUT_FAILED, "failed"),
        (Reason.ROLLOUT_REVERTED, "reverted"),
    ],
)
def test_the_outcome_follows_from_the_reason(reason: Reason, outcome: str) -> None:
    assert outcome_of(reason) == outcome


def test_a_rollout_is_stopped_exactly_when_a_person_must_act() -> None:
    assert set(OUTCOMES) - set(STOPPED) == {"done", "moving", "waiting"}
    assert {outcome_of(reason) in STOPPED for reason in Reason if reason.blocks} == {True}
