"""The harness itself: what a scenario may rely on, on both clusters."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, Transport, create, delete, path_of
from kubesim.time import run
from tests.e2e import clusters
from tests.e2e.clusters import CUSTOM_RESOURCES, RealGround, SimGround, Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import a_kind_of, define
from tests.planes import Planes

WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)


@everywhere(controllers=True)
async def test_statefulset_gets_ready_pods(site: Site) -> None:
    site.start_kubelet(ready_after=0.1)

    await site.create(STATEFULSETS, a_statefulset("ingester", 3))
    await site.until(lambda: ready_replicas(site, "ingester") == 3)

    assert list(site.history.objects(PODS)) == ["ingester-0", "ingester-1", "ingester-2"]


@everywhere(controllers=False)
async def test_without_controllers_only_the_test_makes_pods(site: Site) -> None:
    """The status that the test writes stays, and so does the number of pods."""
    await site.create(STATEFULSETS, a_statefulset("ingester", 3), status={"replicas": 3, "readyReplicas": 2})

    pod = await site.create(PODS, a_pod("ingester-0"), status={"phase": "Running"})
    await site.history.caught_up()

    assert ready_replicas(site, "ingester") == 2
    assert pod["status"]["phase"] == "Running"
    assert list(site.history.objects(PODS)) == ["ingester-0"]


@everywhere(controllers=False)
async def test_history_has_every_event_in_the_order_of_the_cluster(site: Site) -> None:
    """A pod without a node is marked for deletion and gone in the next instant: two events."""
    await site.create(PODS, a_pod("first"))
    await site.create(STATEFULSETS, a_statefulset("second", 0))
    made = await site.create(PODS, a_pod("third"))
    await site.client.call(delete(Ref(PODS, site.namespace, "third", made["metadata"]["uid"])))
    await site.until(lambda: site.history.of(PODS, "DELETED"))
    await site.history.caught_up()

    told = [(event.type, event.name) for event in site.history.events]
    worlds = [sorted(world[PODS]) for _event, world in site.history.replay()]

    assert told == [
        ("ADDED", "first"),
        ("ADDED", "second"),
        ("ADDED", "third"),
        ("MODIFIED", "third"),
        ("DELETED", "third"),
    ]
    assert worlds == [["first"], ["first"], ["first", "third"], ["first", "third"], ["first"]]
    assert await site.get(PODS, "third") is None


@everywhere(controllers=False)
async def test_operator_runs_beside_the_scenario_and_can_be_killed(site: Site) -> None:
    lives: list[Transport] = []
    ended = asyncio.Event()

    async def operator(transport: Transport) -> None:
        lives.append(transport)
        site.history.wake()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    task = site.start_operator(operator)
    await site.until(lambda: lives)
    await site.stop(task)

    assert ended.is_set()


@everywhere(controllers=False, seeds=(1, 2), on=("sim",))
@pytest.mark.parametrize("number", [7])
async def test_scenario_may_have_parameters_and_fixtures(site: Site, number: int, tmp_path: object) -> None:
    assert (number, site.real) == (7, False)
    assert tmp_path


def test_what_never_holds_fails_with_the_condition() -> None:
    async def scenario(site: Site) -> None:
        await site.create(PODS, a_pod("only"))
        await site.until(lambda: "other" in site.history.objects(PODS), within=3600)

    with pytest.raises(pytest.fail.Exception, match=r'(?s)"other" in site.*never held within 3600 s.*ADDED pod/only'):
        play(scenario)


def test_failure_of_the_operator_ends_the_scenario_and_shows_as_itself() -> None:
    async def operator(_transport: Transport) -> None:
        raise LookupError("operator")

    async def scenario(site: Site) -> None:
        site.start_operator(operator)
        await asyncio.Event().wait()

    with pytest.raises(LookupError, match="operator"):
        play(scenario)


def test_skip_shows_as_itself() -> None:
    async def scenario(_site: Site) -> None:
        pytest.skip("not today")

    with pytest.raises(pytest.skip.Exception, match="not today"):
        play(scenario)


def test_task_that_a_scenario_left_behind_fails_it() -> None:
    tasks = []

    async def scenario(_site: Site) -> None:
        tasks.append(asyncio.create_task(asyncio.Event().wait()))

    with pytest.raises(AssertionError, match="tasks left behind"):
        play(scenario)


@pytest.mark.real
def test_real_cluster_is_clean_after_a_scenario_that_failed(planes: Planes) -> None:
    found: list[dict[str, Tree]] = []

    async def untidy(site: Site) -> None:
        await site.create(WEBHOOKS, a_webhook())
        await site.create(CUSTOM_RESOURCES, a_custom_resource())
        pytest.fail("on purpose")

    async def look(site: Site) -> None:
        for resource in (WEBHOOKS, CUSTOM_RESOURCES):
            await site.history.follow(resource)
            found.append(site.history.objects(resource))

    with pytest.raises(pytest.fail.Exception, match="on purpose"):
        play_for_real(planes, untidy)
    play_for_real(planes, look)

    assert found == [{}, {}]


@pytest.mark.real
def test_kinds_stay_for_the_next_scenario_that_wants_them_and_for_no_other(planes: Planes) -> None:
    """Objects of them go, and so do kinds that somebody has changed."""
    definition = a_kind_of("example.test/v1", "Pear")
    pears = Resource("example.test", "v1", "pears", "Pear")
    found: list[object] = []

    async def looks(site: Site) -> None:
        await site.history.follow(CUSTOM_RESOURCES)
        found.append(sorted(site.history.objects(CUSTOM_RESOURCES)))

    async def defines(site: Site) -> None:
        found.append(site.defined)
        await define(site, definition)
        listed = await site.client.call(Request("GET", path_of(pears)))
        assert msgspec.json.decode(listed.body)["items"] == []
        await site.create(pears, {"metadata": {"name": "one"}})

    async def changes(site: Site) -> None:
        found.append(site.defined)
        await define(site, definition)
        body = msgspec.json.encode({"spec": {"names": {"shortNames": ["p"]}}})
        path = path_of(CUSTOM_RESOURCES, name="pears.example.test")
        await site.client.call(Request("PATCH", path, body=body, content_type=MERGE_PATCH))

    for scenario in (defines, changes, defines):
        play_for_real(planes, scenario, definition)
    play_for_real(planes, looks)
    play_for_real(planes, defines, definition)

    assert found == [(), ("pears.example.test",), (), [], ()]


PEARS = Resource("example.test", "v1", "pears", "Pear")


@pytest.mark.real
@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"labels": {"ours": "true"}}},
        {"metadata": {"annotations": {"ours": "true"}}},
    ],
    ids=["a label", "an annotation"],
)
def test_kinds_on_which_somebody_has_noted_something_do_not_stay(planes: Planes, change: Tree) -> None:
    """They do not count as changed to the API server, and would be others to the next scenario."""
    definition = a_kind_of("example.test/v1", "Pear")
    found: list[object] = []

    async def notes(site: Site) -> None:
        found.append(site.defined)
        await define(site, definition)
        path = path_of(CUSTOM_RESOURCES, name="pears.example.test")
        await site.client.call(Request("PATCH", path, body=msgspec.json.encode(change), content_type=MERGE_PATCH))

    play_for_real(planes, idle)
    for _ in range(2):
        play_for_real(planes, notes, definition)

    assert found == [(), ()]


@pytest.mark.real
@pytest.mark.parametrize("scope", ["Namespaced", "Cluster"])
def test_objects_of_kinds_that_stay_go_wherever_they_are_and_whoever_holds_them(planes: Planes, scope: str) -> None:
    """Objects of other namespaces, and those that wait for somebody who has ended."""
    definition = a_kind_of("example.test/v1", "Pear")
    definition["spec"]["scope"] = scope
    pears = replace(PEARS, namespaced=scope == "Namespaced")
    found: list[object] = []

    async def leaves(site: Site) -> None:
        await define(site, definition)
        listed = await site.client.call(Request("GET", path_of(pears, "")))
        found.append((site.defined, msgspec.json.decode(listed.body)["items"]))
        for name, namespace in (("here", site.namespace), ("there", "default")):
            held = {"name": name, "finalizers": ["example.test/held"]}
            tree = {"apiVersion": "example.test/v1", "kind": "Pear", "metadata": held}
            await site.client.call(create(pears, namespace, msgspec.json.encode(tree)))

    play_for_real(planes, idle)
    for _ in range(2):
        play_for_real(planes, leaves, definition)

    assert found == [((), []), (("pears.example.test",), [])]


@pytest.mark.real
@pytest.mark.parametrize("finalizers", [["example.test/held"], None], ids=["held by somebody", "held by nobody"])
def test_kinds_go_with_their_objects_though_nobody_converts_those(planes: Planes, finalizers: list[str] | None) -> None:
    """Objects stored in an old version, of which one waits for somebody, a webhook that ended with the scenario, and
    a definition that somebody wrote without the finalizer of the API server."""
    definition = a_kind_of("example.test/v1", "Pear")
    (first,) = definition["spec"]["versions"]
    service = {"clientConfig": {"url": "https://127.0.0.1:1/"}, "conversionReviewVersions": ["v1"]}
    other = {
        "versions": [first | {"storage": False}, first | {"name": "v2"}],
        "conversion": {"strategy": "Webhook", "webhook": service},
    }
    found: list[object] = []

    async def leaves(site: Site) -> None:
        await define(site, definition)
        listed = await site.client.call(Request("GET", path_of(PEARS, "")))
        found.append(msgspec.json.decode(listed.body)["items"])
        await site.create(PEARS, {"metadata": {"name": "free"}})
        await site.create(PEARS, {"metadata": {"name": "held", "finalizers": ["example.test/held"]}})
        path = path_of(CUSTOM_RESOURCES, name="pears.example.test")
        body = msgspec.json.encode({"metadata": {"finalizers": finalizers}, "spec": other})
        await site.client.call(Request("PATCH", path, body=body, content_type=MERGE_PATCH))

    for _ in range(2):
        play_for_real(planes, leaves)

    assert found == [[], []]


async def idle(site: Site) -> None:
    """Leaves no kinds for the next one."""


def play(scenario: clusters.Scenario) -> None:
    async def sim() -> None:
        await clusters._play(SimGround(0, False), "test", scenario, {})

    run(sim())


def play_for_real(planes: Planes, scenario: clusters.Scenario, *definitions: Tree) -> None:
    ground = RealGround(planes.get(controllers=False), False, definitions)
    playing: Coroutine[Any, Any, None] = clusters._play(ground, planes.namespace(), scenario, {})
    asyncio.run(playing)


def ready_replicas(site: Site, name: str) -> int:
    found = site.history.objects(STATEFULSETS).get(name, {})
    ready: int = found.get("status", {}).get("readyReplicas", 0)
    return ready


def a_pod(name: str) -> Tree:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "none"}]}}


def a_statefulset(name: str, replicas: int) -> Tree:
    labels = {"name": name}
    return {
        "metadata": {"name": name},
        "spec": {
            "serviceName": name,
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": a_pod("template")["spec"]},
        },
    }


def a_webhook() -> Tree:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["DELETE"], "resources": ["pods"]}
    webhook = {
        "name": "never.fairlead.dev",
        "clientConfig": {"url": "https://127.0.0.1:1/never"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {"metadata": {"name": "never"}, "webhooks": [webhook]}


def a_custom_resource() -> Tree:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"}
    return {
        "metadata": {"name": "things.test.fairlead.dev"},
        "spec": {"group": "test.fairlead.dev", "scope": "Namespaced", "names": names, "versions": [version]},
    }
