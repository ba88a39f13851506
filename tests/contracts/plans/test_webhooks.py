"""The webhooks of plans, bytes to bytes: the paths of section 2.14, one answer to whatever comes."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import msgspec
import pytest

from fairlead.contracts.plans.decide.admission.reviews import ReviewSnapshot
from fairlead.contracts.plans.deciders import DECIDERS
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.contracts.plans.webhooks import (
    DEFAULT_APP_ROLLOUT,
    DEFAULT_DEPLOYMENT,
    DEFAULT_ROLLOUT,
    DEFAULT_TRAIT,
    JUDGES,
    LEFT_ALONE,
    VALIDATE_TRAIT,
    endpoints,
)
from fairlead.core.decision import Admit
from fairlead.core.replay import DecidedRound, record_of, replayed
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.webhooks.admission import AdmissionContext
from fairlead.engine.webhooks.afterwards import Afterwards
from fairlead.engine.webhooks.handlers import Webhooks
from kubeloop.calls import Reply
from kubesim.time import run
from tests.builders import NOW
from tests.contracts.plans.decide.admission.test_deployments import a_review
from tests.contracts.plans.decide.admission.test_validation import a_trait
from tests.engine.webhooks.benches import body, call, response_of
from tests.engine.world import Log
from tests.kubeloop.scripted import Scripted

JUDGING = tuple(path for path in JUDGES if path not in LEFT_ALONE)


def answer(path: str, content: bytes) -> Reply:
    """Of a process that has seen nothing of its cluster."""

    async def scenario() -> Reply:
        log, client = Log().logger(), Scripted().client()
        context = AdmissionContext(Afterwards(log), log, lambda *_: None)
        hooks = Webhooks(endpoints(PlanSettings()), AskContext(client), lambda: client, context)
        return await hooks.handler(call(content, path=path))

    return run(scenario())


def test_the_paths_are_those_of_the_contract() -> None:
    assert {path for each in endpoints(PlanSettings()) for path in each.paths} == {
        "/mutating-core-oam-dev-v1alpha2-applicationdeployments",
        "/validating-core-oam-dev-v1alpha2-applicationdeployments",
        "/mutating-standard-oam-dev-v1alpha1-rollouts",
        "/validating-standard-oam-dev-v1alpha1-rollouts",
        "/mutating-standard-oam-dev-v1alpha1-rollouttraits",
        "/validating-standard-oam-dev-v1alpha1-rollouttraits",
        "/validating-core-oam-dev-v1alpha2-applications",
        "/validating-core-oam-dev-v1beta1-applications",
        "/mutating-core-oam-dev-v1alpha2-applicationconfigurations",
        "/validating-core-oam-dev-v1alpha2-applicationconfigurations",
        "/mutating-core-oam-dev-v1beta1-approllout",
        "/validating-core-oam-dev-v1beta1-approllout",
        "/mutating-core-oam-dev-v1alpha2-components",
        "/validating-core-oam-dev-v1alpha2-components",
        "/validating-core-oam-dev-v1alpha2-traitdefinitions",
        "/mutating-core-oam-dev-v1beta1-componentdefinitions",
        "/validating-core-oam-dev-v1beta1-componentdefinitions",
        "/validating-core-oam-dev-v1beta1-initializers",
        "/mutate-standard-oam-dev-v1alpha1-podspecworkload",
        "/validate-standard-oam-dev-v1alpha1-podspecworkload",
        "/mutate-standard-oam-dev-v1alpha1-metricstrait",
        "/validate-standard-oam-dev-v1alpha1-metricstrait",
    }
    assert {each.timeout for each in endpoints(PlanSettings())} == {5.0}


@pytest.mark.parametrize("path", [DEFAULT_TRAIT, DEFAULT_ROLLOUT, DEFAULT_DEPLOYMENT, DEFAULT_APP_ROLLOUT])
@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_what_lacks_is_patched_and_nothing_else(path: str, version: str) -> None:
    reply = answer(path, body(version=version, operation="CREATE", object=a_trait({"paused": True})))

    response = response_of(reply)
    assert msgspec.json.decode(reply.body)["apiVersion"] == f"admission.k8s.io/{version}"
    assert response["patchType"] == "JSONPatch"
    assert msgspec.json.decode(b64decode(response["patch"])) == [
        {"op": "add", "path": "/spec/rolloutPlan/rolloutStrategy", "value": "IncreaseFirst"}
    ]


def test_nothing_is_patched_where_nothing_lacks() -> None:
    response = response_of(
        answer(DEFAULT_TRAIT, body(operation="CREATE", object=a_trait({"rolloutStrategy": "DecreaseFirst"})))
    )

    assert response["allowed"]
    assert "patch" not in response


def test_all_broken_rules_are_one_422() -> None:
    broken = a_trait({"targetSize": -1, "batchPartition": 1, "lastBatchToRollout": 2})

    response = response_of(answer(VALIDATE_TRAIT, body(operation="CREATE", name="r", object=broken)))

    assert (response["allowed"], response["status"]["code"], response["status"]["reason"]) == (False, 422, "Invalid")
    assert response["status"]["message"] == (
        'RolloutTrait.standard.oam.dev "r" is invalid: [spec.rolloutPlan.targetSize: Invalid value: -1: must be '
        "greater than or equal to 0, spec.rolloutPlan.batchPartition: Invalid value: 1: must be lastBatchToRollout, "
        "which is 2, or be absent]"
    )


@pytest.mark.parametrize("path", JUDGING)
@pytest.mark.parametrize("given", [None, [], "text", 7])
def test_an_object_that_cannot_be_read_is_400(path: str, given: Any) -> None:
    response = response_of(answer(path, body(operation="CREATE", object=given)))

    assert (response["allowed"], response["status"]["code"]) == (False, 400)


@pytest.mark.parametrize("path", JUDGES)
@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{}", b"not JSON", b'{"kind": "Pod"}', b"\xff"])
def test_what_is_no_review_is_400(path: str, content: bytes) -> None:
    reply = answer(path, content)

    assert reply.status == 400
    assert 0 < len(reply.body) < 300


@pytest.mark.parametrize("path", LEFT_ALONE)
@pytest.mark.parametrize("given", [None, [], {"metadata": None, "spec": []}, a_trait({"targetSize": -1})])
def test_what_is_not_of_this_part_is_allowed_unchanged(path: str, given: Any) -> None:
    response = response_of(answer(path, body(operation="UPDATE", object=given, oldObject=given)))

    assert response == {"uid": response["uid"], "allowed": True}


@pytest.mark.parametrize("path", JUDGING)
def test_deletions_and_other_operations_pass(path: str) -> None:
    for operation in ("DELETE", "CONNECT"):
        assert response_of(answer(path, body(operation=operation, object=None)))["allowed"]


@pytest.mark.parametrize("path", JUDGES)
def test_a_recorded_review_is_decided_alike(path: str) -> None:
    seen = ReviewSnapshot(a_review(a_trait({"targetSize": -1})))
    made = DECIDERS[path].decide(seen, NOW)
    assert isinstance(made, Admit)

    record = record_of(DecidedRound(path, "ns/r", "uid-1", NOW, seen, made), ReviewSnapshot, "0")

    assert not replayed(record, DECIDERS).changes
