"""Applications that are kept as revisions, and AppRollouts between these."""

from __future__ import annotations

from functools import partial
from typing import Any

from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATIONS,
    Json,
)
from fairlead.contracts.plans.settings import PlanSettings
from tests.contracts.plans.decide.applications.test_revision_rollouts import sizes
from tests.contracts.plans.decide.applications.test_revision_rollouts import until as comes_to
from tests.contracts.plans.decide.applications.world import World, an_application, component

PLAN: Json = {"rolloutBatches": [{"replicas": 1}, {}]}
KEPT = {"app.oam.dev/revision-only": "true"}


def kept(*images: str, kind: str = "webservice", settings: PlanSettings | None = None) -> World:
    """The Application `shop`, kept as a revision for each of these images of its component `web`."""
    world = World(settings)
    for image in images:
        revised(world, component(image, kind=kind))
    return world


def revised(world: World, *components: Json, name: str = "shop") -> None:
    world.apply(APPLICATIONS, name, an_application(*components), annotations=KEPT)
    world.play()


def running(size: int = 3, kind: str = "webservice") -> World:
    """`shop-v1` with its pods, brought by the AppRollout `r`, and `shop-v2` of which nothing is there."""
    world = kept("web:1", kind=kind)
    rolled(world, "shop-v1", plan={"targetSize": size})
    world.play()
    revised(world, component("web:2", kind=kind))
    return world


def rolled(world: World, target: str, source: str = "", plan: Json | None = None, **more: Any) -> None:
    spec = {"targetAppRevisionName": target, "sourceAppRevisionName": source, "rolloutPlan": plan or PLAN, **more}
    world.apply(APP_ROLLOUTS, "r", {key: value for key, value in spec.items() if value != ""})


def state(world: World) -> str:
    found: str = world.status(APP_ROLLOUTS, "r").get("rollingState", "")
    return found


until = partial(comes_to, resource=APP_ROLLOUTS)


def gated(world: World, **plan: Any) -> None:
    rolled(world, "shop-v2", "shop-v1", plan={**PLAN, "batchPartition": 0, **plan})
    until(world, "rollingInBatches", "batchReady")
    assert sizes(world) == {"web-v1": 2, "web-v2": 1}


def taken_on() -> World:
    """`r` brought `web-v1`, and `s` took its pods to `web-v2`."""
    world = running()
    spec = {"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1", "rolloutPlan": PLAN}
    world.apply(APP_ROLLOUTS, "s", spec)
    world.play()
    assert sizes(world) == {"web-v1": 0, "web-v2": 3}
    return world
