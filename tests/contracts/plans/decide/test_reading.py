"""Specs and statuses as anybody may have written them (sections 2.2 and 2.9)."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from fairlead.contracts.plans.decide.reading import rollout_plan, rollout_status, written
from fairlead.contracts.plans.decide.seen import of_trait
from fairlead.contracts.plans.kinds import (
    BATCH_CONDITIONS,
    BATCH_STATES,
    FAILING,
    ROLLING,
    STATE_CONDITIONS,
    STATES,
    VERIFYING,
    Carried,
    RolloutBatch,
    RolloutCondition,
    RolloutPlan,
    RolloutStatus,
    RolloutTrait,
    RolloutWebhook,
    SourceSize,
    TraitMeta,
    WorkloadReference,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLAN = "spec.rolloutPlan"

ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "rolloutStrategy",
    "targetSize",
    "numBatches",
    "rolloutBatches",
    "lastBatchToRollout",
    "batchPartition",
    "paused",
    "rolloutWebhooks",
    "canaryMetric",
    "trafficRouting",
    "alerts",
    "progressDeadlineSeconds",
    "onFailure",
]


def test_a_whole_plan_is_read() -> None:
    tree = {
        "rolloutStrategy": "DecreaseFirst",
        "targetSize": 5,
        "rolloutBatches": [{"replicas": "20%", "instanceInterval": 3}, {"maxUnavailable": 1}],
        "batchPartition": 0,
        "rolloutWebhooks": [{"type": "initialize-rollout", "name": "a", "url": "http://a", "expectedStatus": [208]}],
        "unknown": [1],
    }

    plan, wrong = rollout_plan(tree)

    assert not wrong
    assert plan == RolloutPlan(
        rollout_strategy="DecreaseFirst",
        target_size=5,
        rollout_batches=(RolloutBatch(replicas="20%", instance_interval=3), RolloutBatch(max_unavailable=1)),
        batch_partition=0,
        rollout_webhooks=(RolloutWebhook("initialize-rollout", "a", "http://a", expected_status=(208,)),),
    )
    assert plan.is_decrease_first


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        ({"numBatches": "4"}, f'{PLAN}.numBatches: Invalid value: "4": must be a whole number of 32 bits'),
        ({"numBatches": True}, f"{PLAN}.numBatches: Invalid value: true: must be a whole number of 32 bits"),
        ({"targetSize": 2**31}, f"{PLAN}.targetSize: Invalid value: 2147483648: must be a whole number of 32 bits"),
        ({"paused": "yes"}, f'{PLAN}.paused: Invalid value: "yes": must be true or false'),
        ({"rolloutStrategy": 1}, f"{PLAN}.rolloutStrategy: Invalid value: 1: must be a text"),
        ({"rolloutBatches": {}}, f"{PLAN}.rolloutBatches: Invalid value: {{}}: must be a list"),
        ({"rolloutBatches": [None]}, f"{PLAN}.rolloutBatches[0]: Invalid value: null: must be an object"),
        (
            {"rolloutBatches": [{}, {"replicas": 1.5}]},
            f"{PLAN}.rolloutBatches[1].replicas: Invalid value: 1.5: must be a whole number of 32 bits",
        ),
        (
            {"rolloutWebhooks": [{"metadata": {"a": 1}}]},
            f'{PLAN}.rolloutWebhooks[0].metadata: Invalid value: {{"a":1}}: must be an object of texts',
        ),
        ([], f"{PLAN}: Invalid value: []: must be an object"),
    ],
)
def test_a_value_of_another_kind_is_told_with_its_path(tree: Any, sentence: str) -> None:
    _, wrong = rollout_plan(tree)

    assert wrong == (sentence,)


def test_null_counts_as_absent() -> None:
    plan, wrong = rollout_plan({"targetSize": None, "rolloutBatches": None, "paused": None})

    assert (plan, wrong) == (RolloutPlan(), ())


@given(st.dictionaries(st.sampled_from(FIELDS), ODD))
def test_nothing_that_a_plan_may_hold_is_a_crash(tree: dict[str, Any]) -> None:
    plan, wrong = rollout_plan(tree)

    assert isinstance(plan, RolloutPlan)
    assert all(each.startswith(PLAN) for each in wrong)


@given(ODD, ODD)
def test_nothing_that_a_trait_may_hold_is_a_crash(spec: Any, status: Any) -> None:
    trait = RolloutTrait(TraitMeta("r", "uid", "1"), spec, status)

    found, wrong = of_trait(trait).read_spec

    assert wrong or not isinstance(spec, dict) or found.rollout_plan == RolloutPlan()
    assert isinstance(rollout_status(status), RolloutStatus)


@pytest.mark.parametrize(
    ("tree", "partition"),
    [({}, None), ({"lastBatchToRollout": 2}, 2), ({"batchPartition": 1}, 1), ({"batchPartition": 0}, 0)],
)
def test_the_partition_has_two_names(tree: dict[str, Any], partition: int | None) -> None:
    assert rollout_plan(tree)[0].partition == partition


@pytest.mark.parametrize(
    ("tree", "count"),
    [
        ({}, 1),
        ({"numBatches": 4}, 4),
        ({"numBatches": 0}, 1),
        ({"rolloutBatches": []}, 1),
        ({"rolloutBatches": [], "numBatches": 3}, 3),
        ({"rolloutBatches": [{}, {}]}, 2),
    ],
)
def test_an_empty_list_of_batches_counts_as_none(tree: dict[str, Any], count: int) -> None:
    assert rollout_plan(tree)[0].batch_count == count


def test_a_status_is_stored_and_read_again() -> None:
    reference = WorkloadReference("apps/v1", "Deployment", "d1")
    status = RolloutStatus(
        conditions=(RolloutCondition("BatchReady", "False", "PodsNotReady", "waiting", NOON, 3),),
        rolling_state=ROLLING,
        rollout_target_size=5,
        batch_start_time=NOON.replace(microsecond=1500),
        effective_batches=(0, 5),
        sources=(SourceSize(reference, 5),),
        carried=Carried((reference,), 5),
    )

    tree = written(status)

    assert rollout_status(tree) == status
    assert tree["conditions"][0]["lastTransitionTime"] == "2026-03-01T12:00:00Z"
    assert tree["upgradedReplicas"] == 0
    assert "lastTargetRef" not in tree


def test_a_status_that_is_half_written_keeps_what_can_be_read() -> None:
    tree = {"rollingState": ROLLING, "currentBatch": "two", "sources": "none", "conditions": [{"type": "A"}, 7]}

    status = rollout_status(tree)

    assert (status.rolling_state, status.current_batch, status.sources) == (ROLLING, 0, ())
    assert [each.type for each in status.conditions] == ["A"]


def test_every_state_has_its_condition() -> None:
    """The table of section 2.10: of the top states only the one with batches has none of its own."""
    assert set(STATES) - STATE_CONDITIONS.keys() == {ROLLING}
    assert BATCH_CONDITIONS.keys() == set(BATCH_STATES)


def test_references_name_one_object_whatever_the_version() -> None:
    one = WorkloadReference("apps.kruise.io/v1alpha1", "CloneSet", "c")

    assert one.names_same(WorkloadReference("apps.kruise.io/v1beta1", "CloneSet", "c"))
    assert not one.names_same(WorkloadReference("apps/v1", "CloneSet", "c"))
    assert not one.names_same(WorkloadReference("apps.kruise.io/v1alpha1", "CloneSet", "d"))


def test_a_trait_is_read_once_and_what_replaces_it_anew() -> None:
    trait = RolloutTrait(TraitMeta("one", "1", "1"), {"rolloutPlan": {"targetSize": 3}}, {"rollingState": VERIFYING})

    read = of_trait(trait)
    changed = of_trait(replace(trait, status={"rollingState": FAILING}))

    assert of_trait(trait) is read
    assert read.read_status.rolling_state == VERIFYING
    assert changed.read_status.rolling_state == FAILING
