"""Versions, history and watches: nothing is lost, nothing comes twice, what is gone is said to be gone."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop import clock
from kubesim.api.verbs import Verbs
from kubesim.errors import StatusError
from kubesim.kinds.registry import CONFIG_MAPS, NAMESPACES
from kubesim.reads.listing import Query
from kubesim.store.store import Store
from kubesim.store.versions import Event
from kubesim.time import run
from tests.kubesim.trees import a_map


def a_cluster(*, seed: int = 0, history: int = 1000) -> Verbs:
    verbs = Verbs(Store(seed, history=history))
    verbs.create(NAMESPACES, "", {"metadata": {"name": "default"}}, user="me")
    return verbs


def add(verbs: Verbs, *names: str, **labels: str) -> None:
    for name in names:
        verbs.create(CONFIG_MAPS, "default", a_map(name, labels=labels), user="me")


def relabel(verbs: Verbs, name: str, **labels: str) -> None:
    tree = verbs.read(CONFIG_MAPS, "default", name)
    tree["metadata"]["labels"] = labels
    verbs.update(CONFIG_MAPS, "default", name, tree, user="me")


def drop(verbs: Verbs, name: str) -> None:
    verbs.delete(CONFIG_MAPS, "default", name, user="me")


def told(event: Event) -> str:
    return f"{event.type} {event.new.head.name}"


async def take(verbs: Verbs, count: int, since: str = "", labels: str = "") -> list[Event]:
    watcher = verbs.watch(CONFIG_MAPS, since, labels=labels)
    events = [event for _ in range(count) if (event := await watcher.next(clock.monotonic() + 1)) is not None]
    watcher.close()
    return events


def test_every_write_gets_the_next_number_across_resources() -> None:
    async def main() -> list[int]:
        verbs = a_cluster()
        add(verbs, "a")
        verbs.create(NAMESPACES, "", {"metadata": {"name": "other"}}, user="me")
        add(verbs, "b")
        return [int(verbs.read(CONFIG_MAPS, "default", name)["metadata"]["resourceVersion"]) for name in "ab"]

    assert run(main()) == [2, 4]


def test_a_watch_resumes_after_the_version_it_names() -> None:
    async def main() -> list[str]:
        verbs = a_cluster()
        add(verbs, "a", "b")
        since = verbs.read(CONFIG_MAPS, "default", "a")["metadata"]["resourceVersion"]
        relabel(verbs, "a", tier="front")
        drop(verbs, "b")
        return [told(event) for event in await take(verbs, 5, since)]

    assert run(main()) == ["ADDED b", "MODIFIED a", "DELETED b"]


def test_a_watch_without_a_version_begins_with_what_is_there() -> None:
    async def main() -> list[str]:
        verbs = a_cluster()
        add(verbs, "b", "a", "c")
        drop(verbs, "c")
        return [told(event) for event in await take(verbs, 3)]

    assert run(main()) == ["ADDED a", "ADDED b"]


def test_a_watch_at_a_future_version_stays_silent_until_it_is_passed() -> None:
    async def main() -> list[str]:
        verbs = a_cluster()
        watcher = verbs.watch(CONFIG_MAPS, "3")
        add(verbs, "a", "b", "c")
        return [told(event) for _ in range(3) if (event := await watcher.next(1.0)) is not None]

    assert run(main()) == ["ADDED c"]


def test_a_watcher_with_a_selector_sees_objects_come_and_go_as_they_match() -> None:
    async def main() -> list[tuple[str, dict[str, str], bool]]:
        verbs = a_cluster()
        watcher = verbs.watch(CONFIG_MAPS, "1", labels="tier=front")
        add(verbs, "a", tier="back")
        relabel(verbs, "a", tier="front", size="1")
        relabel(verbs, "a", tier="front", size="2")
        relabel(verbs, "a", tier="back")
        relabel(verbs, "a", tier="front")
        drop(verbs, "a")
        seen = []
        for _ in range(9):
            event = await watcher.next(1.0)
            if event is not None:
                stamp = event.tree()["metadata"]["resourceVersion"]
                seen.append((event.type, event.new.head.labels, stamp == str(event.revision)))
        return seen

    assert run(main()) == [
        ("ADDED", {"tier": "front", "size": "1"}, True),
        ("MODIFIED", {"tier": "front", "size": "2"}, True),
        ("DELETED", {"tier": "front", "size": "2"}, True),
        ("ADDED", {"tier": "front"}, True),
        ("DELETED", {"tier": "front"}, True),
    ]


def test_the_line_of_an_event_is_built_once_for_all_watchers() -> None:
    async def main() -> bool:
        verbs = a_cluster()
        first, second = verbs.watch(CONFIG_MAPS, "1"), verbs.watch(CONFIG_MAPS, "1", labels="!gone")
        add(verbs, "a")
        events = await first.next(), await second.next()
        return events[0] is not None and events[1] is not None and events[0].line() is events[1].line()

    assert run(main())


def test_a_deletion_shows_the_last_state_under_its_own_version() -> None:
    async def main() -> tuple[str, dict[str, str]]:
        verbs = a_cluster()
        add(verbs, "a", tier="front")
        watcher = verbs.watch(CONFIG_MAPS, "2")
        drop(verbs, "a")
        event = await watcher.next()
        assert event is not None
        tree = event.tree()
        return tree["metadata"]["resourceVersion"], tree["metadata"]["labels"]

    assert run(main()) == ("3", {"tier": "front"})


def test_history_beyond_the_window_is_gone() -> None:
    async def main() -> str:
        verbs = a_cluster(history=3)
        add(verbs, *"abcdef")
        with pytest.raises(StatusError) as caught:
            verbs.watch(CONFIG_MAPS, "2")
        verbs.watch(CONFIG_MAPS, "4").close()
        return f"{caught.value.code} {caught.value.reason} {caught.value.message}"

    assert run(main()) == "410 Expired too old resource version: 2 (4)"


def test_history_can_be_compacted_on_demand() -> None:
    async def main() -> list[int]:
        verbs = a_cluster()
        add(verbs, "a", "b")
        verbs.store.compact()
        codes = []
        for since in ("1", "2", "3"):
            try:
                verbs.watch(CONFIG_MAPS, since).close()
                codes.append(200)
            except StatusError as error:
                codes.append(error.code)
        return codes

    assert run(main()) == [410, 410, 200]


def test_pages_come_from_one_frozen_list() -> None:
    async def main() -> list[tuple[list[str], int | None, int]]:
        verbs = a_cluster()
        add(verbs, *"abcdefg")
        pages = []
        token = ""
        while True:
            listed = verbs.select(CONFIG_MAPS, Query(namespace="default", limit=3, continue_token=token))
            pages.append(([version.head.name for version in listed.versions], listed.remaining, listed.revision))
            token = listed.continue_token
            if not token:
                return pages
            drop(verbs, pages[-1][0][0])
            add(verbs, f"{pages[-1][0][-1]}{len(pages)}")
            drop(verbs, "g") if len(pages) == 1 else None

    assert run(main()) == [(["a", "b", "c"], 4, 8), (["d", "e", "f"], 1, 8), (["g"], None, 8)]


def test_a_page_of_a_compacted_list_is_gone() -> None:
    async def main() -> str:
        verbs = a_cluster()
        add(verbs, *"abc")
        token = verbs.select(CONFIG_MAPS, Query(limit=2)).continue_token
        add(verbs, "d")
        verbs.store.compact()
        with pytest.raises(StatusError) as caught:
            verbs.select(CONFIG_MAPS, Query(limit=2, continue_token=token))
        return f"{caught.value.code} {caught.value.message}"

    assert run(main()).startswith("410 The provided continue parameter is too old")


def test_a_list_at_an_exact_version_shows_the_past() -> None:
    async def main() -> tuple[list[str], list[str]]:
        verbs = a_cluster()
        add(verbs, "a", "b", tier="old")
        then = str(verbs.store.revision)
        drop(verbs, "a")
        relabel(verbs, "b", tier="new")
        add(verbs, "c")
        exact = verbs.select(CONFIG_MAPS, Query(resource_version=then, match="Exact"))
        fresh = verbs.select(CONFIG_MAPS, Query(resource_version=then, match="NotOlderThan"))
        shown = [f"{version.head.name} {version.head.labels.get('tier')}" for version in exact.versions]
        return shown, [version.head.name for version in fresh.versions]

    assert run(main()) == (["a old", "b old"], ["b", "c"])


def test_a_list_at_a_future_version_is_to_be_tried_again() -> None:
    async def main() -> StatusError:
        verbs = a_cluster()
        with pytest.raises(StatusError) as caught:
            verbs.select(CONFIG_MAPS, Query(resource_version="99"))
        return caught.value

    error = run(main())

    assert (error.code, error.message) == (504, "Timeout: Too large resource version: 99, current: 1")
    assert error.retry_after == 1


def test_lag_delays_events_and_keeps_their_order() -> None:
    async def main(seed: int) -> list[tuple[str, float]]:
        verbs = a_cluster(seed=seed)
        watcher = verbs.watch(CONFIG_MAPS, "1", lag=(0.1, 2.0))
        add(verbs, *"abcdefgh")
        seen = []
        for _ in range(8):
            event = await watcher.next()
            assert event is not None
            seen.append((event.new.head.name, clock.monotonic()))
        return seen

    first, again, other = run(main(1)), run(main(1)), run(main(2))

    assert [name for name, _ in first] == list("abcdefgh")
    assert all(0.1 <= at < 2.0 for _, at in first)
    assert len({at for _, at in first}) > 1
    assert first == again
    assert first != other


def test_closing_a_watcher_ends_its_iteration() -> None:
    async def main() -> list[str]:
        verbs = a_cluster()
        watcher = verbs.watch(CONFIG_MAPS, "1")
        seen: list[str] = []

        async def follow() -> None:
            seen.extend([told(event) async for event in watcher])

        async with asyncio.TaskGroup() as group:
            group.create_task(follow())
            add(verbs, "a")
            await asyncio.sleep(1)
            verbs.store.close_watchers()
        add(verbs, "b")
        return seen

    assert run(main()) == ["ADDED a"]


def test_a_history_of_large_objects_is_forgotten_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is forgotten is answered with 410, however few events it was."""
    monkeypatch.setattr("kubesim.store.store.HISTORY_BYTES", 1500)

    async def scenario() -> tuple[int, int]:
        verbs = a_cluster()
        start = verbs.store.revision
        add(verbs, *(f"map-{number}" for number in range(20)))
        with pytest.raises(StatusError) as refusal:
            verbs.watch(CONFIG_MAPS, str(start))
        left = verbs.watch(CONFIG_MAPS, str(verbs.store.revision - 2))
        return refusal.value.code, len(left)

    assert run(scenario()) == (410, 2)


