"""Every small group there is, against what the contract's sentences say of it.

Bounds: one zone of 0 to 4 pods, two zones of 0 to 2, three zones of 0 to 2 with fewer states. Each pod is ready, not
ready, terminating, stuck or missing, of the old or the new revision; budgets go from 1 to 3; the status is up to date
or claims that every wanted pod is ready. The expectation is written from states alone, without the code it judges.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product

from msgspec import Struct

from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from tests.builders import a_pod, a_zone, seen
from tests.contracts.zones.decide.judging import completed, deleted, settled

ALL = tuple(f"{state} {age}" for state in ("ready", "notReady", "terminating", "stuck") for age in ("old", "new"))
ALL = (*ALL, "missing none")
FEWER = ("ready old", "ready new", "notReady new", "terminating old", "missing none")


class Small(Struct, frozen=True):
    """A zone by what its pods are, lowest ordinal first."""

    letter: str
    pods: tuple[str, ...]
    budget: int = 1
    lagging: bool = False
    paused: bool = False
    current: str = "old"

    @property
    def down(self) -> int:
        return sum(not pod.startswith("ready") for pod in self.pods)

    @property
    def outdated(self) -> list[str]:
        return [f"{self.letter}-{i}" for i, pod in enumerate(self.pods) if pod.endswith("old")]

    def pods_that(self, *states: str) -> list[str]:
        return [f"{self.letter}-{i}" for i, pod in enumerate(self.pods) if pod.split()[0] in states]


@cache
def built(zone: Small) -> tuple[StatefulSet, tuple[Pod, ...]]:
    size = len(zone.pods)
    there = size if zone.lagging else size - len(zone.pods_that("missing"))
    ready = size if zone.lagging else size - zone.down
    statefulset = a_zone(
        zone.letter,
        size,
        known=there,
        ready=ready,
        max_unavailable=str(zone.budget),
        paused="true" if zone.paused else None,
        current=zone.current,
    )
    made = []
    for ordinal, pod in enumerate(zone.pods):
        state, age = pod.split()
        if state != "missing":
            made.append(a_pod(statefulset, ordinal, age, state=state))
    return statefulset, tuple(made)


def expected(zones: tuple[Small, ...]) -> tuple[list[str], list[str]]:
    """Which zones are recorded and which pods go, by sections 3.4 and 3.5 with H-1, H-8 and U-1."""
    unready = [zone for zone in zones if zone.down]
    if len(unready) > 1:
        return [], []
    recorded: list[str] = []
    for zone in unready + [zone for zone in zones if not zone.down]:
        if zone.paused and zone.down:
            return [], []
        if zone.paused:
            continue
        if zone.outdated:
            stuck = [pod for pod in zone.pods_that("stuck") if pod in zone.outdated]
            others = [pod for pod in zone.pods_that("ready", "notReady") if pod in zone.outdated]
            return recorded, sorted(stuck + others[: max(0, zone.budget - zone.down)])
        if zone.down:
            return recorded, []
        if zone.current != "new":
            recorded.append(zone.letter)
    return recorded, []


def check(zones: tuple[Small, ...]) -> None:
    decision = settled(seen(*(part for zone in zones for part in built(zone))))
    gone = deleted(decision)

    assert (completed(decision), gone) == expected(zones), zones
    for zone in zones:
        going = [pod for pod in gone if pod.startswith(zone.letter)]
        if not going:
            continue
        stuck = zone.pods_that("stuck")
        out = {*zone.pods_that("notReady", "terminating", "stuck", "missing"), *going}
        assert all(other is zone or not other.down for other in zones), f"S1, S5: {zones}"
        assert len(out) <= zone.budget or set(going) <= set(stuck), f"S3: {zones}"
        assert set(going) <= set(zone.outdated), f"S4: {zones}"
        assert not set(going) & set(zone.pods_that("terminating")), f"S6: {zones}"
    for zone in zones:
        done = zone.letter in completed(decision)
        assert not done or not (zone.outdated or zone.down or zone.paused), f"S7: {zones}"


def sizes(states: tuple[str, ...], largest: int) -> Iterator[tuple[str, ...]]:
    return (pods for size in range(largest + 1) for pods in product(states, repeat=size))


def test_one_zone_of_up_to_four_pods() -> None:
    for pods in sizes(ALL, 4):
        for budget, lagging in product((1, 2, 3), (False, True)):
            check((Small("a", pods, budget, lagging),))


def test_two_zones_of_up_to_two_pods() -> None:
    for first, second in product(sizes(ALL, 2), repeat=2):
        for budget, lagging in product((1, 2), (False, True)):
            check((Small("a", first, budget, lagging), Small("b", second, budget, lagging)))


def test_two_zones_paused_or_already_recorded() -> None:
    for first, second in product(sizes(FEWER, 2), repeat=2):
        for paused, current in product((True, False), ("old", "new")):
            check((Small("a", first, paused=paused, current=current), Small("b", second, paused=not paused)))


def test_three_zones_of_up_to_two_pods() -> None:
    for zones in product(sizes(FEWER, 2), repeat=3):
        check(tuple(Small(letter, pods) for letter, pods in zip("abc", zones, strict=True)))
