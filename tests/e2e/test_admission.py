"""Admission webhooks and the optimistic write loop, the same on the embedded cluster and on the real API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import msgspec
import pytest

from kubeloop.calls import Call, Reply
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Resource
from kubeloop.request import JSON, JSON_PATCH, MERGE_PATCH, Request, path_of
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.webhooks import CONFIG_MAPS, MUTATING, VALIDATING, answering, install, patching, rule, serve

pytestmark = pytest.mark.fidelity

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
DRY = (("dryRun", "All"),)


class Answered(msgspec.Struct):
    status: int
    tree: Tree
    headers: Mapping[str, str]

    @property
    def message(self) -> str:
        return str(self.tree.get("message"))


async def send(site: Site, method: str, path: str, body: Any = None, **more: Any) -> Answered:
    """One request without the client's own attempts to do better."""
    transport = site.ground.transport("admin")
    try:
        content = b"" if body is None else json.dumps(body).encode()
        answer = await transport.send(Request(method, path, body=content, **{"content_type": JSON} | more))
    finally:
        if isinstance(transport, HttpTransport):
            await transport.close()
    return Answered(answer.status, json.loads(answer.body), answer.headers)


def config_map(name: str, **more: Any) -> Tree:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **more}, "data": {"key": "value"}}


def a_pod(name: str, **labels: str) -> Tree:
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [{"name": "main", "image": "image"}]},
    }


def a_statefulset(name: str) -> Tree:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "image"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template, "serviceName": ""}
    return {"metadata": {"name": name}, "spec": spec}


class Recorder:
    """A webhook that answers from a list, its last answer for ever, and remembers what it was asked."""

    def __init__(self, *answers: Tree) -> None:
        self.asked: list[Tree] = []
        self._answers = list(answers) or [{}]

    def __call__(self, request: Tree) -> Tree:
        self.asked.append(request)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@everywhere(controllers=False)
async def test_a_denial_has_the_webhooks_code_reason_and_text(site: Site) -> None:
    hook = Recorder(
        {"allowed": False, "status": {"code": 403, "reason": "Forbidden", "message": "not on a Friday"}},
        {"allowed": False, "status": {"code": 200, "reason": "TooEarly"}},
        {"allowed": False},
    )
    config = await serve(site, answering(hook))
    await install(site, VALIDATING, "denials", {"clientConfig": config, "rules": [rule("CREATE", "configmaps")]})
    maps = path_of(CONFIG_MAPS, site.namespace)

    answers = [await send(site, "POST", maps, config_map("denied")) for _ in range(3)]

    denied = 'admission webhook "hook-0.fairlead.test" denied the request'
    assert [(answer.status, answer.tree.get("reason"), answer.message) for answer in answers] == [
        (403, "Forbidden", f"{denied}: not on a Friday"),
        (400, "TooEarly", f"{denied}: TooEarly"),
        (400, None, f"{denied} without explanation"),
    ]
    assert all(answer.tree["status"] == "Failure" for answer in answers)
    assert await site.get(CONFIG_MAPS, "denied") is None


@everywhere(controllers=False)
async def test_a_patch_is_applied_and_seen_by_the_next_and_by_validation(site: Site) -> None:
    first = Recorder(patching({"op": "add", "path": "/metadata/labels", "value": {"first": "yes"}}))
    second = Recorder(patching({"op": "add", "path": "/metadata/labels/second", "value": "yes"}))
    judge = Recorder({"warnings": ["slow down", "slow down"]})
    about = [rule("CREATE", "configmaps")]
    configs = [
        await serve(site, answering(each), f"{name}.test.svc")
        for name, each in (("first", first), ("second", second), ("judge", judge))
    ]
    await install(
        site,
        MUTATING,
        "patches",
        {"clientConfig": configs[0], "rules": about, "reinvocationPolicy": "IfNeeded"},
        {"clientConfig": configs[1], "rules": about},
    )
    await install(site, VALIDATING, "judges", {"clientConfig": configs[2], "rules": about})

    made = await send(site, "POST", path_of(CONFIG_MAPS, site.namespace), config_map("patched"))

    assert made.status == 201
    assert made.tree["metadata"]["labels"] == {"first": "yes"}, "asked again, it replaces what the second added"
    assert [asked["object"]["metadata"].get("labels") for asked in first.asked] == [
        None,
        {"first": "yes", "second": "yes"},
    ]
    assert [asked["object"]["metadata"].get("labels") for asked in second.asked] == [{"first": "yes"}]
    assert [asked["object"]["metadata"].get("labels") for asked in judge.asked] == [{"first": "yes"}]
    assert made.headers["warning"] == '299 - "slow down"'


