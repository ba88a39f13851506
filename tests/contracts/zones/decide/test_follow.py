"""Section 3.6: followers of a leader, rules 22 to 26 with B-2, B-9 and U-2."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.zones.decide.groups import group_of
from fairlead.contracts.zones.decide.scaling.follow import followed
from fairlead.contracts.zones.decide.scaling.scale_target import Findings, Want
from fairlead.contracts.zones.kinds import MIN_TIME
from fairlead.core.times import format_rfc3339
from kubeloop.durations import go_nanoseconds
from kubeloop.objects.apps import StatefulSet
from tests.builders import NOW, a_zone
from tests.contracts.zones.decide.outsiders import a_follower, annotated, everything, labelled

MICROSECOND = timedelta(microseconds=1)


def found(*zones: StatefulSet, now: datetime = NOW) -> Findings:
    return followed(group_of(everything(*zones), now), now)


def change(findings: Findings) -> tuple[str, int] | None:
    match findings.want:
        case Want(zone, replicas):
            return zone.name.removeprefix("ingester-zone-"), replicas
    return None


def reasons(findings: Findings) -> list[str]:
    return [aside.reason.word for aside in findings.asides]


def a_leader(replicas: int, **annotations: str) -> StatefulSet:
    return annotated(a_zone("a", replicas), **annotations)


def ago(span: timedelta) -> str:
    return format_rfc3339(NOW - span)


def test_a_zone_without_a_leader_is_left_alone() -> None:
    findings = found(a_zone("a", 4), a_zone("b", 3), annotated(a_zone("c", 1), leader=""))

    assert findings == Findings()


def test_a_zone_that_follows_itself_is_left_alone() -> None:
    assert found(a_follower("b", 3, of="b")) == Findings()


def test_a_follower_grows_at_once() -> None:
    assert change(found(a_leader(4, last_downscale=ago(timedelta(0))), a_follower("b", 3))) == ("b", 4)


def test_equal_replicas_need_nothing() -> None:
    assert found(a_leader(3), a_follower("b", 3)) == Findings()


def test_only_the_first_of_a_chain_moves_in_a_pass() -> None:
    a, c = a_leader(4), a_follower("c", 3, of="b")

    assert change(found(a, a_follower("b", 3), c)) == ("b", 4)
    assert change(found(a, a_follower("b", 4), c)) == ("c", 4)


def test_a_cycle_of_leaders_moves_one_zone_towards_its_leader() -> None:
    a, b = a_follower("a", 4, of="b"), a_follower("b", 3, of="a")

    assert change(found(a, b)) == ("a", 3)


def test_a_missing_leader_ends_all_scaling_of_the_group() -> None:
    b, c = a_follower("b", 3, of="nope"), a_follower("c", 3)

    findings = found(a_leader(4), b, c)

    assert findings.want is None
    assert findings.failed
    assert reasons(findings) == ["LeaderMissing"]
    assert '"ingester-zone-nope"' in findings.asides[0].text


def test_a_change_before_a_missing_leader_is_still_made() -> None:
    assert change(found(a_leader(4), a_follower("b", 3), a_follower("c", 3, of="nope"))) == ("b", 4)


def test_without_any_earlier_downscale_a_follower_shrinks_at_once_and_needs_no_minimum() -> None:
    assert change(found(a_leader(2), a_follower("b", 3))) == ("b", 2)


def test_the_followers_own_last_downscale_does_not_count() -> None:
    own = a_follower("b", 3, last_downscale=ago(timedelta(0)), min_time="12h")

    assert change(found(a_leader(2), own)) == ("b", 2)


def test_any_other_zone_counts_and_not_only_the_leader() -> None:
    a = a_leader(2, last_downscale=ago(timedelta(hours=13)))
    c = annotated(a_zone("c", 2), last_downscale=ago(timedelta(hours=1)))

    findings = found(a, a_follower("b", 3, min_time="12h"), c)

    assert reasons(findings) == ["DownscaleSpacing"]
    assert "ingester-zone-c was scaled down at 2026-03-01T11:00:00Z" in findings.asides[0].text
    assert "until 2026-03-01T23:00:00Z" in findings.asides[0].text


@pytest.mark.parametrize(
    ("span", "shrinks"),
    [
        pytest.param(timedelta(hours=1), False, id="an hour of twelve has passed"),
        pytest.param(timedelta(hours=12), False, id="exactly twelve hours are not more than twelve"),
        pytest.param(timedelta(hours=12, seconds=1), True, id="a second more than twelve hours"),
        pytest.param(timedelta(hours=13), True, id="thirteen hours"),
        pytest.param(-timedelta(hours=13), False, id="a time in the future has not passed"),
    ],
)
def test_the_minimum_since_the_last_downscale_must_have_passed(span: timedelta, shrinks: bool) -> None:
    findings = found(a_leader(2, last_downscale=ago(span)), a_follower("b", 3, min_time="12h"))

    assert change(findings) == (("b", 2) if shrinks else None)
    assert not findings.failed


@pytest.mark.parametrize(("ahead", "is_told"), [(timedelta(seconds=20), False), (timedelta(days=400), True)])
def test_e_19_a_time_that_lies_far_ahead_is_told_with_what_helps(ahead: timedelta, is_told: bool) -> None:
    findings = found(a_leader(2, last_downscale=ago(-ahead)), a_follower("b", 3, min_time="12h"))

    assert ("correct that time, which lies ahead" in findings.asides[0].text) is is_told


def test_the_wait_ends_at_the_first_moment_that_is_late_enough() -> None:
    zones = a_leader(2, last_downscale=ago(timedelta(hours=1))), a_follower("b", 3, min_time="12h")

    until = found(*zones).asides[0].until

    assert until is not None
    assert change(found(*zones, now=until)) == ("b", 2)
    assert change(found(*zones, now=until - MICROSECOND)) is None


def test_a_follower_that_waits_does_not_hold_up_the_next() -> None:
    a = a_leader(2, last_downscale=ago(timedelta(hours=1)))

    findings = found(a, a_follower("b", 3, min_time="12h"), a_follower("c", 3, min_time="30m"))

    assert change(findings) == ("c", 2)
    assert reasons(findings) == ["DownscaleSpacing"]


@pytest.mark.parametrize(
    ("leader", "follower", "told"),
    [
        pytest.param({"last_downscale": "yesterday"}, {"min_time": "12h"}, '"yesterday"', id="a time that is none"),
        pytest.param({"last_downscale": ago(timedelta(0))}, {}, MIN_TIME, id="no minimum"),
        pytest.param({"last_downscale": ago(timedelta(0))}, {"min_time": "1d"}, '"1d"', id="a minimum in days"),
        pytest.param({"last_downscale": ago(timedelta(0))}, {"min_time": ""}, MIN_TIME, id="an empty minimum"),
    ],
)
def test_what_cannot_be_read_ends_all_scaling(leader: dict[str, str], follower: dict[str, str], told: str) -> None:
    findings = found(a_leader(2, **leader), a_follower("b", 3, **follower), a_follower("c", 1))

    assert findings.want is None
    assert findings.failed
    assert reasons(findings) == ["InvalidAnnotation"]
    assert told in findings.asides[0].text


def test_times_that_cannot_be_read_do_not_matter_on_the_way_up() -> None:
    assert change(found(a_leader(4, last_downscale="yesterday"), a_follower("b", 3))) == ("b", 4)


def test_the_minimum_may_stand_in_the_label() -> None:
    a = a_leader(2, last_downscale=ago(timedelta(hours=1)))

    assert reasons(found(a, labelled(a_follower("b", 3), min_time="12h"))) == ["DownscaleSpacing"]


def test_the_annotation_of_the_minimum_goes_before_the_label() -> None:
    a = a_leader(2, last_downscale=ago(timedelta(hours=1)))

    assert change(found(a, labelled(a_follower("b", 3, min_time="30m"), min_time="12h"))) == ("b", 2)


@pytest.mark.parametrize(
    ("ready", "wish", "grows"),
    [(3, "true", False), (4, "true", True), (3, "True", True), (3, "false", True), (5, "true", False)],
)
def test_a_patient_follower_grows_when_its_leader_is_ready(ready: int, wish: str, grows: bool) -> None:
    leader = a_zone("a", 4, ready=ready)

    findings = found(leader, a_follower("b", 3, upscale_only_when_leader_ready=wish))

    assert change(findings) == (("b", 4) if grows else None)
    assert reasons(findings) == ([] if grows else ["LeaderNotReady"])


def test_a_patient_follower_shrinks_although_its_leader_is_not_ready() -> None:
    leader = a_zone("a", 2, ready=1)

    assert change(found(leader, a_follower("b", 3, upscale_only_when_leader_ready="true"))) == ("b", 2)


@pytest.mark.parametrize("number", ["0", "5", "+7", "2147483647"])
def test_a_forced_number_goes_before_leader_spacing_and_readiness(number: str) -> None:
    leader = annotated(a_zone("a", 2, ready=0), last_downscale="yesterday")
    follower = a_follower("b", 3, force_replicas=number, upscale_only_when_leader_ready="true")

    assert change(found(leader, follower)) == ("b", int(number))


@pytest.mark.parametrize("number", ["", "-1", "abc", " 4", "1.5", "2147483648", "4_0"])
def test_a_forced_number_that_is_none_is_ignored(number: str) -> None:
    assert change(found(a_leader(2), a_follower("b", 3, force_replicas=number))) == ("b", 2)


def test_a_forced_number_needs_a_leader_that_exists() -> None:
    assert reasons(found(a_follower("b", 3, of="nope", force_replicas="0"))) == ["LeaderMissing"]


def test_a_forced_number_that_is_reached_needs_nothing() -> None:
    assert found(a_leader(5), a_follower("b", 3, force_replicas="3")) == Findings()


@given(
    minimum=st.from_regex(r"-?[0-9]{1,4}(\.[0-9]{1,3})?(h|m|s|ms|us|ns)([0-9]{1,3}(m|s))?", fullmatch=True),
    passed=st.integers(-(10**13), 10**13),
    nudge=st.sampled_from([-1, 0, 1]),
)
def test_spacing_is_strict_for_any_duration(minimum: str, passed: int, nudge: int) -> None:
    """A follower shrinks exactly when more than its minimum has passed, also around the very edge."""
    wanted = go_nanoseconds(minimum)
    for microseconds in (passed // 1000, wanted // 1000 + nudge):
        last = NOW.replace(microsecond=0)
        now = last + timedelta(microseconds=microseconds)

        findings = found(
            a_leader(2, last_downscale=format_rfc3339(last)), a_follower("b", 3, min_time=minimum), now=now
        )

        assert (findings.want is not None) is (microseconds * 1000 > wanted)


def test_a_wait_beyond_the_calendar_has_no_end_that_is_told() -> None:
    leader = a_leader(2, last_downscale="9999-12-31T23:59:59Z")

    findings = found(leader, a_follower("b", 3, min_time="2000000h"))

    assert reasons(findings) == ["DownscaleSpacing"]
    assert findings.asides[0].until is None


def test_words_about_strangers_text_stay_short() -> None:
    findings = found(a_leader(2, last_downscale=ago(timedelta(0))), a_follower("b", 3, min_time="1" * 5000 + "d"))

    assert len(findings.asides[0].text) < 600
