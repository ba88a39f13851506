"""What a RolloutTrait may say (A-1 to A-3): every rule in its words, and nothing that anybody may write is a crash."""

from __future__ import annotations

from datetime import UTC, datetime
from time import process_time
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from fairlead.contracts.plans.decide.admission.defaulting import defaulted
from fairlead.contracts.plans.decide.admission.reviews import ReviewSnapshot, default_rollout, validate_trait
from fairlead.contracts.plans.decide.admission.validation import refusals
from fairlead.contracts.plans.kinds import Json
from fairlead.core.decision import Admit
from kubeloop.objects.review import Review
from tests.contracts.plans.decide.test_reading import FIELDS, ODD

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLAN = "spec.rolloutPlan"
D1: Json = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d1"}
D2: Json = {**D1, "name": "d2"}
HOOK: Json = {"type": "initialize-rollout", "name": "h", "url": "http://hooks/start"}
METRIC: Json = {"name": "request-success-rate", "metricsRange": {"min": 99}}


def a_trait(plan: Any = None, target: Any = D2, sources: Any = (D1,), **fields: Any) -> Json:
    spec = {"targetRef": target, "sourceRef": list(sources), "rolloutPlan": {} if plan is None else plan}
    return {"metadata": {"name": "r", "namespace": "ns"}, "spec": spec, **fields}


def _refused(plan: Json, **fields: Any) -> list[str]:
    return [*refusals(a_trait(plan, **fields), "ns")]


def _review(new: Any, old: Any = None, operation: str = "") -> ReviewSnapshot:
    return ReviewSnapshot(
        Review(
            uid="u",
            name="r",
            namespace="ns",
            operation=operation or ("CREATE" if old is None else "UPDATE"),
            object=Raw(msgspec.json.encode(new)),
            old_object=Raw(msgspec.json.encode(old)),
        )
    )


def validated(new: Any, old: Any = None, operation: str = "") -> Admit:
    return validate_trait(_review(new, old, operation), NOON)


