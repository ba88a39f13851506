"""Rollouts of component revisions on a site, with the operator of plans at work on them."""

from __future__ import annotations

from functools import partial
from typing import Any

from fairlead.contracts.plans.install.definitions import definitions as all_definitions
from fairlead.contracts.plans.kinds import COMPONENTS, ROLLOUT_TRAITS, ROLLOUTS
from kubeloop.objects.apps import CONTROLLER_REVISIONS, DEPLOYMENTS
from kubeloop.objects.core import EVENTS
from kubeloop.objects.meta import Resource
from tests.e2e.application_play import ApplicationPlay
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.plan_play import OLD, pods_of
from tests.e2e.zones import change

FOLLOWED = (ROLLOUTS, COMPONENTS, CONTROLLER_REVISIONS, DEPLOYMENTS, EVENTS)


def definitions_of(*kinds: Resource) -> tuple[Tree, ...]:
    """Of what a scenario needs: to learn a kind takes the real API server a while."""
    names = {f"{each.plural}.{each.group}" for each in kinds}
    return tuple(each for each in all_definitions() if each["metadata"]["name"] in names)


definitions = partial(definitions_of, ROLLOUT_TRAITS, ROLLOUTS, COMPONENTS)


with_rollouts = partial(everywhere, definitions=definitions)
"""For scenarios that begin with `begin`."""


class RevisionPlay(ApplicationPlay):
    kind = ROLLOUTS

    async def revise(self, image: str, revision: str) -> None:
        """The Component `web`, and the revision of it that follows."""
        workload = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": pods_of("web", image)}
        if self.object(COMPONENTS, "web"):
            await change(self.site, COMPONENTS, "web", {"spec": {"workload": workload}})
        else:
            await self.site.create(COMPONENTS, {"metadata": {"name": "web"}, "spec": {"workload": workload}})
        await self.until(lambda: self.object(CONTROLLER_REVISIONS, revision))

    async def go_to(self, target: str, **plan: Any) -> None:
        await self.roll_to({"targetRevisionName": target}, plan)

    async def roll_to(self, names: Tree, plan: Tree) -> None:
        """The plan is another one from its beginning."""
        spec = {**names, "rolloutPlan": plan}
        if not self.trait():
            await self.site.create(self.kind, {"metadata": {"name": "r"}, "spec": spec})
            return
        gone = dict.fromkeys(self.trait()["spec"]["rolloutPlan"])
        await self.change({**spec, "rolloutPlan": {**gone, **plan}})

    def deployments(self) -> dict[str, int]:
        """The sizes of those that are there."""
        return {name: self.size(name) for name in self.site.history.objects(DEPLOYMENTS)}


async def begin(site: Site, size: int = 2) -> RevisionPlay:
    """`web-v1` runs with so many pods."""
    await define(site, *definitions())
    for each in FOLLOWED:
        await site.history.follow(each)
    site.start_kubelet(ready_after=0.05, gone_after=0.05)
    play = RevisionPlay(site)
    play.start()
    await play.revise(OLD, "web-v1")
    await play.go_to("web-v1", targetSize=size)
    await play.ends()
    return play
