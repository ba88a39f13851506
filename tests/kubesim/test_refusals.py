"""Corners of requests that the real API server refuses or corrects, in its sentences."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.request import JSON_PATCH
from tests.kubesim.desk import MAP, Desk, Tree, a_deployment, a_map, decoded, played

CORE = "/api/v1/namespaces/default"
MAPS = f"{CORE}/configmaps"
APPS = "/apis/apps/v1/namespaces/default"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
JOBS = "/apis/batch/v1/namespaces/default/jobs"
OVER = "Invalid value: 0: cannot be greater than status.replicas"
ELSEWHERE = "00000000-0000-4000-8000-000000000000"
POD = {"containers": [{"name": "c", "image": "c:1"}], "restartPolicy": "Never"}


@pytest.mark.parametrize(("length", "status"), [(31_000, 200), (31_456, 422)])
def test_a_patch_copies_no_more_than_three_mebibytes(length: int, status: int) -> None:
    """A hundred copies, each of which takes the place of the one before."""

    async def script(desk: Desk) -> int:
        await desk.send("POST", MAPS, a_map({"a": "x" * length}))
        steps = [{"op": "copy", "from": "/data/a", "path": "/data/b"}] * 100
        return (await desk.send("PATCH", MAP, steps, JSON_PATCH)).status

    assert played(script) == status


def test_copies_of_copies_end() -> None:
    async def script(desk: Desk) -> Any:
        await desk.send("POST", MAPS, a_map({"a": "x" * 1000}))
        steps = [{"op": "copy", "from": "/data", "path": f"/data/b{number}"} for number in range(1000)]
        return await desk.send("PATCH", MAP, steps, JSON_PATCH)

    answer = played(script)

    assert answer.status == 422
    assert decoded(answer)["message"] == "the server rejected our request due to an error in our request"


@pytest.mark.parametrize(("kind", "first"), [("Deployment", "updatedReplicas"), ("ReplicaSet", "fullyLabeledReplicas")])
def test_counts_of_a_status_are_compared_where_they_are_not_told(kind: str, first: str) -> None:
    plural = f"{APPS}/{kind.lower()}s"

    async def script(desk: Desk) -> Any:
        await desk.send("POST", plural, a_deployment(replicas=0) | {"kind": kind})
        return await desk.merge({"status": {"replicas": -1}}, path=f"{plural}/web/status")

    answer = played(script)

    more = ", ".join(f"status.{key}: {OVER}" for key in (first, "readyReplicas", "availableReplicas"))
    text = f"[status.replicas: Invalid value: -1: must be greater than or equal to 0, {more}]"
    assert answer.status == 422
    assert decoded(answer)["message"] == f'{kind}.apps "web" is invalid: {text}'


def test_a_status_that_is_null_forgets_collisions() -> None:
    async def script(desk: Desk) -> Any:
        await desk.send("POST", f"{APPS}/deployments", a_deployment(replicas=0))
        await desk.merge({"status": {"collisionCount": 0}}, path=f"{APPS}/deployments/web/status")
        return await desk.merge({"status": None}, path=f"{APPS}/deployments/web/status")

    answer = played(script)

    text = "status.collisionCount: Invalid value: 0: cannot be decremented"
    assert answer.status == 422
    assert decoded(answer)["message"] == f'Deployment.apps "web" is invalid: {text}'


def test_another_name_is_told_before_another_uid() -> None:
    async def script(desk: Desk) -> Any:
        await desk.send("POST", MAPS, a_map())
        return await desk.send("PUT", MAP, a_map(name="other", uid=ELSEWHERE))

    answer = played(script)

    text = "the name of the object (other) does not match the name on the URL (settings)"
    assert (answer.status, decoded(answer)["message"]) == (400, text)


@pytest.mark.parametrize(("method", "when"), [("POST", ""), ("PATCH", " after mutating admission happens")])
def test_an_owner_is_named_once(method: str, when: str) -> None:
    owners = [{"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": uid} for uid in ("u", "v", "u")]

    async def script(desk: Desk) -> Any:
        if method == "POST":
            return await desk.send("POST", MAPS, a_map(ownerReferences=owners))
        await desk.send("POST", MAPS, a_map())
        return await desk.merge({"metadata": {"ownerReferences": owners}})

    answer = played(script)

    text = (
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, "
        "and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u"
    )
    assert decoded(answer)["metadata"]["ownerReferences"] == owners[:2]
    assert answer.headers["warning"] == f'299 - "{text}"'


@pytest.mark.parametrize(
    ("timeout", "why"),
    [
        ("abc", "invalid duration"),
        ("-", "invalid duration"),
        ("5", "missing unit in duration"),
        ("5x", 'unknown unit "x" in duration'),
    ],
)
def test_a_time_limit_is_a_duration(timeout: str, why: str) -> None:
    answer = played(lambda desk: desk.send("GET", MAPS, timeout=timeout))

    text = f'invalid timeout specified in the request URL - time: {why} "{timeout}"'
    assert (answer.status, decoded(answer)["message"]) == (400, text)


@pytest.mark.parametrize("timeout", ["32s", "1h2m3.5s", "-1s", "0", ""])
def test_other_time_limits_are_taken(timeout: str) -> None:
    assert played(lambda desk: desk.send("GET", MAPS, timeout=timeout)).status == 200


def _autoscaler(**behavior: Tree) -> Tree:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {"metadata": {"name": "a"}, "spec": {"maxReplicas": 2, "scaleTargetRef": target, "behavior": behavior}}


def _slice(*zones: str) -> Tree:
    hints = {"forZones": [{"name": zone} for zone in zones]}
    return {
        "metadata": {"name": "a"},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.1.2.3"], "hints": hints}],
    }


def _job(**spec: Any) -> Tree:
    return {"metadata": {"name": "a"}, "spec": {"template": {"spec": POD}} | spec}


def _failing(**codes: Any) -> Tree:
    return _job(podFailurePolicy={"rules": [{"action": "FailJob", "onExitCodes": codes}]})


_CODES = "spec.podFailurePolicy.rules[0].onExitCodes"


@pytest.mark.parametrize(
    ("path", "tree", "words"),
    [
        (
            f"{CORE}/services",
            {"metadata": {"name": "a"}, "spec": {"ports": [{"port": 80}], "internalTrafficPolicy": ""}},
            'spec.internalTrafficPolicy: Unsupported value: "": supported values: "Cluster", "Local"',
        ),
        (
            AUTOSCALERS,
            _autoscaler(scaleUp={"policies": []}),
            "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy",
        ),
        (
            POLICIES,
            {"metadata": {"name": "a"}, "spec": {"failurePolicy": "", "validations": [{"expression": "true"}]}},
            'spec.failurePolicy: Unsupported value: "": supported values: "Fail", "Ignore"',
        ),
        (
            JOBS,
            _job(completionMode=""),
            'spec.completionMode: Unsupported value: "": supported values: "NonIndexed", "Indexed"',
        ),
        (JOBS, _failing(operator="", values=[1]), f'{_CODES}.operator: Required value: valid values: ["In" "NotIn"]'),
        (
            JOBS,
            _failing(operator="In", values=[]),
            f"{_CODES}.values: Invalid value: []: at least one value is required",
        ),
        (SLICES, _slice("a", "a"), 'endpoints[0].hints.forZones[1].name: Duplicate value: "a"'),
        (SLICES, _slice(*"abcdefghi"), "endpoints[0].hints.forZones: Too many: 9: must have at most 8 items"),
        (
            f"{CORE}/pods",
            {"metadata": {"name": "a"}, "spec": POD | {"tolerations": [{"key": "a", "operator": "x\x7f"}]}},
            'spec.tolerations[0].operator: Unsupported value: "x\x7f": supported values: "Equal", "Exists"',
        ),
    ],
)
def test_what_is_empty_or_odd_is_refused(path: str, tree: Tree, words: str) -> None:
    answer = played(lambda desk: desk.send("POST", path, tree))

    assert answer.status == 422
    assert words in decoded(answer)["message"]


def test_the_conditions_of_a_budget_are_looked_at() -> None:
    async def script(desk: Desk) -> Any:
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
        await desk.send("POST", BUDGETS, {"metadata": {"name": "web"}, "spec": spec})
        return await desk.merge(
            {"status": {"conditions": [{"type": "X", "status": "Q"}]}}, path=f"{BUDGETS}/web/status"
        )

    answer = played(script)

    at = "status.conditions[0]"
    text = (
        f'[{at}.status: Unsupported value: "Q": supported values: "False", "True", "Unknown", '
        f"{at}.lastTransitionTime: Required value, {at}.reason: Required value]"
    )
    assert decoded(answer)["message"] == f'PodDisruptionBudget.policy "web" is invalid: {text}'
