"""What may change about a RolloutTrait while it runs and afterwards (A-5 to A-9)."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.plans.kinds import Json
from tests.contracts.plans.decide.admission.test_validation import D1, D2, HOOK, METRIC, PLAN, a_trait, validated

ROLLING: Json = {
    "rollingState": "rollingInBatches",
    "batchRollingState": "batchReady",
    "rolloutTargetSize": 5,
    "rolloutOriginalSize": 5,
    "targetGeneration": "abc",
    "sources": [{"ref": D1, "originalReplicas": 5}],
    "effectiveBatches": [2, 2, 1],
}
THREE: list[Json] = [{"replicas": 2}, {"replicas": 2}, {"replicas": 1}]
BASE: Json = {"rolloutStrategy": "IncreaseFirst", "rolloutBatches": THREE, "lastBatchToRollout": 0, "targetSize": 5}


def _updated(change: Json, status: Json = ROLLING, base: Json = BASE, **fields: Any) -> str:
    """What is said of the change; nothing where it is accepted."""
    new = {key: value for key, value in {**base, **change}.items() if value is not None}
    answer = validated(a_trait(new, **fields), a_trait(base, status=status))
    return "" if answer.allowed else answer.message.partition("is invalid: ")[2]


@pytest.mark.parametrize(
    "change",
    [
        {"canaryMetric": [METRIC]},
        {"paused": True},
        {"revertOnDelete": True},
        {"alerts": [{"name": "a", "providerRef": {"name": "p"}}]},
        {"progressDeadlineSeconds": 60},
        {"onFailure": "revert"},
        {"lastBatchToRollout": 1},
        {"lastBatchToRollout": 9},
        {"lastBatchToRollout": None},
        {"lastBatchToRollout": None, "batchPartition": 1},
        {"rolloutBatches": [{"replicas": 2}, {"replicas": 1}, {"replicas": 2}]},
        {"rolloutBatches": [{"replicas": 2}, {"replicas": 1}, {"replicas": 1}, {"replicas": 1}]},
        {"rolloutBatches": [{"replicas": 2}, {}]},
    ],
)
def test_a_5_what_may_change_while_it_runs(change: Json) -> None:
    assert _updated(change) == ""


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("rolloutStrategy", {"rolloutStrategy": "DecreaseFirst"}),
        ("targetSize", {"targetSize": 6}),
        ("targetSize", {"targetSize": None}),
        ("numBatches", {"numBatches": 3}),
        ("rolloutWebhooks", {"rolloutWebhooks": [HOOK]}),
        ("trafficRouting", {"trafficRouting": {"provider": "istio", "ingressRef": {"name": "shop"}}}),
    ],
)
def test_a_5_anything_else_is_named(field: str, change: Json) -> None:
    assert _updated(change) == f"{PLAN}.{field}: Forbidden: cannot be changed while the rollout is active"


@pytest.mark.parametrize(
    ("before", "after", "is_accepted"),
    [(1, 0, False), (1, 1, True), (1, 2, True), (None, 1, False), (None, 2, True), (1, None, True), (7, 2, True)],
)
def test_a_6_the_partition_only_rises(before: int | None, after: int | None, is_accepted: bool) -> None:
    base = {**BASE, "lastBatchToRollout": before}
    base = {key: value for key, value in base.items() if value is not None}

    said = _updated({"lastBatchToRollout": after}, base=base)

    assert (said == "") is is_accepted
    assert is_accepted or "may only rise while the rollout is active" in said


def test_a_7_batches_that_may_be_rolled_already_stay() -> None:
    first = [{"replicas": 1}, {"replicas": 3}, {"replicas": 1}]

    said = _updated({"rolloutBatches": first})

    assert said == f"{PLAN}.rolloutBatches[0]: Forbidden: batches up to 0 may be rolled already"


def test_a_7_fields_of_a_batch_stay_with_it() -> None:
    hooked = [{"replicas": 2, "maxUnavailable": 1}, *THREE[1:]]

    assert "rolloutBatches[0]" in _updated({"rolloutBatches": hooked})


def test_a_7_the_batch_in_work_stays_whatever_the_partition() -> None:
    status = {**ROLLING, "currentBatch": 1}
    change = {"rolloutBatches": [{"replicas": 2}, {"replicas": 1}, {"replicas": 2}]}

    assert "rolloutBatches[1]: Forbidden: batches up to 1" in _updated(change, status)


def test_a_7_without_a_partition_no_batch_may_change() -> None:
    base = {key: value for key, value in BASE.items() if key != "lastBatchToRollout"}

    assert "rolloutBatches[2]" in _updated({"rolloutBatches": [*THREE[:2], {"replicas": "1%"}]}, base=base)


def test_a_7_the_sum_must_still_be_right() -> None:
    said = _updated({"rolloutBatches": [{"replicas": 2}, {"replicas": 1}, {"replicas": 1}]})

    assert said == (
        f"{PLAN}.rolloutBatches: Invalid value: the rollout plan batch size mismatch, "
        "total batch size = 4, totalReplicas size = 5"
    )


def test_a_7_before_the_verification_there_is_no_sum() -> None:
    status = {"rollingState": "verifyingSpec", "rolloutTargetSize": -1}

    assert _updated({"rolloutBatches": [{"replicas": 2}, {"replicas": 1}, {"replicas": 1}]}, status) == ""


@pytest.mark.parametrize(
    "names", [{"target": {**D2, "name": "d3"}}, {"sources": ({**D1, "name": "d0"},)}, {"sources": ()}]
)
def test_a_8_with_other_names_everything_may_change(names: Json) -> None:
    change = {"rolloutStrategy": "DecreaseFirst", "targetSize": 9, "rolloutBatches": [{}]}

    assert _updated(change, **names) == ""
    assert _updated(change, {**ROLLING, "rollingState": "rolloutSucceed"}, **names) == ""


@pytest.mark.parametrize("state", ["rolloutSucceed", "rolloutFailed"])
def test_a_9_what_has_ended_stays_but_for_what_is_free(state: str) -> None:
    status = {**ROLLING, "rollingState": state}

    said = _updated({"rolloutStrategy": "DecreaseFirst"}, status)

    ended = "a successful or failed rollout cannot be modified without changing the target or the source"
    assert said == f"{PLAN}: Forbidden: {ended}"
    assert _updated({"revertOnDelete": True, "paused": True}, status) == ""
    assert _updated({"lastBatchToRollout": 2}, status) != ""
    assert _updated({"targetSize": 9, "rolloutBatches": None}, status) == ""


def test_a_9_a_failed_verification_may_be_corrected() -> None:
    status = {"rollingState": "rolloutFailed", "rolloutTargetSize": -1}

    assert _updated({"rolloutBatches": [{"replicas": 5}], "rolloutStrategy": "DecreaseFirst"}, status) == ""


def test_what_has_not_begun_may_change() -> None:
    assert _updated({"rolloutStrategy": "DecreaseFirst", "targetSize": 9}, {}) == ""


def test_an_object_of_before_the_webhooks_may_be_applied_again() -> None:
    """Its stored form lacks the defaults that the mutating webhook gives the new one."""
    old = {"targetSize": 8, "numBatches": 2}
    new = {
        **old,
        "rolloutStrategy": "IncreaseFirst",
        "rolloutBatches": [{"replicas": 4}, {"replicas": 4}],
        "paused": True,
    }

    answer = validated(a_trait(new), a_trait(old, status={**ROLLING, "rolloutTargetSize": 8, "rolloutOriginalSize": 8}))

    assert answer.allowed


def test_a_7_a_batch_that_no_plan_can_have_come_to_is_no_endless_work() -> None:
    status = {**ROLLING, "currentBatch": 2**31 - 1}
    base = {key: value for key, value in BASE.items() if key != "rolloutBatches"} | {"numBatches": 2**31 - 1}

    assert "rolloutBatches[0]: Forbidden" in _updated({"rolloutBatches": [{"replicas": 5}]}, status, base)