@everywhere(controllers=False)
async def test_a_review_tells_everything_about_the_request(site: Site) -> None:
    hook = Recorder()
    config = await serve(site, answering(hook), path="/reviews")
    await install(site, VALIDATING, "reviews", {"clientConfig": config, "rules": [rule("*", "configmaps")]})
    maps = path_of(CONFIG_MAPS, site.namespace)

    await send(site, "POST", maps, config_map("told"))
    body = {"data": {"key": "other"}}
    await send(site, "PATCH", f"{maps}/told", body, content_type=MERGE_PATCH, query=(("fieldManager", "me"),))
    await send(site, "DELETE", f"{maps}/told", {"propagationPolicy": "Background"}, query=())

    created, updated, deleted = hook.asked
    assert [asked["operation"] for asked in hook.asked] == ["CREATE", "UPDATE", "DELETE"]
    for asked in hook.asked:
        assert asked["kind"] == asked["requestKind"] == {"group": "", "version": "v1", "kind": "ConfigMap"}
        assert asked["resource"] == asked["requestResource"]
        assert asked["resource"] == {"group": "", "version": "v1", "resource": "configmaps"}
        assert (asked["name"], asked["namespace"], asked["dryRun"]) == ("told", site.namespace, False)
        assert "system:masters" in asked["userInfo"]["groups"]
        assert "subResource" not in asked
    assert (created["oldObject"], created["object"]["data"]) == (None, {"key": "value"})
    assert (updated["oldObject"]["data"], updated["object"]["data"]) == ({"key": "value"}, {"key": "other"})
    assert (deleted["oldObject"]["data"], deleted["object"]) == ({"key": "other"}, None)
    assert [asked["options"]["kind"] for asked in hook.asked] == ["CreateOptions", "UpdateOptions", "DeleteOptions"]
    assert updated["options"]["fieldManager"] == "me"
    assert deleted["options"]["propagationPolicy"] == "Background"


@everywhere(controllers=False)
async def test_a_dry_run_asks_and_stores_nothing(site: Site) -> None:
    hook = Recorder()
    config = await serve(site, answering(hook))
    await site.create(CONFIG_MAPS, config_map("kept"))
    await install(site, VALIDATING, "dry", {"clientConfig": config, "rules": [rule("*", "configmaps")]})
    maps = path_of(CONFIG_MAPS, site.namespace)

    made = await send(site, "POST", maps, config_map("tried"), query=DRY)
    gone = await send(site, "DELETE", f"{maps}/kept", query=DRY)

    assert (made.status, gone.status) == (201, 200)
    assert [(asked["operation"], asked["dryRun"]) for asked in hook.asked] == [("CREATE", True), ("DELETE", True)]
    assert await site.get(CONFIG_MAPS, "tried") is None
    assert await site.get(CONFIG_MAPS, "kept") is not None


@everywhere(controllers=False)
async def test_side_effects_must_be_none_at_least_on_a_dry_run(site: Site) -> None:
    hook = {"name": "a.fairlead.test", "clientConfig": {"url": "https://hook.test.svc/"}, "sideEffects": "Some"}
    body = {"metadata": {"name": "effects"}, "webhooks": [hook | {"admissionReviewVersions": ["v1"]}]}

    refused = await send(site, "POST", path_of(VALIDATING), body)

    assert refused.status == 422
    assert 'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"' in (
        refused.message
    )


