"""Rounds of several controllers on one ledger: each waits for what any of them wrote to its scopes, and no longer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import datetime

import msgspec

from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.controller import Controller, LogRecord, RolloutKey
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.rounds import Rounds, RoundTerms
from fairlead.engine.watch_troubles import WatchTroubles
from kubeloop.caches import Caches
from kubeloop.client import Client
from kubeloop.ledger import Ledger
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Ref
from kubeloop.worker import NotBegun
from tests.engine.world import World, play

CATCH_UP = 10.0


class Scene:
    """Groups that mark their pod once, and a set that looks at the pods of all groups."""

    def __init__(self, world: World) -> None:
        log = world.log.logger()
        client = Client(world.wire)
        self.caches = Caches(client, lambda selection, _: WatchTroubles(selection.resource, "", log))
        self.pods = self.caches.informer(PODS, Pod, namespace="test")
        self.seen: list[dict[str, str]] = []
        """What each look of the set saw: pods by name with their mark."""
        terms = RoundTerms(Ledger(CATCH_UP, self.caches.covering), 5.0)
        self.group = Rounds(self._group(), AskContext(client), terms, log, lambda _: None)
        self.set = Rounds(self._set(), AskContext(client), terms, log, lambda _: None)

    def _group(self) -> Controller[Pod]:
        def scopes(key: RolloutKey) -> Iterable[str]:
            pod = self.pods.store.get(*key)
            return () if pod is None else (pod.metadata.uid,)

        def decide(pod: Pod, _: datetime) -> Decision:
            if "mark" in pod.metadata.labels:
                return Decision("rest", Hold(Reason.COMPLETE))
            body = msgspec.json.encode({"metadata": {"labels": {"mark": "yes"}}})
            ref, scope = Ref(PODS, "test", pod.metadata.name), pod.metadata.uid
            write = Patch(ref=ref, kind=PatchKind.MERGE, body=body, does=Does.STAMP_READY, scope=scope)
            return Decision("mark", Move(Reason.APPLYING, (write,)))

        return Controller(
            name="groups",
            informers=(),
            subscribe=lambda _: None,
            watched=lambda _: {PODS: self.pods},  # type: ignore[dict-item]
            scopes=scopes,
            rollouts=lambda: (),
            gather=lambda key, _: self.pods.store.get(*key),
            versions=lambda _: (),
            decide=decide,
            say=lambda *_: (),
            writes=frozenset({Does.STAMP_READY}),
            done={Does.STAMP_READY: LogRecord("info", "marked")},
        )

    def _set(self) -> Controller[dict[str, str]]:
        def gather(_: RolloutKey, __: Answers) -> dict[str, str]:
            return {pod.metadata.name: pod.metadata.labels.get("mark", "") for pod in self.pods.store.items()}

        def decide(seen: dict[str, str], _: datetime) -> Decision:
            self.seen.append(seen)
            return Decision("look", Hold(Reason.COMPLETE))

        return Controller(
            name="sets",
            informers=(),
            subscribe=lambda _: None,
            watched=lambda _: {PODS: self.pods},  # type: ignore[dict-item]
            scopes=lambda _: ["uid-of-the-set", *(pod.metadata.uid for pod in self.pods.store.items())],
            rollouts=lambda: (),
            gather=gather,
            versions=lambda _: (),
            decide=decide,
            say=lambda *_: (),
            writes=frozenset(),
            done={},
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.caches.run())
        try:
            await self.pods.synced.wait()
            await asyncio.sleep(2)
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def a_pod(name: str) -> dict[str, object]:
    containers = [{"name": "main", "image": "v1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers}}


SET, A, B = RolloutKey(("test", "set")), RolloutKey(("test", "a")), RolloutKey(("test", "b"))


async def with_two_groups(world: World) -> Scene:
    for name in ("a", "b"):
        await world.create(PODS, "test", a_pod(name))
    return Scene(world)


def test_a_round_waits_for_what_rounds_of_another_controller_wrote_to_its_scopes() -> None:
    async def scenario(world: World) -> None:
        scene = await with_two_groups(world)
        async with scene.running():
            world.wire.freeze("pods")
            await scene.group.run(A)

            assert isinstance(await scene.set.run(SET), NotBegun), "the write of the group does not show"
            assert scene.seen == []
            assert isinstance(await scene.group.run(A), NotBegun)
            await scene.group.run(B)
            assert sum(request.method == "PATCH" for request in world.requests) == 2, "a group waits for itself alone"

            world.wire.thaw("pods")
            await asyncio.sleep(0.1)
            assert not isinstance(await scene.set.run(SET), NotBegun)
            assert scene.seen == [{"a": "yes", "b": "yes"}]

    play(scenario)


def test_no_round_reads_a_cache_that_was_added_a_moment_ago_before_it_is_filled() -> None:
    async def scenario(world: World) -> None:
        scene = await with_two_groups(world)
        running = asyncio.create_task(scene.caches.run())

        assert isinstance(await scene.set.run(SET), NotBegun)
        assert scene.seen == []

        await scene.pods.synced.wait()
        await scene.set.run(SET)
        assert scene.seen == [{"a": "", "b": ""}]
        running.cancel()

    play(scenario)


def test_when_the_watch_is_silent_the_one_that_waits_asks_for_a_list() -> None:
    async def scenario(world: World) -> None:
        scene = await with_two_groups(world)
        async with scene.running():
            world.wire.freeze("pods")
            await scene.group.run(A)
            await asyncio.sleep(CATCH_UP)

            assert isinstance(await scene.set.run(SET), NotBegun)
            await asyncio.sleep(1)
            await scene.set.run(SET)
            assert scene.seen == [{"a": "yes", "b": ""}]

    play(scenario)


def test_all_rounds_of_a_process_have_one_ledger() -> None:
    async def scenario(world: World) -> None:
        manager = await world.operator()

        assert len(manager._lanes) > 2
        assert len({id(lane.rounds._ledger) for lane in manager._lanes}) == 1

    play(scenario)
