"""The first list fills the cache, whole, in whichever way the server can give it."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop.errors import TransportError
from kubeloop.request import Request
from tests.kubeloop.informing import Scene, play, running, settle
from tests.kubeloop.scripted import a_pod


@pytest.mark.parametrize("streaming", [False, True])
def test_the_first_list_fills_the_store_and_is_told_as_initial(streaming: bool) -> None:
    async def scenario() -> None:
        scene = Scene(streaming=streaming)
        for name in ("b", "a"):
            scene.api.put(a_pod(name, app="web"))

        async with running(scene):
            scene.api.put(a_pod("c"))
            await settle()

            assert scene.names() == ["a", "b", "c"]
            assert [pod.metadata.name for pod in scene.informer.store.by("app", "web")] == ["a", "b"]
            assert scene.story() == ["+uid-a", "+uid-b", "+uid-c"]
            assert [change.initial for change in scene.told] == [True, True, False]
            assert bool(scene.api.asked("GET", sendInitialEvents="true")) == streaming
            assert scene.api.lists_served == 1

    play(scenario)


def test_a_long_list_comes_in_pages() -> None:
    async def scenario() -> None:
        scene = Scene(page=2)
        for number in range(5):
            scene.api.put(a_pod(f"pod-{number}"))

        async with running(scene):
            assert len(scene.informer.store) == 5
            assert len(scene.api.asked("GET", limit="2")) == 3

    play(scenario)


def test_a_list_whose_pages_expire_is_taken_at_once() -> None:
    async def scenario() -> None:
        scene = Scene(page=2)
        for number in range(5):
            scene.api.put(a_pod(f"pod-{number}"))

        async def compact_after_first_page(request: Request, when: str) -> None:
            if when == "after" and ("limit", "2") in request.query:
                scene.api.remove("pod-0")
                scene.api.compact()
                scene.api.fault = None

        scene.api.fault = compact_after_first_page
        async with running(scene):
            assert scene.names() == ["pod-1", "pod-2", "pod-3", "pod-4"]
            assert scene.troubles == []

    play(scenario)


def test_a_server_that_refuses_streamed_lists_is_asked_for_plain_ones() -> None:
    async def scenario() -> None:
        scene = Scene(streaming=True)
        scene.api.streams_lists = False
        scene.api.put(a_pod("a"))

        async with running(scene):
            scene.api.put(a_pod("b"))
            await settle()

            assert scene.names() == ["a", "b"]
            assert scene.troubles == []

    play(scenario)


def test_a_server_that_never_ends_a_streamed_list_is_asked_for_a_plain_one() -> None:
    async def scenario() -> None:
        scene = Scene(streaming=True)
        scene.api.put(a_pod("a"))
        scene.api._send_initial = lambda watch: None  # type: ignore[method-assign]

        async with running(scene):
            assert scene.names() == ["a"]

    play(scenario)


def test_a_streamed_list_that_breaks_off_leaves_the_store_alone_and_is_begun_again() -> None:
    async def scenario() -> None:
        scene = Scene(streaming=True)
        scene.api.put(a_pod("a"))
        scene.api.put(a_pod("b"))
        async with running(scene):
            whole = scene.api._send_initial
            scene.api._send_initial = lambda watch: watch.finish(None)  # type: ignore[method-assign]
            scene.informer.ask_for_list()
            await settle()
            assert scene.names() == ["a", "b"]
            assert isinstance(scene.informer.last_error, TransportError)

            scene.api._send_initial = whole  # type: ignore[method-assign]
            await asyncio.sleep(1.6)

            assert scene.informer.listed_at > 2
            assert scene.story() == ["+uid-a", "+uid-b"]
            assert scene.informer.last_error is None

    play(scenario)