@everywhere(controllers=False)
async def test_a_scale_is_reviewed_as_a_scale(site: Site) -> None:
    hook = Recorder({}, {"allowed": False, "status": {"message": "no"}})
    config = await serve(site, answering(hook))
    await site.create(STATEFULSETS, a_statefulset("cart"))
    await install(site, VALIDATING, "scales", {"clientConfig": config, "rules": [rule("UPDATE", "statefulsets/scale")]})
    scale = path_of(STATEFULSETS, site.namespace, "cart", "scale")

    allowed = await send(site, "PATCH", scale, {"spec": {"replicas": 3}}, content_type=MERGE_PATCH)
    denied = await send(site, "PATCH", scale, {"spec": {"replicas": 5}}, content_type=MERGE_PATCH)
    await send(site, "PATCH", scale.removesuffix("/scale"), {"spec": {"replicas": 4}}, content_type=MERGE_PATCH)

    assert (allowed.status, denied.status) == (200, 400)
    first = hook.asked[0]
    assert len(hook.asked) == 2
    assert first["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert first["resource"] == {"group": "apps", "version": "v1", "resource": "statefulsets"}
    assert (first["subResource"], first["requestSubResource"], first["name"]) == ("scale", "scale", "cart")
    assert (first["oldObject"]["kind"], first["object"]["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert [tree["spec"]["replicas"] for tree in (first["oldObject"], first["object"])] == [1, 3]
    found = await site.get(STATEFULSETS, "cart")
    assert found is not None
    assert found["spec"]["replicas"] == 4


@everywhere(controllers=False)
async def test_an_eviction_is_reviewed_before_the_pod_is_looked_at(site: Site) -> None:
    hook = Recorder({"allowed": False, "status": {"code": 429, "message": "later"}}, {}, {}, {})
    config = await serve(site, answering(hook))
    await site.create(PODS, a_pod("cart-0"))
    await install(site, VALIDATING, "evictions", {"clientConfig": config, "rules": [rule("CREATE", "pods/eviction")]})
    path = path_of(PODS, site.namespace, "cart-0", "eviction")
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "cart-0"}}

    denied = await send(site, "POST", path, eviction)
    tried = await send(site, "POST", path, eviction | {"deleteOptions": {"dryRun": ["All"]}})
    there = await site.get(PODS, "cart-0")
    done = await send(site, "POST", path, eviction)
    missing = await send(site, "POST", path, eviction)

    assert (denied.status, denied.message) == (
        429,
        'admission webhook "hook-0.fairlead.test" denied the request: later',
    )
    assert (tried.status, done.status, missing.status) == (201, 201, 404)
    assert there is not None
    assert "deletionTimestamp" not in there["metadata"]
    first, second = hook.asked[:2]
    assert first["kind"] == {"group": "policy", "version": "v1", "kind": "Eviction"}
    assert (first["resource"]["resource"], first["subResource"], first["name"]) == ("pods", "eviction", "cart-0")
    assert (first["oldObject"], first["operation"]) == (None, "CREATE")
    assert (second["dryRun"], second["object"]["deleteOptions"]["dryRun"]) == (False, ["All"])
    assert len(hook.asked) == 4


@everywhere(controllers=False)
async def test_an_eviction_spends_a_disruption_budget_and_is_refused_without(site: Site) -> None:
    for name in ("cart-0", "cart-1"):
        ready = [{"type": "Ready", "status": "True"}]
        await site.create(PODS, a_pod(name, app="cart"), status={"phase": "Running", "conditions": ready})
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "cart"}}}
    await site.create(BUDGETS, {"metadata": {"name": "cart"}, "spec": spec})

    def evict(name: str) -> tuple[str, str, Tree]:
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        return "POST", path_of(PODS, site.namespace, name, "eviction"), eviction

    unprocessed = await send(site, *evict("cart-0"))
    counts = {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}
    await site.write_status(BUDGETS, "cart", counts | {"observedGeneration": 1})
    done = await send(site, *evict("cart-0"))
    budget = await site.get(BUDGETS, "cart")
    await site.write_status(BUDGETS, "cart", {"currentHealthy": 1})
    refused = await send(site, *evict("cart-1"))

    text = "Cannot evict pod as it would violate the pod's disruption budget."
    assert (unprocessed.status, unprocessed.message) == (429, text)
    assert unprocessed.headers["retry-after"] == "10"
    assert done.status == 201
    assert budget is not None
    assert (budget["status"]["disruptionsAllowed"], list(budget["status"]["disruptedPods"])) == (0, ["cart-0"])
    assert (refused.status, refused.message, refused.tree["reason"]) == (429, text, "TooManyRequests")
    assert refused.tree["details"]["causes"] == [
        {
            "reason": "DisruptionBudget",
            "message": "The disruption budget cart needs 1 healthy pods and has 1 currently",
        }
    ]


