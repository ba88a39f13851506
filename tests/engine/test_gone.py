"""Rounds that act on what is gone: a deleted object can be read until a round that saw it has succeeded."""

from __future__ import annotations

import asyncio
from datetime import datetime

import msgspec
import pytest
from msgspec import Struct

from fairlead.core.act import Create, Does
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.controller import Controller, LogRecord, RolloutKey
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.rounds import PassFailed, Rounds, RoundTerms
from fairlead.engine.watch_troubles import WatchTroubles
from kubeloop.caches import Caches
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.ledger import Ledger
from kubeloop.objects.core import CONFIGMAPS, PODS, Pod
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, delete
from kubeloop.tombstones import LONGEST_SECONDS, Tombstones
from kubesim.faults import Fault
from tests.engine.test_one_ledger import a_pod
from tests.engine.world import World, play

SPACE = RolloutKey(("test", "all"))


class Seen(Struct, frozen=True):
    gone: tuple[Pod, ...]
    holds: Reason | None


class Mourner:
    """Makes a ConfigMap with the UID of each pod that is gone, unless `holds` says to wait, or to fail."""

    def __init__(self, world: World) -> None:
        log, client = world.log.logger(), Client(world.wire)
        self.holds: Reason | None = None
        self.caches = Caches(client, lambda selection, _: WatchTroubles(selection.resource, "", log))
        self.pods = self.caches.informer(PODS, Pod, namespace="test")
        self.gone = Tombstones(self.pods, lambda pod: (pod.metadata.namespace,))
        controller = Controller(
            name="mourners",
            informers=(),
            subscribe=lambda _: None,
            watched=lambda _: {},
            scopes=lambda _: (),
            rollouts=lambda: (),
            gather=self._gather,
            versions=lambda _: (),
            decide=_decide,
            say=lambda *_: (),
            writes=frozenset({Does.APPLY_OBJECT}),
            done={Does.APPLY_OBJECT: LogRecord("info", "noted")},
            handled=self._handled,
        )
        terms = RoundTerms(Ledger(10.0, self.caches.covering), 5.0)
        self.rounds = Rounds(controller, AskContext(client), terms, log, lambda _: None)

    def _gather(self, key: RolloutKey, _: Answers) -> Seen:
        return Seen(self.gone.by(key.namespace), self.holds)

    def _handled(self, seen: Seen, decision: Decision) -> None:
        if isinstance(decision.verdict, Move):
            self.gone.forget(seen.gone)


def _decide(seen: Seen, _: datetime) -> Decision:
    if seen.holds is not None:
        return Decision("wait", Hold(seen.holds))
    writes = tuple(
        Create(resource=CONFIGMAPS, namespace="test", name=name, body=body, does=Does.APPLY_OBJECT)
        for pod in seen.gone
        for name in (f"gone-{pod.metadata.name}",)
        for body in (msgspec.json.encode({"metadata": {"name": name}, "data": {"uid": pod.metadata.uid}}),)
    )
    return Decision("note", Move(Reason.APPLYING, writes)) if writes else Decision("rest", Hold(Reason.COMPLETE))


async def with_a_pod_gone(world: World, mourner: Mourner) -> str:
    """Its UID."""
    await world.create(PODS, "test", a_pod("a"))
    uid: str = world.cluster.get(PODS, "test", "a")["metadata"]["uid"]
    await world.until(lambda: mourner.pods.store.get("test", "a") is not None)
    await world.client.call(delete(Ref(PODS, "test", "a", uid)))
    await world.until(lambda: len(mourner.gone) == 1)
    return uid


def made(world: World) -> list[Request]:
    return [request for request in world.requests if request.method == "POST" and "configmaps" in request.path]


@pytest.mark.parametrize("failure", [Fault("status", status=403), Fault("lost-answer")], ids=["refused", "no answer"])
def test_it_stays_when_the_round_fails_and_goes_when_one_succeeds(failure: Fault) -> None:
    async def scenario(world: World) -> None:
        mourner = Mourner(world)
        running = asyncio.create_task(mourner.caches.run())
        uid = await with_a_pod_gone(world, mourner)

        world.fault = lambda request: failure if request.method == "POST" else None
        with pytest.raises(KubeError):
            await mourner.rounds.run(SPACE)
        assert len(mourner.gone) == 1

        world.fault = lambda _: None
        await asyncio.sleep(1)
        await mourner.rounds.run(SPACE)
        assert len(mourner.gone) == 0
        assert world.cluster.get(CONFIGMAPS, "test", "gone-a")["data"] == {"uid": uid}

        sent = len(made(world))
        await mourner.rounds.run(SPACE)
        assert len(made(world)) == sent
        running.cancel()

    play(scenario)


def test_it_stays_while_the_decision_waits_or_fails() -> None:
    async def scenario(world: World) -> None:
        mourner = Mourner(world)
        running = asyncio.create_task(mourner.caches.run())
        await with_a_pod_gone(world, mourner)

        mourner.holds = Reason.COMPLETE
        await mourner.rounds.run(SPACE)
        assert len(mourner.gone) == 1
        mourner.holds = Reason.OBJECT_REFUSED
        with pytest.raises(PassFailed):
            await mourner.rounds.run(SPACE)
        assert len(mourner.gone) == 1

        mourner.holds = None
        await mourner.rounds.run(SPACE)
        assert len(mourner.gone) == 0
        running.cancel()

    play(scenario)


def test_what_could_not_be_written_in_time_stays() -> None:
    """Writes that are left to the next round are not done yet."""

    async def scenario(world: World) -> None:
        mourner = Mourner(world)
        running = asyncio.create_task(mourner.caches.run())
        await with_a_pod_gone(world, mourner)
        await world.create(PODS, "test", a_pod("b"))
        await world.until(lambda: mourner.pods.store.get("test", "b") is not None)
        await world.client.call(delete(Ref(PODS, "test", "b")))
        await world.until(lambda: len(mourner.gone) == 2)

        world.fault = lambda request: Fault("delay", 1.0) if request.method == "POST" else None
        await mourner.rounds.run(SPACE)
        assert (len(made(world)), len(mourner.gone)) == (1, 2)

        world.fault = lambda _: None
        await mourner.rounds.run(SPACE)
        assert len(mourner.gone) == 0
        assert {request.path for request in made(world)} == {"/api/v1/namespaces/test/configmaps"}
        running.cancel()

    play(scenario)


def test_after_ten_minutes_of_failures_it_is_forgotten() -> None:
    async def scenario(world: World) -> None:
        mourner = Mourner(world)
        running = asyncio.create_task(mourner.caches.run())
        await with_a_pod_gone(world, mourner)
        world.fault = lambda request: Fault("status", status=403) if request.method == "POST" else None
        with pytest.raises(KubeError):
            await mourner.rounds.run(SPACE)
        await asyncio.sleep(LONGEST_SECONDS)
        world.fault = lambda _: None

        sent = len(made(world))
        await mourner.rounds.run(SPACE)
        assert len(made(world)) == sent
        assert len(mourner.gone) == 0
        running.cancel()

    play(scenario)