@pytest.mark.parametrize("backlog", [0, 5])
def test_a_bounded_watch_ends_when_what_it_has_not_read_is_forgotten(backlog: int) -> None:
    """The backlog may be read as slowly as need be, and other watches too."""

    async def scenario() -> list[tuple[bool, int]]:
        verbs = a_cluster(history=3)
        add(verbs, *(f"old-{number}" for number in range(backlog)))
        bounded, other = verbs.watch(CONFIG_MAPS), verbs.watch(CONFIG_MAPS)
        bounded.is_bounded = True
        seen = []
        for number in range(5):
            add(verbs, f"new-{number}")
            seen.append((bounded.closed, len(bounded)))
        assert (other.closed, len(other)) == (False, backlog + 5)
        assert await bounded.next() is None
        return seen

    assert run(scenario()) == [(False, backlog + number) for number in (1, 2, 3)] + [(True, 0)] * 2


def test_a_bounded_watch_that_is_read_goes_on() -> None:
    async def scenario() -> list[str]:
        verbs = a_cluster(history=3)
        add(verbs, "old")
        watcher = verbs.watch(CONFIG_MAPS)
        watcher.is_bounded = True
        seen = []
        for number in range(20):
            add(verbs, f"new-{number}")
            if number % 2:
                seen += [told(event) for event in await watcher.arrived()]
        return seen

    assert run(scenario()) == ["ADDED old", *(f"ADDED new-{number}" for number in range(20))]


def test_a_listener_hears_of_what_it_asked_for() -> None:
    async def scenario() -> tuple[list[str], list[str]]:
        verbs = a_cluster()
        some: list[str] = []
        everything: list[str] = []
        verbs.store.listen(lambda _resource, event, _author: some.append(told(event)), CONFIG_MAPS)
        verbs.store.listen(lambda _resource, event, _author: everything.append(told(event)))
        add(verbs, "settings")
        verbs.create(NAMESPACES, "", {"metadata": {"name": "other"}}, user="me")
        return some, everything

    assert run(scenario()) == (["ADDED settings"], ["ADDED settings", "ADDED other"])
