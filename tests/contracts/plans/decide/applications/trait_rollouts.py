"""An Application whose component is rolled by a trait, and what of it tests read."""

from __future__ import annotations

from functools import cache

from fairlead.contracts.plans.kinds import (
    APPLICATIONS,
    ROLLOUT_TRAITS,
    Json,
)
from kubeloop.objects.apps import DEPLOYMENTS
from tests.contracts.plans.decide.applications.world import World, an_application, component

PLAN: Json = {"rolloutBatches": [{"replicas": 1}, {}], "targetSize": 3}
ROLLOUT: Json = {"name": "rollout", "properties": PLAN}


def rolled(image: str = "web:1") -> World:
    return _rolled(image).copied()


@cache
def _rolled(image: str) -> World:
    world = World()
    world.apply(APPLICATIONS, "shop", an_application(component(image, ROLLOUT)))
    world.play()
    return world


def sizes(world: World) -> dict[str, int]:
    return {each: world.size(each) for each in world.names(DEPLOYMENTS)}


def state(world: World) -> str:
    found: str = world.status(ROLLOUT_TRAITS, "web")["rollingState"]
    return found


def workload(image: str) -> Json:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": image}]}}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"workload": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}}


def gated() -> Json:
    return {**PLAN, "lastBatchToRollout": 0}
