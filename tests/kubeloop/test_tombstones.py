"""What is gone stays readable until it was handled, at most for ten minutes, however its end was learned."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeloop import clock
from kubeloop.objects.core import Pod
from kubeloop.tombstones import LONGEST_SECONDS, Tombstones
from tests.kubeloop.informing import Scene, expire_by_event, expire_by_status, play, running, settle
from tests.kubeloop.scripted import Scripted, a_pod


def by_app(pod: Pod) -> list[str]:
    return [pod.metadata.labels["app"]] if "app" in pod.metadata.labels else []


def uids(pods: tuple[Pod, ...]) -> list[str]:
    return [pod.metadata.uid for pod in pods]


class Mourned(Scene):
    def __init__(self) -> None:
        super().__init__()
        self.gone = Tombstones(self.informer, by_app)


def test_a_deleted_object_can_be_read_by_index_with_its_labels() -> None:
    async def scenario() -> None:
        scene = Mourned()
        for name in ("b", "a"):
            scene.api.put(a_pod(name, app="web"))
        scene.api.put(a_pod("other", app="db"))
        scene.api.put(a_pod("nobody's"))
        async with running(scene):
            assert scene.gone.by("web") == ()
            for name in ("b", "a", "other", "nobody's"):
                scene.api.remove(name)
            await settle()

            assert scene.names() == []
            assert uids(scene.gone.by("web")) == ["uid-a", "uid-b"]
            assert [pod.metadata.labels for pod in scene.gone.by("db")] == [{"app": "db"}]
            assert len(scene.gone) == 3, "what has no value is of no interest"

    play(scenario)


@pytest.mark.parametrize("expire", [expire_by_status, expire_by_event])
def test_a_deletion_that_only_a_list_tells_leaves_a_tombstone_too(expire: Callable[[Scripted], None]) -> None:
    async def scenario() -> None:
        scene = Mourned()
        for name in ("deleted", "replaced"):
            scene.api.put(a_pod(name, app="web"))
        async with running(scene):
            scene.api.freeze()
            scene.api.remove("deleted")
            scene.api.remove("replaced")
            scene.api.put(a_pod("replaced", uid="uid-another", app="web"))
            for watch in scene.api._watches:
                watch.frozen = False
            expire(scene.api)
            await settle()

            assert uids(scene.gone.by("web")) == ["uid-deleted", "uid-replaced"]

    play(scenario)


def test_an_object_of_the_same_name_takes_nothing_from_those_before_it() -> None:
    async def scenario() -> None:
        scene = Mourned()
        async with running(scene):
            for number in (1, 2, 3):
                scene.api.put(a_pod("a", uid=f"uid-{number}", app="web"))
                await settle()
                if number < 3:
                    scene.api.remove("a")
                    await settle()

            assert uids(scene.gone.by("web")) == ["uid-1", "uid-2"]
            assert scene.names() == ["a"]

    play(scenario)


def test_what_is_there_again_is_not_gone() -> None:
    """An object leaves a selection and comes back into it under the same UID."""

    async def scenario() -> None:
        scene = Mourned()
        scene.api.put(a_pod("a", app="web"))
        async with running(scene):
            scene.api.remove("a")
            await settle()
            scene.api.put(a_pod("a", app="web"))
            await settle()

            assert scene.gone.by("web") == ()
            assert len(scene.gone) == 0

    play(scenario)


def test_what_was_handled_is_forgotten_and_nothing_else() -> None:
    async def scenario() -> None:
        scene = Mourned()
        for name in ("a", "b"):
            scene.api.put(a_pod(name, app="web"))
        async with running(scene):
            scene.api.remove("a")
            await settle()
            seen = scene.gone.by("web")
            scene.api.remove("b")
            await settle()

            scene.gone.forget(seen)
            scene.gone.forget(seen)

            assert uids(scene.gone.by("web")) == ["uid-b"], "gone after the look that handled the first"

    play(scenario)


def test_what_nobody_handles_is_forgotten_after_ten_minutes() -> None:
    async def scenario() -> None:
        scene = Mourned()
        for name in ("a", "b"):
            scene.api.put(a_pod(name, app="web"))
        async with running(scene):
            scene.api.remove("a")
            await asyncio.sleep(300)
            scene.api.remove("b")
            await asyncio.sleep(LONGEST_SECONDS - 300 - 0.01)
            assert uids(scene.gone.by("web")) == ["uid-a", "uid-b"]

            await asyncio.sleep(0.1)
            assert uids(scene.gone.by("web")) == ["uid-b"]
            await asyncio.sleep(300)
            scene.api.put(a_pod("c"))
            await settle()
            assert len(scene.gone) == 0, "also when nobody reads"

    play(scenario)


def test_what_was_gone_by_a_moment_is_forgotten_at_once() -> None:
    async def scenario() -> None:
        scene = Mourned()
        for name in ("a", "b"):
            scene.api.put(a_pod(name, app="web"))
        async with running(scene):
            scene.api.remove("a")
            await settle()
            await asyncio.sleep(20)
            between = clock.monotonic()
            scene.api.remove("b")
            await settle()

            scene.gone.forget_before(between - 30)
            assert uids(scene.gone.by("web")) == ["uid-a", "uid-b"]
            scene.gone.forget_before(between)
            assert uids(scene.gone.by("web")) == ["uid-b"]

    play(scenario)


STEPS = st.lists(
    st.tuples(st.sampled_from(["put", "remove", "handle", "wait", "list"]), st.sampled_from("ab"), st.booleans()),
    max_size=25,
)


@given(STEPS)
def test_gone_is_what_was_deleted_and_neither_handled_nor_old(steps: list[tuple[str, str, bool]]) -> None:
    async def scenario() -> None:
        scene = Mourned()
        held: dict[str, str] = {}
        gone: dict[str, float] = {}
        made = 0
        async with running(scene):
            for step, name, app in steps:
                match step:
                    case "put" if name not in held:
                        made += 1
                        held[name] = f"uid-{made}-{'web' if app else 'none'}"
                        labels = {"app": "web"} if app else {}
                        scene.api.put(a_pod(name, uid=held[name], **labels))
                    case "remove" if name in held:
                        scene.api.remove(name)
                        uid = held.pop(name)
                        if uid.endswith("web"):
                            gone[uid] = clock.monotonic() + LONGEST_SECONDS
                    case "handle":
                        scene.gone.forget(scene.gone.by("web"))
                        gone.clear()
                    case "wait":
                        await asyncio.sleep(LONGEST_SECONDS / 2 + 1)
                    case "list":
                        scene.informer.ask_for_list()
                await settle()

                fresh = {uid for uid, until in gone.items() if until > clock.monotonic() - 0.1}
                assert {*uids(scene.gone.by("web"))} == fresh

    play(scenario)