@everywhere(controllers=False)
async def test_a_webhook_that_fails_stops_the_write_or_is_passed_over(site: Site) -> None:
    async def broken(_call: Call) -> Reply:
        return Reply(500, b"out of order", (("Content-Type", "text/plain"),))

    async def rambling(call: Call) -> Reply:
        review = json.loads(call.body)
        return Reply(200, json.dumps(review | {"response": {"uid": "other", "allowed": True}}).encode())

    hooks = [
        {
            "clientConfig": await serve(site, handler, f"{name}.test.svc"),
            "rules": [rule("CREATE", "configmaps")],
            "failurePolicy": policy,
            "objectSelector": {"matchLabels": {"ask": name}},
        }
        for name, handler, policy in (
            ("broken", broken, "Fail"),
            ("rambling", rambling, "Fail"),
            ("lenient", broken, "Ignore"),
        )
    ]
    await install(site, VALIDATING, "failing", *hooks)
    maps = path_of(CONFIG_MAPS, site.namespace)

    answers = {
        name: await send(site, "POST", maps, config_map(name, labels={"ask": name}))
        for name in ("broken", "rambling", "lenient")
    }

    assert [answer.status for answer in answers.values()] == [500, 500, 201]
    failed = "Internal error occurred: failed calling webhook"
    assert answers["broken"].message == (
        f'{failed} "hook-0.fairlead.test": failed to call webhook: '
        'an error on the server ("out of order") has prevented the request from succeeding'
    )
    assert answers["rambling"].message.startswith(
        f'{failed} "hook-1.fairlead.test": received invalid webhook response: expected response.uid='
    )
    assert answers["broken"].tree["reason"] == "InternalError"


@everywhere(controllers=False)
async def test_a_webhook_that_is_too_slow_has_failed(site: Site) -> None:
    async def hanging(_request: Tree) -> Tree:
        await asyncio.Event().wait()
        return {}

    config = await serve(site, answering(hanging))
    hook = {"clientConfig": config, "rules": [rule("CREATE", "configmaps")], "timeoutSeconds": 1}
    await install(site, VALIDATING, "slow", hook)

    refused = await send(site, "POST", path_of(CONFIG_MAPS, site.namespace), config_map("slow"))

    assert refused.status == 500
    assert refused.message.startswith(
        'Internal error occurred: failed calling webhook "hook-0.fairlead.test": failed to call webhook: '
    )


class Meddler:
    """A webhook during whose first review the object is changed by somebody else."""

    def __init__(self, site: Site, path: str) -> None:
        self.seen: list[Tree] = []
        self.meddles = True
        self._site = site
        self._path = path

    async def __call__(self, request: Tree) -> Tree:
        self.seen.append(request["object"] or request["oldObject"])
        if self.meddles:
            self.meddles = False
            body = {"metadata": {"annotations": {"meddled": str(len(self.seen))}}}
            await send(self._site, "PATCH", self._path, body, content_type=MERGE_PATCH)
        return {}


async def meddled(site: Site) -> tuple[str, Meddler]:
    """A map whose changes of data are reviewed by a webhook that lets it be changed meanwhile."""
    await site.create(CONFIG_MAPS, config_map("shared"))
    path = path_of(CONFIG_MAPS, site.namespace, "shared")
    meddler = Meddler(site, path)
    config = await serve(site, answering(meddler))
    rules = [rule("UPDATE DELETE", "configmaps")]
    await install(site, VALIDATING, "meddling", {"clientConfig": config, "rules": rules})
    return path, meddler


@everywhere(controllers=False)
async def test_a_patch_starts_again_from_the_newest_object_and_is_reviewed_again(site: Site) -> None:
    path, meddler = await meddled(site)

    patched = await send(site, "PATCH", path, {"data": {"key": "patched"}}, content_type=MERGE_PATCH)

    assert patched.status == 200
    assert patched.tree["data"] == {"key": "patched"}
    assert patched.tree["metadata"]["annotations"] == {"meddled": "1"}
    own = [tree for tree in meddler.seen if tree["data"] == {"key": "patched"}]
    assert [tree["metadata"].get("annotations") for tree in own] == [None, {"meddled": "1"}]


