"""A namespace that is deleted says what is left in it and goes with its last object, as on a real cluster."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from kubeloop.errors import ApiError
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON, MERGE_PATCH, Request, patch, path_of
from kubesim.controllers.namespaces import Left, conditions_of
from kubesim.kinds.registry import CONFIG_MAPS, DEFINITIONS, NAMESPACES, NODES
from kubesim.store.versions import Tree
from kubesim.time import run
from tests.e2e.clusters import Site, everywhere, neighbour
from tests.kubesim.controllers.world import TESTER, World, play
from tests.kubesim.trees import a_map, a_pod

pytestmark = pytest.mark.fidelity

FINE = {
    "NamespaceDeletionDiscoveryFailure": "False ResourcesDiscovered: All resources successfully discovered",
    "NamespaceDeletionGroupVersionParsingFailure": (
        "False ParsedGroupVersions: All legacy kube types successfully parsed"
    ),
    "NamespaceDeletionContentFailure": (
        "False ContentDeleted: All content successfully deleted, may be waiting on finalization"
    ),
    "NamespaceContentRemaining": "False ContentRemoved: All content successfully removed",
    "NamespaceFinalizersRemaining": "False ContentHasNoFinalizers: All content-preserving finalizers finished",
}
HELD = FINE | {
    "NamespaceContentRemaining": (
        "True SomeResourcesRemain: Some resources are remaining: configmaps. has 1 resource instances"
    ),
    "NamespaceFinalizersRemaining": (
        "True SomeFinalizersRemain: Some content in the namespace has finalizers remaining: "
        "example.com/map in 1 resource instances"
    ),
}
WIDGETS = Resource("shop.example.com", "v1", "widgets", "Widget")


def told(namespace: Tree) -> dict[str, str]:
    """What the conditions say, in their order."""
    conditions = namespace["status"].get("conditions", [])
    return {each["type"]: f"{each['status']} {each['reason']}: {each['message']}" for each in conditions}


def a_definition() -> Tree:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": WIDGETS.group, "scope": "Namespaced", "names": names, "versions": [version]}
    return {"metadata": {"name": f"widgets.{WIDGETS.group}"}, "spec": spec}


@everywhere()
async def test_a_namespace_tells_what_it_waits_for(site: Site) -> None:
    """Pods go before anything else, and what waits for pods is not counted."""
    name = f"{site.namespace}-going"
    async with neighbour(site, name) as other:
        await other.history.follow(NAMESPACES)
        await other.create(CONFIG_MAPS, a_map("held", finalizers=["example.com/map"]))
        await other.create(CONFIG_MAPS, a_map("free"))
        await other.create(PODS, a_pod("held") | {"metadata": {"name": "held", "finalizers": ["example.com/pod"]}})

        await other.client.call(Request("DELETE", path_of(NAMESPACES, name=name)))
        await other.until(lambda: told(other.history.objects(NAMESPACES)[name]))
        assert await other.get(CONFIG_MAPS, "free") is not None
        await _release(other, PODS)
        await other.until(lambda: told(other.history.objects(NAMESPACES)[name]) == HELD)
        assert await other.get(CONFIG_MAPS, "free") is None
        await _release(other, CONFIG_MAPS)
        await other.until(lambda: name not in other.history.objects(NAMESPACES))

        # Namespaces of earlier scenarios may still be on their way out, and a kind of theirs may fail to be discovered.
        states = [told(event.object) for event in other.history.of(NAMESPACES) if event.name == name]
        distinct = [state for before, state in zip([{}, *states], states, strict=False) if state != before]
        foreseen = [state for state in distinct if state in (FINE, HELD)]
        assert (foreseen if site.real else distinct)[:2] == [FINE, HELD]
        assert [list(state) for state in distinct] == [list(FINE)] * len(distinct)


async def _release(site: Site, resource: Resource) -> None:
    body = msgspec.json.encode({"metadata": {"finalizers": None}})
    await site.client.call(patch(Ref(resource, site.namespace, "held"), MERGE_PATCH, body))


@everywhere(controllers=False)
async def test_a_namespace_is_finalized_by_replacing_it_and_in_no_other_way(site: Site) -> None:
    name = f"{site.namespace}-going"
    async with neighbour(site, name) as other:
        answer = await other.client.call(Request("DELETE", path_of(NAMESPACES, name=name)))
        place = path_of(NAMESPACES, name=name, subresource="finalize")
        for request in (Request("GET", place), Request("PATCH", place, body=b"{}", content_type=MERGE_PATCH)):
            with pytest.raises(ApiError) as refused:
                await other.client.call(request)
            assert refused.value.status == 405
        found = msgspec.json.decode(answer.body)
        assert found["spec"] == {"finalizers": ["kubernetes"]}

        body = msgspec.json.encode(found | {"spec": {"finalizers": ["example.com/other"]}})
        await other.client.call(Request("PUT", place, body=body, content_type=JSON))
        held = await other.get(NAMESPACES, name)
        assert held is not None
        assert held["spec"] == {"finalizers": ["example.com/other"]}
        body = msgspec.json.encode(held | {"spec": {"finalizers": []}})
        await other.client.call(Request("PUT", place, body=body, content_type=JSON))
        assert await other.get(NAMESPACES, name) is None


def make_team(world: World) -> None:
    world.create(NAMESPACES, {"metadata": {"name": "team"}})


def namespaces(world: World) -> list[str]:
    return [each["metadata"]["name"] for each in world.verbs.list(NAMESPACES)]


def test_nothing_goes_before_everybody_has_heard() -> None:
    async def scenario(world: World) -> None:
        make_team(world)
        world.verbs.create(CONFIG_MAPS, "team", a_map(), user=TESTER)
        world.verbs.delete(NAMESPACES, "", "team", user=TESTER)

        await world.settle(4.9)
        assert "settings" in [each["metadata"]["name"] for each in world.verbs.list(CONFIG_MAPS, "team")]
        await world.settle(0.5)
        assert "team" not in namespaces(world)

    play(scenario)


def test_pods_have_their_grace() -> None:
    """It looks again after half of the longest grace period and a second, and once five seconds after it spoke."""

    async def scenario(world: World) -> None:
        make_team(world)
        world.create(NODES, {"metadata": {"name": "n"}})
        world.verbs.create(PODS, "team", a_pod(node="n", terminationGracePeriodSeconds=20), user=TESTER)
        world.verbs.delete(NAMESPACES, "", "team", user=TESTER)
        await world.settle(6.0)
        pod = world.verbs.read(PODS, "team", "web-0")
        assert pod["metadata"]["deletionGracePeriodSeconds"] == 20

        await world.settle(5.0)
        world.verbs.delete(PODS, "team", "web-0", grace=0, user="kubelet")
        await world.settle(9.0)
        assert "team" in namespaces(world)
        await world.settle(2.0)
        assert "team" not in namespaces(world)

    play(scenario)


def test_pods_that_outstay_their_grace_are_a_failure() -> None:
    async def scenario(world: World) -> None:
        make_team(world)
        world.create(NODES, {"metadata": {"name": "n"}})
        world.verbs.create(PODS, "team", a_pod(node="n", terminationGracePeriodSeconds=2), user=TESTER)
        world.verbs.delete(NAMESPACES, "", "team", user=TESTER)
        await world.settle(6.0)

        assert told(world.verbs.read(NAMESPACES, "", "team")) == FINE | {
            "NamespaceDeletionContentFailure": (
                "True ContentDeletionFailed: Failed to delete all resource types, 1 remaining: unexpected items still "
                "remain in namespace: team for gvr: /v1, Resource=pods"
            )
        }

        world.verbs.delete(PODS, "team", "web-0", grace=0, user="kubelet")
        await world.settle(120.0)
        assert "team" not in namespaces(world)

    play(scenario)


def test_custom_resources_go_along_also_those_defined_later() -> None:
    async def scenario(world: World) -> None:
        make_team(world)
        world.create(DEFINITIONS, a_definition())
        await world.settle()
        for namespace in ("team", "default"):
            world.verbs.create(WIDGETS, namespace, {"metadata": {"name": "one"}}, user=TESTER)
        world.verbs.delete(NAMESPACES, "", "team", user=TESTER)
        await world.settle(6.0)

        assert [each["metadata"]["namespace"] for each in world.verbs.list(WIDGETS)] == ["default"]
        assert "team" not in namespaces(world)

    play(scenario)


def test_finalizers_of_others_hold_the_namespace() -> None:
    """In its metadata and in its spec."""

    async def scenario(world: World) -> None:
        metadata = {"name": "team", "finalizers": ["example.com/meta"]}
        world.create(NAMESPACES, {"metadata": metadata, "spec": {"finalizers": ["example.com/spec"]}})
        world.verbs.delete(NAMESPACES, "", "team", user=TESTER)
        await world.settle(6.0)
        found = world.verbs.read(NAMESPACES, "", "team")
        assert found["spec"] == {"finalizers": ["example.com/spec"]}

        found = world.verbs.update(NAMESPACES, "", "team", found | {"spec": {}}, subresource="finalize", user=TESTER)
        assert "team" in namespaces(world)
        found["metadata"].pop("finalizers")
        world.verbs.update(NAMESPACES, "", "team", found, user=TESTER)
        assert "team" not in namespaces(world)

    play(scenario)


@pytest.mark.parametrize("status", ["False", "True"])
def test_a_condition_keeps_its_time_while_its_status_stays(status: str) -> None:
    left = Left()
    left.objects["configmaps."] = 1
    before = {
        "type": "NamespaceContentRemaining",
        "status": status,
        "reason": "x",
        "message": "y",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    }

    async def main() -> list[Tree]:
        await asyncio.sleep(0)
        return conditions_of([before], left)

    found = next(each for each in run(main()) if each["type"] == before["type"])

    assert found["message"] == "Some resources are remaining: configmaps. has 1 resource instances"
    assert (found["lastTransitionTime"] == before["lastTransitionTime"]) == (status == "True")
