"""An object that cannot be read is reported, and costs the cache nothing else."""

from __future__ import annotations

from tests.kubeloop.informing import Scene, play, running, settle
from tests.kubeloop.scripted import a_pod


def test_an_object_that_cannot_be_read_is_reported_and_skipped_in_a_list() -> None:
    async def scenario() -> None:
        scene = Scene()
        broken = a_pod("broken")
        broken["status"]["conditions"] = "none"
        scene.api.put(a_pod("a"))
        scene.api.put(broken)

        async with running(scene):
            assert scene.names() == ["a"]
            assert list(scene.informer.unreadable) == [("ns", "broken")]
            assert "ns/broken cannot be read" in str(scene.troubles[0])

            scene.api.put(a_pod("broken"))
            await settle()
            assert scene.names() == ["a", "broken"]
            assert scene.informer.unreadable == {}

    play(scenario)


def test_an_object_that_becomes_unreadable_keeps_its_last_readable_state_until_it_is_deleted() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        broken = a_pod("a")
        broken["status"]["conditions"] = "none"
        async with running(scene):
            scene.api.put(broken)
            await settle()
            assert scene.names() == ["a"]
            assert "ns/a cannot be read" in str(scene.informer.last_error)

            scene.informer.ask_for_list()
            await settle()
            assert scene.api.lists_served == 2
            assert scene.names() == ["a"]

            scene.api.remove("a")
            await settle()
            assert scene.names() == []
            assert scene.story() == ["+uid-a", "-uid-a"]
            assert scene.informer.unreadable == {}

    play(scenario)


def test_an_object_that_cannot_be_read_is_reported_once_for_each_of_its_versions() -> None:
    async def scenario() -> None:
        scene = Scene()
        broken = a_pod("a")
        broken["status"]["conditions"] = "none"
        scene.api.put(broken)
        async with running(scene):
            for _ in range(3):
                scene.informer.ask_for_list()
                await settle()
            assert scene.api.lists_served == 4
            assert len(scene.troubles) == 1

            scene.api.put(broken)
            await settle()
            scene.informer.ask_for_list()
            await settle()

            assert len(scene.troubles) == 2
            assert scene.restored == []

    play(scenario)