@pytest.mark.parametrize(
    "plan",
    [
        {},
        {"rolloutStrategy": "DecreaseFirst", "targetSize": 0, "numBatches": 3},
        {"numBatches": 2, "rolloutBatches": [{"replicas": 1}, {}]},
        {"lastBatchToRollout": 1, "batchPartition": 1},
        {"rolloutWebhooks": [HOOK, {**HOOK, "method": "PUT", "timeout": "1m", "expectedStatus": [208]}]},
        {"canaryMetric": [METRIC, {**METRIC, "name": "own", "templateRef": {"name": "t"}, "interval": "30s"}]},
        {"canaryMetric": [{**METRIC, "metricsRange": {"min": "0.5%", "max": 1}}]},
        {"rolloutBatches": [{"podList": ["a"]}, {"maxUnavailable": "10%", "trafficWeight": 100}]},
        {"rolloutBatches": [{"trafficMatch": [{"header": "h", "exact": "v"}]}]},
        {"onFailure": "revert", "progressDeadlineSeconds": 1, "alerts": [{"providerRef": {"name": "p"}}]},
        {"trafficRouting": {"provider": "gatewayapi", "ingressRef": {"name": "shop"}, "port": 80}},
        {"trafficRouting": {"provider": "none"}},
    ],
)
def test_a_sound_plan_is_accepted(plan: Json) -> None:
    assert _refused(plan) == []
    assert validated(a_trait(plan)).allowed


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (
            {"rolloutStrategy": "Sideways"},
            'rolloutStrategy: Invalid value: "Sideways": must be one of IncreaseFirst, DecreaseFirst',
        ),
        ({"targetSize": -1}, "targetSize: Invalid value: -1: must be greater than or equal to 0"),
        ({"numBatches": 0}, "numBatches: Invalid value: 0: must be greater than or equal to 1"),
        (
            {"numBatches": 3, "rolloutBatches": [{}]},
            "numBatches: Invalid value: 3: must be the length of rolloutBatches, 1",
        ),
        (
            {"rolloutBatches": []},
            "rolloutBatches: Invalid value: []: must not be empty: leave it out, or list batches",
        ),
        ({"batchPartition": -1}, "batchPartition: Invalid value: -1: must be greater than or equal to 0"),
        (
            {"lastBatchToRollout": 1, "batchPartition": 2},
            "batchPartition: Invalid value: 2: must be lastBatchToRollout, which is 1, or be absent",
        ),
        ({"onFailure": "cry"}, 'onFailure: Invalid value: "cry": must be one of stop, revert'),
        (
            {"progressDeadlineSeconds": 0},
            "progressDeadlineSeconds: Invalid value: 0: must be greater than or equal to 1",
        ),
        (
            {"rolloutBatches": [{"replicas": "20"}]},
            'rolloutBatches[0].replicas: Invalid value: "20": must be a number, or a percentage such as 20%',
        ),
        (
            {"rolloutBatches": [{"replicas": -2}]},
            "rolloutBatches[0].replicas: Invalid value: -2: must be greater than or equal to 0",
        ),
        (
            {"rolloutBatches": [{"maxUnavailable": "0.2"}]},
            'rolloutBatches[0].maxUnavailable: Invalid value: "0.2": must be a number, or a percentage such as 20%',
        ),
        (
            {"rolloutBatches": [{"podList": ["a"], "replicas": 1}]},
            "rolloutBatches[0].podList: Forbidden: may not be given together with replicas",
        ),
        (
            {"rolloutBatches": [{"instanceInterval": -1}]},
            "rolloutBatches[0].instanceInterval: Invalid value: -1: must be greater than or equal to 0",
        ),
        (
            {"rolloutBatches": [{"trafficWeight": 101}]},
            "rolloutBatches[0].trafficWeight: Invalid value: 101: must be from 0 to 100",
        ),
        (
            {"rolloutBatches": [{"soakSeconds": -5}]},
            "rolloutBatches[0].soakSeconds: Invalid value: -5: must be greater than or equal to 0",
        ),
        (
            {"rolloutBatches": [{"trafficMatch": [{"header": "h", "exact": "a", "prefix": "b"}]}]},
            "rolloutBatches[0].trafficMatch[0]: Required value: give one of exact, prefix and regex",
        ),
        (
            {"rolloutBatches": [{"trafficMatch": [{"exact": "a"}]}]},
            "rolloutBatches[0].trafficMatch[0].header: Required value",
        ),
        (
            {
                "trafficRouting": {"provider": "smi", "ingressRef": {"name": "shop"}},
                "rolloutBatches": [{"trafficMatch": [{"header": "h", "exact": "a"}]}],
            },
            "rolloutBatches[0].trafficMatch: Forbidden: a TrafficSplit cannot match headers",
        ),
        (
            {"rolloutBatches": [{"batchRolloutWebhooks": [HOOK]}]},
            (
                'rolloutBatches[0].batchRolloutWebhooks[0].type: Invalid value: "initialize-rollout": '
                "must be one of pre-batch-rollout, post-batch-rollout"
            ),
        ),
        (
            {"rolloutWebhooks": [{**HOOK, "type": "pre-batch-rollout"}]},
            (
                'rolloutWebhooks[0].type: Invalid value: "pre-batch-rollout": '
                "must be one of initialize-rollout, finalize-rollout"
            ),
        ),
        ({"rolloutWebhooks": [{**HOOK, "name": ""}]}, "rolloutWebhooks[0].name: Required value"),
        ({"rolloutWebhooks": [{**HOOK, "url": ""}]}, "rolloutWebhooks[0].url: Required value"),
        (
            {"rolloutWebhooks": [{**HOOK, "method": "PATCH"}]},
            'rolloutWebhooks[0].method: Invalid value: "PATCH": must be one of GET, PUT, POST',
        ),
        (
            {"rolloutWebhooks": [{**HOOK, "expectedStatus": [99]}]},
            "rolloutWebhooks[0].expectedStatus: Invalid value: 99: must be a status of HTTP, from 100 to 599",
        ),
        (
            {"rolloutWebhooks": [{**HOOK, "timeout": "-1s"}]},
            'rolloutWebhooks[0].timeout: Invalid value: "-1s": must be longer than 0',
        ),
        (
            {"canaryMetric": [{**METRIC, "interval": "5"}]},
            ('canaryMetric[0].interval: Invalid value: "5": the duration "5" has no unit: write a duration such as 5s'),
        ),
        (
            {"canaryMetric": [{**METRIC, "name": "own"}]},
            "canaryMetric[0].templateRef: Required value: only request-success-rate and request-duration need none",
        ),
        (
            {"canaryMetric": [{"name": "request-duration"}]},
            "canaryMetric[0].metricsRange: Required value: give min, max or both",
        ),
        (
            {"canaryMetric": [{**METRIC, "metricsRange": {"min": 2, "max": "1%"}}]},
            "canaryMetric[0].metricsRange.min: Invalid value: 2: must not be greater than max",
        ),
        (
            {"canaryMetric": [{**METRIC, "metricsRange": {"max": "few"}}]},
            'canaryMetric[0].metricsRange.max: Invalid value: "few": must be a number, with or without a percent sign',
        ),
        (
            {"canaryMetric": [{**METRIC, "successCount": 0}]},
            "canaryMetric[0].successCount: Invalid value: 0: must be greater than or equal to 1",
        ),
        (
            {"canaryMetric": [{**METRIC, "templateRef": {"kind": "Other", "name": "t"}}]},
            'canaryMetric[0].templateRef.kind: Invalid value: "Other": must be MetricTemplate',
        ),
        (
            {"alerts": [{"severity": "loud", "providerRef": {"name": "p"}}]},
            'alerts[0].severity: Invalid value: "loud": must be one of info, warn, error',
        ),
        ({"alerts": [{}]}, "alerts[0].providerRef.name: Required value"),
        (
            {"trafficRouting": {"provider": "smi", "ingressRef": {"namespace": "edge"}}},
            "trafficRouting.ingressRef.name: Required value",
        ),
        (
            {"trafficRouting": {"provider": "none", "port": 65536}},
            "trafficRouting.port: Invalid value: 65536: must be from 1 to 65535",
        ),
        (
            {"trafficRouting": {"provider": "none", "sourceService": "a", "targetService": "a"}},
            'trafficRouting.targetService: Invalid value: "a": must not be sourceService',
        ),
        (
            {"trafficRouting": {"provider": "pigeons"}},
            'trafficRouting.provider: Invalid value: "pigeons": must be one of istio, gatewayapi, smi, none',
        ),
        ({"numBatches": "x"}, 'numBatches: Invalid value: "x": must be a whole number of 32 bits'),
    ],
)
def test_a_2_each_broken_rule_is_one_sentence(plan: Json, sentence: str) -> None:
    assert _refused(plan) == [f"{PLAN}.{sentence}"]
    answer = validated(a_trait(plan))
    assert (answer.allowed, answer.code) == (False, 422)
    assert f"{PLAN}.{sentence}" in answer.message


