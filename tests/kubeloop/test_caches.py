"""One informer per resource and selection, for all who ask; it ends with its last reader and leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from kubeloop.caches import Caches, Share
from kubeloop.informer import Change
from kubeloop.ledger import Ledger
from kubeloop.objects.core import LEASES, PODS, Pod
from kubeloop.objects.meta import Meta, Ref
from kubeloop.watch import Selection
from tests.kubeloop.informing import play, tell
from tests.kubeloop.scripted import Scripted, a_pod, failure, pod_ref


class Lease(Struct, frozen=True):
    metadata: Meta


class Heard:
    """The troubles of one informer."""

    def __init__(self, is_optional: Callable[[], bool]) -> None:
        self.is_optional = is_optional

    def failed(self, error: Exception) -> None: ...

    def restored(self) -> None: ...


class Scene:
    def __init__(self) -> None:
        self.api = Scripted()
        self.heard: dict[Selection, Heard] = {}
        self.caches = Caches(self.api.client(), self._troubles)

    def _troubles(self, selection: Selection, is_optional: Callable[[], bool]) -> Heard:
        self.heard[selection] = Heard(is_optional)
        return self.heard[selection]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        before = asyncio.all_tasks()
        task = asyncio.create_task(self.caches.run())
        try:
            await asyncio.sleep(2)
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert asyncio.all_tasks() == before
        assert self.api.open_watches == 0


def by_app(pod: Pod) -> tuple[str, ...]:
    return (pod.metadata.labels.get("app", ""),)


def by_node(pod: Pod) -> tuple[str, ...]:
    return (pod.metadata.labels.get("node", ""),)


def names(pods: tuple[Pod, ...]) -> list[str]:
    return [pod.metadata.name for pod in pods]


def test_who_asks_for_the_same_gets_the_same_and_there_is_one_watch_of_it() -> None:
    async def scenario() -> None:
        scene = Scene()
        one = scene.caches.informer(PODS, Pod, labels="app")
        assert scene.caches.informer(PODS, Pod, labels="app") is one
        others = [
            scene.caches.informer(PODS, Pod),
            scene.caches.informer(PODS, Pod, namespace="ns", labels="app"),
            scene.caches.informer(PODS, Pod, labels="app", fields="spec.nodeName=n1"),
            scene.caches.informer(LEASES, Lease),
        ]
        assert len({id(each) for each in (one, *others)}) == 5

        async with scene.running():
            assert scene.api.open_watches == 5
            assert scene.api.lists_served == 5
            assert all(informer.synced.is_set() for informer in scene.caches)

    play(scenario)


def test_a_selection_has_one_struct() -> None:
    caches = Scene().caches
    caches.informer(PODS, Pod, labels="app")

    with pytest.raises(TypeError, match="pods are held as Pod and asked for as Lease: give the selection one struct"):
        caches.informer(PODS, Lease, labels="app")


def test_another_selection_may_have_another_struct() -> None:
    caches = Scene().caches
    pods = caches.informer(PODS, Pod, labels="app")
    others = caches.informer(PODS, Lease, namespace="ns")

    assert list(caches) == [pods, others]
    assert caches.informer(PODS, Pod, labels="app") is pods


def test_a_selection_that_is_held_apart_has_a_struct_and_an_informer_of_its_own() -> None:
    caches = Scene().caches
    pods = caches.informer(PODS, Pod, labels="app")

    others = caches.share(PODS, Lease, labels="app", apart=True)

    assert list(caches) == [pods, others.informer]
    assert caches.informer(PODS, Lease, labels="app", apart=True) is others.informer
    assert caches.informer(PODS, Pod, labels="app") is pods
    assert caches.covering(Ref(PODS, "ns", "a")) == [pods, others.informer]


def test_an_index_can_be_added_to_a_store_that_is_filled() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a", app="web", node="n1"))
        first = scene.caches.informer(PODS, Pod, indexes={"app": by_app})

        async with scene.running():
            second = scene.caches.informer(PODS, Pod, indexes={"node": by_node, "app": by_app})
            assert second is first
            scene.api.put(a_pod("b", app="web", node="n1"))
            await asyncio.sleep(0.01)

            assert names(first.store.by("node", "n1")) == ["a", "b"]
            assert names(first.store.by("app", "web")) == ["a", "b"]
            with pytest.raises(ValueError, match="the index 'app' is another one already"):
                scene.caches.informer(PODS, Pod, indexes={"app": by_node})

    play(scenario)


def test_objects_are_held_with_the_annotations_that_readers_name() -> None:
    async def scenario() -> None:
        scene = Scene()
        tree = a_pod("a")
        tree["metadata"]["annotations"] = {"one": "1", "two": "2", "three": "3"}
        scene.api.put(tree)
        named = scene.caches.informer(PODS, Pod, annotations=frozenset({"one"}))
        scene.caches.informer(PODS, Pod, annotations=frozenset({"two"}))
        nothing = scene.caches.informer(PODS, Pod, labels="app", annotations=frozenset())
        everything = scene.caches.informer(PODS, Pod, labels="node", annotations=frozenset({"one"}))
        scene.caches.informer(PODS, Pod, labels="node")

        async with scene.running():
            held = [informer.store.items()[0].metadata.annotations for informer in (named, nothing, everything)]
            assert held == [{"one": "1", "two": "2"}, {}, tree["metadata"]["annotations"]]

            scene.caches.informer(PODS, Pod, annotations=frozenset({"two"}))
            with pytest.raises(ValueError, match="holds no other annotations than one, two: name those to read"):
                scene.caches.informer(PODS, Pod, annotations=frozenset({"three"}))
            with pytest.raises(ValueError, match="of pods runs and holds no other annotations than one, two"):
                scene.caches.informer(PODS, Pod)

    play(scenario)


def test_who_comes_late_is_told_of_what_is_there() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        scene.caches.informer(PODS, Pod)

        async with scene.running():
            told: list[Change[Pod]] = []
            scene.caches.informer(PODS, Pod).subscribe(told.append)
            assert [tell(change) for change in told] == ["+uid-a"]
            assert told[0].initial
            scene.api.put(a_pod("b"))
            await asyncio.sleep(0.01)
            assert [tell(change) for change in told] == ["+uid-a", "+uid-b"]

    play(scenario)


def test_a_share_that_is_given_back_ends_its_handlers_and_the_last_one_ends_the_informer() -> None:
    async def scenario() -> None:
        scene = Scene()
        async with scene.running():
            assert scene.api.open_watches == 0
            one, other = (scene.caches.share(PODS, Pod, optional=True) for _ in range(2))
            told: dict[str, list[Change[Pod]]] = {"one": [], "other": []}
            one.subscribe(told["one"].append)
            other.subscribe(told["other"].append)
            await other.informer.synced.wait()
            await asyncio.sleep(1)
            assert scene.api.open_watches == 1, "what is asked for while it runs starts at once"

            one.give_back()
            one.give_back()
            scene.api.put(a_pod("a"))
            await asyncio.sleep(1)
            assert scene.api.open_watches == 1, "somebody else holds it"
            assert (len(told["one"]), len(told["other"])) == (0, 1)

            other.give_back()
            await asyncio.sleep(1)
            assert scene.api.open_watches == 0
            assert list(scene.caches) == []
            assert scene.caches.covering(pod_ref("a")) == []

            again = scene.caches.share(PODS, Pod)
            assert again.informer is not other.informer
            await again.informer.synced.wait()
            assert names(again.store.items()) == ["a"]

    play(scenario)


def test_all_can_do_without_it_only_as_long_as_nobody_cannot() -> None:
    scene = Scene()
    scene.caches.informer(PODS, Pod, optional=True)
    heard = scene.heard[Selection(PODS)]
    assert heard.is_optional()

    needed = scene.caches.share(PODS, Pod)

    assert not heard.is_optional()
    assert len(scene.heard) == 1
    needed.give_back()
    assert heard.is_optional()


def test_a_write_shows_in_the_informers_of_its_resource_and_namespace() -> None:
    async def scenario() -> None:
        scene = Scene()
        here = scene.caches.informer(PODS, Pod, namespace="ns", labels="app")
        everywhere = scene.caches.informer(PODS, Pod)
        scene.caches.informer(PODS, Pod, namespace="other")
        scene.caches.informer(LEASES, Lease)

        assert scene.caches.covering(Ref(PODS, "ns", "a")) == [here, everywhere]
        assert scene.caches.covering(Ref(PODS, "elsewhere", "a")) == [everywhere]

    play(scenario)


def test_a_write_does_not_show_where_an_object_of_another_name_is_looked_at() -> None:
    async def scenario() -> None:
        scene = Scene()
        one = scene.caches.informer(PODS, Pod, fields="metadata.name=a")
        scene.caches.informer(PODS, Pod, fields="metadata.name=ab")
        bound = scene.caches.informer(PODS, Pod, fields="spec.nodeName=n")

        assert scene.caches.covering(Ref(PODS, "ns", "a")) == [one, bound]

    play(scenario)


def test_a_write_does_not_show_in_what_is_known_to_be_absent() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.caches.informer(PODS, Pod, optional=True)

        async def refuse(*_: object) -> object:
            return failure(403, "Forbidden")

        scene.api.fault = refuse  # type: ignore[assignment]
        async with scene.running():
            assert scene.caches.covering(pod_ref("a")) == []

            scene.api.fault = None
            await asyncio.sleep(60)
            assert len(scene.caches.covering(pod_ref("a"))) == 1

    play(scenario)


def test_who_cannot_do_without_waits_for_what_a_right_that_was_taken_away_hides() -> None:
    """Else a round would be decided on a store that does not show its own writes."""

    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        pods = scene.caches.informer(PODS, Pod)
        scene.caches.informer(PODS, Pod, optional=True)
        ledger = Ledger(10, scene.caches.covering)
        async with scene.running():

            async def refuse(*_: object) -> object:
                return failure(403, "Forbidden")

            scene.api.fault = refuse  # type: ignore[assignment]
            scene.api.end_watches()
            await asyncio.sleep(5)
            assert pods.is_absent
            ledger.deleted("rollout", pod_ref("a"))

            assert ledger.pending("rollout") == (pod_ref("a"),)
            scene.api.remove("a")
            scene.api.fault = None
            await asyncio.sleep(60)
            assert ledger.pending("rollout") == ()

    play(scenario)


@given(st.lists(st.tuples(st.sampled_from(["ask", "give back"]), st.integers(0, 3), st.booleans()), max_size=30))
def test_whatever_is_asked_for_and_given_back_there_is_one_watch_per_selection_that_somebody_holds(
    steps: list[tuple[str, int, bool]],
) -> None:
    async def scenario() -> None:
        scene = Scene()
        held: list[tuple[int, Share[Pod]]] = []
        async with scene.running():
            for step, number, waits in steps:
                if step == "ask":
                    held.append((number, scene.caches.share(PODS, Pod, labels=f"app={number}")))
                elif held:
                    held.pop(number % len(held))[1].give_back()
                if waits:
                    await asyncio.sleep(2)
            await asyncio.sleep(2)

            wanted = {number for number, _ in held}
            assert scene.api.open_watches == len(wanted) == len(list(scene.caches))
            assert len({id(share.informer) for _, share in held}) == len(wanted)

    play(scenario)
