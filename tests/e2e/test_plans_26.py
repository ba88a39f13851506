"""Acceptance scenario of a custom kind: a WorkloadDefinition says where it keeps what plans read and write."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from fairlead.contracts.plans.install.definitions import definitions as all_definitions
from fairlead.contracts.plans.kinds import FAILED, WORKLOAD_DEFINITIONS
from fairlead.engine.driver.answer_cache import SERVED_FOR
from kubeloop import request
from kubeloop.errors import NotFound
from kubeloop.objects.meta import Ref, Resource
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.plan_play import Play, batches, begin, pods_of, reference
from tests.e2e.plans import definitions

GIZMOS = Resource("toys.example.com", "v1", "gizmos", "Gizmo")
LATER_GIZMOS = Resource("toys.example.com", "v2", "gizmos", "Gizmo")
FREE: Tree = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
GIZMO_DEFINITION: Tree = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "gizmos.toys.example.com"},
    "spec": {
        "group": GIZMOS.group,
        "scope": "Namespaced",
        "names": {"plural": "gizmos", "kind": "Gizmo", "singular": "gizmo", "listKind": "GizmoList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": FREE, "status": FREE}}},
            }
        ],
    },
}
PATHS: Tree = {
    "style": "pair",
    "replicasPath": "spec.count",
    "pausedPath": "spec.stopped",
    "podTemplatePath": "spec.template",
    "status": {
        "replicasPath": "status.there",
        "readyPath": "status.serving",
        "observedGenerationPath": "status.observedGeneration",
    },
}


def needed() -> tuple[Tree, ...]:
    """The kinds of the scenario."""
    name = f"{WORKLOAD_DEFINITIONS.plural}.{WORKLOAD_DEFINITIONS.group}"
    (extensions,) = (each for each in all_definitions() if each["metadata"]["name"] == name)
    return *definitions(), extensions, GIZMO_DEFINITION


async def follow(site: Site) -> None:
    """The controller of Gizmos: what is asked for is there and serves."""
    done: dict[str, int] = {}
    while True:
        moment = site.history.moment
        for name, tree in site.history.objects(GIZMOS).items():
            generation = tree["metadata"]["generation"]
            if done.get(name, 0) < generation:
                done[name] = generation
                count = 0 if tree["spec"].get("stopped") else tree["spec"]["count"]
                status = {"there": count, "serving": count, "observedGeneration": generation}
                await site.write_status(GIZMOS, name, status)
        await site.history.past(moment)


async def begun(site: Site, extension: Tree | None) -> Play:
    await define(site, *needed()[1:])
    play = await begin(site)
    await site.history.follow(GIZMOS)
    site.start(follow(site))
    spec = {"definitionRef": {"name": "gizmos.toys.example.com"}}
    extended = spec if extension is None else {**spec, "extension": {"rollout": extension}}
    await site.create(WORKLOAD_DEFINITIONS, {"metadata": {"name": "gizmo"}, "spec": extended})
    for name, count in (("d1", 5), ("d2", 0)):
        gizmo = {"count": count, "stopped": name == "d2", "template": pods_of(name, name)["template"]}
        await site.create(GIZMOS, {"metadata": {"name": name}, "spec": gizmo})
    await play.until(lambda: play.object(GIZMOS, "d1").get("status", {}).get("serving") == 5)
    await play.until(lambda: "status" in play.object(GIZMOS, "d2"))
    await play.roll(batches("10%", "40%", "50%"), reference("d2", GIZMOS), reference("d1", GIZMOS))
    return play


def counts(play: Play, name: str) -> list[int]:
    found = [
        each.object["spec"]["count"] for each in play.site.history.of(GIZMOS, "ADDED", "MODIFIED") if each.name == name
    ]
    return [each for place, each in enumerate(found) if not place or found[place - 1] != each]


@everywhere(definitions=needed)
async def test_scenario_26_custom_kind(site: Site) -> None:
    """The happy pair, on a kind of somebody else's."""
    play = await begun(site, PATHS)

    await play.ends()

    assert counts(play, "d2") == [0, 1, 3, 5]
    assert counts(play, "d1") == [5, 4, 2, 0]
    assert play.owners("d1", GIZMOS) == play.owners("d2", GIZMOS) == []


