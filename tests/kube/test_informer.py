"""What readers of a cache and subscribers to its changes may rely on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from fairlead.api.core import PODS, Pod
from fairlead.kube import clock
from fairlead.kube.errors import Forbidden, Gone, TransportError
from fairlead.kube.informer import Change, Informer
from fairlead.kube.request import Request, Response
from fairlead.sim.time import run
from tests.kube.scripted import Scripted, Tree, a_pod, failure


class Scene:
    """An informer of pods on a scripted server, and everything its subscriber was told."""

    def __init__(self, *, streaming: bool = False, page: int = 500) -> None:
        self.api = Scripted()
        self.troubles: list[Exception] = []
        self.restored: list[float] = []
        self.told: list[Change[Pod]] = []
        self.informer: Informer[Pod] = Informer(
            self.api.client(),
            PODS,
            Pod,
            indexes={"app": lambda pod: [pod.metadata.labels.get("app", "")]},
            page=page,
            streaming=streaming,
            seed=1,
            trouble=self.troubles.append,
            restored=lambda: self.restored.append(clock.monotonic()),
        )
        self.informer.subscribe(self.told.append)

    def names(self) -> list[str]:
        return [pod.metadata.name for pod in self.informer.store.items()]

    def story(self) -> list[str]:
        return [tell(change) for change in self.told]


def tell(change: Change[Pod]) -> str:
    if change.old is None:
        assert change.new is not None
        return f"+{change.new.metadata.uid}"
    return f"-{change.old.metadata.uid}" if change.new is None else f"~{change.new.metadata.uid}"


@asynccontextmanager
async def running(scene: Scene) -> AsyncIterator[None]:
    """The informer at work, its first list done and its watch open for some seconds."""
    task = asyncio.create_task(scene.informer.run())
    try:
        await scene.informer.synced.wait()
        await asyncio.sleep(2)
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def settle() -> None:
    """Virtual time passes, too little for any wait of the informer to end."""
    await asyncio.sleep(0.01)


def play(scene: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scene()

    run(whole(), steps=100_000)


def once(response: Response, *, watch: bool) -> Callable[[Request, str], Awaitable[Response | None]]:
    """Answers the next list or watch with this."""
    left = [response]

    async def fault(request: Request, _: str) -> Response | None:
        return left.pop() if left and (("watch", "true") in request.query) == watch else None

    return fault


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


def test_a_watch_that_ends_is_resumed_at_the_last_version_seen_bookmarks_included() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):
            reached = scene.api.bookmark()
            await settle()
            scene.api.end_watches()
            scene.api.put(a_pod("b"))
            await settle()

            assert scene.names() == ["a", "b"]
            assert scene.api.lists_served == 1
            assert scene.api.asked("GET", watch="true", resourceVersion=reached)
            assert all(("allowWatchBookmarks", "true") in r.query for r in scene.api.asked("GET", watch="true"))

    play(scenario)


def test_a_broken_watch_is_resumed_after_a_pause_and_misses_nothing() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):
            scene.api.break_watches()
            scene.api.put(a_pod("b"))
            await settle()
            assert scene.names() == ["a"]
            assert isinstance(scene.informer.last_error, TransportError)

            await asyncio.sleep(1.6)

            assert scene.names() == ["a", "b"]
            assert scene.informer.last_error is None
            assert scene.api.lists_served == 1

    play(scenario)


def expire_by_status(api: Scripted) -> None:
    api.compact()
    api.end_watches()


def expire_by_event(api: Scripted) -> None:
    api.compact()
    api.inject("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"})


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize("expire", [expire_by_status, expire_by_event])
def test_deletions_and_replacements_in_a_gap_are_told_after_410(
    expire: Callable[[Scripted], None], streaming: bool
) -> None:
    async def scenario() -> None:
        scene = Scene(streaming=streaming)
        for name in ("changed", "deleted", "kept", "replaced"):
            scene.api.put(a_pod(name, app="web"))
        async with running(scene):
            scene.told.clear()
            watch = scene.api._watches[0]
            watch.frozen = True
            scene.api.remove("deleted")
            scene.api.remove("replaced")
            scene.api.put(a_pod("replaced", uid="uid-another", app="web"))
            scene.api.put(a_pod("changed", app="api"))
            watch.frozen = False
            expire(scene.api)
            await settle()

            assert scene.story() == ["~uid-changed", "-uid-replaced", "+uid-another", "-uid-deleted"]
            assert scene.names() == ["changed", "kept", "replaced"]
            assert [pod.metadata.name for pod in scene.informer.store.by("app", "web")] == ["kept", "replaced"]
            assert not any(change.initial for change in scene.told)

    play(scenario)


def test_a_version_that_is_always_gone_is_not_asked_for_in_a_busy_loop() -> None:
    async def scenario() -> None:
        scene = Scene()

        async def always_gone(request: Request, _: str) -> Response | None:
            await asyncio.sleep(0)
            return failure(410, "Expired") if ("watch", "true") in request.query else None

        scene.api.fault = always_gone
        async with running(scene):
            await asyncio.sleep(60)

            assert 4 <= len(scene.api.asked("GET", watch="true")) <= 8

    play(scenario)


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


def test_a_watch_is_asked_to_last_five_to_ten_minutes_and_its_silence_is_not_trusted_for_longer() -> None:
    async def scenario() -> None:
        scene = Scene()
        async with running(scene):
            scene.api.freeze()
            scene.api.put(a_pod("a"))
            await asyncio.sleep(700)
            assert scene.names() == ["a"]

            for _ in range(20):
                scene.api.end_watches()
                await asyncio.sleep(2)
            asked = [int(dict(r.query)["timeoutSeconds"]) for r in scene.api.asked("GET", watch="true")]
            assert all(300 <= seconds <= 600 for seconds in asked)
            assert len(set(asked)) > 5

    play(scenario)


def test_watches_that_end_at_once_are_not_reopened_in_a_busy_loop() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):
            for _ in range(100):
                scene.api.end_watches()
                await settle()

            assert len(scene.api.asked("GET", watch="true")) < 5

    play(scenario)


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


def test_a_line_that_is_no_event_breaks_the_watch_only() -> None:
    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):
            scene.api.inject_line(b"<html>bad gateway</html>")
            scene.api.put(a_pod("b"))
            await asyncio.sleep(2)

            assert scene.names() == ["a", "b"]
            assert scene.api.lists_served == 1

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


def test_a_list_asked_for_while_one_is_streamed_leaves_the_streaming_on() -> None:
    async def scenario() -> None:
        scene = Scene(streaming=True)
        async with running(scene):
            whole = scene.api._send_initial
            scene.api._send_initial = lambda watch: None  # type: ignore[method-assign]
            expire_by_event(scene.api)
            await settle()
            scene.api._send_initial = whole  # type: ignore[method-assign]

            scene.informer.ask_for_list()
            await settle()

            assert len(scene.api.asked("GET", sendInitialEvents="true")) == 3
            assert scene.informer.listed_at > 2
            assert scene.troubles == []

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
