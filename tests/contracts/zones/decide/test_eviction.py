"""The pod-eviction webhook: each row of the contract's table, the texts of denials, and what is recorded."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.budgets.eviction import EvictionSnapshot, contested, judge, outpaced
from fairlead.core.ask import Answers, Ask, Bad, Listing, Need, Read, ReadRecord, SwapRecord
from fairlead.core.decision import Admit
from fairlead.core.eviction_record import LINGERS, is_marked, mark, read, written
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import OwnerReference
from tests.builders import NOW
from tests.contracts.zones.decide.evicting import (
    REGEX,
    Live,
    a_guard,
    a_guarded_pod,
    a_guarded_zone,
    an_eviction,
    changed,
    three_zones,
)

A0, A1, B0, B1 = "ingester-zone-a-0", "ingester-zone-a-1", "ingester-zone-b-0", "ingester-zone-b-1"


def row(verdict: Admit) -> tuple[bool, str, int]:
    return verdict.allowed, verdict.word, verdict.code


def failing(live: Live, kind: type, resource: object = None) -> Live:
    def refuse(ask: Ask) -> Bad | None:
        hit = isinstance(ask.to, kind)
        if hit and isinstance(ask.to, Listing):
            hit = ask.to.resource == resource
        if hit and isinstance(ask.to, Read):
            hit = ask.to.ref.resource == resource
        return Bad("unreachable", "no answer") if hit else None

    live.refuse = refuse
    return live


@pytest.mark.parametrize(
    "wrong",
    [{"operation": "UPDATE"}, {"sub_resource": ""}, {"namespace": ""}, {"name": ""}],
    ids=["not a creation", "not an eviction", "no namespace", "no name"],
)
def test_z1_what_is_not_the_eviction_of_a_named_pod_is_refused(wrong: dict[str, object]) -> None:
    live = three_zones()

    verdict = live.evict(A0, a_guard(), review=wrong)

    assert row(verdict) == (False, "invalid-request", 400)
    assert live.asked == []


def test_z2_a_pod_that_cannot_be_read_is_not_evicted() -> None:
    assert row(three_zones().evict("nobody", a_guard())) == (False, "pod-not-found", 400)
    assert row(failing(three_zones(), Read, PODS).evict(A0, a_guard())) == (False, "pod-not-found", 400)


@pytest.mark.parametrize("state", ["Succeeded", "Failed", "Pending", "terminating"])
def test_z3_a_pod_that_serves_nobody_may_always_go(state: str) -> None:
    zone = a_guarded_zone("a")
    pod = a_guarded_pod(zone, 0, **({"state": state} if state == "terminating" else {"phase": state}))

    verdict = Live(zone, pod).evict(A0, a_guard(max_unavailable=0))

    assert row(verdict) == (True, "pod-not-ready", 0)
    assert A0 in verdict.warnings[0]


def test_z4_two_budgets_for_one_pod_are_a_mistake() -> None:
    verdict = three_zones().evict(A0, a_guard(name="one"), a_guard(name="two"))

    assert row(verdict) == (False, "cfg-not-found", 400)
    assert "one, two" in verdict.message


def test_z5_a_pod_outside_of_all_budgets_costs_no_call() -> None:
    live = three_zones()

    verdict = live.evict(A0, a_guard(labels={"app": "other"}))

    assert row(verdict) == (True, "pod-not-in-scope", 0)
    assert live.asked == []


def test_z5_a_pod_that_the_cache_lacks_is_read() -> None:
    live = three_zones()

    verdict = live.evict(A0, a_guard(labels={"app": "other"}), cached=False)

    assert row(verdict) == (True, "pod-not-in-scope", 0)
    assert len(live.asked) == 1


def test_z5_the_labels_that_count_are_the_live_ones() -> None:
    live = three_zones()
    seen = EvictionSnapshot(an_eviction(A0), (a_guard(),), live.pods[A0])
    live.pods[A0] = changed(live.pods[A0], labels={})

    assert row(live.settle(seen)) == (True, "pod-not-in-scope", 0)


def test_nothing_is_evicted_before_the_budgets_are_known() -> None:
    live = three_zones()

    verdict = live.settle(EvictionSnapshot(an_eviction(A0), None, live.pods[A0]))

    assert row(verdict) == (False, "cfg-not-found", 429)
    assert live.asked == []


@pytest.mark.parametrize(
    "owners",
    [
        (),
        (OwnerReference("ReplicaSet", "x", "u", "apps/v1", True),),
        (OwnerReference("StatefulSet", "ingester-zone-a", "another", "apps/v1", True),),
        (OwnerReference("StatefulSet", "gone", "u", "apps/v1", True),),
        (OwnerReference("StatefulSet", "ingester-zone-a", "uid-ingester-zone-a", "example.com/v1", True),),
        (OwnerReference("StatefulSet", "ingester-zone-a", "uid-ingester-zone-a", "apps/v1", False),),
    ],
    ids=["nobody", "another kind", "an earlier incarnation", "not there", "another group", "not the controller"],
)
def test_z6_a_pod_whose_statefulset_cannot_be_read_stays(owners: tuple[OwnerReference, ...]) -> None:
    live = three_zones()
    live.pods[A0] = changed(live.pods[A0], owner_references=owners)

    assert row(live.evict(A0, a_guard())) == (False, "sts-no-found", 500)


def test_z7_the_record_is_swapped_last_with_what_was_read_of_it() -> None:
    live = three_zones()

    live.evict(A0, a_guard())

    kinds = [type(ask.to) for ask in live.asked if isinstance(ask, Ask)]
    assert kinds.index(ReadRecord) < kinds.index(SwapRecord)
    assert kinds[-1] is SwapRecord
    assert kinds[-1] is SwapRecord


def test_z7_what_cannot_be_recorded_is_not_allowed() -> None:
    assert row(failing(three_zones(), ReadRecord).evict(A0, a_guard())) == (False, "err: eviction-not-recorded", 500)
    assert row(failing(three_zones(), SwapRecord).evict(A0, a_guard())) == (False, "err: eviction-not-recorded", 500)


def test_z8_a_maximum_of_zero_forbids_evictions() -> None:
    verdict = three_zones().evict(A0, a_guard(max_unavailable=0))

    assert row(verdict) == (False, "max-unavailable-0", 403)
    assert verdict.message == "max unavailable = 0"


def test_z8_a_percentage_of_no_pods_is_zero() -> None:
    live = three_zones()
    live.zones["ingester-zone-a"] = a_guarded_zone("a", 3, known=0)

    assert row(live.evict(A0, a_guard(max_unavailable=0, percentage=50))) == (False, "max-unavailable-0", 403)


def test_z9_a_budget_for_fewer_than_two_zones_lets_nothing_go() -> None:
    alone = Live(zone := a_guarded_zone("a"), a_guarded_pod(zone, 0))

    assert row(alone.evict(A0, a_guard())) == (False, "min-sts-not-found", 400)
    assert row(failing(three_zones(), Listing, STATEFULSETS).evict(A0, a_guard())) == (
        False,
        "min-sts-not-found",
        400,
    )


def test_z10_a_pod_without_partition_stays() -> None:
    verdict = three_zones().evict(A0, a_guard(regex="other-([0-9]+)"))

    assert row(verdict) == (False, "partition-not-identified", 400)


def test_z11_pods_that_cannot_be_listed_are_not_taken_for_ready() -> None:
    verdict = failing(three_zones(), Listing, PODS).evict(A0, a_guard())

    assert row(verdict) == (False, "err: sts-pod-status-not-determined", 500)


def test_scenario_36_one_zone_at_a_time() -> None:
    live, guard = three_zones(), a_guard()

    first = live.evict(A0, guard)
    sibling = live.evict(A1, guard)
    elsewhere = live.evict(B0, guard)
    again = live.evict(A0, guard)

    assert row(first) == row(again) == (True, "allowed", 0)
    assert row(sibling) == row(elsewhere) == (False, "denied", 429)
    assert sibling.message == elsewhere.message == "1 pod not ready in ingester-zone-a"


def test_scenario_36_a_larger_budget_is_for_the_same_zone_only() -> None:
    live, guard = three_zones(), a_guard(max_unavailable=2)
    live.evict(A0, guard)

    assert live.evict(A1, guard).allowed
    assert row(live.evict(B0, guard)) == (False, "denied", 429)
    assert live.evict("ingester-zone-a-2", guard).message == "2 pods not ready in ingester-zone-a"


def test_scenario_37_peers_of_a_partition_are_in_other_zones() -> None:
    live, guard = three_zones(), a_guard(regex=REGEX)

    assert live.evict(A0, guard).allowed
    assert live.evict(B1, guard).allowed
    denied = live.evict(B0, guard)
    assert row(denied) == (False, "denied", 429)
    assert denied.message == "1 pod not ready in partition 0"


def test_the_text_counts_what_is_not_ready_and_what_is_unknown() -> None:
    live = three_zones()
    for name in (B0, B1):
        del live.pods[name]
    live.pods["ingester-zone-b-2"] = a_guarded_pod(live.zones["ingester-zone-b"], 2, state="notReady")

    assert live.evict(A0, a_guard()).message == "1 pod not ready, 2 pods unknown in ingester-zone-b"
    assert live.evict(A0, a_guard(regex=REGEX)).message == "2 pods unknown in partition 0"


def test_a_zone_without_a_peer_counts_as_one_unknown() -> None:
    live, guard = three_zones(2), a_guard(regex=REGEX)
    zone = live.zones["ingester-zone-a"]
    live.zones["ingester-zone-a"] = structs.replace(zone, spec=structs.replace(zone.spec, replicas=3))
    live.pods["ingester-zone-a-2"] = a_guarded_pod(zone, 2)

    assert live.evict("ingester-zone-a-2", guard).message == "2 pods unknown in partition 2"


def test_the_own_zone_counts_though_it_lacks_the_labels_of_the_budget() -> None:
    live = three_zones()
    zone = live.zones["ingester-zone-a"]
    live.zones["ingester-zone-a"] = structs.replace(zone, metadata=structs.replace(zone.metadata, labels={}))
    live.pods[A1] = a_guarded_pod(zone, 1, state="notReady")

    assert live.evict(A0, a_guard()).message == "1 pod not ready in ingester-zone-a"


def test_pods_that_another_controls_are_not_counted() -> None:
    live = three_zones()
    zone = live.zones["ingester-zone-b"]
    live.pods["stray"] = a_guarded_pod(zone, 0, name="stray", state="notReady", owner="somebody")

    assert live.evict(A0, a_guard()).allowed


def test_a_zone_whose_name_label_is_not_in_its_selector_is_listed_by_the_selector() -> None:
    live = three_zones()
    zone = live.zones["ingester-zone-b"]
    template = structs.replace(zone.spec.template, metadata=structs.replace(zone.spec.template.metadata, labels={}))
    live.zones["ingester-zone-b"] = structs.replace(zone, spec=structs.replace(zone.spec, template=template))

    assert live.evict(A0, a_guard()).allowed


@pytest.mark.parametrize(
    "given",
    [
        {"dry_run": True},
        {"body": {"apiVersion": "policy/v1", "kind": "Eviction", "deleteOptions": {"dryRun": ["All"]}}},
        {"body": {"apiVersion": "policy/v1beta1", "kind": "Eviction", "deleteOptions": {"dryRun": ["All"]}}},
    ],
    ids=["of the request", "of the eviction", "of an eviction of the old version"],
)
def test_s13_a_dry_run_is_judged_and_leaves_no_trace(given: dict[str, object]) -> None:
    """H-14."""
    live, guard = three_zones(), a_guard()

    assert live.evict(A0, guard, review=given).allowed

    assert live.records == {}
    assert not any(isinstance(ask, Ask) and isinstance(ask.to, SwapRecord) for ask in live.asked)
    live.evict(B0, guard)
    assert row(live.evict(A0, guard, review=given)) == (False, "denied", 429)


@pytest.mark.parametrize(
    "body",
    [None, [], "text", {"deleteOptions": None}, {"deleteOptions": {"dryRun": None}}, {"deleteOptions": {"dryRun": []}}],
    ids=repr,
)
def test_any_other_body_is_no_dry_run(body: object) -> None:
    live, guard = three_zones(), a_guard()

    live.evict(A0, guard, review={"body": body})

    assert list(live.marked(guard)) == [A0]


def test_a_recorded_eviction_counts_for_two_minutes() -> None:
    live, guard = three_zones(), a_guard()
    live.evict(A0, guard)

    assert not live.evict(B0, guard, now=NOW + timedelta(seconds=119)).allowed
    assert live.evict(B0, guard, now=NOW + timedelta(seconds=120)).allowed
    assert list(live.marked(guard)) == [B0]


def test_a_recorded_eviction_ends_with_the_pod_it_was_for() -> None:
    live, guard = three_zones(), a_guard()
    live.evict(A0, guard)
    live.pods[A0] = changed(live.pods[A0], uid="another")

    assert live.evict(B0, guard).allowed
    later = NOW + LINGERS
    live.evict(B0, guard, now=later)
    assert list(live.marked(guard)) == [B0]


def test_a_pod_that_merely_changed_is_still_on_its_way() -> None:
    live, guard = three_zones(), a_guard()
    live.evict(A0, guard)
    live.pods[A0] = changed(live.pods[A0], resource_version="99")

    assert not live.evict(B0, guard).allowed


def test_an_evicted_pod_that_was_seen_to_fail_is_forgotten() -> None:
    live, guard = three_zones(), a_guard(max_unavailable=2)
    live.evict(A0, guard)
    live.pods[A0] = a_guarded_pod(live.zones["ingester-zone-a"], 0, phase="Failed")

    assert live.evict(A1, guard).allowed
    live.evict(A1, guard, now=NOW + LINGERS)

    assert list(live.marked(guard)) == [A1]


@pytest.mark.parametrize(
    ("stamp", "counts"),
    [
        ("2026-03-01T11:54:59Z", True),
        ("2026-03-01T11:55:00Z", False),
        ("2026-03-01T13:54:59+02:00", True),
        ("2026-03-01T11:54:59.5Z", True),
        ("2026-03-01T12:30:00Z", False),
        ("2026-03-01T11:54:59", False),
        ("2026-03-01 11:54:59Z", False),
        ("2026-03-01t11:54:59z", False),
        ("9999-12-31T23:59:59Z", False),
        ("soon", False),
        ("", False),
        (None, False),
    ],
)
def test_z12_a_peer_must_have_been_ready_for_longer_than_the_delay(stamp: str | None, counts: bool) -> None:
    live = three_zones()
    for name, pod in live.pods.items():
        zone = live.zones[name.rpartition("-")[0]]
        given = stamp if name == B0 else "2026-03-01T00:00:00Z"
        live.pods[name] = a_guarded_pod(zone, int(pod.metadata.name[-1]), ready_time=given)

    verdict = live.evict(A0, a_guard(regex=REGEX, delay=300.0))

    assert verdict.allowed == counts
    assert counts or verdict.message == "1 pod not ready in partition 0"


def test_z7_evictions_take_turns_at_the_record_they_are_written_into() -> None:
    live, guard = three_zones(), a_guard()
    seen = EvictionSnapshot(an_eviction(A0), (guard,), live.pods[A0])

    assert contested(seen) == guard.record


@pytest.mark.parametrize(
    "changes",
    [
        {"pod": None},
        {"guards": None},
        {"guards": ()},
        {"guards": (a_guard(), a_guard(name="other"))},
        {"guards": (a_guard(labels={"app": "other"}),)},
        {"review": an_eviction(A0, dry_run=True)},
        {"pod": a_guarded_pod(a_guarded_zone("a"), 0, state="terminating")},
    ],
    ids=["not cached", "not known", "no budget", "two budgets", "out of scope", "dry run", "going already"],
)
def test_an_eviction_that_is_not_recorded_waits_for_no_other(changes: dict[str, object]) -> None:
    seen = EvictionSnapshot(an_eviction(A0), (a_guard(),), three_zones().pods[A0])

    assert contested(structs.replace(seen, **changes)) == ""


def test_an_eviction_that_is_outpaced_is_denied_like_any_other() -> None:
    verdict = outpaced(EvictionSnapshot(an_eviction(A0), (a_guard(),), three_zones().pods[A0]))

    assert (verdict.allowed, verdict.word, verdict.code) == (False, "denied", 429)
    assert verdict.message.startswith("1 pod unknown in ingester-zone-a: ")


def test_with_a_cache_that_shows_the_zones_all_is_read_in_one_stage() -> None:
    """Then the record is swapped, and that is all that an eviction within a budget costs."""
    live = three_zones()
    seen = EvictionSnapshot(an_eviction(A0), (a_guard(),), live.pods[A0], tuple(live.zones.values()))

    reads = judge(seen, NOW)
    assert isinstance(reads, Need)
    known = {question: live.answer(question) for stage in reads.stages for question in stage}
    swap = judge(structs.replace(seen, answers=Answers(known)), NOW)
    assert isinstance(swap, Need)
    known |= {question: live.answer(question) for stage in swap.stages for question in stage}
    verdict = judge(structs.replace(seen, answers=Answers(known)), NOW)

    assert isinstance(verdict, Admit)
    assert verdict.allowed
    assert [len(need.stages) for need in (reads, swap)] == [1, 1]
    assert len(reads.stages[0]) == 4  # pod, zones, the pods of all zones, record


def test_the_own_zone_is_read_alone_where_the_list_does_not_show_it() -> None:
    """Where the list does, that is what is decided upon, and one request less."""
    reads = []
    for has_labels in (False, True):
        live = three_zones()
        zone = live.zones["ingester-zone-a"]
        if not has_labels:
            live.zones["ingester-zone-a"] = structs.replace(zone, metadata=structs.replace(zone.metadata, labels={}))

        assert live.evict(A0, a_guard()).allowed
        reads.append([ask.to.ref.name for ask in live.asked if isinstance(ask, Ask) and isinstance(ask.to, Read)])

    assert reads == [[A0, "ingester-zone-a"], [A0]]


def test_what_the_cache_shows_wrongly_is_asked_for_later() -> None:
    """A zone that it does not show yet is counted all the same."""
    live = three_zones()
    shown = tuple(zone for name, zone in live.zones.items() if name != "ingester-zone-c")
    live.pods["ingester-zone-c-0"] = changed(live.pods["ingester-zone-c-0"], deletion_timestamp=NOW)

    verdict = live.settle(EvictionSnapshot(an_eviction(A0), (a_guard(),), live.pods[A0], shown))

    assert (verdict.allowed, verdict.message) == (False, "1 pod not ready in ingester-zone-c")


def test_the_mark_of_a_pod_that_is_over_lingers_as_long_as_a_review_may_last() -> None:
    """One that listed the pod before that, and reads the record after it, must find it."""
    live = three_zones()
    old = live.pods["ingester-zone-b-0"]
    marks = mark((old,), {}, NOW)
    new = changed(old, uid="another")

    kept = read(written(marks, [new], NOW))

    assert is_marked(old, kept, NOW + LINGERS - timedelta(seconds=1))
    assert not is_marked(old, kept, NOW + LINGERS)
    assert not is_marked(new, kept, NOW)
    assert written(kept, [new], NOW + LINGERS) == b""