@everywhere(definitions=needed, on=("sim",))
async def test_scenario_26_without_an_extension_the_kind_is_not_supported(site: Site) -> None:
    play = await begun(site, None)

    await play.ends(FAILED)

    assert play.condition("RolloutSpecVerifying")["message"] == "the workload kind `Gizmo` is not supported"
    assert counts(play, "d2") == [0]


@everywhere(definitions=needed, on=("sim",))
async def test_a_custom_workload_that_is_not_there_is_named(site: Site) -> None:
    """Its kind is listed for the first time, and no object wakes the rollout."""
    await define(site, *needed()[1:])
    play = await begin(site)
    extended = {"definitionRef": {"name": "gizmos.toys.example.com"}, "extension": {"rollout": PATHS}}
    await site.create(WORKLOAD_DEFINITIONS, {"metadata": {"name": "gizmo"}, "spec": extended})

    await play.roll(batches(1), reference("d2", GIZMOS))

    await play.until(lambda: play.condition("RolloutSpecVerifying").get("message") == "the Gizmo d2 is not there")


async def serve(site: Site) -> None:
    """The same controller, in whichever version Gizmos are served, for runs that change it."""
    while True:
        for resource in (GIZMOS, LATER_GIZMOS):
            try:
                listed = await site.client.list(resource, dict[str, Any], namespace=site.namespace)
            except NotFound:
                continue
            for tree in listed.items:
                generation, spec = tree["metadata"]["generation"], tree["spec"]
                if tree.get("status", {}).get("observedGeneration") != generation:
                    count = 0 if spec.get("stopped") else spec["count"]
                    status = {"there": count, "serving": count, "observedGeneration": generation}
                    await site.write_status(resource, tree["metadata"]["name"], status)
        await asyncio.sleep(1)


@everywhere(definitions=needed, on=("sim",))
async def test_a_custom_kind_that_is_served_in_another_version_from_now_on_is_rolled_on(site: Site) -> None:
    """The definition is upgraded in the middle of a rollout: the version that is watched is served no longer."""
    await define(site, *needed()[1:])
    play = await begin(site)
    site.start(serve(site))
    spec = {"definitionRef": {"name": "gizmos.toys.example.com"}, "extension": {"rollout": PATHS}}
    await site.create(WORKLOAD_DEFINITIONS, {"metadata": {"name": "gizmo"}, "spec": spec})
    for name, count in (("d1", 4), ("d2", 0)):
        gizmo = {"count": count, "stopped": name == "d2", "template": pods_of(name, name)["template"]}
        await site.create(GIZMOS, {"metadata": {"name": name}, "spec": gizmo})
    await play.roll(batches("50%", "50%", batchPartition=0), reference("d2", GIZMOS), reference("d1", GIZMOS))

    async def size(resource: Resource, name: str) -> int:
        found = await site.get(resource, name)
        return -1 if found is None else int(found["spec"]["count"])

    async def is_half() -> bool:
        return (await size(GIZMOS, "d1"), await size(GIZMOS, "d2")) == (2, 2)

    await site.until(is_half, every=1.0)

    (version,) = GIZMO_DEFINITION["spec"]["versions"]
    versions = [{**version, "storage": False, "served": False}, {**version, "name": "v2"}]
    body = msgspec.json.encode({"spec": {"versions": versions}})
    name = GIZMO_DEFINITION["metadata"]["name"]
    await site.client.call(request.patch(Ref(CUSTOM_RESOURCES, "", name), request.MERGE_PATCH, body))
    await asyncio.sleep(60)
    await play.plan({"batchPartition": 1})
    await play.ends(within=SERVED_FOR + 60)

    assert (await size(LATER_GIZMOS, "d1"), await size(LATER_GIZMOS, "d2")) == (0, 4)
    assert FAILED not in play.states()
