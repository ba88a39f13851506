"""What the judge of a rollout counts, on histories written by hand."""

from __future__ import annotations

import pytest

from bench.cases import Zone
from bench.replay import Event, Verdict, judge

A, B = Zone("group", "a", pods=2, budget=1), Zone("group", "b", pods=2, budget=1)
OTHER = Zone("other", "c", pods=2, budget=1)
WANTED = {"a": "new", "b": "new", "c": "new"}


class History:
    """Events of pods in the order in which they are told; every zone starts with all pods ready at `old`."""

    def __init__(self, *zones: Zone) -> None:
        self._zones = zones
        self._uids: dict[str, int] = {}
        self.events: list[Event] = []
        for zone in zones:
            for pod in zone.pod_names:
                self.made(pod, "old").ready(pod, "old")

    def made(self, pod: str, revision: str = "new") -> History:
        self._uids[pod] = self._uids.get(pod, 0) + 1
        return self._tell(pod, revision)

    def ready(self, pod: str, revision: str = "new") -> History:
        return self._tell(pod, revision, ready=True)

    def deleted(self, pod: str, revision: str = "old") -> History:
        return self._tell(pod, revision, terminating=True)

    def gone(self, pod: str, revision: str = "old", *, terminating: bool = True) -> History:
        return self._tell(pod, revision, terminating=terminating, gone=True)

    def replaced(self, pod: str) -> History:
        return self.deleted(pod).gone(pod).made(pod).ready(pod)

    def judged(self) -> Verdict:
        return judge(self.events, self._zones, WANTED)

    def _tell(
        self, pod: str, revision: str, *, ready: bool = False, terminating: bool = False, gone: bool = False
    ) -> History:
        uid, version = f"{pod}-{self._uids[pod]}", len(self.events) + 1
        self.events.append(Event(version, pod[0], pod, uid, revision, ready, terminating, gone))
        return self


def test_a_rollout_pod_by_pod_and_zone_by_zone_breaks_nothing() -> None:
    history = History(A, B)

    for pod in ("a-0", "a-1", "b-0", "b-1"):
        history.replaced(pod)

    assert history.judged() == Verdict(deletions=4)


@pytest.mark.parametrize("steps", [0, 1, 2])
def test_a_second_pod_of_a_zone_is_over_budget_until_the_first_one_is_ready_again(steps: int) -> None:
    history = History(A, B).deleted("a-0")
    for step in (history.gone, history.made)[:steps]:
        step("a-0")

    history.deleted("a-1")

    assert history.judged() == Verdict(deletions=2, over_budget=1)


def test_a_budget_of_two_allows_two() -> None:
    zone = Zone("group", "a", pods=3, budget=2)

    verdict = History(zone).deleted("a-0").deleted("a-1").judged()
    worse = History(zone).deleted("a-0").deleted("a-1").deleted("a-2").judged()

    assert verdict == Verdict(deletions=2)
    assert worse == Verdict(deletions=3, over_budget=1)


def test_a_pod_of_a_second_zone_must_wait_for_the_first_zone() -> None:
    verdict = History(A, B).deleted("a-0").deleted("b-0").judged()

    assert verdict == Verdict(deletions=2, two_zones=1)


def test_other_groups_do_not_matter() -> None:
    verdict = History(A, OTHER).deleted("a-0").deleted("c-0").judged()

    assert verdict == Verdict(deletions=2)


def test_a_pod_at_the_wanted_revision_is_deleted_needlessly() -> None:
    verdict = History(A).replaced("a-0").deleted("a-0", "new").judged()

    assert verdict == Verdict(deletions=2, needless=1)


def test_a_pod_that_is_gone_at_once_was_deleted_too() -> None:
    verdict = History(A).deleted("a-0").gone("a-1", terminating=False).judged()

    assert verdict == Verdict(deletions=2, over_budget=1)


def test_events_count_in_the_order_of_their_versions_and_not_of_their_arrival() -> None:
    history = History(A, B).replaced("a-0").deleted("a-1")

    verdict = judge(reversed(history.events), (A, B), WANTED)

    assert verdict == history.judged() == Verdict(deletions=2)


def test_violations_of_all_kinds_are_added_up() -> None:
    assert Verdict(deletions=9, over_budget=1, two_zones=2, needless=3).violations == 6
