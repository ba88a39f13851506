"""Whoever asks for a list gets one that began after the asking, and hurries nobody."""

from __future__ import annotations

import asyncio

from kubeloop import clock
from kubeloop.request import Request, Response
from tests.kubeloop.informing import Scene, once, play, running, settle
from tests.kubeloop.scripted import a_pod, failure


def test_a_list_that_is_asked_for_shows_what_a_frozen_watch_withholds() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):
            scene.api.freeze()
            scene.api.remove("a")
            scene.api.put(a_pod("b"))
            await settle()
            before = clock.monotonic()
            assert scene.names() == ["a"]

            scene.informer.ask_for_list()
            await settle()

            assert scene.names() == ["b"]
            assert scene.informer.listed_at == before
            scene.api.put(a_pod("c"))
            await settle()
            assert scene.names() == ["b", "c"]

    play(scenario)


def test_a_list_that_had_begun_before_does_not_do_for_who_asks() -> None:
    async def scenario() -> None:
        scene = Scene()
        slow = asyncio.Event()

        async def hold_answers(request: Request, when: str) -> None:
            if when == "after" and ("watch", "true") not in request.query:
                await slow.wait()

        scene.api.fault = hold_answers
        task = asyncio.create_task(scene.informer.run())
        await settle()
        scene.api.put(a_pod("a"))
        scene.api.freeze()
        for _ in range(3):
            scene.informer.ask_for_list()
        await settle()
        slow.set()

        await settle()

        assert scene.names() == ["a"]
        assert scene.api.lists_served == 2, "asked for three times, listed once more"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(scenario)


def test_a_wish_for_a_list_cuts_the_pause_after_a_failure_short_once() -> None:
    async def scenario() -> None:
        scene = Scene()
        async with running(scene):
            scene.api.fault = once(failure(500), watch=True)
            scene.api.break_watches()
            scene.api.put(a_pod("a"))
            await settle()

            scene.informer.ask_for_list()
            await settle()

            assert scene.names() == ["a"]

    play(scenario)


def test_however_often_a_list_is_asked_for_a_server_that_refuses_is_not_hurried() -> None:
    async def scenario() -> None:
        scene = Scene()
        async with running(scene):

            async def refuse(_request: Request, _when: str) -> Response | None:
                return failure(403, "Forbidden", "not today")

            scene.api.fault = refuse
            before = len(scene.api.requests)
            for _ in range(600):
                scene.informer.ask_for_list()
                await asyncio.sleep(0.1)
            assert 3 <= len(scene.api.requests) - before <= 7

            scene.api.fault = None
            await asyncio.sleep(61)
            assert scene.informer.listed_at > 60, "the wish was not forgotten"

    play(scenario)
