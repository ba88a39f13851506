"""Phased Deployments on the embedded cluster in virtual time, from the webhook to the end of the chain."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from fairlead.contracts.zones.kinds import GATE, REVISION
from fairlead.contracts.zones.settings import Settings
from kubeloop import clock, request
from kubeloop.calls import Call
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request
from kubesim.faults import Fault
from kubesim.kinds.registry import CORE_EVENTS
from tests.contracts.zones.deployments import a_deployment, apply, change, register, stamp
from tests.engine.world import World, play

ON = Settings(phased_deployments=True)
SOAK = 300.0


class Stage:
    """What there is to see of Deployments."""

    def __init__(self, world: World) -> None:
        self.world = world

    def read(self, name: str) -> dict[str, Any]:
        return self.world.cluster.get(DEPLOYMENTS, "test", name)

    def is_paused(self, name: str) -> bool:
        return bool(self.read(name)["spec"].get("paused"))

    def image(self, name: str) -> str:
        """That of all pods that are not going, empty while they differ."""
        found = {
            pod["spec"]["containers"][0]["image"]
            for version in self.world.cluster.store.table(PODS).at(None)
            if (pod := version.tree())["metadata"]["labels"].get("app") == name
            and "deletionTimestamp" not in pod["metadata"]
        }
        return found.pop() if len(found) == 1 else ""

    def is_rolled_out(self, name: str) -> bool:
        found = self.read(name)
        status = found.get("status", {})
        said = [condition["reason"] for condition in status.get("conditions", [])]
        return "NewReplicaSetAvailable" in said and status["observedGeneration"] == found["metadata"]["generation"]

    def mark(self, name: str) -> str:
        return str(self.read(name)["metadata"]["annotations"].get(GATE, "none")).split(" ")[0]

    def writes(self) -> list[str]:
        """Names of the Deployments that the operator wrote to."""
        return [sent.path.rsplit("/", 1)[1] for sent in self.world.requests if is_release(sent)]

    def events(self, name: str) -> list[tuple[str, str]]:
        """What the operator tells of it; the controller of Deployments has words of its own."""
        told = [version.tree() for version in self.world.cluster.store.table(CORE_EVENTS).at(None)]
        about = [each for each in told if each["involvedObject"]["name"] == name]
        return [(each["type"], each["reason"]) for each in about if each["reason"] != "ScalingReplicaSet"]


def is_release(sent: Request) -> bool:
    return sent.method == "PATCH" and "/deployments/" in sent.path


def staged(scenario: Callable[[Stage], Awaitable[None]], *, seed: int = 1, revision: str = "v1") -> None:
    """A chain canary, cell-a, cell-b, rolled out and soaked, with the operator and its webhook at work."""

    async def whole(world: World) -> None:
        await world.create(DEPLOYMENTS, "test", a_deployment("canary", revision=revision))
        await world.create(DEPLOYMENTS, "test", a_deployment("cell-a", "canary", revision=revision))
        await world.create(DEPLOYMENTS, "test", a_deployment("cell-b", "cell-a", revision=revision))
        async with world.operating(settings=ON) as manager:
            await register(world, manager.webhooks.handler)
            stage = Stage(world)
            await world.until(lambda: all(stage.is_rolled_out(name) for name in ("canary", "cell-a", "cell-b")))
            await asyncio.sleep(2 * SOAK)
            await scenario(stage)

    play(whole, seed=seed)


@pytest.mark.parametrize("seed", range(3))
def test_chain_rolls_out_one_after_another_each_after_its_soak(seed: int) -> None:
    """The changes come in the wrong order; nothing is written but what releases, and nothing at all at rest."""

    async def scenario(stage: Stage) -> None:
        world, begun = stage.world, clock.monotonic()
        for name in ("cell-b", "cell-a", "canary"):
            await apply(world, name, "v2")

        await world.until(lambda: stage.is_rolled_out("canary") and stage.image("canary") == "v2", within=30)
        assert [stage.image(name) for name in ("cell-a", "cell-b")] == ["v1", "v1"]
        await world.until(lambda: stage.image("cell-a") == "v2", within=SOAK + 10)
        assert clock.monotonic() - begun > SOAK
        assert (stage.image("cell-b"), stage.is_paused("cell-b")) == ("v1", True)
        await world.until(lambda: stage.image("cell-b") == "v2", within=SOAK + 10)
        assert clock.monotonic() - begun > 2 * SOAK

        await asyncio.sleep(3600)
        assert stage.writes() == ["cell-a", "cell-b"]
        assert [stage.mark(name) for name in ("canary", "cell-a", "cell-b")] == ["none", "passed", "passed"]
        told = stage.events("cell-a")
        assert told[-1] == ("Normal", "RolloutReleased")
        assert ("Normal", "RolloutSoaking") in told
        assert not [kind for kind, _ in told if kind == "Warning"]

    staged(scenario, seed=seed)


def test_release_comes_when_the_soak_ends_although_nothing_happens_then() -> None:
    async def scenario(stage: Stage) -> None:
        await apply(stage.world, "canary", "v2")
        await apply(stage.world, "cell-a", "v2")
        await stage.world.until(lambda: stage.is_rolled_out("canary") and stage.image("canary") == "v2", within=30)
        rolled_out = clock.monotonic()

        await stage.world.until(lambda: not stage.is_paused("cell-a"), within=SOAK + 10)

        assert abs(clock.monotonic() - rolled_out - SOAK) < 2

    staged(scenario)


def test_without_revisions_what_it_depends_on_need_only_be_rolled_out() -> None:
    async def scenario(stage: Stage) -> None:
        took = clock.monotonic()
        answered = await change(stage.world, "cell-a", {"spec": {"template": {"spec": {"priorityClassName": "x"}}}})
        assert answered["spec"]["paused"] is True

        await stage.world.until(lambda: not stage.is_paused("cell-a"))

        assert clock.monotonic() - took < 1

    staged(scenario, revision="")


def test_change_of_a_deployment_alone_wakes_what_depends_on_it() -> None:
    """Its revision is written over what runs already: no pod has anything to say."""

    async def scenario(stage: Stage) -> None:
        await apply(stage.world, "cell-a", "v2")
        await asyncio.sleep(3600)
        assert stage.is_paused("cell-a")

        await change(stage.world, "canary", {"metadata": {"annotations": {REVISION: "v2"}}})
        await asyncio.sleep(1)

        assert not stage.is_paused("cell-a")

    staged(scenario)


def restarted() -> dict[str, Any]:
    ended = {"terminated": {"exitCode": 1, "finishedAt": stamp(), "startedAt": stamp()}}
    running = {"running": {"startedAt": stamp()}}
    container = {"name": "main", "image": "v2", "imageID": "", "ready": True, "restartCount": 1}
    return {"status": {"containerStatuses": [container | {"state": running, "lastState": ended}]}}


def test_restart_during_the_soak_blocks_until_a_person_resumes() -> None:
    async def scenario(stage: Stage) -> None:
        world = stage.world
        await apply(world, "canary", "v2")
        await apply(world, "cell-a", "v2")
        await world.until(lambda: stage.is_rolled_out("canary") and stage.image("canary") == "v2", within=30)
        await asyncio.sleep(60)
        pod = next(
            version.tree()["metadata"]["name"]
            for version in world.cluster.store.table(PODS).at(None)
            if version.tree()["metadata"]["labels"]["app"] == "canary"
        )

        body = msgspec.json.encode(restarted())
        await world.client.call(request.patch(Ref(PODS, "test", pod), "application/merge-patch+json", body, "status"))
        await world.until(lambda: stage.mark("cell-a") == "blocked", within=5)
        await world.client.call(request.delete(Ref(PODS, "test", pod)))
        await asyncio.sleep(24 * 3600)

        assert (stage.image("cell-a"), stage.mark("cell-a"), stage.writes()) == ("v1", "blocked", ["cell-a"])
        assert ("Warning", "RolloutBlocked") in stage.events("cell-a")
        await change(world, "cell-a", {"metadata": {"annotations": {"grafana.com/rollout-resume": "v2"}}})
        await world.until(lambda: stage.image("cell-a") == "v2", within=30)

    staged(scenario)


def test_nobody_else_ends_the_pause_and_a_dry_run_leaves_no_trace() -> None:
    async def scenario(stage: Stage) -> None:
        before = stage.read("cell-a")
        patch = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "v9"}]}}}}
        tried = await change(stage.world, "cell-a", patch, dry_run=True)
        assert tried["spec"]["paused"] is True
        assert stage.read("cell-a") == before

        await apply(stage.world, "cell-a", "v2")
        answered = await change(
            stage.world, "cell-a", {"metadata": {"annotations": {GATE: None}}, "spec": {"paused": False}}
        )

        assert answered["spec"]["paused"] is True
        await asyncio.sleep(3600)
        assert (stage.image("cell-a"), stage.writes()) == ("v1", [])

    staged(scenario)


def test_pause_of_the_owner_is_not_touched() -> None:
    async def scenario(stage: Stage) -> None:
        await change(stage.world, "cell-a", {"spec": {"paused": True}})

        await asyncio.sleep(3600)

        assert (stage.is_paused("cell-a"), stage.mark("cell-a"), stage.writes()) == (True, "none", [])

    staged(scenario)


def test_release_that_was_overtaken_by_a_change_does_not_release_the_change() -> None:
    """The write is bound to the version that was decided on."""

    async def scenario(stage: Stage) -> None:
        world, struck = stage.world, list[str]()

        async def overtake() -> None:
            await apply(world, "cell-a", "v3")

        def strike(sent: Request) -> Fault | None:
            if is_release(sent) and not struck:
                struck.append(sent.path)
                held.append(asyncio.create_task(overtake()))
                return Fault("delay", 0.5)
            return None

        held: list[asyncio.Task[None]] = []
        world.fault = strike
        await apply(world, "canary", "v2")
        await apply(world, "cell-a", "v2")
        await world.until(lambda: struck, within=SOAK + 30)

        await asyncio.sleep(3600)

        assert (stage.image("cell-a"), stage.is_paused("cell-a"), stage.mark("cell-a")) == ("v1", True, "held")
        (outcome,) = (keys["outcome"] for keys in world.log.of("write failed"))
        assert "the object has been modified" in outcome

    staged(scenario)


def test_another_process_goes_on_where_the_first_was_ended() -> None:
    """What is waited for is in the cluster; the webhook alone keeps the gate meanwhile."""

    async def scenario(world: World) -> None:
        await world.create(DEPLOYMENTS, "test", a_deployment("canary"))
        await world.create(DEPLOYMENTS, "test", a_deployment("cell-a", "canary"))
        stage = Stage(world)
        async with world.operating(settings=ON) as manager:
            await register(world, manager.webhooks.handler)
            await world.until(lambda: stage.is_rolled_out("cell-a"))
            await apply(world, "canary", "v2")
            await apply(world, "cell-a", "v2")
            await world.until(lambda: stage.is_rolled_out("canary") and stage.image("canary") == "v2", within=30)
            rolled_out = clock.monotonic()
            await asyncio.sleep(100)
        await asyncio.sleep(100)
        assert stage.is_paused("cell-a")
        async with world.operating(settings=ON):
            await world.until(lambda: not stage.is_paused("cell-a"), within=SOAK)

        assert abs(clock.monotonic() - rolled_out - SOAK) < 2

    play(scenario)


def test_switched_off_there_is_no_webhook_and_no_look_at_deployments() -> None:
    async def scenario(world: World) -> None:
        async with world.operating() as manager:
            answer = await manager.webhooks.handler(Call(method="POST", url="/admission/phased-deployment"))

        assert answer.status == 404
        assert not [sent for sent in world.requests if "deployments" in sent.path]

    play(scenario)
