"""Of what is said about an object the newest counts, and subscribers hear of it when the cache shows it."""

from __future__ import annotations

import asyncio

import pytest
from msgspec.structs import replace

from kubeloop.informer import Change, Informer
from kubeloop.objects.core import PODS, Pod
from tests.kubeloop.informing import Scene, play, running, settle
from tests.kubeloop.scripted import Tree, a_pod


def test_another_uid_under_the_same_name_replaces_even_with_a_smaller_version() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):
            other = a_pod("a", uid="uid-other")
            other["metadata"]["resourceVersion"] = "7"
            scene.api.inject("MODIFIED", other)
            await settle()

            held = scene.informer.store.get("ns", "a")
            assert held is not None
            assert held.metadata.uid == "uid-other"
            assert scene.story() == ["+uid-a", "-uid-a", "+uid-other"]

    play(scenario)


def versioned(tree: Tree, version: int) -> Tree:
    return {**tree, "metadata": {**tree["metadata"], "resourceVersion": str(version)}}


@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED"])
def test_an_event_older_than_what_is_held_is_dropped(kind: str) -> None:
    async def scenario() -> None:
        scene = Scene()
        version = int(scene.api.put(a_pod("a", app="new")))
        async with running(scene):
            scene.api.inject(kind, versioned(a_pod("a", app="old"), version - 1))
            await settle()

            held = scene.informer.store.get("ns", "a")
            assert held is not None
            assert held.metadata.labels == {"app": "new"}
            assert scene.story() == ["+uid-a"]
            assert scene.informer.version == str(version)

    play(scenario)


def test_versions_are_compared_as_numbers() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.version = 998
        scene.api.put(a_pod("a", app="old"))
        async with running(scene):
            scene.api.put(a_pod("a", app="new"))
            await settle()

            held = scene.informer.store.get("ns", "a")
            assert held is not None
            assert held.metadata.resource_version == "1000"

    play(scenario)


def test_a_late_deletion_of_an_earlier_incarnation_leaves_the_present_one() -> None:
    async def scenario() -> None:
        scene = Scene()
        version = int(scene.api.put(a_pod("a", uid="uid-second")))
        async with running(scene):
            scene.api.inject("DELETED", versioned(a_pod("a", uid="uid-first"), version - 1))
            await settle()
            assert scene.names() == ["a"]

            scene.api.inject("DELETED", versioned(a_pod("a", uid="uid-third"), version + 5))
            await settle()
            assert scene.names() == []

    play(scenario)


def test_every_subscriber_hears_of_a_change_after_the_store_shows_it() -> None:
    async def scenario() -> None:
        scene = Scene()
        heard: list[list[str]] = []
        scene.informer.subscribe(lambda _: heard.append(scene.names()))
        scene.api.put(a_pod("a"))
        scene.api.put(a_pod("b"))
        async with running(scene):
            scene.api.remove("a")
            await settle()

            assert heard == [["a", "b"], ["a", "b"], ["b"]]
            assert len(scene.told) == 3

    play(scenario)


def test_the_store_holds_what_is_kept_and_subscribers_hear_of_the_whole() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a", app="first"))
        told: list[Change[Pod]] = []
        informer = Informer(scene.api.client(), PODS, Pod, kept=lambda pod: Pod(replace(pod.metadata, labels={})))
        informer.subscribe(told.append)
        task = asyncio.create_task(informer.run())
        await informer.synced.wait()
        scene.api.put(a_pod("a", app="second"))
        await settle()
        task.cancel()

        seen = [tuple(each and each.metadata.labels for each in (change.old, change.new)) for change in told]
        assert seen == [(None, {"app": "first"}), ({}, {"app": "second"})]
        assert [pod.metadata.labels for pod in informer.store.items()] == [{}]

    play(scenario)
