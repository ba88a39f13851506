"""A server whose data was restored from a backup: versions go back, and a watch from a later one is silent for ever."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop.request import Request, Response
from tests.kubeloop.informing import Scene, play, running, settle
from tests.kubeloop.scripted import a_pod, failure


@pytest.mark.parametrize("breaks", [True, False], ids=["broken", "ended early"])
def test_after_a_restored_backup_the_store_shows_what_is_there_as_soon_as_the_server_is_back(breaks: bool) -> None:
    async def scenario() -> None:
        scene = Scene()
        for name in ("changed", "deleted", "kept"):
            scene.api.put(a_pod(name))
        backup = scene.api.backup()
        async with running(scene):
            scene.api.put(a_pod("changed", app="web"))
            scene.api.remove("deleted")
            scene.api.put(a_pod("made"))
            await settle()
            scene.told.clear()

            scene.api.restore(backup, breaks=breaks)
            await asyncio.sleep(5)

            assert scene.names() == ["changed", "deleted", "kept"]
            assert scene.story() == ["~uid-changed", "+uid-deleted", "-uid-made"]
            assert scene.informer.version == str(backup[0])
            scene.api.put(a_pod("later"))
            await settle()
            assert "later" in scene.names(), "events come again"
            assert any("earlier state" in str(trouble) for trouble in scene.troubles)

    play(scenario)


def test_a_restored_backup_is_noticed_where_no_watch_broke() -> None:
    """As behind a proxy that keeps connections and leads them to a server that has come back."""

    async def scenario() -> None:
        scene = Scene()
        backup = scene.api.backup()
        async with running(scene):
            scene.api.put(a_pod("made"))
            await settle()
            scene.api.freeze()
            scene.api.restore(backup, breaks=False)
            scene.api._watches[0]._ended = False
            await asyncio.sleep(700)

            assert scene.names() == []

    play(scenario)


def test_another_content_under_a_version_that_comes_again_is_told() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        backup = scene.api.backup()
        async with running(scene):
            version = scene.api.put(a_pod("a", app="web"))
            scene.api.bookmark()
            await settle()
            scene.told.clear()

            scene.api.restore(backup)
            assert scene.api.put(a_pod("a", app="api")) == version
            await asyncio.sleep(5)

            assert scene.story() == ["~uid-a"]
            assert [pod.metadata.name for pod in scene.informer.store.by("app", "api")] == ["a"]

    play(scenario)


def test_a_watch_that_ends_in_its_time_is_resumed_without_a_question() -> None:
    async def scenario() -> None:
        scene = Scene()
        async with running(scene):
            for _ in range(3):
                watch = scene.api.asked("GET", watch="true")[-1]
                await asyncio.sleep(30)
                scene.api.bookmark()
                await asyncio.sleep(int(dict(watch.query)["timeoutSeconds"]) - 32)
                scene.api.end_watches()
                await asyncio.sleep(2)

            assert len(scene.api.asked("GET", watch="true")) == 4
            assert len(scene.api.requests) == 5, "one list, and four watches"

    play(scenario)


def test_a_server_that_does_not_say_how_far_it_has_come_is_watched_all_the_same() -> None:
    async def scenario() -> None:
        scene = Scene()
        async with running(scene):

            async def unacceptable(request: Request, _: str) -> Response | None:
                return failure(406, "NotAcceptable") if ("limit", "1") in request.query else None

            scene.api.fault = unacceptable
            scene.api.break_watches()
            scene.api.put(a_pod("a"))
            await asyncio.sleep(5)

            assert scene.names() == ["a"]
            assert scene.api.open_watches == 1

    play(scenario)
