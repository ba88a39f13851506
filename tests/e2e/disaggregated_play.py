"""DisaggregatedSets on a site: their LeaderWorkerSets, Services and scalers, and the limits that every moment keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fairlead.contracts.leaderworker.disaggregated.kinds import (
    DISAGGREGATED_SETS,
    EVENT_SOURCE,
    GROUP,
    NAME,
    REVISION,
    ROLE,
    ROLE_SCALERS,
    SLICE,
)
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from fairlead.contracts.leaderworker.webhooks import VALIDATE_DISAGGREGATED
from kubeloop.errors import ApiError
from kubeloop.objects.core import EVENTS, SERVICES
from tests.e2e.clusters import Site
from tests.e2e.history import Tree, World
from tests.e2e.leaderworker_play import FIRST, Play, owner_of
from tests.e2e.leaderworker_play import begin as begin_sets
from tests.e2e.leaderworkers import webhooks
from tests.e2e.webhooks import VALIDATING, install, rule, serve
from tests.e2e.zones import change


class RolePlay:
    """The operator at work on one DisaggregatedSet, named `ds` where nothing else is said."""

    def __init__(self, play: Play) -> None:
        self.play = play
        self.site = play.site

    # What is there.

    def tree(self, name: str = "ds") -> Tree:
        return self.site.history.objects(DISAGGREGATED_SETS)[name]

    def status(self, name: str = "ds") -> Tree:
        found: Tree = self.site.history.objects(DISAGGREGATED_SETS).get(name, {}).get("status", {})
        return found

    def conditions(self, name: str = "ds") -> dict[str, str]:
        return {each["type"]: each["status"] for each in self.status(name).get("conditions", ())}

    def children(self, **labels: str) -> dict[str, Tree]:
        """LeaderWorkerSets that a DisaggregatedSet controls, by name."""
        keys = {"role": ROLE, "revision": REVISION, "slice": SLICE}
        found = self.site.history.objects(LEADER_WORKER_SETS)
        return {
            name: each
            for name, each in found.items()
            if owner_of(each).get("kind") == DISAGGREGATED_SETS.kind
            and all(each["metadata"]["labels"].get(keys[key]) == value for key, value in labels.items())
        }

    def replicas(self) -> dict[str, int]:
        """By child."""
        return {name: each["spec"]["replicas"] for name, each in self.children().items()}

    def revisions(self) -> set[str]:
        return {each["metadata"]["labels"][REVISION] for each in self.children().values()}

    def services(self) -> dict[str, Tree]:
        found = self.site.history.objects(SERVICES)
        return {name: each for name, each in found.items() if NAME in each["metadata"].get("labels", {})}

    def scaler(self, role: str) -> Tree | None:
        return self.site.history.objects(ROLE_SCALERS).get(f"ds-{role}")

    def told(self, reason: str = "") -> list[str]:
        """Notes about DisaggregatedSets, the first first."""
        events = sorted(self.site.history.of(EVENTS, "ADDED"), key=lambda each: int(each.version))
        return [
            event.object["note"]
            for event in events
            if event.object.get("reportingController") == EVENT_SOURCE and reason in ("", event.object["reason"])
        ]

    def is_available(self, name: str = "ds") -> bool:
        if name not in self.site.history.objects(DISAGGREGATED_SETS):
            return False
        generation = self.tree(name)["metadata"]["generation"]
        return (
            self.conditions(name).get("Available") == "True"
            and self.status(name).get("observedGeneration") == generation
        )

    # What people do.

    async def create(self, tree: Tree) -> Tree:
        tree = {**tree, "metadata": {**tree["metadata"], "namespace": self.site.namespace}}
        return await self.site.create(DISAGGREGATED_SETS, tree)

    async def refused(self, tree: Tree) -> str:
        """What the API server says to it."""
        try:
            await self.create(tree)
        except ApiError as error:
            return str(error)
        raise AssertionError("it is taken")

    async def change(self, edit: Callable[[Tree], None], name: str = "ds") -> None:
        """Changes its roles, which are a list; returns when the record shows it."""
        spec = self.tree(name)["spec"]
        edit(spec)
        changed = await change(self.site, DISAGGREGATED_SETS, name, {"spec": spec})
        version = int(changed["metadata"]["resourceVersion"])
        await self.site.until(lambda: int(self.tree(name)["metadata"]["resourceVersion"]) >= version)

    async def give_image(self, image: str) -> None:
        def edit(spec: Tree) -> None:
            for role in spec["roles"]:
                role["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["image"] = image

        await self.change(edit)

    # What is waited for.

    async def until(self, holds: Any, **given: Any) -> None:
        await self.site.until(holds, **given)

    async def available(self, name: str = "ds") -> None:
        await self.site.until(lambda: self.is_available(name), within=120)

    async def rolled(self) -> None:
        """All is of one revision, and nothing else is left."""
        await self.site.until(lambda: self.is_available() and len(self.revisions()) == 1, within=120)
        await self.play.at_rest()


async def begin(site: Site, **kubelet: Any) -> RolePlay:
    """Kinds and webhooks are there, pods come and go, and the operator runs."""
    play = await begin_sets(site, **kubelet)
    handler = webhooks(site.client)
    hook = {
        "name": "vdisaggregatedset.kb.io",
        "clientConfig": await serve(site, handler, "vdisaggregatedset.test.svc", VALIDATE_DISAGGREGATED),
        "rules": [rule("CREATE UPDATE", DISAGGREGATED_SETS.plural, GROUP, "v1")],
        "failurePolicy": "Fail",
        "timeoutSeconds": 10,
    }
    await install(site, VALIDATING, "lws-disaggregated", hook)
    for each in (DISAGGREGATED_SETS, ROLE_SCALERS):
        await site.history.follow(each)
    return RolePlay(play)


def a_role(name: str, replicas: int = 2, image: str = FIRST, **spec: Any) -> Tree:
    """Groups of one, with a surge of one and none unavailable."""
    scaling = spec.pop("scaling", None)
    update = spec.pop("update", {"maxSurge": 1, "maxUnavailable": 0})
    made: Tree = {
        "name": name,
        "spec": {
            "replicas": replicas,
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": update},
            "leaderWorkerTemplate": {
                "size": 1,
                "workerTemplate": {"spec": {"containers": [{"name": "main", "image": image}]}},
            },
            **spec,
        },
    }
    return made if scaling is None else {**made, "scaling": {"mode": scaling}}


def a_disaggregated_set(*roles: Tree, name: str = "ds", **spec: Any) -> Tree:
    return {
        "apiVersion": DISAGGREGATED_SETS.api_version,
        "kind": DISAGGREGATED_SETS.kind,
        "metadata": {"name": name},
        "spec": {"roles": list(roles or (a_role("prefill", 4), a_role("decode", 2))), **spec},
    }


def judged(played: RolePlay, targets: dict[str, int], surge: int = 1, unavailable: int = 0) -> None:
    """Has the limits of the roles judged at every moment once they were ready (leaderworker scenario 32)."""
    played.site.judges.append(lambda: _judge(played, targets, surge, unavailable))


def _judge(played: RolePlay, targets: dict[str, int], surge: int, unavailable: int) -> None:
    complete: set[str] = set()
    for _, world in played.site.history.replay():
        if not world[DISAGGREGATED_SETS]:
            continue
        there = _counted(world, "spec")
        ready = _counted(world, "status")
        for place, count in there.items():
            wanted = targets[place.partition("/")[2]]
            assert count <= wanted + surge, f"{place}: {count} replicas of {wanted}"
            if ready[place] >= wanted:
                complete.add(place)
            if place in complete:
                assert count >= wanted - unavailable, f"{place}: only {count} replicas of {wanted}"
                assert ready[place] >= wanted - unavailable, f"{place}: only {ready[place]} ready of {wanted}"


def _counted(world: World, part: str) -> dict[str, int]:
    """By slice and role, over all revisions."""
    found: dict[str, int] = {}
    for each in world[LEADER_WORKER_SETS].values():
        if owner_of(each).get("kind") != DISAGGREGATED_SETS.kind:
            continue
        labels = each["metadata"]["labels"]
        place = f"{labels.get(SLICE, '0')}/{labels[ROLE]}"
        count = each["spec"]["replicas"] if part == "spec" else each.get("status", {}).get("readyReplicas", 0)
        found[place] = found.get(place, 0) + count
    return found
