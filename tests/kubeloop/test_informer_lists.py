"""The first list fills the cache, whole, page by page."""

from __future__ import annotations

import asyncio

from kubeloop.errors import TransportError
from kubeloop.request import Request
from tests.kubeloop.informing import Scene, play, running, settle
from tests.kubeloop.scripted import a_pod


def test_the_first_list_fills_the_store_and_is_told_as_initial() -> None:
    async def scenario() -> None:
        scene = Scene()
        for name in ("b", "a"):
            scene.api.put(a_pod(name, app="web"))

        async with running(scene):
            scene.api.put(a_pod("c"))
            await settle()

            assert scene.names() == ["a", "b", "c"]
            assert [pod.metadata.name for pod in scene.informer.store.by("app", "web")] == ["a", "b"]
            assert scene.story() == ["+uid-a", "+uid-b", "+uid-c"]
            assert [change.initial for change in scene.told] == [True, True, False]
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


def test_a_list_that_breaks_off_between_pages_leaves_the_store_alone_and_is_begun_again() -> None:
    async def scenario() -> None:
        scene = Scene(page=1)
        scene.api.put(a_pod("a"))
        scene.api.put(a_pod("b"))
        async with running(scene):

            async def break_off(request: Request, when: str) -> None:
                if when == "before" and "continue" in dict(request.query):
                    raise TransportError("cut")

            scene.api.fault = break_off
            scene.informer.ask_for_list()
            await settle()
            assert scene.names() == ["a", "b"]
            assert isinstance(scene.informer.last_error, TransportError)

            scene.api.fault = None
            await asyncio.sleep(1.6)

            assert scene.informer.listed_at > 2
            assert scene.story() == ["+uid-a", "+uid-b"]
            assert scene.informer.last_error is None

    play(scenario)