@everywhere(controllers=False)
async def test_a_patch_that_names_its_version_is_not_tried_again(site: Site) -> None:
    path, meddler = await meddled(site)
    before = await site.get(CONFIG_MAPS, "shared")
    assert before is not None
    version = before["metadata"]["resourceVersion"]

    operations = [
        {"op": "test", "path": "/metadata/resourceVersion", "value": version},
        {"op": "replace", "path": "/data/key", "value": "x"},
    ]
    tested = await send(site, "PATCH", path, operations, content_type=JSON_PATCH)
    body = {"metadata": {"resourceVersion": version}, "data": {"key": "y"}}
    named = await send(site, "PATCH", path, body, content_type=MERGE_PATCH)

    assert (tested.status, tested.tree["reason"]) == (422, "Invalid")
    assert (named.status, named.tree["reason"]) == (409, "Conflict")
    assert {tree["data"]["key"] for tree in meddler.seen} == {"x", "value"}


@everywhere(controllers=False)
async def test_a_replacement_that_names_its_version_is_refused_and_one_that_does_not_wins(site: Site) -> None:
    path, meddler = await meddled(site)
    before = await site.get(CONFIG_MAPS, "shared")
    assert before is not None

    refused = await send(site, "PUT", path, before | {"data": {"key": "mine"}})
    meddler.meddles = True
    won = await send(site, "PUT", path, config_map("shared") | {"data": {"key": "won"}})

    assert (refused.status, refused.tree["reason"]) == (409, "Conflict")
    assert refused.message == (
        'Operation cannot be fulfilled on configmaps "shared": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )
    assert won.status == 200
    assert won.tree["data"] == {"key": "won"}
    assert len([tree for tree in meddler.seen if tree["data"] == {"key": "won"}]) == 2


@everywhere(controllers=False)
async def test_a_deletion_is_reviewed_again_when_the_object_changed(site: Site) -> None:
    path, meddler = await meddled(site)

    gone = await send(site, "DELETE", path)

    assert gone.status == 200
    assert await site.get(CONFIG_MAPS, "shared") is None
    last = meddler.seen[-1]
    assert last["metadata"]["annotations"] == {"meddled": "1"}
    assert len(meddler.seen) == 3, "the deletion, the change, the deletion again"


@everywhere(controllers=False)
async def test_the_deletion_of_a_pod_that_runs_nowhere_is_reviewed_before_each_of_its_two_steps(site: Site) -> None:
    hook = Recorder()
    config = await serve(site, answering(hook))
    await site.create(PODS, a_pod("cart-0"))
    await install(site, VALIDATING, "deletions", {"clientConfig": config, "rules": [rule("DELETE", "pods")]})

    gone = await send(site, "DELETE", path_of(PODS, site.namespace, "cart-0"))

    assert gone.status == 200
    marked = ["deletionTimestamp" in asked["oldObject"]["metadata"] for asked in hook.asked]
    # A real server takes the second step from its cache first, and again where that does not show the first one yet.
    assert [each for each, _ in groupby(marked)] == [False, True]


@everywhere(controllers=False)
async def test_the_deletion_of_a_collection_does_not_name_the_objects(site: Site) -> None:
    hook = Recorder()
    config = await serve(site, answering(hook))
    for name in ("a", "b"):
        await site.create(CONFIG_MAPS, config_map(name, labels={"all": "yes"}))
    await install(site, VALIDATING, "collections", {"clientConfig": config, "rules": [rule("DELETE", "configmaps")]})

    maps = path_of(CONFIG_MAPS, site.namespace)
    gone = await send(site, "DELETE", maps, query=(("labelSelector", "all=yes"),))

    assert gone.status == 200
    assert [asked.get("name", "") for asked in hook.asked] == ["", ""]
    assert sorted(asked["oldObject"]["metadata"]["name"] for asked in hook.asked) == ["a", "b"]


@everywhere(controllers=False)
async def test_a_generated_name_is_known_to_validation_only(site: Site) -> None:
    mutating, validating = Recorder(), Recorder()
    about = [rule("CREATE", "configmaps")]
    for resource, name, hook in ((MUTATING, "names-m", mutating), (VALIDATING, "names-v", validating)):
        config = await serve(site, answering(hook), f"{name}.test.svc")
        await install(site, resource, name, {"clientConfig": config, "rules": about})

    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "made-"}}
    made = await send(site, "POST", path_of(CONFIG_MAPS, site.namespace), body)

    assert [asked.get("name", "") for asked in mutating.asked] == [""]
    assert [asked["name"] for asked in validating.asked] == [made.tree["metadata"]["name"]]
