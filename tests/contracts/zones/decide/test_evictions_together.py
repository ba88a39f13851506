"""S16: evictions judged at the same time, on any number of replicas, never let two zones down (or too many peers).

Every order in which the questions of two and three requests can be answered is tried, and evicted pods begin to
terminate at any moment after their answer. What replicas share is the API server and the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.budgets.eviction import EvictionSnapshot, judge
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.kinds import GROUP_LABEL
from fairlead.core.ask import Answer, Answers, Ask, Need, Question, StartOver, SwapRecord
from fairlead.core.decision import Admit
from tests.builders import NOW
from tests.contracts.zones.decide.evicting import REGEX, Live, a_guard, an_eviction, changed, three_zones

MOST_ATTEMPTS = 3
DENIED = Admit(allowed=False, word="outpaced")


class Request(NamedTuple):
    """How far the judgement of one eviction has come."""

    pod: str
    known: tuple[tuple[Question, Answer], ...] = ()
    waiting: tuple[tuple[Question, ...], ...] = ()
    attempts: int = 1
    verdict: Admit | None = None
    gone: bool = False
    """Whether the pod that was let go has begun to terminate."""


class World(NamedTuple):
    requests: tuple[Request, ...]
    records: tuple[tuple[str, tuple[bytes, str]], ...] = ()


class Explorer:
    """Walks through everything that can happen; `compares` false makes every swap of a record succeed."""

    def __init__(self, live: Live, *guards: DisruptionBudget, compares: bool = True, cached: bool = True) -> None:
        self.live = live
        self.guards = guards
        self.compares = compares
        self.cached = cached
        """Whether the cache shows the zones, so that all is read in one stage, the record last."""
        self.pods = dict(live.pods)

    def ends(self, *pods: str) -> Iterator[list[str]]:
        """For each end that can come about: the pods that were let go."""
        first = World(tuple(self.decided(Request(pod)) for pod in pods))
        seen, open_ = {first}, [first]
        while open_:
            world = open_.pop()
            following = [self.step(world, place) for place in range(len(pods)) if self.can_go_on(world.requests[place])]
            if not following:
                yield sorted(each.pod for each in world.requests if each.verdict is not None and each.verdict.allowed)
            for each in following:
                if each not in seen:
                    seen.add(each)
                    open_.append(each)

    def can_go_on(self, request: Request) -> bool:
        return request.verdict is None or (request.verdict.allowed and not request.gone)

    def step(self, world: World, place: int) -> World:
        """One question of one request is answered, or the pod that it let go begins to terminate."""
        request = world.requests[place]
        if request.verdict is not None:
            return world._replace(requests=_at(world.requests, place, request._replace(gone=True)))
        self.live.records = dict(world.records)
        self.live.pods = self.pods | {
            each.pod: changed(self.pods[each.pod], deletion_timestamp=NOW) for each in world.requests if each.gone
        }
        (question, *others), *later = request.waiting
        answer = self.answered(question)
        waiting = ((tuple(others),) if others else ()) + tuple(later)
        request = request._replace(known=(*request.known, (question, answer)), waiting=waiting)
        if not waiting:
            request = self.decided(request)
        return World(_at(world.requests, place, request), tuple(sorted(self.live.records.items())))

    def answered(self, question: Question) -> Answer:
        if not self.compares and isinstance(question, Ask) and isinstance(question.to, SwapRecord):
            held = self.live.records.get(question.to.record, (b"", ""))[1]
            question = structs.replace(question, to=structs.replace(question.to, version=held))
        # The version counts how often the record was written, so that equal worlds are found to be equal.
        self.live._version = max((int(version) for _, version in self.live.records.values()), default=0)
        return self.live.answer(question)

    def decided(self, request: Request) -> Request:
        zones = tuple(self.live.zones.values()) if self.cached else ()
        seen = EvictionSnapshot(
            an_eviction(request.pod), self.guards, self.pods[request.pod], zones, Answers(dict(request.known))
        )
        match judge(seen, NOW):
            case Need(stages):
                return request._replace(waiting=stages)
            case Admit() as verdict:
                return request._replace(known=(), waiting=(), verdict=verdict)
            case StartOver() if request.attempts == MOST_ATTEMPTS:
                return request._replace(known=(), waiting=(), verdict=DENIED)
            case StartOver():
                return self.decided(Request(request.pod, attempts=request.attempts + 1))


def _at(requests: tuple[Request, ...], place: int, request: Request) -> tuple[Request, ...]:
    return (*requests[:place], request, *requests[place + 1 :])


def zones_of(pods: list[str]) -> set[str]:
    return {pod.rpartition("-")[0] for pod in pods}


def pod(short: str) -> str:
    return f"ingester-zone-{short}"


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("pods", ["a-0 b-0", "a-0 a-1", "a-0 a-0", "a-0 a-1 b-0", "a-0 b-0 c-0"])
def test_no_two_zones_are_let_down_in_any_order_of_events(pods: str, limit: int, cached: bool) -> None:
    explorer = Explorer(three_zones(2), a_guard(max_unavailable=limit), cached=cached)

    ends = list(explorer.ends(*map(pod, pods.split())))

    assert all(len(zones_of(admitted)) <= 1 for admitted in ends)
    assert all(len(set(admitted)) <= limit for admitted in ends)
    assert all(ends), "somebody is always let go"


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("pods", ["a-0 b-0", "a-0 b-1", "a-0 b-0 c-0", "a-0 b-0 a-1"])
def test_no_partition_loses_more_peers_than_allowed(pods: str, limit: int) -> None:
    explorer = Explorer(three_zones(2), a_guard(max_unavailable=limit, regex=REGEX))

    for admitted in explorer.ends(*map(pod, pods.split())):
        for partition in "01":
            assert len({each for each in admitted if each.endswith(partition)}) <= limit


def test_pods_of_different_partitions_are_all_let_go() -> None:
    explorer = Explorer(three_zones(2), a_guard(regex=REGEX))

    assert {tuple(admitted) for admitted in explorer.ends(pod("a-0"), pod("b-1"))} == {(pod("a-0"), pod("b-1"))}


def test_the_explorer_finds_the_breach_where_records_are_not_compared() -> None:
    """Without compare-and-swap both zones are let down in some order: the tests above can fail."""
    explorer = Explorer(three_zones(2), a_guard(), compares=False)

    assert [pod("a-0"), pod("b-0")] in list(explorer.ends(pod("a-0"), pod("b-0")))


def test_budgets_do_not_count_for_one_another() -> None:
    live = three_zones(2)
    labels = {"a": "left", "b": "left", "c": "right"}
    for name, each in live.pods.items():
        side = labels[name.split("-")[2]]
        live.pods[name] = changed(each, labels={**each.metadata.labels, GROUP_LABEL: side})
    for name, zone in live.zones.items():
        metadata = structs.replace(zone.metadata, labels={GROUP_LABEL: "left" if name[-1] in "ab" else "right"})
        live.zones[name] = structs.replace(zone, metadata=metadata)
    left = a_guard(name="left", labels={GROUP_LABEL: "left"})

    ends = list(Explorer(live, left).ends(pod("a-0"), pod("c-0")))

    assert ends
    assert all(admitted == [pod("a-0"), pod("c-0")] for admitted in ends)
