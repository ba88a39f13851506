"""A world in which AppRollouts make and roll the workloads of an Application's revisions.

The Application `shop` is kept as the revisions `shop-v1` to `shop-v3`, whose component `web` becomes the Deployments
`web-v1` to `web-v3`, numbered in the order in which AppRollouts go to them.
"""

from __future__ import annotations

import asyncio
from typing import Any

from fairlead.contracts.plans.install.definitions import definitions as all_definitions
from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION_REVISIONS,
    APPLICATIONS,
    COMPONENTS,
    CONFIGURATIONS,
    REVISION_ONLY,
    ROLLOUT_TRAITS,
)
from kubeloop.objects.meta import Resource
from kubesim.store.versions import Tree
from tests.chaos.plans.facts import BATCH_READY, ENDED
from tests.chaos.plans.outside import METRIC_TEMPLATES, a_template
from tests.chaos.plans.referee import condition_of
from tests.chaos.plans.world import RolledSetting, RolledWorld, image
from tests.chaos.world import NAMESPACE
from tests.e2e.plan_play import pods_of

KINDS = (ROLLOUT_TRAITS, APP_ROLLOUTS, APPLICATION_REVISIONS, APPLICATIONS, COMPONENTS, CONFIGURATIONS)
NUMBERS = (1, 2, 3)
SETTLED_WITHIN = 300.0


def revision(number: int) -> str:
    return f"shop-v{number}"


def _image_number(tree: Tree) -> int:
    shown: str = tree["spec"]["template"]["spec"]["containers"][0]["image"]
    return int(shown.rpartition(":")[2])


def world_of(setting: RolledSetting) -> type[RolledWorld]:
    return AppRolledWorld if setting.kind == "revisions" else RolledWorld


class AppRolledWorld(RolledWorld):
    rollouts: Resource = APP_ROLLOUTS

    def definitions(self) -> tuple[Tree, ...]:
        names = {f"{each.plural}.{each.group}" for each in KINDS}
        return tuple(each for each in all_definitions() if each["metadata"]["name"] in names)

    async def settle(self) -> None:
        """All revisions are kept, and the first has its pods."""
        self.put(METRIC_TEMPLATES, a_template())
        self.start()
        for number in NUMBERS:
            self._describe(number)
            kept = revision(number)
            assert await self.until(lambda kept=kept: self._is_kept(kept), 60.0)  # type: ignore[misc]
        self._put("r", 1, None, {"targetSize": self.setting.size})
        assert await self.until(lambda: not self.left() and self._has_pods(), SETTLED_WITHIN), self.left()

    def _describe(self, number: int) -> None:
        """The Application as it is in this revision."""
        workload = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": pods_of(f"web-v{number}", image(number))}
        spec = {"components": [{"name": "web", "type": "raw", "settings": workload}]}
        self.put(APPLICATIONS, {"metadata": {"name": "shop", "annotations": {REVISION_ONLY: "true"}}, "spec": spec})
        self.patch(APPLICATIONS, "shop", {"spec": spec})

    def _is_kept(self, name: str) -> bool:
        return any(
            each["metadata"]["name"] == name for each in self.cluster.verbs.list(APPLICATION_REVISIONS, NAMESPACE)
        )

    def _has_pods(self) -> bool:
        return self.judge.record.ready("web-v1") == self.setting.size

    def make(self, name: str) -> None:
        """Again as it was last, where somebody deleted it; else whoever needs the workload makes it."""
        place = (self.setting.resource.plural, name)
        last = self.judge.record.trees.get(place)
        if last is not None and place not in self.judge.record.workloads:
            metadata = {"name": name, "labels": last["metadata"].get("labels")}
            self.put(self.setting.resource, {"metadata": metadata, "spec": last["spec"]})

    def roll(self, name: str = "r", **more: Any) -> None:
        """From the first revision to the second; one that is there already stays as it is."""
        self.roll_between(name, 2, 1, **more)

    def roll_between(self, name: str, target: int, source: int, **more: Any) -> None:
        self._put(name, target, source, {**self.plan(), **more})

    def retarget(self, number: int, *, named: bool) -> None:
        """To this revision, from the one that has most pods, or from one that nobody names."""
        others = {each: size for each, size in self._sizes().items() if size and each != number}
        if others:
            source = max(others, key=lambda each: (others[each], each)) if named else None
            self._turn("r", number, source, {})

    def _sizes(self) -> dict[int, int]:
        """By the revision of the Application; those of the component are counted in the order in which they came."""
        return {
            _image_number(self.judge.record.trees[place]): live.size
            for place, (*_, live) in self.judge.record.workloads.items()
        }

    def _put(self, name: str, target: int, source: int | None, plan: Tree) -> None:
        spec: Tree = {"targetAppRevisionName": revision(target), "rolloutPlan": plan}
        if source is not None:
            spec["sourceAppRevisionName"] = revision(source)
        self.put(APP_ROLLOUTS, {"metadata": {"name": name}, "spec": spec})

    def _turn(self, name: str, target: int, source: int | None, plan: Tree) -> None:
        named = None if source is None else revision(source)
        given: Tree = {"targetSize": None, **plan}
        names = {"targetAppRevisionName": revision(target), "sourceAppRevisionName": named}
        self.edit({**names, "rolloutPlan": given}, name)

    def left(self) -> list[str]:
        """With the second rollout, which may have waited for the first, and goes on once that has given up."""
        return [*super().left(), *self._left_of_second()]

    def _left_of_second(self) -> list[str]:
        fact = self.judge.record.rollout("s")
        if fact is None or (fact.state in ENDED and fact.is_seen):
            return []
        said = condition_of(self.judge.record.trees[self.rollouts.plural, "s"])
        is_gated = fact.partition is not None and fact.partition <= fact.batch
        if fact.batch_state == BATCH_READY and (is_gated or "BatchReady" in said):
            return []
        return [f"s: {fact.state} {said}"]

    async def begin(self) -> None:
        await self.settle()
        self._turn("r", 2, 1, self.plan())

    async def afresh(self) -> None:
        """Whatever was left behind, a new rollout finishes it, once all pods are those of one revision."""
        self.judge.touched = self.harmed = False
        sized = [name for (_, name), (*_, live) in self.judge.record.workloads.items() if live.size]
        for name in sized[1:]:
            self.patch(self.setting.resource, name, {"spec": {"replicas": 0}})
        await asyncio.sleep(30)
        source = next((number for number, size in self._sizes().items() if size), 1)
        target = 3 if source != 3 else 2
        plan: Tree = {"numBatches": 2, "rolloutStrategy": self.setting.strategy}
        if sized:
            self._put("r", target, source, plan)
        else:
            self._put("r", target, None, {**plan, "targetSize": 2})
        await self.finish()