@pytest.mark.parametrize(
    "url", ["hooks/start", "ftp://hooks", "http://", "http://a b", "http://a:99999", "//a", "http:a"]
)
def test_a_hook_needs_an_absolute_address(url: str) -> None:
    (found,) = _refused({"rolloutWebhooks": [{**HOOK, "url": url}]})

    assert found.startswith(f"{PLAN}.rolloutWebhooks[0].url: Invalid value: ")


@pytest.mark.parametrize(
    ("target", "sources", "sentence"),
    [
        ({**D2, "name": ""}, (D1,), "spec.targetRef.name: Required value"),
        ({**D2, "kind": ""}, (), "spec.targetRef.kind: Required value"),
        ({**D2, "apiVersion": ""}, (), "spec.targetRef.apiVersion: Required value"),
        ({**D2, "namespace": "b"}, (D1,), 'spec.targetRef.namespace: Invalid value: "b": must be empty or ns'),
        (D2, ({**D1, "name": ""},), "spec.sourceRef[0].name: Required value"),
        (
            D2,
            ({**D1, "kind": "StatefulSet"},),
            'spec.sourceRef[0].kind: Invalid value: "StatefulSet": must be of the group and kind of the target',
        ),
        (D2, (D1, D2), 'spec.sourceRef[1].name: Invalid value: "d2": must not be the target'),
    ],
)
def test_a_3_references_are_complete_and_at_home(target: Json, sources: tuple[Json, ...], sentence: str) -> None:
    assert [*refusals(a_trait(target=target, sources=sources), "ns")] == [sentence]


def test_in_place_the_source_may_be_the_target() -> None:
    same = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "namespace": "ns"}

    assert [*refusals(a_trait(target=same, sources=(same,)), "ns")] == []


def test_all_that_is_wrong_is_told_at_once() -> None:
    answer = validated(a_trait({"targetSize": -1, "numBatches": 0}))

    assert answer.message == (
        'RolloutTrait.standard.oam.dev "r" is invalid: '
        f"[{PLAN}.targetSize: Invalid value: -1: must be greater than or equal to 0, "
        f"{PLAN}.numBatches: Invalid value: 0: must be greater than or equal to 1]"
    )


def test_a_plan_and_a_spec_are_required() -> None:
    assert [*refusals({"spec": {"targetRef": D2}}, "ns")] == [f"{PLAN}: Required value"]
    assert [*refusals({}, "ns")] == ["spec: Required value"]
    assert [*refusals({"spec": 7}, "ns")] == ["spec: Invalid value: 7: must be an object"]


def test_what_cannot_be_read_is_400() -> None:
    broken = ReviewSnapshot(Review(uid="u", operation="CREATE", object=Raw(b"{")))

    assert (validate_trait(broken, NOON).code, default_rollout(broken, NOON).code) == (400, 400)
    assert validated(None).code == 400
    assert validated(a_trait(), operation="UPDATE").code == 400
    assert validated(None, operation="DELETE").allowed


def test_what_is_being_deleted_passes_whatever_it_says() -> None:
    broken = a_trait({"targetSize": -1})
    leaving = {**broken, "metadata": {"deletionTimestamp": "2026-03-01T12:00:00Z"}}

    assert validated(leaving, broken).allowed
    assert validated(broken, {**broken, "metadata": {"finalizers": ["a"]}}).allowed


