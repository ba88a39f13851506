"""Events do not stay: an hour after they were last written they are deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kubeloop.request import MERGE_PATCH
from kubesim.cluster import Cluster
from kubesim.controllers.event_expiry import SECONDS, SHARED
from kubesim.kinds.registry import CONFIG_MAPS, CORE_EVENTS, EVENTS
from kubesim.store.versions import Tree
from kubesim.time import run
from tests.kubesim.trees import a_map


def an_event(name: str) -> Tree:
    about = {"kind": "Pod", "name": "p", "namespace": "default"}
    return {"metadata": {"name": name}, "involvedObject": about, "reason": "Tested", "message": "it was"}


def make(cluster: Cluster, name: str) -> None:
    cluster.verbs.create(CORE_EVENTS, "default", an_event(name), user="me")


def names(cluster: Cluster) -> list[str]:
    return [each["metadata"]["name"] for each in cluster.verbs.list(CORE_EVENTS)]


def play(script: Callable[[Cluster], Awaitable[None]], cluster: Cluster | None = None) -> None:
    async def main() -> None:
        found = cluster or Cluster(events_expire=True)
        running = asyncio.create_task(found.run())
        await asyncio.sleep(1)
        await script(found)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    run(main())


def test_an_event_goes_after_an_hour_and_nothing_else_does() -> None:
    async def script(cluster: Cluster) -> None:
        make(cluster, "first")
        cluster.verbs.create(CONFIG_MAPS, "default", a_map("kept"), user="me")
        await asyncio.sleep(SECONDS / 2)
        make(cluster, "second")
        await asyncio.sleep(SECONDS / 2 - 1)
        assert names(cluster) == ["first", "second"]
        await asyncio.sleep(SHARED + 1)
        assert names(cluster) == ["second"]
        await asyncio.sleep(SECONDS)
        assert names(cluster) == []
        make(cluster, "third")
        await asyncio.sleep(SECONDS + SHARED)
        assert names(cluster) == []
        assert cluster.get(CONFIG_MAPS, "default", "kept")

    play(script)


def test_an_event_that_is_written_again_stays_an_hour_more() -> None:
    async def script(cluster: Cluster) -> None:
        make(cluster, "a")
        make(cluster, "deleted")
        await asyncio.sleep(SECONDS / 2)
        cluster.verbs.patch(CORE_EVENTS, "default", "a", MERGE_PATCH, b'{"count":2}', user="me")
        cluster.verbs.delete(CORE_EVENTS, "default", "deleted", user="me")
        await asyncio.sleep(SECONDS - 1)
        assert names(cluster) == ["a"]
        await asyncio.sleep(SHARED + 1)
        assert names(cluster) == []

    play(script)


def test_who_watches_is_told() -> None:
    async def script(cluster: Cluster) -> None:
        watcher = cluster.verbs.watch(EVENTS)
        make(cluster, "a")
        await asyncio.sleep(SECONDS + SHARED)
        seen = [await watcher.next(), await watcher.next()]
        assert [event.type for event in seen if event is not None] == ["ADDED", "DELETED"]
        assert seen[1] is not None
        assert seen[1].revision == cluster.store.revision

    play(script)


def test_events_that_were_there_before_go_too() -> None:
    cluster = Cluster(events_expire=True)

    async def before() -> None:
        make(cluster, "a")

    async def script(cluster: Cluster) -> None:
        assert names(cluster) == ["a"]
        await asyncio.sleep(SECONDS + SHARED)
        assert names(cluster) == []

    run(before())
    play(script, cluster)
