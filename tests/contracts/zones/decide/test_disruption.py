"""The count of what is down, against a model that was written without looking at it, in every small world."""

from __future__ import annotations

from itertools import product

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.budgets.disruption import BudgetedZone, BudgetView, changes_at, denial, lane_of
from fairlead.core.ask import Bad, Good
from fairlead.core.eviction_record import KEPT, mark
from tests.builders import NOW
from tests.contracts.zones.decide.evicting import REGEX, a_guard, a_guarded_pod, a_guarded_zone, changed

STATES = ("ready", "notReady", "terminating", "marked", "missing")
ZONES = {letter: a_guarded_zone(letter, 2) for letter in "abc"}
PODS = {
    (letter, ordinal, state): a_guarded_pod(zone, ordinal, state="ready" if state == "marked" else state)
    for letter, zone in ZONES.items()
    for ordinal in (0, 1)
    for state in STATES[:4]
}
PLACES = tuple(product("abc", (0, 1)))


def a_scene(states: dict[tuple[str, int], str], *, regex: str) -> BudgetView:
    present = {place: PODS[*place, state] for place, state in states.items() if state != "missing"}
    lanes = tuple(
        BudgetedZone(zone, tuple(pod for (of, _), pod in present.items() if of == letter))
        for letter, zone in ZONES.items()
    )
    gone = [pod for place, pod in present.items() if states[place] == "marked"]
    return BudgetView(a_guard(regex=regex), lanes, mark(gone, {}, NOW), NOW)


def may_go(states: dict[tuple[str, int], str], limit: int, *, partitioned: bool) -> bool:
    """Whether a-0 may go, by the sentences of the contract."""
    down = {place for place, state in states.items() if state != "ready" and place != ("a", 0)}
    if not partitioned:
        elsewhere = [place for place in down if place[0] != "a"]
        own = [place for place in down if place[0] == "a"]
        return not elsewhere and len(own) < limit
    total = 0
    for zone in "bc":
        missing = [place for place in down if place[0] == zone and states[place] == "missing"]
        peer = states[zone, 0]
        total += len(missing) + (peer in ("notReady", "terminating", "marked"))
    return total < limit


@pytest.mark.parametrize("partitioned", [False, True], ids=["zones", "partitions"])
@pytest.mark.parametrize("limit", [1, 2])
def test_every_world_of_three_zones_with_two_pods_is_judged_as_the_contract_says(limit: int, partitioned: bool) -> None:
    judged = {True: 0, False: 0}
    for rest in product(STATES, repeat=5):
        states = dict(zip(PLACES, ("ready", *rest), strict=True))

        scene = a_scene(states, regex=REGEX if partitioned else "")
        why = denial(PODS["a", 0, "ready"], ZONES["a"], limit, scene)

        assert (why == "") == may_go(states, limit, partitioned=partitioned), (states, why)
        judged[why == ""] += 1
    assert all(judged.values())


def test_the_pod_itself_does_not_stand_in_its_own_way() -> None:
    states = dict.fromkeys(PLACES, "ready") | {("a", 0): "marked"}

    assert denial(PODS["a", 0, "ready"], ZONES["a"], 1, a_scene(states, regex="")) == ""


def test_other_zones_are_named_before_the_own_one() -> None:
    states = dict.fromkeys(PLACES, "ready") | {("a", 1): "notReady", ("c", 1): "notReady"}

    why = denial(PODS["a", 0, "ready"], ZONES["a"], 1, a_scene(states, regex=""))

    assert why == "1 pod not ready in ingester-zone-c"


def test_the_passing_of_time_frees_marks_first_come_first() -> None:
    states = dict.fromkeys(PLACES, "ready") | {("a", 1): "marked"}

    assert changes_at(a_scene(states, regex="")) == NOW + KEPT
    assert changes_at(a_scene(dict.fromkeys(PLACES, "ready"), regex="")) is None


def test_what_has_changed_already_is_not_waited_for() -> None:
    scene = a_scene(dict.fromkeys(PLACES, "ready") | {("a", 1): "marked"}, regex="")

    assert changes_at(structs.replace(scene, now=NOW + KEPT)) is None


@pytest.mark.parametrize(("replicas", "known"), [(3, 2), (2, 3), (3, 3)], ids=["asked for", "in the status", "both"])
def test_pods_that_should_be_there_and_are_not_are_unknown(replicas: int, known: int) -> None:
    zone = a_guarded_zone("b", replicas, known=known)

    assert BudgetedZone(zone, (PODS["b", 0, "ready"], PODS["b", 1, "ready"])).unknown == 1


def test_loose_pods_count_for_the_zone_that_selects_them_and_pods_of_others_do_not() -> None:
    zone = ZONES["a"]
    own = PODS["a", 0, "ready"]
    loose = changed(PODS["a", 1, "notReady"], owner_references=())
    foreign = changed(PODS["b", 0, "notReady"], labels=own.metadata.labels)
    unlabelled = changed(PODS["b", 1, "notReady"], owner_references=(), labels={"name": "other"})

    lane = lane_of(zone, Good(msgspec.json.encode({"items": (own, loose, foreign, unlabelled)})))

    assert lane is not None
    assert [pod.metadata.name for pod in lane.pods] == [own.metadata.name, loose.metadata.name]


def test_a_lane_without_an_answer_is_none() -> None:
    assert lane_of(ZONES["a"], Bad("timeout")) is None
    assert lane_of(ZONES["a"], Good(b"nonsense")) is None
