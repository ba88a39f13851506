"""CloneSets are scaled and updated by the stand-in for their controller, on both clusters, and by OpenKruise's own."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import Any

import msgspec
import pytest

from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request, patch, path_of
from kubesim.standins.cloneset_plan import CLONESETS
from tests.e2e.clone_sets import run_clone_sets
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree

pytestmark = pytest.mark.fidelity

NAME = "web"


def a_clone_set(replicas: int = 3, **strategy: Any) -> Tree:
    labels = {"app": NAME}
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}},
        "updateStrategy": strategy,
    }
    return {"metadata": {"name": NAME}, "spec": spec}


def with_image(image: str) -> Tree:
    return {"template": {"spec": {"containers": [{"name": "c", "image": image}]}}}


async def begin(site: Site, replicas: int = 3, **strategy: Any) -> None:
    """A set whose pods are all available."""
    site.start_kubelet(ready_after=0.0, gone_after=0.0)
    await run_clone_sets(site)
    await site.history.follow(CLONESETS)
    await site.create(CLONESETS, a_clone_set(replicas, **strategy))
    await site.until(lambda: status(site).get("updatedAvailableReplicas") == replicas)


async def change(site: Site, **spec: Any) -> None:
    """Returns when the history shows it."""
    body = msgspec.json.encode({"spec": spec})
    answer = await site.client.call(patch(Ref(CLONESETS, site.namespace, NAME), MERGE_PATCH, body))
    generation = msgspec.json.decode(answer.body)["metadata"]["generation"]
    await site.until(lambda: site.history.objects(CLONESETS)[NAME]["metadata"]["generation"] >= generation)


def status(site: Site) -> Tree:
    found: Tree = site.history.objects(CLONESETS).get(NAME, {}).get("status") or {}
    return found


def images(site: Site) -> list[str]:
    """Of the pods that are not going, sorted."""
    pods = site.history.objects(PODS).values()
    return sorted(
        each["spec"]["containers"][0]["image"] for each in pods if "deletionTimestamp" not in each["metadata"]
    )


async def settled(site: Site, *expected: str, ready: bool = True) -> None:
    """The pods have these images, and the status says so of the set as it is."""

    def holds() -> bool:
        told, generation = status(site), site.history.objects(CLONESETS)[NAME]["metadata"]["generation"]
        count = told.get("readyReplicas") if ready else told.get("replicas")
        seen = told.get("observedGeneration") == generation and count == told.get("replicas") == len(expected)
        return seen and images(site) == list(expected)

    await site.until(holds)


@everywhere(on=("sim", "real", "kruise"))
async def test_a_partition_moves_a_set_step_by_step(site: Site) -> None:
    await begin(site, 5, maxUnavailable=5)
    first = status(site)
    pod = next(iter(site.history.objects(PODS).values()))
    name, labels = pod["metadata"]["name"], pod["metadata"]["labels"]
    assert name == f"web-{labels['apps.kruise.io/cloneset-instance-id']}"
    assert len(name) == len("web-") + 5
    assert labels["controller-revision-hash"] == first["updateRevision"] == first["currentRevision"]
    assert first == {
        "observedGeneration": 1,
        "replicas": 5,
        "readyReplicas": 5,
        "availableReplicas": 5,
        "updatedReplicas": 5,
        "updatedReadyReplicas": 5,
        "updatedAvailableReplicas": 5,
        "expectedUpdatedReplicas": 5,
        "collisionCount": 0,
        "updateRevision": first["updateRevision"],
        "currentRevision": first["updateRevision"],
        "labelSelector": "app=web",
    }

    await change(site, updateStrategy={"paused": True})
    await change(site, **with_image("i:2"))
    await settled(site, *["i:1"] * 5)
    assert status(site)["updateRevision"] != first["updateRevision"]
    assert status(site)["currentRevision"] == first["updateRevision"]
    assert (status(site)["updatedReplicas"], status(site)["expectedUpdatedReplicas"]) == (0, 5)

    await change(site, updateStrategy={"paused": False, "partition": 5})
    await settled(site, *["i:1"] * 5)
    for partition, new in ((4, 1), ("40%", 3), (0, 5)):
        await change(site, updateStrategy={"partition": partition})
        await site.until(lambda: status(site)["updatedReadyReplicas"] == new)  # noqa: B023
        await settled(site, *["i:1"] * (5 - new), *["i:2"] * new)
    await site.until(lambda: status(site)["currentRevision"] == status(site)["updateRevision"])


@everywhere(on=("sim", "real", "kruise"))
async def test_a_set_is_scaled_and_loses_the_pods_that_are_named(site: Site) -> None:
    await begin(site, 3)
    named = sorted(site.history.objects(PODS))[1]

    await change(site, replicas=2, scaleStrategy={"podsToDelete": [named]})
    await settled(site, "i:1", "i:1")
    await site.until(lambda: named not in site.history.objects(PODS))
    await site.until(lambda: site.history.objects(CLONESETS)[NAME]["spec"]["scaleStrategy"] == {})

    other = min(site.history.objects(PODS))
    await change(site, scaleStrategy={"podsToDelete": [other]})
    await site.until(lambda: other not in site.history.objects(PODS))
    await settled(site, "i:1", "i:1")

    path = path_of(CLONESETS, site.namespace, NAME, "scale")
    body = msgspec.json.encode({"spec": {"replicas": 4}})
    await site.client.call(Request("PATCH", path, body=body, content_type=MERGE_PATCH))
    await settled(site, *["i:1"] * 4)

    await site.client.call(Request("DELETE", path_of(CLONESETS, site.namespace, NAME)))
    await site.until(lambda: not site.history.objects(PODS))


@everywhere(on=("sim", "real", "kruise"))
async def test_a_surge_keeps_all_pods_available(site: Site) -> None:
    await begin(site, 3, maxSurge=1, maxUnavailable=0)

    await change(site, **with_image("i:2"))
    await site.until(lambda: images(site) == ["i:2"] * 3)
    await settled(site, *["i:2"] * 3)

    worlds = [_staying(world[PODS]) for _, world in site.history.replay()]
    ready = [sum(map(_is_ready, pods)) for pods in worlds]
    assert min(ready[ready.index(3) :]) == 3
    assert max(map(len, worlds)) == 4


def _staying(pods: dict[str, Tree]) -> list[Tree]:
    return [pod for pod in pods.values() if "deletionTimestamp" not in pod["metadata"]]


def _is_ready(pod: Tree) -> bool:
    return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))


@everywhere(on=("sim", "real", "kruise"))
async def test_images_are_changed_in_place_where_the_set_says_so(site: Site) -> None:
    await begin(site, 3, type="InPlaceIfPossible", maxUnavailable=1)
    before = sorted(site.history.objects(PODS))

    await change(site, **with_image("i:2"))
    await settled(site, *["i:2"] * 3)
    await site.until(lambda: status(site)["updatedReplicas"] == 3)
    assert sorted(site.history.objects(PODS)) == before

    await change(site, template={"metadata": {"labels": {"more": "labels"}}})
    await site.until(lambda: all("more" in each["metadata"]["labels"] for each in site.history.objects(PODS).values()))
    await settled(site, *["i:2"] * 3)
    assert sorted(site.history.objects(PODS)) == before

    await change(site, template={"spec": {"hostname": "other"}})
    await site.until(lambda: not set(before) & set(site.history.objects(PODS)))
    await settled(site, *["i:2"] * 3)


@everywhere(controllers=False, on=("served", "real"))
async def test_it_runs_as_a_program_of_its_own(site: Site) -> None:
    options = ("--kubeconfig", str(site.server.kubeconfig), "--namespace", site.namespace)
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kubesim.standins.cloneset", *options, stdout=pipe, stderr=pipe
    )
    try:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"running\n"
        await site.create(CLONESETS, a_clone_set(2))
        await site.until(lambda: len(site.history.objects(PODS)) == 2)
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        _, said = await process.communicate()
    assert said == b""
