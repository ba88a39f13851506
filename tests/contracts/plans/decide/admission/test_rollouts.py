"""What a Rollout may say (A-1 to A-3), and what may change about it (A-5 to A-9)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.plans.decide.admission.reviews import ReviewSnapshot, default_rollout, validate_rollout
from fairlead.contracts.plans.kinds import Json
from tests.contracts.plans.decide.admission.test_deployments import a_review
from tests.contracts.plans.decide.admission.test_validation import NOON
from tests.contracts.plans.decide.test_reading import ODD

DONE: Json = {"rollingState": "rolloutSucceed", "targetGeneration": "abc", "rolloutTargetSize": 3}
ACTIVE: Json = {**DONE, "rollingState": "rollingInBatches", "batchRollingState": "batchReady"}


def a_rollout(plan: Any = None, status: Json | None = None, **spec: Any) -> Json:
    made = {"targetRevisionName": "web-v2", "rolloutPlan": {} if plan is None else plan, **spec}
    stored = {} if status is None else {"status": status}
    return {
        "metadata": {"name": "d"},
        "spec": {key: value for key, value in made.items() if value is not None},
        **stored,
    }


def refused(new: Any, old: Any = None) -> str:
    answer = validate_rollout(ReviewSnapshot(a_review(new, old)), NOON)
    start = 'Rollout.standard.oam.dev "d" is invalid: '
    assert answer.allowed or (answer.code == 422 and answer.message.startswith(start)), answer
    return answer.message.removeprefix(start)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (a_rollout(), ""),
        (a_rollout(sourceRevisionName="web-v1", componentName="web"), ""),
        (a_rollout(targetRevisionName=None), "spec.targetRevisionName: Required value"),
        (a_rollout(targetRevisionName="A_b"), 'spec.targetRevisionName: Invalid value: "A_b"'),
        (
            a_rollout(sourceRevisionName="web-v2"),
            'spec.sourceRevisionName: Invalid value: "web-v2": must not be the target',
        ),
        (a_rollout(componentName=7), "spec.componentName: Invalid value: 7: must be a text"),
        ({"metadata": {}, "spec": {"targetRevisionName": "web-v2"}}, "spec.rolloutPlan: Required value"),
        ({"metadata": {}}, "spec: Required value"),
        (a_rollout({"numBatches": 0}), "spec.rolloutPlan.numBatches"),
    ],
)
def test_a_new_one(given: Json, sentence: str) -> None:
    said = refused(given)
    assert said.startswith(sentence)
    assert bool(said) == bool(sentence)


@pytest.mark.parametrize(
    ("new", "status", "sentence"),
    [
        (a_rollout({"rolloutStrategy": "DecreaseFirst"}), ACTIVE, "spec.rolloutPlan.rolloutStrategy: Forbidden"),
        (a_rollout(componentName="api"), ACTIVE, "spec.componentName: Forbidden"),
        (a_rollout({"paused": True}), ACTIVE, ""),
        (a_rollout({"rolloutStrategy": "DecreaseFirst"}, targetRevisionName="web-v3"), ACTIVE, ""),
        (a_rollout({"rolloutStrategy": "DecreaseFirst"}, sourceRevisionName="web-v1"), ACTIVE, ""),
        (a_rollout({"numBatches": 2}), DONE, "spec.rolloutPlan: Forbidden: a successful or failed rollout"),
        (a_rollout({"numBatches": 2, "targetSize": 7}), DONE, ""),
    ],
)
def test_one_that_is_there(new: Json, status: Json, sentence: str) -> None:
    said = refused(new, a_rollout(status=status))
    assert said.startswith(sentence)
    assert bool(said) == bool(sentence)


def test_a_5_a_source_that_is_no_longer_named_frees_nothing() -> None:
    status = {**ACTIVE, "lastTargetRevision": "web-v2", "LastSourceRevision": "web-v1"}
    old = a_rollout(sourceRevisionName="web-v1", status=status)

    said = refused(a_rollout({"targetSize": 9}), old)

    assert said == "spec.rolloutPlan.targetSize: Forbidden: cannot be changed while the rollout is active"
    assert refused(a_rollout(), old) == ""


def test_batches_are_written_where_size_number_and_source_are_given() -> None:
    new = a_rollout({"targetSize": 8, "numBatches": 5}, sourceRevisionName="web-v1")
    answer = default_rollout(ReviewSnapshot(a_review(new)), NOON)
    written = {each["path"]: each["value"] for each in msgspec.json.decode(answer.patch)}

    assert [each["replicas"] for each in written["/spec/rolloutPlan/rolloutBatches"]] == [1, 1, 2, 2, 2]


@given(
    spec=st.dictionaries(
        st.sampled_from(["targetRevisionName", "sourceRevisionName", "componentName", "rolloutPlan"]), ODD
    ),
    old=st.dictionaries(st.sampled_from(["targetRevisionName", "rolloutPlan"]), ODD),
)
def test_nothing_that_anybody_may_write_is_a_crash(spec: Json, old: Json) -> None:
    validate_rollout(ReviewSnapshot(a_review({"metadata": {}, "spec": spec})), NOON)
    validate_rollout(ReviewSnapshot(a_review({"metadata": {}, "spec": spec}, {"spec": old, "status": ACTIVE})), NOON)
