"""Section 3.7: zones that mirror a reference resource, rules 27 to 31 with B-3 and B-9."""

from __future__ import annotations

from time import process_time

import msgspec
import pytest
from msgspec import structs

from fairlead.core.act import Patch, PatchKind
from fairlead.core.ask import Answer, Ask, Bad, Discover, Good, Http, Read
from fairlead.core.decision import Decision, Move
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.meta import Resource, ServedVersion
from tests.builders import a_zone
from tests.contracts.zones.decide.outsiders import (
    SERVED,
    TEMPLATES,
    Outsiders,
    a_delayed,
    a_mirror,
    a_scale,
    annotated,
    beside,
    decided,
    everything,
    reported,
    scaled,
)

OLDER = structs.replace(TEMPLATES, version="v1alpha1")


def outcome(outside: Outsiders, *zones: StatefulSet) -> Decision:
    return decided(everything(*zones), outside)


def serving(*served: ServedVersion) -> Answer:
    return Good(msgspec.json.encode(served))


@pytest.mark.parametrize("wanted", [5, 1, 0])
def test_a_zone_gets_the_replicas_of_its_reference_which_is_told(wanted: int) -> None:
    decision = outcome(Outsiders(rt=(wanted, 2)), a_mirror("a", 2))

    assert scaled(decision) == {"a": wanted}
    assert reported(decision) == {"rt": wanted}


def test_the_reference_is_told_after_the_zone_was_scaled_by_a_patch_of_its_status_alone() -> None:
    decision = outcome(Outsiders(rt=(5, 2)), a_mirror("a", 2))

    assert isinstance(decision.verdict, Move)
    scale, report = decision.verdict.writes
    assert isinstance(scale, Patch)
    assert isinstance(report, Patch)
    assert scale.refusable
    assert report.optional
    assert (report.subresource, report.kind, report.body) == ("status", PatchKind.MERGE, b'{"status":{"replicas":5}}')


def test_with_equal_numbers_only_a_wrong_status_is_corrected() -> None:
    wrong = outcome(Outsiders(rt=(3, 1)), a_mirror("a", 3))
    right = outcome(Outsiders(rt=(3, 3)), a_mirror("a", 3))

    assert (scaled(wrong), reported(wrong)) == ({}, {"rt": 3})
    assert (scaled(right), reported(right)) == ({}, {})


@pytest.mark.parametrize(
    ("written", "told"),
    [("true", True), ("1", True), ("T", True), ("false", False), ("0", False), ("yes", False), ("", False)],
)
def test_a_reference_is_not_told_where_writing_back_is_off_or_unreadable(written: str, told: bool) -> None:
    equal = outcome(Outsiders(rt=(3, 1)), a_mirror("a", 3, mirror_write_back=written))
    changed = outcome(Outsiders(rt=(5, 1)), a_mirror("a", 3, mirror_write_back=written))

    assert scaled(changed) == {"a": 5}
    assert reported(equal) == ({"rt": 3} if told else {})
    assert reported(changed) == ({"rt": 5} if told else {})


@pytest.mark.parametrize("lacking", ["mirror_name", "mirror_kind"])
def test_without_name_or_kind_nothing_is_mirrored_and_nothing_asked(lacking: str) -> None:
    outside = Outsiders(rt=(5, 3))

    decision = outcome(outside, a_mirror("a", 3, **{lacking: ""}))

    assert scaled(decision) == {}
    assert not any(isinstance(ask.to, Discover) for ask in outside.asked)


@pytest.mark.parametrize(
    ("written", "group"),
    [("apps/v1", "apps"), ("apps/", "apps"), ("v1", ""), ("", ""), ("/v1", "")],
)
def test_only_the_group_of_the_api_version_counts(written: str, group: str) -> None:
    outside = Outsiders(rt=(5, 3))

    outcome(outside, a_mirror("a", 3, mirror_api_version=written))

    assert [ask.to for ask in outside.asked if isinstance(ask.to, Discover)] == [Discover(group, "ReplicaTemplate")]


def test_a_long_api_version_that_is_none_takes_no_time() -> None:
    """An annotation may have a quarter of a million characters, and all zones wait for the pass that reads it."""
    zone = a_mirror("a", 3, mirror_api_version="a" * 250_000 + "!")
    begun = process_time()

    decision = outcome(Outsiders(), zone)

    assert process_time() - begun < 1
    assert scaled(decision) == {}