@pytest.mark.parametrize(
    ("plan", "sources", "sizes"),
    [
        ({"targetSize": 8, "numBatches": 5}, (D1,), [1, 1, 2, 2, 2]),
        ({"targetSize": 8, "numBatches": 5}, (), None),
        ({"numBatches": 5}, (D1,), None),
        ({"targetSize": 8}, (D1,), None),
        ({"targetSize": 8, "numBatches": 5, "rolloutBatches": []}, (D1,), []),
        ({"targetSize": 8, "numBatches": 0}, (D1,), None),
        ({"targetSize": True, "numBatches": 2}, (D1,), None),
        ({"targetSize": 8, "numBatches": 10**9}, (D1,), None),
    ],
)
def test_a_1_batches_are_written_where_all_is_given(
    plan: Json, sources: tuple[Json, ...], sizes: list[int] | None
) -> None:
    found = defaulted(a_trait(plan, sources=sources))["spec"]["rolloutPlan"]

    assert found["rolloutStrategy"] == "IncreaseFirst"
    expected = None if sizes is None else [{"replicas": each} for each in sizes]
    assert found.get("rolloutBatches") == expected


FILLED = {"targetSize": 8, "numBatches": 4, "rolloutBatches": [{"replicas": 2}] * 4}


@pytest.mark.parametrize(
    ("stored", "changed", "sizes"),
    [
        (FILLED, {"targetSize": 12}, [3, 3, 3, 3]),
        (FILLED, {"numBatches": 2}, [4, 4]),
        (FILLED, {"targetSize": None}, None),
        (FILLED, {"targetSize": 12, "rolloutBatches": [{"replicas": 1}, {}, {}, {}]}, [1, None, None, None]),
        (FILLED, {"numBatches": None}, [2, 2, 2, 2]),
        (FILLED, {"paused": True}, [2, 2, 2, 2]),
        ({**FILLED, "rolloutBatches": [{"replicas": 1}, {}]}, {"targetSize": 12}, [1, None]),
        ({"numBatches": 4, "rolloutBatches": [{"replicas": 2}] * 4}, {"targetSize": 12}, [2, 2, 2, 2]),
    ],
)
def test_a_1_batches_that_were_written_once_follow_another_size_or_number(
    stored: Json, changed: Json, sizes: list[int | None] | None
) -> None:
    """A manifest that lists none is applied onto those that are stored, which fit nothing by then."""
    plan = {key: value for key, value in {**stored, **changed}.items() if value is not None}

    found = defaulted(a_trait(plan, sources=(D1,)), a_trait(stored, sources=(D1,)))["spec"]["rolloutPlan"]

    batches = found.get("rolloutBatches")
    assert (None if batches is None else [each.get("replicas") for each in batches]) == sizes


def test_defaults_are_a_patch_of_what_lacks() -> None:
    answer = default_rollout(_review(a_trait({})), NOON)

    assert msgspec.json.decode(answer.patch) == [
        {"op": "add", "path": "/spec/rolloutPlan/rolloutStrategy", "value": "IncreaseFirst"}
    ]
    assert default_rollout(_review(a_trait({"rolloutStrategy": "DecreaseFirst"})), NOON).patch == b""


@given(st.dictionaries(st.sampled_from(FIELDS), ODD | st.integers(0, 9)), st.booleans())
def test_defaults_given_twice_change_nothing_more(plan: Json, has_source: bool) -> None:
    given = a_trait(plan, sources=(D1,) if has_source else ())

    once = defaulted(given)

    assert defaulted(once) is once
    assert {key: value for key, value in once["spec"]["rolloutPlan"].items() if plan.get(key) not in (None, "")} == {
        key: value for key, value in plan.items() if value not in (None, "")
    }


@given(ODD, st.dictionaries(st.sampled_from(FIELDS), ODD))
def test_nothing_that_anybody_may_write_is_a_crash(spec: Any, plan: Json) -> None:
    for trait in ({"spec": spec}, a_trait(plan), a_trait(spec)):
        assert isinstance(validated(trait), Admit)
        assert isinstance(validated(trait, a_trait(plan, status={"rollingState": "initializing"})), Admit)
        assert isinstance(default_rollout(_review(trait), NOON), Admit)


def test_a_review_of_very_many_sources_takes_time_by_their_number() -> None:
    """Whoever reaches the webhook may send eight megabytes, and everybody else waits meanwhile."""
    sources = tuple({**D1, "name": f"old-{number}"} for number in range(20_000))
    begun = process_time()

    answer = validated(a_trait({}, sources=sources))

    assert process_time() - begun < 5
    assert answer.allowed
    assert "must not be named twice" in validated(a_trait({}, sources=(*sources[:3], sources[0]))).message
