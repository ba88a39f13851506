"""P1 in its place: what scaling does to a pass, with scenarios 14 to 21 and 35."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from fairlead.contracts.zones.decide import Snapshot, decide
from fairlead.contracts.zones.decide.live import question
from fairlead.contracts.zones.decide.scaling.scale_step import LOOK_AT_REFERENCES, TRY_AGAIN
from fairlead.contracts.zones.explain import explain
from fairlead.core.act import Patch
from fairlead.core.ask import Answers, Bad, Need
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.core.times import format_rfc3339
from kubeloop.objects.apps import Ordinals
from tests.builders import NOW, a_zone, pods_of, seen
from tests.contracts.zones.decide.judging import deleted
from tests.contracts.zones.decide.outsiders import (
    Outsiders,
    a_delayed,
    a_follower,
    a_mirror,
    annotated,
    beside,
    decided,
    everything,
    prepared,
    reported,
    scaled,
)

HOUR = timedelta(hours=1)


def rolling() -> Snapshot:
    """Zones a and b with outdated pods, b following a with one replica too few."""
    a, b = a_zone("a", 4), a_follower("b", 3)
    return seen(a, b, pods_of(a), pods_of(b))


def scale_of(decision: Decision) -> Patch:
    assert isinstance(decision.verdict, Move)
    write = decision.verdict.writes[0]
    assert isinstance(write, Patch)
    return write


def test_a_pass_that_scales_touches_no_pod() -> None:
    """Scenario 14, S5."""
    decision = decided(rolling(), Outsiders())

    assert decision.rule == "scale"
    assert decision.verdict.reason is Reason.SCALING
    assert scaled(decision) == {"b": 4}
    assert deleted(decision) == []


def test_the_scale_is_bound_to_the_object_and_the_number_that_were_seen() -> None:
    write = scale_of(decided(rolling(), Outsiders()))

    assert write.scope == "uid-ingester-zone-b"
    assert write.subresource == ""
    assert msgspec.json.decode(write.body) == [
        {"op": "test", "path": "/metadata/uid", "value": "uid-ingester-zone-b"},
        {"op": "test", "path": "/spec/replicas", "value": 3},
        {"op": "replace", "path": "/spec/replicas", "value": 4},
    ]
    assert write.tell is not None
    assert (write.tell.reason, write.tell.text) == (
        "ReplicasScaled",
        "Scaled from 3 to 4 replicas, as its leader ingester-zone-a has",
    )


def test_the_same_scale_is_recognised_although_the_status_changed() -> None:
    a = a_zone("a", 4)
    before, after = a_follower("b", 3), structs.replace(a_follower("b", 3), status=a_zone("b", 3, ready=0).status)

    assert scale_of(decided(seen(a, before), Outsiders())) == scale_of(decided(seen(a, after), Outsiders()))


def test_scaling_works_with_the_wrong_strategy() -> None:
    """Rule 12."""
    a, b = a_zone("a", 4, strategy="RollingUpdate"), a_follower("b", 3)

    assert scaled(decided(seen(a, b), Outsiders())) == {"b": 4}


def test_all_zones_are_read_live_before_one_is_scaled() -> None:
    outcome = decide(rolling(), NOW)

    assert isinstance(outcome, Need)
    assert outcome.stages == (tuple(question(zone) for zone in rolling().statefulsets),)


def test_what_the_live_read_shows_decides() -> None:
    """The cache does not show yet that zone a was scaled down a moment ago."""
    a, b = a_zone("a", 2), a_follower("b", 3, min_time="12h")
    outside = Outsiders()
    outside.live = {"ingester-zone-a": annotated(a_zone("a", 2, version="2"), last_downscale=format_rfc3339(NOW))}

    decision = decided(seen(a, b), outside)

    assert scaled(decision) == {}
    assert beside(decision) == ["DownscaleSpacing"]


def test_a_zone_that_left_the_group_is_waited_for() -> None:
    a, b = a_zone("a", 4), a_follower("b", 3)
    outside = Outsiders()
    outside.live = {"ingester-zone-a": a_zone("a", 4, version="2", group="other")}

    decision = decided(seen(a, b), outside)

    assert decision.verdict == Hold(Reason.CACHE_BEHIND, NOW + timedelta(seconds=1))


def test_a_zone_that_cannot_be_read_stops_scaling_and_not_the_pass() -> None:
    snapshot, outside = rolling(), Outsiders()
    outside.special[question(snapshot.statefulsets[1])] = Bad("unreachable", "no route")

    decision = decided(snapshot, outside)

    assert beside(decision) == ["ScalingFailed"]
    assert deleted(decision) == ["a-0"]
    assert decision.verdict.again == NOW + TRY_AGAIN


def test_a_refused_scale_is_an_error_and_pods_roll() -> None:
    """Rule 25, E-13."""
    snapshot = rolling()
    write = scale_of(decided(snapshot, Outsiders()))
    refused = structs.replace(snapshot, answers=Answers({write: Bad("refused", "denied by a webhook", 403)}))

    decision = decided(refused, Outsiders())

    assert deleted(decision) == ["a-0"]
    assert beside(decision) == ["ScalingRefused"]
    assert "denied by a webhook" in decision.asides[0].text
    assert [(tell.warning, tell.reason) for tell in decision.tell] == [(True, "ScalingFailed")]
    assert decision.verdict.again == NOW + TRY_AGAIN


def test_a_refused_scale_does_not_tell_the_reference_what_is_not_so() -> None:
    snapshot, outside = everything(a_mirror("a", 3)), Outsiders(rt=(5, 3))
    write = scale_of(decided(snapshot, outside))
    refused = structs.replace(snapshot, answers=Answers({write: Bad("refused", "denied", 403)}))

    assert reported(decided(refused, outside)) == {}


def test_a_leader_goes_before_a_reference() -> None:
    """E-16."""
    both = annotated(a_mirror("b", 3), leader="ingester-zone-a")

    assert scaled(decided(seen(a_zone("a", 4), both), Outsiders(rt=(7, 3)))) == {"b": 4}
    assert scaled(decided(seen(a_zone("a", 3), both), Outsiders(rt=(7, 3)))) == {"b": 7}


def test_an_error_in_following_stops_mirroring_too() -> None:
    lost = a_follower("a", 3, of="nope")

    decision = decided(everything(lost, a_mirror("b", 3)), Outsiders(rt=(7, 3)))

    assert scaled(decision) == {}
    assert beside(decision) == ["LeaderMissing"]


def test_a_follower_that_waits_does_not_stop_mirroring() -> None:
    a, b = annotated(a_zone("a", 2), last_downscale=format_rfc3339(NOW)), a_follower("b", 3, min_time="12h")

    decision = decided(everything(a, b, a_mirror("c", 3)), Outsiders(rt=(7, 3)))

    assert scaled(decision) == {"c": 7}
    assert beside(decision) == ["DownscaleSpacing"]


def test_spacing_waits_while_pods_roll_and_wakes_when_it_is_over() -> None:
    """Scenario 15, H-17."""
    a = annotated(a_zone("a", 2), last_downscale=format_rfc3339(NOW - HOUR))
    b = a_follower("b", 3, min_time="12h")

    decision = decided(seen(a, b, pods_of(a), pods_of(b)), Outsiders())

    assert scaled(decision) == {}
    assert deleted(decision) == ["a-0"]
    assert decision.verdict.again == NOW + 11 * HOUR + timedelta(microseconds=1)
    assert scaled(decided(seen(a, b), Outsiders(), NOW + 12 * HOUR)) == {"b": 2}


def test_the_earliest_of_all_waits_wakes() -> None:
    a = annotated(a_zone("a", 2), last_downscale=format_rfc3339(NOW - HOUR))
    b, c = a_follower("b", 3, min_time="12h"), a_follower("c", 3, min_time="3h")

    decision = decided(everything(a, b, c), Outsiders())

    assert decision.verdict.again == NOW + 2 * HOUR + timedelta(microseconds=1)


def test_a_missing_leader_is_warned_of_and_pods_roll() -> None:
    """Scenario 16."""
    b = a_follower("b", 3, of="nope")

    decision = decided(seen(b, pods_of(b)), Outsiders())

    assert deleted(decision) == ["b-0"]
    assert [tell.reason for tell in decision.tell] == ["ScalingFailed"]


def test_a_broken_reference_is_warned_of_and_pods_roll() -> None:
    """Scenario 18, E-17."""
    a = a_mirror("a", 3, name="nope")

    decision = decided(seen(a, pods_of(a)), Outsiders())

    assert deleted(decision) == ["a-0"]
    assert beside(decision) == ["ReferenceUnreadable"]


def test_references_are_told_while_pods_roll_and_while_nothing_does() -> None:
    a = a_mirror("a", 3)
    wrong = structs.replace(a, spec=a_zone("a", 3, strategy="RollingUpdate").spec)

    rolls = decided(seen(a, pods_of(a)), Outsiders(rt=(3, 1)))
    fails = decided(seen(wrong, pods_of(wrong)), Outsiders(rt=(3, 1)))

    assert (deleted(rolls), reported(rolls)) == (["a-0"], {"rt": 3})
    assert isinstance(fails.verdict, Hold)
    assert (fails.verdict.reason, reported(fails)) == (Reason.WRONG_STRATEGY, {"rt": 3})


def test_references_are_looked_at_again_and_groups_without_scaling_are_not() -> None:
    assert decided(everything(a_mirror("a", 3)), Outsiders(rt=(3, 3))).verdict.again == NOW + LOOK_AT_REFERENCES
    assert decided(everything(a_zone("a")), Outsiders()).verdict.again is None
    assert decided(everything(a_zone("a"), a_follower("b", 3)), Outsiders()).verdict.again is None


def test_delayed_downscale_waits_then_goes() -> None:
    """Scenario 19."""
    zone, outside = everything(a_delayed(5)), Outsiders(rt=(3, 1))

    waits = decided(zone, outside)

    assert outside.calls == ["DELETE a-0", "DELETE a-1", "DELETE a-2", "POST a-3", "POST a-4"]
    assert scaled(waits) == {}
    assert reported(waits) == {"rt": 5}
    assert waits.tell == ()
    outside.pods = {"a-3": prepared(timedelta(minutes=70)), "a-4": prepared(timedelta(minutes=70))}
    assert scaled(decided(zone, outside)) == {"a": 3}


def test_delayed_downscale_goes_as_far_as_pods_are_old_enough() -> None:
    """Scenario 20."""
    outside = Outsiders(rt=(1, 5))
    minutes = {"a-4": 70, "a-3": 75, "a-2": 30, "a-1": 75}
    outside.pods = {pod: prepared(timedelta(minutes=each)) for pod, each in minutes.items()}

    decision = decided(everything(a_delayed(5)), outside)

    assert scaled(decision) == {"a": 3}
    assert reported(decision) == {"rt": 3}


@given(
    have=st.integers(1, 8),
    wanted=st.integers(0, 8),
    ages=st.lists(st.one_of(st.none(), st.integers(-60, 120)), min_size=8, max_size=8),
    start=st.integers(0, 3),
)
def test_no_pod_goes_that_did_not_say_in_this_pass_that_it_is_ready_to_go(
    have: int, wanted: int, ages: list[int | None], start: int
) -> None:
    """S12."""
    zone = a_delayed(have)
    zone = structs.replace(zone, spec=structs.replace(zone.spec, ordinals=Ordinals(start)))
    outside = Outsiders(rt=(wanted, have))
    minutes = {f"a-{start + place}": age for place, age in enumerate(ages)}
    for pod, age in minutes.items():
        outside.pods[pod] = Bad("timeout") if age is None else prepared(timedelta(minutes=age))

    left = scaled(decided(everything(zone), outside)).get("a", have)

    for pod in (f"a-{start + place}" for place in range(left, have)):
        assert f"POST {pod}" in outside.calls
        assert (minutes[pod] or 0) >= 60


def test_a_failing_pod_stops_a_delayed_downscale_and_a_reference_that_goes_back_cancels_it() -> None:
    """Scenario 21, E-22."""
    outside = Outsiders(rt=(3, 5))
    outside.pods = {"a-3": prepared(2 * HOUR), "a-4": Bad("failed", "it answered with status 500", 500)}

    decision = decided(everything(a_delayed(5)), outside)

    assert scaled(decision) == {}
    assert beside(decision) == ["PrepareFailed"]
    outside.scales["rt"], outside.calls = (5, 5), []
    assert scaled(decided(everything(a_delayed(5)), outside)) == {}
    assert outside.calls == [f"DELETE a-{ordinal}" for ordinal in range(5)]


def test_pods_that_do_not_cancel_stop_nothing() -> None:
    """Rule 33."""
    outside, zone = Outsiders(rt=(3, 3)), everything(a_delayed(3))
    decided(zone, outside)
    outside.special = {ask: Bad("failed", "no", 409) for ask in outside.asked if ask.effect}

    decision = decided(zone, outside)

    assert isinstance(decision.verdict, Move | Hold)
    assert (beside(decision), decision.tell) == ([], ())


def test_force_and_pause() -> None:
    """Scenario 35."""
    a = a_zone("a", 3)

    assert scaled(decided(seen(a, a_follower("b", 3, force_replicas="0")), Outsiders())) == {"b": 0}
    assert scaled(decided(seen(a_zone("a", 4), a_follower("b", 3, paused="true")), Outsiders())) == {"b": 4}


@pytest.mark.parametrize("follows", [True, False])
def test_an_ignored_number_is_told_where_it_would_have_counted(follows: bool) -> None:
    b = a_follower("b", 3, force_replicas="many") if follows else annotated(a_zone("b"), force_replicas="many")

    decision = decided(everything(a_zone("a"), b), Outsiders())

    assert beside(decision) == (["AnnotationIgnored"] if follows else [])
    told = [tell.text for tell in decision.tell if tell.reason == "InvalidAnnotation"]
    assert told == [aside.text for aside in decision.asides]


def test_the_explain_document_shows_what_scaling_waits_for_while_pods_roll() -> None:
    a = annotated(a_zone("a", 2), last_downscale=format_rfc3339(NOW - HOUR))
    b = a_follower("b", 3, min_time="12h")
    snapshot = seen(a, b, pods_of(a), pods_of(b))
    decision = decided(snapshot, Outsiders())

    shown = explain(snapshot, decision, NOW)

    assert shown.stands.phase == "Rolling"
    block = shown.blocked_by[-1]
    assert (block.rule, block.reason, block.object) == ("scale", "DownscaleSpacing", "statefulset/ingester-zone-b")
    assert "stays at 3 replicas instead of 2" in block.text
    assert "until 2026-03-01T23:00:00Z" in block.text
    assert block in shown.stands.lanes[1].waits
    assert block not in shown.stands.lanes[0].waits
    assert shown.again == decision.verdict.again


def test_the_explain_document_says_that_a_zone_is_being_scaled() -> None:
    snapshot = rolling()

    shown = explain(snapshot, decided(snapshot, Outsiders()), NOW)

    assert shown.stands.phase == "Scaling"
    assert shown.next[0] == "scale ingester-zone-b from 3 to 4"


def test_rule_25_after_a_refusal_no_other_zone_is_scaled_in_its_place() -> None:
    """Also when the zone that was refused has been changed by somebody meanwhile and asks for nothing any more."""
    a, b, c = a_zone("a", 4), a_follower("b", 3), a_follower("c", 3)
    refused = scale_of(decided(seen(a, b, c), Outsiders()))
    changed = seen(a, a_follower("b", 4), c)

    decision = decided(structs.replace(changed, answers=Answers({refused: Bad("failed", "not now")})), Outsiders())

    assert scaled(decision) == {}
    assert [each.reason for each in decision.asides] == [Reason.SCALING_REFUSED]
