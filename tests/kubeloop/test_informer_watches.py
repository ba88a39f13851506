"""However a watch ends, the next one goes on without a gap and without a busy loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kubeloop.errors import TransportError
from kubeloop.request import Request, Response
from tests.kubeloop.informing import Scene, expire_by_event, expire_by_status, play, running, settle
from tests.kubeloop.scripted import Scripted, a_pod, failure


def test_a_watch_that_ends_is_resumed_at_the_last_version_seen_bookmarks_included() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):
            reached = scene.api.bookmark()
            await settle()
            scene.api.end_watches()
            scene.api.put(a_pod("b"))
            await settle()

            assert scene.names() == ["a", "b"]
            assert scene.api.lists_served == 1
            assert scene.api.asked("GET", watch="true", resourceVersion=reached)
            assert all(("allowWatchBookmarks", "true") in r.query for r in scene.api.asked("GET", watch="true"))

    play(scenario)


def test_a_broken_watch_is_resumed_after_a_pause_and_misses_nothing() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):
            scene.api.break_watches()
            scene.api.put(a_pod("b"))
            await settle()
            assert scene.names() == ["a"]
            assert isinstance(scene.informer.last_error, TransportError)

            await asyncio.sleep(1.6)

            assert scene.names() == ["a", "b"]
            assert scene.informer.last_error is None
            assert scene.api.lists_served == 1

    play(scenario)


@pytest.mark.parametrize("expire", [expire_by_status, expire_by_event])
def test_deletions_and_replacements_in_a_gap_are_told_after_410(expire: Callable[[Scripted], None]) -> None:
    async def scenario() -> None:
        scene = Scene()
        for name in ("changed", "deleted", "kept", "replaced"):
            scene.api.put(a_pod(name, app="web"))
        async with running(scene):
            scene.told.clear()
            watch = scene.api._watches[0]
            watch.frozen = True
            scene.api.remove("deleted")
            scene.api.remove("replaced")
            scene.api.put(a_pod("replaced", uid="uid-another", app="web"))
            scene.api.put(a_pod("changed", app="api"))
            watch.frozen = False
            expire(scene.api)
            await settle()

            assert scene.story() == ["~uid-changed", "-uid-replaced", "+uid-another", "-uid-deleted"]
            assert scene.names() == ["changed", "kept", "replaced"]
            assert [pod.metadata.name for pod in scene.informer.store.by("app", "web")] == ["kept", "replaced"]
            assert not any(change.initial for change in scene.told)

    play(scenario)


def test_a_version_that_is_always_gone_is_not_asked_for_in_a_busy_loop() -> None:
    async def scenario() -> None:
        scene = Scene()

        async def always_gone(request: Request, _: str) -> Response | None:
            await asyncio.sleep(0)
            return failure(410, "Expired") if ("watch", "true") in request.query else None

        scene.api.fault = always_gone
        async with running(scene):
            await asyncio.sleep(60)

            assert 4 <= len(scene.api.asked("GET", watch="true")) <= 8

    play(scenario)


def test_a_watch_is_asked_to_last_five_to_ten_minutes_and_its_silence_is_not_trusted_for_longer() -> None:
    async def scenario() -> None:
        scene = Scene()
        async with running(scene):
            scene.api.freeze()
            scene.api.put(a_pod("a"))
            await asyncio.sleep(700)
            assert scene.names() == ["a"]

            for _ in range(20):
                scene.api.end_watches()
                await asyncio.sleep(2)
            asked = [int(dict(r.query)["timeoutSeconds"]) for r in scene.api.asked("GET", watch="true")]
            assert all(300 <= seconds <= 600 for seconds in asked)
            assert len(set(asked)) > 5

    play(scenario)


def test_watches_that_end_at_once_are_not_reopened_in_a_busy_loop() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):
            for _ in range(100):
                scene.api.end_watches()
                await settle()

            assert len(scene.api.asked("GET", watch="true")) < 5

    play(scenario)


def test_a_line_that_is_no_event_breaks_the_watch_only() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):
            scene.api.inject_line(b"<html>bad gateway</html>")
            scene.api.put(a_pod("b"))
            await asyncio.sleep(2)

            assert scene.names() == ["a", "b"]
            assert scene.api.lists_served == 1

    play(scenario)


@pytest.mark.parametrize("line", [b"", b'{"type":"MODIFIED","object":{"metadata":{"name":"a'])
def test_what_no_watch_can_bring_is_listed(line: bytes) -> None:
    """As an event that a proxy cuts off, each time at the same place."""

    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):
            watch = scene.api.stream

            @asynccontextmanager
            async def cut_off(request: Request) -> AsyncIterator[Any]:
                async with watch(request) as opened:
                    opened._lines[:] = [line] if line else []
                    scene.api.break_watches()
                    yield opened

            scene.api.stream = cut_off  # type: ignore[method-assign]
            scene.api.break_watches()
            scene.api.put(a_pod("b"))
            await asyncio.sleep(30)

            assert scene.names() == ["a", "b"]
            assert len(scene.api.requests) < 20

    play(scenario)
