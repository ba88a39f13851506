"""While the server fails, the cache keeps what it has, says why, tries again ever more slowly, and tells the end."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from kubeloop import clock
from kubeloop.errors import Forbidden, Gone, TransportError
from kubeloop.request import Request, Response
from tests.kubeloop.informing import Scene, expire_by_event, once, play, running, settle
from tests.kubeloop.scripted import a_pod, failure


@pytest.mark.parametrize("code", [403, 500, 503])
def test_while_the_server_refuses_the_store_keeps_what_was_seen(code: int) -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):

            async def refuse(_request: Request, _when: str) -> Response | None:
                return failure(code, "Nope", "not today")

            scene.api.fault = refuse
            scene.api.remove("a")
            scene.api.put(a_pod("b"))
            scene.api._watches[0]._lines.clear()
            scene.api.end_watches()
            await asyncio.sleep(300)

            assert scene.names() == ["a"]
            assert "not today" in str(scene.informer.last_error)

            scene.api.fault = None
            await asyncio.sleep(61)

            assert scene.names() == ["b"]
            assert scene.informer.last_error is None

    play(scenario)


def test_a_first_list_that_is_forbidden_is_tried_again_and_says_why() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        scene.api.fault = once(failure(403, "Forbidden", "pods is forbidden"), watch=False)
        task = asyncio.create_task(scene.informer.run())
        await settle()
        assert not scene.informer.synced.is_set()
        assert isinstance(scene.informer.last_error, Forbidden)

        await scene.informer.synced.wait()

        assert scene.names() == ["a"]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(scenario)


def test_attempts_back_off_from_under_two_seconds_to_under_a_minute_and_start_over_after_success() -> None:
    async def scenario() -> None:
        scene = Scene()
        attempts: list[float] = []

        async def lost(request: Request, _: str) -> Response | None:
            if ("watch", "true") in request.query:
                attempts.append(clock.monotonic())
                raise TransportError("no route")
            return None

        async with running(scene):
            for _ in range(2):
                scene.api.fault = lost
                scene.api.break_watches()
                await asyncio.sleep(600)
                gaps = [after - before for before, after in pairwise(attempts)]
                scene.api.fault = None
                await asyncio.sleep(61)
                scene.api.bookmark()
                await settle()

                assert 1.6 <= gaps[0] <= 3.2
                assert all(30 <= gap <= 60 for gap in gaps[6:])
                assert len(set(gaps[6:])) > 1
                attempts.clear()

    play(scenario)


def test_the_server_says_when_to_come_back() -> None:
    async def scenario() -> None:
        scene = Scene()
        async with running(scene):
            scene.api.fault = once(failure(429, "TooManyRequests", headers={"retry-after": "40"}), watch=True)
            scene.api.end_watches()
            await asyncio.sleep(39)
            assert scene.api.open_watches == 0

            await asyncio.sleep(2)
            assert scene.api.open_watches == 1

    play(scenario)


def test_a_server_that_asks_for_an_hour_is_asked_again_after_a_minute() -> None:
    """As a page of maintenance does, which is gone in a moment; a store that is not filled keeps all from beginning."""

    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        scene.api.fault = once(failure(503, "Maintenance", headers={"retry-after": "3600"}), watch=False)
        task = asyncio.create_task(scene.informer.run())
        await asyncio.sleep(59)
        assert not scene.informer.synced.is_set()

        await asyncio.sleep(2)

        assert scene.names() == ["a"]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(scenario)


def test_after_a_failure_it_is_told_once_that_a_watch_stays_open_again() -> None:
    async def scenario() -> None:
        scene = Scene()
        async with running(scene):
            assert scene.restored == [], "nothing had failed"
            scene.api.break_watches()
            await asyncio.sleep(1.6)
            scene.api.break_watches()
            await settle()
            assert scene.restored == [], "it broke again at once"
            assert len(scene.troubles) == 2

            await asyncio.sleep(30)
            scene.api.end_watches()
            await asyncio.sleep(30)

            assert len(scene.restored) == 1
            assert scene.api.open_watches == 1

    play(scenario)


def test_a_version_that_is_too_old_is_no_trouble_unless_it_comes_again_at_once() -> None:
    async def scenario() -> None:
        scene = Scene()
        async with running(scene):
            expire_by_event(scene.api)
            await asyncio.sleep(5)
            assert scene.api.lists_served == 2
            assert (scene.troubles, scene.restored) == ([], [])

            async def always_gone(request: Request, _: str) -> Response | None:
                return failure(410, "Expired") if ("watch", "true") in request.query else None

            scene.api.fault = always_gone
            scene.api.end_watches()
            await settle()
            assert [type(trouble) for trouble in scene.troubles] == [Gone]

    play(scenario)
