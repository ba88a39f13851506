"""S16: evictions judged at the same time, on any number of replicas, never let two zones down (or too many peers).

Every order in which the questions of two and three requests can be answered is tried, and evicted pods begin to
terminate at any moment after their answer. What replicas share is the API server and the record.
"""

from __future__ import annotations

import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.budgets.eviction import EvictionSnapshot, judge
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.kinds import GROUP_LABEL
from fairlead.core.ask import Answers, Need, StartOver
from fairlead.core.decision import Admit
from kubeloop.objects.core import Pod
from tests.builders import NOW
from tests.contracts.eviction_orders import Explorer
from tests.contracts.zones.decide.evicting import REGEX, Live, a_guard, an_eviction, changed, three_zones


def explorer_of(live: Live, *guards: DisruptionBudget, compares: bool = True, cached: bool = True) -> Explorer[Pod]:
    """`cached` says whether the cache shows the zones, so that all is read in one stage, the record last."""

    def decided(name: str, shown: Pod, answers: Answers) -> Admit | Need | StartOver:
        zones = tuple(live.zones.values()) if cached else ()
        return judge(EvictionSnapshot(an_eviction(name), guards, shown, zones, answers), NOW)

    return Explorer(live, decided, lambda pod: changed(pod, deletion_timestamp=NOW), compares=compares)


def zones_of(pods: list[str]) -> set[str]:
    return {pod.rpartition("-")[0] for pod in pods}


def pod(short: str) -> str:
    return f"ingester-zone-{short}"


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("pods", ["a-0 b-0", "a-0 a-1", "a-0 a-0", "a-0 a-1 b-0", "a-0 b-0 c-0"])
def test_no_two_zones_are_let_down_in_any_order_of_events(pods: str, limit: int, cached: bool) -> None:
    explorer = explorer_of(three_zones(2), a_guard(max_unavailable=limit), cached=cached)

    ends = list(explorer.ends(*map(pod, pods.split())))

    assert all(len(zones_of(admitted)) <= 1 for admitted in ends)
    assert all(len(set(admitted)) <= limit for admitted in ends)
    assert all(ends), "somebody is always let go"


@pytest.mark.parametrize("limit", [1, 2])
@pytest.mark.parametrize("pods", ["a-0 b-0", "a-0 b-1", "a-0 b-0 c-0", "a-0 b-0 a-1"])
def test_no_partition_loses_more_peers_than_allowed(pods: str, limit: int) -> None:
    explorer = explorer_of(three_zones(2), a_guard(max_unavailable=limit, regex=REGEX))

    for admitted in explorer.ends(*map(pod, pods.split())):
        for partition in "01":
            assert len({each for each in admitted if each.endswith(partition)}) <= limit


def test_pods_of_different_partitions_are_all_let_go() -> None:
    explorer = explorer_of(three_zones(2), a_guard(regex=REGEX))

    assert {tuple(admitted) for admitted in explorer.ends(pod("a-0"), pod("b-1"))} == {(pod("a-0"), pod("b-1"))}


def test_the_explorer_finds_the_breach_where_records_are_not_compared() -> None:
    """Without compare-and-swap both zones are let down in some order: the tests above can fail."""
    explorer = explorer_of(three_zones(2), a_guard(), compares=False)

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

    ends = list(explorer_of(live, left).ends(pod("a-0"), pod("c-0")))

    assert ends
    assert all(admitted == [pod("a-0"), pod("c-0")] for admitted in ends)