@pytest.mark.parametrize(
    "annotations",
    [
        {"mirror_api_version": "a/b/c"},
        {"mirror_api_version": "../api"},
        {"mirror_api_version": "a?b/v1"},
        {"mirror_name": ".."},
        {"mirror_name": "a/b"},
    ],
)
def test_annotations_that_name_nothing_are_an_error_and_asked_of_nobody(annotations: dict[str, str]) -> None:
    outside = Outsiders(rt=(5, 3))

    decision = outcome(outside, a_mirror("a", 3, **annotations))

    assert scaled(decision) == {}
    assert beside(decision) == ["InvalidAnnotation"]
    assert not any(isinstance(ask.to, Discover) for ask in outside.asked)


@pytest.mark.parametrize(
    ("served", "told"),
    [
        pytest.param(serving(), "knows no kind", id="a kind that is not served"),
        pytest.param(Bad("unreachable", "no route"), "no route", id="discovery that fails"),
        pytest.param(serving(ServedVersion(TEMPLATES, ("status",))), "has no scale", id="a kind without scale"),
        pytest.param(
            serving(ServedVersion(structs.replace(TEMPLATES, namespaced=False), ("status", "scale"))),
            "is in no namespace",
            id="a kind of the whole cluster",
        ),
    ],
)
def test_a_kind_that_cannot_be_resolved_is_an_error(served: Answer, told: str) -> None:
    outside = Outsiders(rt=(5, 3))
    outside.served = served

    decision = outcome(outside, a_mirror("a", 3), a_mirror("b", 3))

    assert scaled(decision) == {}
    assert beside(decision) == ["ReferenceUnreadable"]
    assert told in decision.asides[0].text


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param(Bad("refused", "forbidden", 403), "forbidden", id="forbidden"),
        pytest.param(Good(b"nonsense"), "could not be understood", id="nonsense"),
        pytest.param(Good(b"{}"), "could not be understood", id="an empty object"),
        pytest.param(
            Good(b'{"kind":"Status","apiVersion":"v1","status":"Failure"}'), "could not be understood", id="a Status"
        ),
        pytest.param(
            Good(b'{"kind":"ReplicaTemplate","apiVersion":"rollout-operator.grafana.com/v1","spec":{"replicas":1}}'),
            "could not be understood",
            id="the object itself",
        ),
        pytest.param(
            Good(b'{"kind":"Scale","apiVersion":"example.com/v1"}'), "could not be understood", id="a Scale of others"
        ),
        pytest.param(a_scale({"replicas": -1}, {}), "-1", id="a negative number"),
        pytest.param(a_scale({"replicas": 3000000000}, {}), "3000000000", id="a number too large"),
    ],
)
def test_a_scale_that_cannot_be_used_is_an_error(answer: Answer, told: str) -> None:
    outside, zone = Outsiders(rt=(5, 3)), a_mirror("a", 3)
    outcome(outside, zone)
    read = next(ask for ask in outside.asked if isinstance(ask.to, Read) and ask.to.subresource == "scale")
    outside.special[read] = answer

    decision = outcome(outside, zone)

    assert scaled(decision) == {}
    assert beside(decision) == ["ReferenceUnreadable"]
    assert told in decision.asides[0].text


def test_a_scale_that_leaves_out_its_number_asks_for_none() -> None:
    """The API leaves out a zero."""
    outside, zone = Outsiders(rt=(5, 3)), a_mirror("a", 3)
    outcome(outside, zone)
    read = next(ask for ask in outside.asked if isinstance(ask.to, Read) and ask.to.subresource == "scale")
    outside.special[read] = a_scale({}, {})

    assert scaled(outcome(outside, zone)) == {"a": 0}


def test_an_error_ends_scaling_but_not_what_was_settled_before_it() -> None:
    outside = Outsiders(rt=(3, 1), other=(5, 3))
    a, b, c = a_mirror("a", 3), a_mirror("b", 3, name="nope"), a_mirror("c", 3, name="other")

    decision = outcome(outside, a, b, c)

    assert scaled(decision) == {}
    assert beside(decision) == ["ReferenceUnreadable"]
    assert reported(decision) == {"rt": 3}


