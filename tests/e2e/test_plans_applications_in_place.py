"""Applications whose pods are updated in place, handed from one to the other and taken back (D-7, V-3 to V-5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from fairlead.contracts.plans.kinds import (
    APPLICATION,
    APPLICATION_DEPLOYMENTS,
    APPLICATIONS,
    BATCH_READY,
    CLONE_SETS,
    COMPONENT,
    COMPONENT_REVISION,
    INACTIVE,
)
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Resource
from kubesim.pods.behaviour import HOLD
from kubesim.standins.cloneset_definition import DEFINITION
from tests.e2e.application_play import ApplicationPlay, begin_as, definitions
from tests.e2e.clone_sets import run_clone_sets
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.plan_play import NEW, OLD, batches, pods_of

with_in_place = partial(everywhere, definitions=lambda: (*definitions(), DEFINITION), on=("sim", "kruise"))


def stateful(image: str, **pods: Any) -> Tree:
    spec = {"serviceName": "web", **pods_of("web", image)}
    spec["template"]["metadata"].update(pods)
    if image == OLD:
        spec["replicas"] = 3
    workload = {"apiVersion": STATEFULSETS.api_version, "kind": STATEFULSETS.kind, "spec": spec}
    return {"name": "web", "type": "raw", "settings": workload}


def clones(image: str) -> Tree:
    settings = {"image": image, **({"replicas": 3} if image == OLD else {})}
    return {"name": "web", "type": "clonesetservice", "settings": settings}


COMPONENTS: dict[Resource, Callable[[str], Tree]] = {CLONE_SETS: clones, STATEFULSETS: stateful}


class InPlace(ApplicationPlay):
    resource: Resource

    @property
    def workload(self) -> Tree:
        return self.object(self.resource, "web")

    def images(self) -> list[str]:
        """Of pods that are not going."""
        found = [
            each for each in self.site.history.objects(PODS).values() if "deletionTimestamp" not in each["metadata"]
        ]
        pods = [each for each in found if each["metadata"]["labels"].get(COMPONENT) == "web"]
        return sorted(str(each["spec"]["containers"][0]["image"]) for each in pods)

    def label(self, name: str) -> str:
        return str(self.workload["metadata"]["labels"][name])


async def old_and_new(site: Site, resource: Resource, new: Tree) -> InPlace:
    """Three pods of `shop`, and `next` that waits for its rollout."""
    await run_clone_sets(site)
    await site.history.follow(resource)
    play = await begin_as(InPlace, site)
    play.resource = resource
    await play.apply("shop", COMPONENTS[resource](OLD))
    await play.runs("shop")
    await play.until(lambda: play.images() == [OLD] * 3)
    await play.apply("next", new, template=True)
    await play.until(lambda: play.phase("next") == "rollingOut")
    return play


@pytest.mark.parametrize("resource", COMPONENTS, ids=lambda each: each.kind)
@with_in_place()
async def test_the_workload_passes_to_the_target(site: Site, resource: Resource) -> None:
    play = await old_and_new(site, resource, COMPONENTS[resource](NEW))
    uid = play.workload["metadata"]["uid"]

    await play.deploy("next", "shop", **batches(1, 2))
    await play.deployed()

    assert play.images() == [NEW] * 3
    assert (play.workload["metadata"]["uid"], play.workload["spec"]["replicas"]) == (uid, 3)
    await play.runs("next")
    assert (play.label(APPLICATION), play.label(COMPONENT_REVISION)) == ("next", "web-v2")
    await play.until(lambda: play.controller(resource, "web").startswith("next-v"))
    assert play.annotations(APPLICATIONS, "shop")[INACTIVE] == "true"


async def taken_back(play: InPlace) -> None:
    await play.undeploy()
    await play.until(lambda: not play.object(APPLICATION_DEPLOYMENTS, "d"))
    await play.until(lambda: play.images() == [OLD] * 3)
    await play.until(lambda: play.controller(play.resource, "web") == "shop-v1")
    assert (play.label(APPLICATION), play.label(COMPONENT_REVISION)) == ("shop", "web-v1")
    assert play.annotations(APPLICATIONS, "next")[INACTIVE] == "true"
    await play.runs("shop")


@pytest.mark.parametrize("resource", COMPONENTS, ids=lambda each: each.kind)
@with_in_place()
async def test_a_revert_gives_it_back_to_the_source(site: Site, resource: Resource) -> None:
    play = await old_and_new(site, resource, COMPONENTS[resource](NEW))
    await play.deploy("next", "shop", **batches(1, 2, lastBatchToRollout=0, revertOnDelete=True))
    await play.until(lambda: play.deployment().get("batchRollingState") == BATCH_READY)
    assert play.images() == sorted([NEW, OLD, OLD])

    await taken_back(play)


@with_in_place()
async def test_a_stateful_set_with_a_new_pod_that_never_becomes_ready_comes_back(site: Site) -> None:
    play = await old_and_new(site, STATEFULSETS, stateful(NEW, annotations={HOLD: "true"}))
    await play.deploy("next", "shop", **batches(1, 2, revertOnDelete=True))
    await play.until(lambda: play.images() == sorted([NEW, OLD, OLD]))

    await taken_back(play)
