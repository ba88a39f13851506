"""Rollouts of ApplicationRevisions on a site, with the operator of plans at work on them."""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from typing import Any

from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION_REVISIONS,
    APPLICATIONS,
    COMPONENTS,
    CONFIGURATIONS,
    REVISION_ONLY,
    ROLLOUT_TRAITS,
)
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import EVENTS
from tests.e2e.application_play import component
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.plan_play import OLD
from tests.e2e.revision_play import RevisionPlay, definitions_of
from tests.e2e.zones import change

KINDS = (ROLLOUT_TRAITS, APP_ROLLOUTS, APPLICATION_REVISIONS, APPLICATIONS, COMPONENTS, CONFIGURATIONS)
FOLLOWED = (*KINDS[1:], DEPLOYMENTS, EVENTS)
REQUIRED = ["currentBatch", "lastTargetAppRevision", "rollingState", "upgradedReadyReplicas", "upgradedReplicas"]
"""What the definition of KubeVela 1.0 asks of every status."""


def definitions() -> tuple[Tree, ...]:
    return tuple(map(_as_upstream, definitions_of(*KINDS)))


def _as_upstream(definition: Tree) -> Tree:
    """AppRollouts ask for what upstream's definition asks for."""
    found = deepcopy(definition)
    if found["spec"]["names"]["kind"] == APP_ROLLOUTS.kind:
        for each in found["spec"]["versions"]:
            each["schema"]["openAPIV3Schema"]["properties"]["status"]["required"] = REQUIRED
    return found


with_app_rollouts = partial(everywhere, definitions=definitions)
"""For scenarios that begin with `begin`."""


class AppRolloutPlay(RevisionPlay):
    kind = APP_ROLLOUTS

    async def revise(self, image: str, revision: str) -> None:
        """The Application `shop`, kept as revisions only, and the one that follows."""
        spec = {"components": [component(image)]}
        if self.object(APPLICATIONS, "shop"):
            await change(self.site, APPLICATIONS, "shop", {"spec": spec})
        else:
            metadata = {"name": "shop", "annotations": {REVISION_ONLY: "true"}}
            await self.site.create(APPLICATIONS, {"metadata": metadata, "spec": spec})
        await self.until(lambda: self.object(APPLICATION_REVISIONS, revision))

    async def upgrade(self, target: str, source: str = "", **plan: Any) -> None:
        await self.roll_to({"targetAppRevisionName": target, "sourceAppRevisionName": source}, plan)


async def begin(site: Site, size: int = 2) -> AppRolloutPlay:
    """`shop-v1` runs with so many pods."""
    await define(site, *definitions())
    for each in FOLLOWED:
        await site.history.follow(each)
    site.start_kubelet(ready_after=0.05, gone_after=0.05)
    play = AppRolloutPlay(site)
    play.start()
    await play.revise(OLD, "shop-v1")
    await play.upgrade("shop-v1", targetSize=size)
    await play.ends()
    return play