def test_the_first_version_whose_scale_can_be_read_wins() -> None:
    outside, zone = Outsiders(rt=(5, 3)), a_mirror("a", 3)
    outside.served = serving(SERVED, ServedVersion(OLDER, ("status", "scale")), ServedVersion(OLDER, ("status",)))
    assert preferred(outcome(outside, zone)) == TEMPLATES
    read = next(ask for ask in outside.asked if isinstance(ask.to, Read) and ask.to.ref.resource == TEMPLATES)
    outside.special[read] = Bad("absent", "gone", 404)

    decision = outcome(outside, zone)

    assert scaled(decision) == {"a": 5}
    assert preferred(decision) == OLDER


def preferred(decision: Decision) -> Resource:
    assert isinstance(decision.verdict, Move)
    report = decision.verdict.writes[1]
    assert isinstance(report, Patch)
    return report.ref.resource


def test_one_zone_changes_per_pass_and_the_next_in_the_next() -> None:
    outside = Outsiders(rt=(5, 5))

    assert scaled(outcome(outside, a_mirror("a", 3), a_mirror("b", 3))) == {"a": 5}
    assert scaled(outcome(outside, a_mirror("a", 5), a_mirror("b", 3))) == {"b": 5}


def test_zones_that_share_a_reference_do_not_take_turns_at_telling_it() -> None:
    """E-18: each is compared by itself; with different replicas the last one's word stands."""
    outside = Outsiders(rt=(3, 5))
    a, b = a_delayed(5, "a"), a_mirror("b", 3)

    first = outcome(outside, a, b)
    outside.scales["rt"] = (3, 3)
    second = outcome(outside, a, b)

    assert (scaled(first), reported(first)) == ({}, {"rt": 3})
    assert (scaled(second), reported(second)) == ({}, {})


@pytest.mark.parametrize("number", [0, 7])
def test_a_forced_number_goes_before_that_of_the_reference(number: int) -> None:
    decision = outcome(Outsiders(rt=(5, 5)), a_mirror("a", 3, force_replicas=str(number)))

    assert scaled(decision) == {"a": number}
    assert reported(decision) == {"rt": number}


def test_a_forced_number_needs_a_reference_that_can_be_read() -> None:
    decision = outcome(Outsiders(), a_mirror("a", 3, force_replicas="0"))

    assert scaled(decision) == {}
    assert beside(decision) == ["ReferenceUnreadable"]


def test_a_forced_number_is_delayed_like_any_other() -> None:
    decision = outcome(Outsiders(rt=(5, 5)), a_delayed(5, force_replicas="4"))

    assert scaled(decision) == {}
    assert beside(decision) == ["DelayNotElapsed"]


def test_the_minimum_between_downscales_is_not_asked_for() -> None:
    b = annotated(a_zone("b", 3), last_downscale="2026-03-01T12:00:00Z")

    assert scaled(outcome(Outsiders(rt=(1, 3)), a_mirror("a", 3, min_time="12h"), b)) == {"a": 1}


def test_pods_of_zones_behind_a_change_are_not_called() -> None:
    outside = Outsiders(rt=(5, 3))

    outcome(outside, a_mirror("a", 3), a_delayed(6, "b"))

    assert outside.calls == []


def test_an_invalid_delay_refuses_the_zone_and_lets_the_next_go_on() -> None:
    outside = Outsiders(rt=(7, 3))

    decision = outcome(outside, a_delayed(3, "a", delay="soon"), a_delayed(3, "b"))

    assert scaled(decision) == {"b": 7}
    assert beside(decision) == ["DelayInvalid"]


def test_many_zones_are_asked_in_few_questions() -> None:
    zones = [a_delayed(5, letter) for letter in "abcdefghijkl"]

    decision = outcome(Outsiders(rt=(3, 5)), *zones)

    assert beside(decision) == ["DelayNotElapsed"] * 12


def test_calls_of_pods_are_asked_once_per_pass() -> None:
    outside = Outsiders(rt=(3, 5))

    outcome(outside, a_delayed(5))

    calls = [ask for ask in outside.asked if isinstance(ask.to, Http)]
    assert len(calls) == len(set(calls)) == 5
    assert all(isinstance(ask, Ask) and ask.effect for ask in calls)
