"""How long a pass may take: as the operator is told, and never less than its hooks may (R-26)."""

from __future__ import annotations

import pytest

from fairlead.contracts.plans.decide.seen import TraitSeen, of_trait
from fairlead.contracts.plans.gather import asks_within
from fairlead.contracts.plans.kinds import Json, RolloutTrait, TraitMeta
from fairlead.contracts.plans.settings import PlanSettings


def hook(kind: str, timeout: str = "") -> Json:
    return {"type": kind, "name": kind, "url": "http://hook.test", "timeout": timeout}


def seconds(plan: Json, batch: int = 0, timeout: float = 180.0) -> float:
    rollout = of_trait(RolloutTrait(TraitMeta("r", "uid", "1"), {"rolloutPlan": plan}, {"currentBatch": batch}))
    return asks_within(TraitSeen(rollout=rollout, settings=PlanSettings(reconcile_timeout=timeout)))


def test_a_pass_without_hooks_takes_as_long_as_the_operator_is_told() -> None:
    assert seconds({}) == 180
    assert seconds({}, timeout=30) == 30


def test_hooks_of_one_phase_are_called_with_all_their_tries() -> None:
    """Four tries of 60 s each, and 310 ms between them; the other phase is another pass."""
    plan = {"rolloutWebhooks": [hook("initialize-rollout", "1m"), hook("finalize-rollout", "50s")]}

    assert seconds(plan) == pytest.approx(240.31)
    assert seconds(plan, timeout=300) == 300


def test_a_start_at_the_end_of_the_calendar_is_no_deadline() -> None:
    """The pass after it gives the status a time that counts."""
    status = {"rollingState": "verifyingSpec", "batchStartTime": "9999-12-31T23:59:59Z"}
    rollout = of_trait(
        RolloutTrait(TraitMeta("r", "uid", "1"), {"rolloutPlan": {"progressDeadlineSeconds": 60}}, status)
    )

    assert asks_within(TraitSeen(rollout=rollout, settings=PlanSettings(reconcile_timeout=180.0))) == 180


def test_hooks_of_the_batch_in_work_count() -> None:
    around = [hook("pre-batch-rollout", "1m"), hook("pre-batch-rollout", "30s")]
    plan = {"rolloutBatches": [{"replicas": 1}, {"batchRolloutWebhooks": around}]}

    assert seconds(plan) == 180
    assert seconds(plan, batch=1) == pytest.approx(360.62)
