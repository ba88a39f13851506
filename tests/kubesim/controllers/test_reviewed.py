"""Admission webhooks about what controllers write: they are asked as about any request, in virtual time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import pytest

from kubeloop import clock
from kubeloop.calls import Call, Handler, Reply
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.meta import Meta, Resource
from kubesim.controllers.base import ACCOUNTS, Api
from kubesim.controllers.event_recorder import Recorder as EventRecorder
from kubesim.kinds.registry import (
    CONFIG_MAPS,
    DAEMON_SETS,
    MUTATING_WEBHOOKS,
    NAMESPACES,
    SECRETS,
    STATEFUL_SETS,
)
from kubesim.store.versions import Tree
from tests.kubesim.controllers.test_daemonset import a_node
from tests.kubesim.controllers.test_judged import a_workload
from tests.kubesim.controllers.world import NAMESPACE, World, play
from tests.kubesim.hooks import HOST, Recorder, a_hook, a_rule, answering, configure, patching

WORKLOADS = pytest.mark.parametrize(
    ("resource", "controller"),
    [
        (STATEFUL_SETS, "statefulset-controller"),
        (DEPLOYMENTS, "replicaset-controller"),
        (DAEMON_SETS, "daemon-set-controller"),
    ],
    ids=["StatefulSet", "Deployment", "DaemonSet"],
)
NEW_PODS = a_rule("CREATE", "pods")
LABELLED = patching({"op": "add", "path": "/metadata/labels/group", "value": "7"})


def make(world: World, resource: Resource, replicas: int = 2) -> None:
    """The workload; of daemons there are as many as nodes."""
    tree = a_workload(resource, replicas)
    if resource == DAEMON_SETS:
        del tree["spec"]["replicas"]
        for number in range(replicas):
            a_node(world, f"node-{number}")
    world.create(resource, tree)


def with_hook(
    script: Callable[[World], Awaitable[None]],
    handler: Handler | None,
    kind: str = "mutating",
    *rules: Tree,
    **more: Any,
) -> World:
    """The world after the script, played under a webhook about new pods or what the rules say."""

    async def scenario(world: World) -> None:
        if handler is not None:
            world.cluster.network.serve(HOST, handler)
        hook = a_hook("one", *(rules or (NEW_PODS,)), **more)
        assert (await configure(world.cluster, kind, "configured", hook)).status == 201
        await script(world)

    return play(scenario)


def creates(resource: Resource, replicas: int = 2, seconds: float = 5) -> Callable[[World], Awaitable[None]]:
    async def script(world: World) -> None:
        make(world, resource, replicas)
        await world.settle(seconds)

    return script


def told(world: World, reason: str) -> list[str]:
    return [text for text in world.events() if text.startswith(f"{reason}:")]


@WORKLOADS
def test_a_pod_of_a_controller_is_stored_as_a_webhook_made_it(resource: Resource, controller: str) -> None:
    gate = {"op": "add", "path": "/spec/schedulingGates", "value": [{"name": "group"}]}
    variable = {"op": "add", "path": "/spec/containers/0/env", "value": [{"name": "INDEX", "value": "0"}]}
    label = {"op": "add", "path": "/metadata/labels/group", "value": "7"}

    world = with_hook(creates(resource), answering(lambda _request: patching(label, variable, gate)))

    pods = list(world.pods().values())
    assert len(pods) == 2
    assert [pod["metadata"]["labels"]["group"] for pod in pods] == ["7", "7"]
    assert [pod["spec"]["containers"][0]["env"] for pod in pods] == [[{"name": "INDEX", "value": "0"}]] * 2
    assert [pod["spec"]["schedulingGates"] for pod in pods] == [[{"name": "group"}]] * 2


@WORKLOADS
def test_a_webhook_is_told_which_controller_asks_for_what(resource: Resource, controller: str) -> None:
    hook = Recorder()

    with_hook(creates(resource, 1, seconds=20), hook, "validating")

    asked = hook.asked[0][1]
    assert asked["userInfo"] == {
        "username": f"system:serviceaccount:kube-system:{controller}",
        "groups": ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"],
    }
    assert (asked["operation"], asked["dryRun"], asked["namespace"]) == ("CREATE", False, NAMESPACE)
    assert asked["name"] == asked["object"]["metadata"]["name"]
    assert asked["object"]["metadata"]["generateName"].startswith("web-")
    assert asked["options"] == {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"}


def test_a_generated_name_is_there_after_mutation_only() -> None:
    names: list[str | None] = []
    handler = answering(lambda request: names.append(request.get("name")) or {})  # type: ignore[func-returns-value]

    world = with_hook(creates(DEPLOYMENTS, 1), handler)

    assert names == [None]
    assert len(world.pods()) == 1


@WORKLOADS
def test_a_refused_pod_is_told_of_and_tried_again_later_and_later(resource: Resource, controller: str) -> None:
    moments: list[float] = []

    def refuse(_request: Tree) -> Tree:
        moments.append(clock.monotonic())
        return {"allowed": False, "status": {"message": "not today"}}

    world = with_hook(creates(resource, 1, seconds=60), answering(refuse), "validating")

    pauses = [later - earlier for earlier, later in pairwise(moments)]
    assert world.made() == []
    assert all(
        'admission webhook "one.example.com" denied the request: not today' in text
        for text in told(world, "FailedCreate")
    )
    assert told(world, "FailedCreate") != []
    assert 5 < len(moments) < 20
    assert pauses[-1] > 10 * pauses[0]


@WORKLOADS
def test_a_controller_goes_on_once_its_pod_is_let_pass(resource: Resource, controller: str) -> None:
    begun = -1.0

    def refuse_for_a_while(_request: Tree) -> Tree:
        nonlocal begun
        begun = clock.monotonic() if begun < 0 else begun
        return {"allowed": clock.monotonic() > begun + 30}

    world = with_hook(creates(resource, 2, seconds=120), answering(refuse_for_a_while), "validating")

    assert len(world.pods()) == 2


def test_a_parallel_set_makes_what_is_in_the_batch_of_a_refused_pod() -> None:
    """Batches are 0, 1 to 2, 3 to 6: with 1 refused, 2 is made and 3 is not even tried."""
    asked: list[str] = []

    def refuse(request: Tree) -> Tree:
        asked.append(request["name"])
        return {"allowed": request["name"] != "web-1"}

    world = with_hook(creates(STATEFUL_SETS, 5), answering(refuse), "validating")

    assert sorted(world.pods()) == ["web-0", "web-2"]
    assert "web-3" not in asked


def test_sets_are_grown_slowly_while_pods_are_refused() -> None:
    """One refusal a round, not one for each of the hundred pods."""
    asked: list[float] = []

    def refuse(_request: Tree) -> Tree:
        asked.append(clock.monotonic())
        return {"allowed": False}

    with_hook(creates(DEPLOYMENTS, 100, seconds=3), answering(refuse), "validating")

    assert len(asked) == len(set(asked)) > 3


def test_pods_of_a_batch_wait_for_a_webhook_together() -> None:
    hook = Recorder()

    world = with_hook(creates(DEPLOYMENTS, 7, seconds=3.5), hook, "validating")

    assert hook.most_at_once == 4
    assert len(world.pods()) == 7


def test_a_slow_webhook_holds_up_its_own_controller_alone() -> None:
    """Nobody waits with the worker that waits, neither other sets of the same controller nor the clock."""

    async def slow(request: Tree) -> Tree:
        if request["object"]["metadata"]["labels"]["app"] == "slow":
            await asyncio.sleep(9)
        return {}

    async def script(world: World) -> None:
        for name in ("slow", "web"):
            labels = {"app": name}
            tree = a_workload(STATEFUL_SETS)
            tree["metadata"]["name"] = name
            tree["spec"] |= {"selector": {"matchLabels": labels}, "podManagementPolicy": "OrderedReady"}
            tree["spec"]["template"]["metadata"]["labels"] = labels
            world.create(STATEFUL_SETS, tree)
        world.create(CONFIG_MAPS, {"metadata": {"name": "old"}})
        await world.settle(1)
        assert list(world.pods()) == ["web-0"]
        world.make_ready("web-0")
        await world.settle(1)
        assert list(world.pods()) == ["web-0", "web-1"]
        await world.settle(9)
        assert sorted(world.pods()) == ["slow-0", "web-0", "web-1"]

    with_hook(script, answering(slow))


@pytest.mark.parametrize(("policy", "count"), [("Ignore", 2), ("Fail", 0)])
def test_a_webhook_that_does_not_answer_in_time_counts_as_its_policy_says(policy: str, count: int) -> None:
    async def never(_request: Tree) -> Tree:
        await asyncio.sleep(3600)
        return {}

    world = with_hook(creates(STATEFUL_SETS, seconds=30), answering(never), failurePolicy=policy, timeoutSeconds=3)

    assert len(world.pods()) == count
    failures = told(world, "FailedCreate")
    assert all("context deadline exceeded" in text for text in failures)
    assert bool(failures) == (count == 0)


@pytest.mark.parametrize(("policy", "count"), [("Ignore", 2), ("Fail", 0)])
def test_a_webhook_that_is_not_there_counts_as_its_policy_says(policy: str, count: int) -> None:
    world = with_hook(creates(DEPLOYMENTS), None, failurePolicy=policy)

    assert len(world.pods()) == count
    assert all('failed calling webhook "one.example.com"' in text for text in told(world, "FailedCreate"))


@pytest.mark.parametrize(("policy", "count"), [("Ignore", 2), ("Fail", 0)])
@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"kind":"AdmissionReview"}'])
def test_a_webhook_that_answers_garbage_counts_as_its_policy_says(policy: str, count: int, body: bytes) -> None:
    async def garbage(_call: Call) -> Reply:
        return Reply(200, body)

    world = with_hook(creates(STATEFUL_SETS), garbage, failurePolicy=policy)

    assert len(world.pods()) == count


def test_a_pod_whose_deletion_is_refused_stays_and_is_told_of() -> None:
    async def script(world: World) -> None:
        make(world, STATEFUL_SETS, 3)
        await world.settle(2)
        world.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 2}})
        await world.settle(5)

    refuse = answering(lambda request: {"allowed": request["name"] != "web-2"})
    world = with_hook(script, refuse, "validating", a_rule("DELETE", "pods"))

    assert sorted(world.pods()) == ["web-0", "web-1", "web-2"]
    assert any("delete Pod web-2" in text.replace("Delete", "delete") for text in told(world, "FailedDelete"))


def test_a_label_that_the_selector_needs_may_be_taken_away() -> None:
    """The set lets the pod go, finds its name taken, and makes no other."""
    taken = patching({"op": "remove", "path": "/metadata/labels/app"})

    world = with_hook(creates(STATEFUL_SETS, 1, seconds=30), answering(lambda _request: taken))

    assert world.made() == ["web-0"]
    assert "ownerReferences" not in world.pods()["web-0"]["metadata"]


def test_later_changes_are_shown_to_a_webhook_that_wants_to_see_them() -> None:
    seen: list[tuple[str, str | None]] = []

    async def handler(call: Call) -> Reply:
        name = call.url.strip("/").partition("?")[0]
        label = json.loads(call.body)["request"]["object"]["metadata"]["labels"].get("group")
        seen.append((name, label))
        return await answering(lambda _request: LABELLED if name == "two" and label is None else {})(call)

    async def script(world: World) -> None:
        world.cluster.network.serve(HOST, handler)
        hooks = [a_hook(name, NEW_PODS, reinvocationPolicy="IfNeeded") for name in ("one", "two")]
        await configure(world.cluster, "mutating", "configured", *hooks)
        make(world, STATEFUL_SETS, 1)
        await world.settle(2)

    world = play(script)

    assert seen == [("one", None), ("two", None), ("one", "7")]
    assert world.pods()["web-0"]["metadata"]["labels"]["group"] == "7"


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ({"objectSelector": {"matchLabels": {"app": "web"}}}, ["web-0"]),
        ({"objectSelector": {"matchLabels": {"app": "other"}}}, []),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": NAMESPACE}}}, ["web-0"]),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "other"}}}, []),
        (
            {"matchConditions": [{"name": "c", "expression": "request.userInfo.username.endsWith('set-controller')"}]},
            ["web-0"],
        ),
        ({"matchConditions": [{"name": "c", "expression": "request.userInfo.username == 'admin'"}]}, []),
    ],
)
def test_a_webhook_is_asked_about_what_it_selects(more: Tree, names: list[str]) -> None:
    hook = Recorder()

    world = with_hook(creates(STATEFUL_SETS, 1), hook, "validating", **more)

    assert [request["name"] for _, request in hook.asked] == names
    assert len(world.pods()) == 1


def test_events_that_wait_for_a_webhook_hold_up_no_controller() -> None:
    async def slow(_request: Tree) -> Tree:
        await asyncio.sleep(5)
        return {}

    async def script(world: World) -> None:
        make(world, STATEFUL_SETS, 3)
        await world.settle(1)
        assert len(world.pods()) == 3
        assert world.events() == {}
        await world.settle(30)

    world = with_hook(script, answering(slow), "validating", a_rule("*", "events"))

    assert len(told(world, "SuccessfulCreate")) == 3


def test_a_webhook_about_an_equivalent_kind_sees_what_controllers_write_as_that_kind() -> None:
    hook = Recorder()
    rule = a_rule("CREATE", "events", apiGroups=["events.k8s.io"])

    with_hook(creates(STATEFUL_SETS, 1), hook, "validating", rule, matchPolicy="Equivalent")

    asked = hook.asked[0][1]
    assert (asked["kind"]["group"], asked["requestKind"]["group"]) == ("events.k8s.io", "")
    assert asked["object"]["note"] == "Create Pod web-0 in StatefulSet web successful"


def test_a_pod_whose_set_goes_while_a_webhook_thinks_is_garbage() -> None:
    async def slow(_request: Tree) -> Tree:
        await asyncio.sleep(5)
        return {}

    async def script(world: World) -> None:
        make(world, STATEFUL_SETS, 1)
        await world.settle(2)
        world.delete(STATEFUL_SETS, "web", "Background")
        await world.settle(10)

    world = with_hook(script, answering(slow))

    assert world.made() == ["web-0"]
    assert world.pods() == {}


def test_a_namespace_says_which_webhook_keeps_its_content() -> None:
    asked: list[Tree] = []

    def refuse(request: Tree) -> Tree:
        asked.append(request)
        return {"allowed": False, "status": {"message": "it is needed"}}

    async def script(world: World) -> None:
        world.create(NAMESPACES, {"metadata": {"name": "kept"}})
        await world.settle(2)
        world.verbs.create(SECRETS, "kept", {"metadata": {"name": "a"}}, user="tester")
        world.verbs.delete(NAMESPACES, "", "kept", user="tester")
        await world.settle(20)

    world = with_hook(script, answering(refuse), "validating", a_rule("DELETE", "secrets"))

    told = {each["type"]: each for each in world.verbs.read(NAMESPACES, "", "kept")["status"]["conditions"]}
    failure = told["NamespaceDeletionContentFailure"]
    assert 'admission webhook "one.example.com" denied the request: it is needed' in failure["message"]
    assert "name" not in asked[0], "all of a kind are deleted as a collection"
    assert asked[0]["options"]["propagationPolicy"] == "Background"


def test_a_configuration_that_comes_later_counts_from_then_on() -> None:
    """Pods that are alike have a short way, which is not taken past a webhook, and is taken again after it."""

    async def script(world: World) -> None:
        world.cluster.network.serve(HOST, answering(lambda _request: LABELLED))
        make(world, STATEFUL_SETS, 2)
        await world.settle(2)
        await configure(world.cluster, "mutating", "configured", a_hook("one", NEW_PODS))
        world.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 4}})
        await world.settle(2)
        world.verbs.delete(MUTATING_WEBHOOKS, "", "configured", user="tester")
        world.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 6}})
        await world.settle(2)

    world = play(script)

    groups = {name: pod["metadata"]["labels"].get("group") for name, pod in sorted(world.pods().items())}
    assert groups == {"web-0": None, "web-1": None, "web-2": "7", "web-3": "7", "web-4": None, "web-5": None}


def test_what_is_told_before_a_controller_runs_is_written_once_it_does() -> None:
    """Views are shared, so that a controller may hear of changes before it has begun."""

    async def script(world: World) -> None:
        recorder = EventRecorder(Api(world.verbs, f"{ACCOUNTS}early-controller"), "early")
        about = Meta("web", "1", "1", NAMESPACE)
        recorder.tell(STATEFUL_SETS, about, "Early", "too early")
        recorder.tell(STATEFUL_SETS, about, "Early", "still too early")
        await world.settle(5)
        assert world.events() == {}
        async with asyncio.TaskGroup() as tasks:
            recorder.work_in(tasks)

    world = with_hook(script, answering(lambda _request: {}), "validating", a_rule("*", "events"))

    assert set(world.events()) == {"Early: too early", "Early: still too early"}
