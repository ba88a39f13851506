"""What an ApplicationDeployment may say (A-1 to A-3), and what may change about it (A-5 to A-9)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from fairlead.contracts.plans.decide.admission.reviews import ReviewSnapshot, default_rollout, validate_deployment
from fairlead.contracts.plans.kinds import APPLICATIONS, Json
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Need, Read
from fairlead.core.decision import Admit, Judge
from kubeloop.objects.meta import Ref, Resource
from kubeloop.objects.review import Review
from tests.contracts.plans.decide.admission.test_updates import ROLLING
from tests.contracts.plans.decide.admission.test_validation import NOON, PLAN
from tests.contracts.plans.decide.test_reading import ODD

WEB: Json = {"name": "web", "type": "webservice"}
API: Json = {"name": "api", "type": "worker"}


def an_application(*components: Json) -> Json:
    return {"spec": {"components": [*components]}}


BOTH = {"shop-v1": an_application(WEB), "shop-v2": an_application(WEB)}


def a_deployment(plan: Any = None, target: Any = "shop-v2", source: Any = "shop-v1", **spec: Any) -> Json:
    names = {"targetApplicationName": target, "sourceApplicationName": source}
    made = {**names, "rolloutPlan": {} if plan is None else plan, **spec}
    return {"metadata": {"name": "d"}, "spec": {key: value for key, value in made.items() if value is not None}}


WITHOUT_PLAN: Json = {"spec": {"targetApplicationName": "shop-v2", "sourceApplicationName": "shop-v1"}}


def a_review(new: Any, old: Any = None) -> Review:
    return Review(
        uid="u",
        name="d",
        namespace="ns",
        operation="CREATE" if old is None else "UPDATE",
        object=Raw(msgspec.json.encode(new)),
        old_object=Raw(msgspec.json.encode(old)),
    )


def judged(
    new: Any,
    old: Any = None,
    there: Json | None = None,
    judge: Judge[ReviewSnapshot] = validate_deployment,
    resource: Resource = APPLICATIONS,
) -> tuple[Admit, set[str]]:
    """The answer, and the names of what was read for it."""
    review, known = a_review(new, old), dict[Any, Answer]()
    answer = judge(ReviewSnapshot(review), NOON)
    if isinstance(answer, Need):
        for question in answer.stages[0]:
            assert isinstance(question, Ask)
            assert isinstance(question.to, Read)
            assert question.to.ref == Ref(resource, "ns", question.to.ref.name)
            found = (BOTH if there is None else there).get(question.to.ref.name)
            if isinstance(found, Bad):
                known[question] = found
            else:
                known[question] = Bad("absent") if found is None else Good(msgspec.json.encode(found))
        answer = judge(ReviewSnapshot(review, Answers(known)), NOON)
    assert isinstance(answer, Admit)
    return answer, {question.to.ref.name for question in known}


def refused(new: Any, old: Any = None, there: Json | None = None) -> str:
    answer, _ = judged(new, old, there)
    start = 'ApplicationDeployment.core.oam.dev "d" is invalid: '
    assert answer.allowed or (answer.code == 422 and answer.message.startswith(start)), answer
    return answer.message.removeprefix(start)


@pytest.mark.parametrize(
    ("given", "there"),
    [
        (a_deployment(), BOTH),
        (
            a_deployment(componentList=["web"]),
            {"shop-v1": an_application(WEB, API), "shop-v2": an_application(API, WEB)},
        ),
        (a_deployment(source=None), {"shop-v2": an_application(WEB)}),
        (a_deployment(source=""), {"shop-v2": an_application(WEB)}),
        (a_deployment(), {"shop-v1": an_application(API, WEB), "shop-v2": an_application(WEB)}),
        (a_deployment(revertOnDelete=True, plan={"numBatches": 3}), BOTH),
    ],
)
def test_a_sound_one_is_accepted(given: Json, there: Json) -> None:
    assert refused(given, there=there) == ""


@pytest.mark.parametrize(
    ("given", "there", "sentence"),
    [
        (
            a_deployment(),
            {"shop-v1": an_application(WEB)},
            'spec.targetApplicationName: Invalid value: "shop-v2": there is no such Application: create it first',
        ),
        (
            a_deployment(),
            {"shop-v2": an_application(WEB)},
            (
                'spec.sourceApplicationName: Invalid value: "shop-v1": there is no such Application: '
                "name one that is there, or none"
            ),
        ),
        (a_deployment(target=None, source=None), {}, "spec.targetApplicationName: Required value"),
        (
            a_deployment(source="shop-v2"),
            BOTH,
            'spec.sourceApplicationName: Invalid value: "shop-v2": must not be the target',
        ),
        (
            a_deployment(componentList=["web", "api"]),
            BOTH,
            'spec.componentList: Invalid value: ["web","api"]: must have one component at most',
        ),
        (
            a_deployment(componentList=["api"]),
            {"shop-v1": an_application(WEB, API), "shop-v2": an_application(WEB)},
            'spec.componentList[0]: Invalid value: "api": is no component of the Application shop-v2',
        ),
        (
            a_deployment(),
            {"shop-v1": an_application(API), "shop-v2": an_application(WEB)},
            (
                "spec.componentList: Required value: shop-v2 and shop-v1 have no component in common: "
                "there is nothing to roll"
            ),
        ),
        (
            a_deployment(),
            {"shop-v1": an_application(WEB, API), "shop-v2": an_application(WEB, API)},
            "spec.componentList: Required value: shop-v2 and shop-v1 share web, api: name one",
        ),
        (
            a_deployment(source=None),
            {"shop-v2": an_application(WEB, API)},
            "spec.componentList: Required value: shop-v2 has the components web, api: name one",
        ),
        (
            a_deployment(source=None),
            {"shop-v2": an_application()},
            "spec.componentList: Required value: shop-v2 has no component: there is nothing to roll",
        ),
        (
            a_deployment(),
            {"shop-v1": an_application({**WEB, "type": "worker"}), "shop-v2": an_application(WEB)},
            (
                'spec.componentList[0]: Invalid value: "web": must be of one type, and is webservice in shop-v2 and '
                "worker in shop-v1"
            ),
        ),
        (
            a_deployment({"targetSize": -1}),
            BOTH,
            f"{PLAN}.targetSize: Invalid value: -1: must be greater than or equal to 0",
        ),
        (WITHOUT_PLAN, BOTH, f"{PLAN}: Required value"),
        ({"metadata": {}}, BOTH, "spec: Required value"),
        (a_deployment(componentList="web"), BOTH, 'spec.componentList: Invalid value: "web": must be a list'),
    ],
)
def test_a_broken_rule_is_told(given: Json, there: Json, sentence: str) -> None:
    assert refused(given, there=there) == sentence


def test_all_that_is_wrong_is_told_at_once() -> None:
    said = refused(a_deployment({"numBatches": 0, "batchPartition": -1}), there={})

    assert said.startswith("[")
    assert said.count(": Invalid value: ") == 4


def test_an_application_that_cannot_be_read_now_is_no_refusal_for_ever() -> None:
    answer, _ = judged(a_deployment(), there={**BOTH, "shop-v1": Bad("timeout")})

    assert (answer.allowed, answer.code, answer.reason) == (False, 503, "ServiceUnavailable")
    assert answer.message == "the Application shop-v1 cannot be read (timeout): try again"


def test_what_is_named_already_is_not_read_again() -> None:
    """A rollout can be paused although its source has gone."""
    answer, read = judged(a_deployment({"paused": True}), {**a_deployment(), "status": ROLLING}, there={})

    assert answer.allowed
    assert read == set()


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        (a_deployment({"targetSize": 9}), f"{PLAN}.targetSize"),
        (a_deployment(componentList=["web"]), "spec.componentList"),
    ],
)
def test_a_5_little_changes_while_it_runs(changed: Json, field: str) -> None:
    said = refused(changed, {**a_deployment(), "status": ROLLING})

    assert said == f"{field}: Forbidden: cannot be changed while the rollout is active"


def test_a_5_the_older_place_of_revert_on_delete_is_as_free() -> None:
    assert refused(a_deployment(revertOnDelete=True), {**a_deployment(), "status": ROLLING}) == ""


@pytest.mark.parametrize(
    "names", [{"target": "shop-v3"}, {"source": "shop-v0"}, {"source": "shop-v2", "target": "shop-v1"}]
)
def test_a_8_with_other_names_everything_may_change(names: Json) -> None:
    there = {f"shop-v{number}": an_application(WEB) for number in range(4)}
    changed = a_deployment({"targetSize": 9}, componentList=["web"], **names)

    assert refused(changed, {**a_deployment(), "status": ROLLING}, there) == ""


def test_a_9_what_has_ended_stays() -> None:
    status = {**ROLLING, "rollingState": "rolloutSucceed"}

    said = refused(a_deployment(componentList=["web"]), {**a_deployment(), "status": status})

    assert "cannot be modified without changing the target or the source" in said


def test_a_1_batches_are_written_where_a_source_is_named() -> None:
    review = a_review(a_deployment({"targetSize": 8, "numBatches": 5}))

    answer = default_rollout(ReviewSnapshot(review), NOON)

    assert msgspec.json.decode(answer.patch) == [
        {"op": "add", "path": "/spec/rolloutPlan/rolloutStrategy", "value": "IncreaseFirst"},
        {
            "op": "add",
            "path": "/spec/rolloutPlan/rolloutBatches",
            "value": [{"replicas": each} for each in (1, 1, 2, 2, 2)],
        },
    ]


@given(
    spec=st.one_of(
        ODD,
        st.dictionaries(
            st.sampled_from(["targetApplicationName", "sourceApplicationName", "componentList", "rolloutPlan"]), ODD
        ),
    ),
    application=ODD,
)
def test_whatever_is_written_is_answered(spec: object, application: object) -> None:
    there = dict.fromkeys(("shop-v1", "shop-v2"), application)

    for old in (None, a_deployment()):
        answer, _ = judged({"metadata": {}, "spec": spec}, old, there)

        assert answer.allowed or answer.message
