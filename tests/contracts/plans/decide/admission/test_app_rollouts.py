"""What an AppRollout may say (A-1 to A-3), and what may change about it (A-5 to A-9)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.plans.decide.admission.reviews import ReviewSnapshot, default_rollout, validate_app_rollout
from fairlead.contracts.plans.kinds import APPLICATION_REVISIONS, Json
from fairlead.core.ask import Bad
from fairlead.core.decision import Admit
from tests.contracts.plans.decide.admission import test_deployments
from tests.contracts.plans.decide.admission.test_deployments import API, WEB, a_review, an_application
from tests.contracts.plans.decide.admission.test_updates import ROLLING
from tests.contracts.plans.decide.admission.test_validation import NOON, PLAN
from tests.contracts.plans.decide.test_reading import ODD


def a_snapshot(*components: Json, of: str = "shop") -> Json:
    return {"metadata": {"labels": {"app.oam.dev/name": of}}, "spec": {"application": an_application(*components)}}


BOTH = {"shop-v1": a_snapshot(WEB), "shop-v2": a_snapshot(WEB)}


def an_app_rollout(plan: Any = None, target: Any = "shop-v2", source: Any = "shop-v1", **spec: Any) -> Json:
    names = {"targetAppRevisionName": target, "sourceAppRevisionName": source}
    made = {**names, "rolloutPlan": {} if plan is None else plan, **spec}
    return {"metadata": {"name": "d"}, "spec": {key: value for key, value in made.items() if value is not None}}


def judged(new: Any, old: Any = None, there: Json | None = None) -> tuple[Admit, set[str]]:
    found = BOTH if there is None else there
    return test_deployments.judged(new, old, found, validate_app_rollout, APPLICATION_REVISIONS)


def refused(new: Any, old: Any = None, there: Json | None = None) -> str:
    answer, _ = judged(new, old, there)
    start = 'AppRollout.core.oam.dev "d" is invalid: '
    assert answer.allowed or (answer.code == 422 and answer.message.startswith(start)), answer
    return answer.message.removeprefix(start)


@pytest.mark.parametrize(
    ("given", "there"),
    [
        (an_app_rollout(), BOTH),
        (an_app_rollout(source=None), {"shop-v2": a_snapshot(WEB)}),
        (an_app_rollout(componentList=["web"]), {"shop-v1": a_snapshot(WEB, API), "shop-v2": a_snapshot(API, WEB)}),
        (an_app_rollout(revertOnDelete=True, plan={"numBatches": 3}), BOTH),
    ],
)
def test_a_sound_one_is_accepted(given: Json, there: Json) -> None:
    assert refused(given, there=there) == ""


@pytest.mark.parametrize(
    ("given", "there", "sentence"),
    [
        (
            an_app_rollout(),
            {"shop-v1": a_snapshot(WEB)},
            (
                'spec.targetAppRevisionName: Invalid value: "shop-v2": there is no such ApplicationRevision: '
                "it is made when its Application changes"
            ),
        ),
        (
            an_app_rollout(),
            {"shop-v2": a_snapshot(WEB)},
            (
                'spec.sourceAppRevisionName: Invalid value: "shop-v1": there is no such ApplicationRevision: '
                "name one that is there, or none"
            ),
        ),
        (an_app_rollout(target=None, source=None), {}, "spec.targetAppRevisionName: Required value"),
        (
            an_app_rollout(source="shop-v2"),
            BOTH,
            'spec.sourceAppRevisionName: Invalid value: "shop-v2": must not be the target',
        ),
        (
            an_app_rollout(source="cart-v1"),
            {**BOTH, "cart-v1": a_snapshot(WEB, of="cart")},
            'spec.sourceAppRevisionName: Invalid value: "cart-v1": is of the Application cart, not of shop',
        ),
        (
            an_app_rollout(),
            {**BOTH, "shop-v1": {"metadata": {"name": "shop-v1"}, "spec": {"application": "rubbish"}}},
            (
                'spec.sourceAppRevisionName: Invalid value: "shop-v1": the ApplicationRevision shop-v1 holds no '
                "Application with components: change its Application to have another"
            ),
        ),
        (
            an_app_rollout(componentList=["api"]),
            {"shop-v1": a_snapshot(WEB, API), "shop-v2": a_snapshot(WEB)},
            'spec.componentList[0]: Invalid value: "api": is no component of the ApplicationRevision shop-v2',
        ),
        (
            an_app_rollout({"targetSize": -1}),
            BOTH,
            f"{PLAN}.targetSize: Invalid value: -1: must be greater than or equal to 0",
        ),
    ],
)
def test_a_broken_rule_is_told(given: Json, there: Json, sentence: str) -> None:
    assert refused(given, there=there) == sentence


def test_a_revision_that_cannot_be_read_now_is_no_refusal_for_ever() -> None:
    answer, _ = judged(an_app_rollout(), there={**BOTH, "shop-v1": Bad("timeout")})

    assert (answer.allowed, answer.code, answer.reason) == (False, 503, "ServiceUnavailable")
    assert answer.message == "the ApplicationRevision shop-v1 cannot be read (timeout): try again"


def test_what_is_named_already_is_not_read_again() -> None:
    answer, read = judged(an_app_rollout({"paused": True}), {**an_app_rollout(), "status": ROLLING}, there={})

    assert answer.allowed
    assert read == set()


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        (an_app_rollout({"targetSize": 9}), f"{PLAN}.targetSize"),
        (an_app_rollout(componentList=["web"]), "spec.componentList"),
    ],
)
def test_a_5_little_changes_while_it_runs(changed: Json, field: str) -> None:
    said = refused(changed, {**an_app_rollout(), "status": ROLLING})

    assert said == f"{field}: Forbidden: cannot be changed while the rollout is active"


def test_a_8_with_other_names_everything_may_change() -> None:
    changed = an_app_rollout({"targetSize": 9}, componentList=["web"], source="shop-v2", target="shop-v1")

    assert refused(changed, {**an_app_rollout(), "status": ROLLING}) == ""


def test_a_5_a_source_that_is_no_longer_named_frees_nothing() -> None:
    status = {**ROLLING, "lastTargetAppRevision": "shop-v2", "LastSourceAppRevision": "shop-v1"}
    said = refused(an_app_rollout({"targetSize": 9}, source=None), {**an_app_rollout(), "status": status})

    assert said == f"{PLAN}.targetSize: Forbidden: cannot be changed while the rollout is active"
    assert refused(an_app_rollout(source=None), {**an_app_rollout(), "status": status}) == ""


def test_a_1_batches_are_written_where_a_source_is_named() -> None:
    review = a_review(an_app_rollout({"targetSize": 5, "numBatches": 2, "rolloutStrategy": "DecreaseFirst"}))

    answer = default_rollout(ReviewSnapshot(review), NOON)

    batches = [{"replicas": 2}, {"replicas": 3}]
    assert msgspec.json.decode(answer.patch) == [
        {"op": "add", "path": "/spec/rolloutPlan/rolloutBatches", "value": batches}
    ]


@given(
    spec=st.one_of(
        ODD,
        st.dictionaries(
            st.sampled_from(["targetAppRevisionName", "sourceAppRevisionName", "componentList", "rolloutPlan"]), ODD
        ),
    ),
    snapshot=ODD,
)
def test_whatever_is_written_is_answered(spec: object, snapshot: object) -> None:
    there = dict.fromkeys(("shop-v1", "shop-v2"), snapshot)

    for old in (None, an_app_rollout()):
        answer, _ = judged({"metadata": {}, "spec": spec}, old, there)

        assert answer.allowed or answer.message
