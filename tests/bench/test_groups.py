"""When sets of groups are complete, and how many groups were down at once."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from bench.groups import INDEX_LABEL, NAME_LABEL, Event, Goal, LeaderWorkerSet, Observer, Pod, most_down
from bench.narrow import Line

GOAL = Goal(("a",), 2, "main:2")


def a_pod(name: str, image: str = "main:2", ready: str = "True", **meta: object) -> Pod:
    labels = {NAME_LABEL: "a", INDEX_LABEL: "0"}
    tree = {
        "metadata": {"name": name, "uid": name, "resourceVersion": "1", "labels": labels, **meta},
        "spec": {"containers": [{"image": image}]},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }
    return msgspec.convert(tree, Pod)


def a_set(available: str = "True", observed: int = 2) -> LeaderWorkerSet:
    conditions = [{"type": "Available", "status": available}]
    tree = {
        "metadata": {"name": "a", "uid": "u", "resourceVersion": "1", "generation": 2},
        "status": {"observedGeneration": observed, "conditions": conditions},
    }
    return msgspec.convert(tree, LeaderWorkerSet)


def complete(found: LeaderWorkerSet, *pods: Pod) -> bool:
    observer = Observer()
    observer.expect(GOAL)
    for pod in pods:
        observer.see_pod(Line("ADDED", pod))
    observer.see_set(Line("ADDED", found))
    return not observer.unfinished


BOTH = (a_pod("a-0"), a_pod("a-0-1"))


@pytest.mark.parametrize(
    ("found", "pods", "expected"),
    [
        (a_set(), BOTH, True),
        (a_set("False"), BOTH, False),
        (a_set(observed=1), BOTH, False),
        (a_set(), BOTH[:1], False),
        (a_set(), (BOTH[0], a_pod("a-0-1", image="main:1")), False),
        (a_set(), (BOTH[0], a_pod("a-0-1", ready="False")), False),
        (a_set(), (BOTH[0], a_pod("a-0-1", deletionTimestamp="2026-01-01T00:00:00Z")), False),
    ],
    ids=["all", "not available", "of an older spec", "a pod is missing", "old image", "not ready", "terminating"],
)
def test_set_is_complete_when_its_pods_and_its_word_agree(
    found: LeaderWorkerSet, pods: tuple[Pod, ...], expected: bool
) -> None:
    assert complete(found, *pods) is expected


def test_time_of_the_last_set_is_told() -> None:
    async def scenario() -> float:
        observer = Observer()
        observer.expect(GOAL)
        for pod in BOTH:
            observer.see_pod(Line("ADDED", pod))
        observer.see_set(Line("MODIFIED", a_set()))
        return await observer.complete()

    assert asyncio.run(scenario()) > 0


def events(*steps: tuple[str, str, bool]) -> list[Event]:
    """Index, pod and readiness, in the order of versions."""
    return [Event(version, "a", index, pod, ready, not ready) for version, (index, pod, ready) in enumerate(steps)]


UP = (("0", "a-0", True), ("0", "a-0-1", True), ("1", "a-1", True), ("1", "a-1-1", True))


def test_groups_that_come_up_count_as_down_only_after_all_were_up() -> None:
    assert most_down(events(*UP), 2, 2) == 0


def test_group_is_down_once_however_many_of_its_pods_are() -> None:
    assert most_down(events(*UP, ("1", "a-1", False), ("1", "a-1-1", False), ("1", "a-1", True)), 2, 2) == 1


def test_groups_down_at_once_are_counted_in_the_order_of_versions() -> None:
    steps = events(*UP, ("1", "a-1", False), ("0", "a-0-1", False), ("1", "a-1", True))

    assert most_down(reversed(steps), 2, 2) == 2
