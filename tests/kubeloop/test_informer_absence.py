"""An informer of what may not be there: it is soon known, nobody waits for it, and it is taken up later."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from kubeloop import clock
from kubeloop.errors import ServerError
from kubeloop.informer import Informer
from kubeloop.objects.core import PODS, Pod
from kubeloop.request import Request, Response
from kubesim.time import run
from tests.kubeloop.scripted import Scripted, a_pod, failure

REFUSALS = [failure(404, "NotFound"), failure(403, "Forbidden")]
IDS = ["not served", "forbidden"]


class Scene:
    def __init__(self) -> None:
        self.api = Scripted()
        self.answer: Response | None = None
        self.at: list[float] = []
        self.troubles: list[Exception] = []
        self.informer: Informer[Pod] = Informer(self.api.client(), PODS, Pod, seed=1, trouble=self.troubles.append)

        async def fault(request: Request, when: str) -> Response | None:
            if when == "before" and self.answer is not None:
                self.at.append(clock.monotonic())
                return self.answer
            return None

        self.api.fault = fault

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self.informer.run())
        try:
            await asyncio.sleep(0.1)
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.mark.parametrize("refusal", REFUSALS, ids=IDS)
def test_what_cannot_be_had_is_known_at_once_and_asked_for_at_least_every_30_seconds(refusal: Response) -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.answer = refusal

        async with scene.running():
            assert scene.informer.settled.is_set()
            assert scene.informer.is_absent
            assert not scene.informer.synced.is_set()
            await asyncio.sleep(1000)

        assert max(after - before for before, after in pairwise(scene.at)) < 30.001
        assert len(scene.at) < 60

    run(scenario(), steps=100_000)


@pytest.mark.parametrize("refusal", REFUSALS, ids=IDS)
def test_what_comes_later_is_taken_up(refusal: Response) -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.answer = refusal

        async with scene.running():
            await asyncio.sleep(300)
            scene.api.put(a_pod("a"))
            scene.answer = None
            await asyncio.sleep(30)

            assert [pod.metadata.name for pod in scene.informer.store.items()] == ["a"]
            assert not scene.informer.is_absent

    run(scenario(), steps=100_000)


def test_what_is_there_is_known_with_its_first_list() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))

        async with scene.running():
            assert scene.informer.settled.is_set()
            assert len(scene.informer.store) == 1

    run(scenario(), steps=100_000)


def test_a_server_that_fails_says_nothing_about_what_is_there() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.answer = failure(500, "InternalError")

        async with scene.running():
            await asyncio.sleep(100)
            assert not scene.informer.settled.is_set()

    run(scenario(), steps=100_000)


def test_what_was_seen_before_it_was_withheld_stays() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))

        async with scene.running():
            scene.answer = failure(403, "Forbidden")
            scene.informer.ask_for_list()
            await asyncio.sleep(100)

            assert scene.informer.is_absent
            assert len(scene.informer.store) == 1

    run(scenario(), steps=100_000)


def test_what_is_known_to_be_absent_stays_so_while_the_server_fails() -> None:
    """Else whoever reads it would wait for a list of it that cannot come."""

    async def scenario() -> None:
        scene = Scene()
        scene.answer = failure(404, "NotFound")

        async with scene.running():
            scene.answer = failure(500, "InternalError")
            await asyncio.sleep(100)
            assert isinstance(scene.informer.last_error, ServerError)
            assert scene.informer.is_absent

            scene.answer = None
            await asyncio.sleep(100)
            assert not scene.informer.is_absent

    run(scenario(), steps=100_000)
