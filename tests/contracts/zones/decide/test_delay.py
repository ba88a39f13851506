"""Section 3.8: the delayed downscale, states D0 to D6 with B-5, B-6 and H-5."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from fairlead.contracts.zones.decide.groups import Zone, group_of
from fairlead.contracts.zones.decide.scaling.delay import (
    MOST_PODS,
    Calls,
    Delay,
    DownscaleRefused,
    Granted,
    Ruling,
    UnusableDelay,
    at_host,
    calls_of,
    delay_of,
    parsed,
    ruling,
)
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answer, Answers, Bad, Good, Http
from kubeloop.objects.apps import Ordinals, StatefulSet
from tests.builders import NOW, a_pod
from tests.contracts.zones.decide.outsiders import URL, a_delayed, everything, prepared, timestamp

HOUR = timedelta(hours=1)
LONG_AGO = prepared(timedelta(days=1))


def the_zone(statefulset: StatefulSet, *ordinals: int) -> Zone:
    pods = tuple(a_pod(statefulset, ordinal) for ordinal in ordinals)
    return group_of(everything(statefulset, pods=pods), NOW).zones[0]


def ruled(statefulset: StatefulSet, wanted: int, *answers: Answer, now: datetime = NOW) -> Ruling:
    """The ruling when the pods that are to go answer so, lowest ordinal first."""
    zone = the_zone(statefulset)
    calls = calls_of(zone, wanted, Settings())
    return ruling(zone, wanted, calls, Answers(dict(zip(calls.prepare, answers, strict=True))), now)


def called(calls: Calls) -> list[str]:
    """`POST 3` each."""
    asked = [ask.to for ask in (*calls.cancel, *calls.prepare)]
    return [
        f"{to.method} {to.url.partition('.')[0].rpartition('-')[2]}" if isinstance(to, Http) else "" for to in asked
    ]


def word(ruling: Ruling) -> str:
    return ruling.aside.reason.word if isinstance(ruling, DownscaleRefused) else "granted"


@pytest.mark.parametrize(
    "annotations",
    [
        pytest.param({"delay": ""}, id="no delay"),
        pytest.param({"delay_url": ""}, id="no address"),
        pytest.param({"delay": "0"}, id="a delay of zero"),
        pytest.param({"delay": "0s"}, id="a delay of zero seconds"),
        pytest.param({"delay": "x", "delay_url": ""}, id="nonsense without an address"),
        pytest.param({"delay": "", "delay_url": "x"}, id="nonsense without a delay"),
        pytest.param({"delay": "0m", "delay_url": "x"}, id="nonsense with a delay of zero"),
    ],
)
def test_d0_without_delay_or_address_nothing_is_delayed_and_nobody_called(annotations: dict[str, str]) -> None:
    zone = the_zone(a_delayed(5, **annotations))

    assert delay_of(zone) is None
    assert called(calls_of(zone, 3, Settings())) == []
    assert ruled(a_delayed(5, **annotations), 3) == Granted(3)


@pytest.mark.parametrize(
    "annotations",
    [
        pytest.param({"delay": "1.5h"}, id="a fraction"),
        pytest.param({"delay": "-1h"}, id="a sign"),
        pytest.param({"delay": "1m1h"}, id="units out of order"),
        pytest.param({"delay": "1"}, id="no unit"),
        pytest.param({"delay_url": "pod:8080/prepare"}, id="no scheme"),
        pytest.param({"delay_url": "/prepare"}, id="no host"),
        pytest.param({"delay_url": "http:///prepare"}, id="an empty host"),
        pytest.param({"delay_url": "http://:80/prepare"}, id="a port without host"),
        pytest.param({"delay_url": "ftp://pod/prepare"}, id="another scheme"),
        pytest.param({"delay_url": "http://pod:port/prepare"}, id="a port that is none"),
        pytest.param({"delay_url": "http://pod/a b"}, id="a space"),
        pytest.param({"delay_url": "http://pod/a\nb"}, id="a new line"),
        pytest.param({"delay_url": "http://pod/%zz"}, id="an escape that is none"),
        pytest.param({"delay_url": "http://[::1/x"}, id="an open bracket"),
    ],
)
@pytest.mark.parametrize("wanted", [3, 7])
def test_d1_what_cannot_be_read_refuses_both_ways(annotations: dict[str, str], wanted: int) -> None:
    statefulset = a_delayed(5, **annotations)

    assert isinstance(delay_of(the_zone(statefulset)), UnusableDelay)
    assert called(calls_of(the_zone(statefulset), wanted, Settings())) == []
    assert word(ruled(statefulset, wanted)) == "DelayInvalid"


def test_d2_on_the_way_up_all_pods_are_cancelled_and_their_answers_do_not_matter() -> None:
    zone = the_zone(a_delayed(2))
    calls = calls_of(zone, 4, Settings())

    answers = Answers(dict.fromkeys(calls.cancel, Bad("failed", "no", 500)))

    assert called(calls) == ["DELETE 0", "DELETE 1"]
    assert ruling(zone, 4, calls, answers, NOW) == Granted(4)


def test_d3_pods_that_stay_are_cancelled_before_those_that_go_are_prepared() -> None:
    assert called(calls_of(the_zone(a_delayed(5)), 3, Settings())) == [
        *("DELETE 0", "DELETE 1", "DELETE 2"),
        *("POST 3", "POST 4"),
    ]


def test_at_rest_all_pods_are_cancelled() -> None:
    assert called(calls_of(the_zone(a_delayed(2)), 2, Settings())) == ["DELETE 0", "DELETE 1"]


def test_ordinals_count_from_where_the_zone_begins() -> None:
    zone = a_delayed(3)
    shifted = structs.replace(zone, spec=structs.replace(zone.spec, ordinals=Ordinals(7)))

    assert called(calls_of(the_zone(shifted), 1, Settings())) == ["DELETE 7", "POST 8", "POST 9"]


def test_calls_are_effects_bound_to_the_pod_that_exists() -> None:
    zone = the_zone(a_delayed(3), 1)

    calls = calls_of(zone, 1, Settings(pods_timeout=2.0))

    asks = (*calls.cancel, *calls.prepare)
    assert [ask.to.subject for ask in asks if isinstance(ask.to, Http)] == ["", "uid-ingester-zone-a-1-old", ""]
    assert all(ask.effect and ask.timeout == 2.0 for ask in asks)


@pytest.mark.parametrize(("interval", "age"), [(None, 5.0), (0.2, 5.0), (30.0, 30.0)])
def test_only_cancelling_may_be_answered_from_an_earlier_round(interval: float | None, age: float) -> None:
    settings = Settings(reconcile_interval=interval)

    at_rest = calls_of(the_zone(a_delayed(2)), 2, settings)
    down = calls_of(the_zone(a_delayed(2)), 1, settings)
    up = calls_of(the_zone(a_delayed(2)), 3, settings)

    assert {ask.max_age for ask in at_rest.cancel} == {age}
    assert {ask.max_age for ask in down.prepare} == {0.0}
    assert {ask.max_age for ask in up.cancel} == {0.0}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(Bad("unreachable", "connection refused"), id="no answer"),
        pytest.param(Bad("timeout"), id="too late"),
        pytest.param(Bad("failed", "it answered with status 500", 500), id="an error with an old time in its body"),
        pytest.param(Good(b""), id="no body"),
        pytest.param(Good(b"ok"), id="no JSON"),
        pytest.param(Good(b"[1]"), id="no object"),
        pytest.param(Good(b"null"), id="nothing"),
        pytest.param(Good(b"\xff"), id="no text"),
        pytest.param(Good(b"{}"), id="no timestamp"),
        pytest.param(Good(b'{"timestamp":null}'), id="a timestamp of nothing"),
        pytest.param(timestamp(0), id="a timestamp of zero"),
        pytest.param(timestamp("1000"), id="text"),
        pytest.param(timestamp(True), id="a boolean"),
        pytest.param(timestamp(1000.5), id="a fraction"),
        pytest.param(Good(b'{"timestamp":1e3}'), id="an exponent"),
        pytest.param(Good(b'{"timestamp":1000.0}'), id="a point"),
        pytest.param(timestamp(-(2**64)), id="more than 64 bits"),
        pytest.param(Good(b'{"timestamp":1000} x'), id="something after it"),
    ],
)
@pytest.mark.parametrize("place", [0, 1])
def test_d4_any_pod_without_a_timestamp_refuses_the_downscale(answer: Answer, place: int) -> None:
    answers = [LONG_AGO, LONG_AGO]
    answers[place] = answer

    verdict = ruled(a_delayed(5), 3, *answers)

    assert word(verdict) == "PrepareFailed"
    assert isinstance(verdict, DownscaleRefused)
    assert f"ingester-zone-a-{3 + place}.ingester.test.svc.cluster.local." in verdict.aside.text


def test_many_failed_calls_are_counted() -> None:
    verdict = ruled(a_delayed(9), 0, *[Bad("timeout")] * 9)

    assert isinstance(verdict, DownscaleRefused)
    assert "; and 6 more" in verdict.aside.text


def test_a_look_says_what_would_be_asked() -> None:
    assert word(ruled(a_delayed(5), 3, Bad("not-sent"), Bad("not-sent"))) == "NeedsAnswer"


def test_d5_too_young_pods_refuse_until_the_last_is_old_enough() -> None:
    verdict = ruled(a_delayed(5), 3, LONG_AGO, prepared(timedelta(minutes=20)))

    assert word(verdict) == "DelayNotElapsed"
    assert isinstance(verdict, DownscaleRefused)
    assert verdict.aside.until == NOW + timedelta(minutes=40)
    assert "stays at 5 replicas instead of 3" in verdict.aside.text
    assert "ingester-zone-a-4 must have been prepared for 1h, until 2026-03-01T12:40:00Z" in verdict.aside.text


@pytest.mark.parametrize(
    ("ago", "granted"),
    [
        pytest.param(HOUR, True, id="exactly the delay is enough"),
        pytest.param(HOUR - timedelta(seconds=1), False, id="a second less is not"),
        pytest.param(-HOUR, False, id="a time in the future is not"),
    ],
)
def test_d6_the_delay_must_have_elapsed(ago: timedelta, granted: bool) -> None:
    assert (ruled(a_delayed(5), 4, prepared(ago)) == Granted(4)) is granted


@pytest.mark.parametrize(
    ("value", "granted"),
    [
        pytest.param(-5, True, id="before 1970 is old"),
        pytest.param(1, True, id="1970 is old"),
        pytest.param(2**63 - 1, False, id="the end of time is in the future"),
    ],
)
def test_any_other_whole_number_is_a_time(value: int, granted: bool) -> None:
    assert (ruled(a_delayed(5), 4, timestamp(value)) == Granted(4)) is granted


def test_partial_downscale_stops_at_the_first_pod_that_is_too_young() -> None:
    """Scenario 20: 70, 75, 30 and 75 minutes for pods 4, 3, 2, 1."""
    minutes = [75, 30, 75, 70]

    assert ruled(a_delayed(5), 1, *[prepared(timedelta(minutes=each)) for each in minutes]) == Granted(3)


@given(
    have=st.integers(1, 12),
    wanted=st.integers(0, 11),
    ages=st.lists(st.one_of(st.none(), st.integers(-7200, 14400)), min_size=12, max_size=12),
    delay=st.integers(1, 7200),
    fraction=st.integers(0, 999_999),
)
def test_the_ruling_is_that_of_a_naive_count(
    have: int, wanted: int, ages: list[int | None], delay: int, fraction: int
) -> None:
    """S12 and B-6: a replica goes only if its pod and all above it are prepared long enough, and as many as can."""
    wanted = min(wanted, have - 1)
    now, base = NOW + timedelta(microseconds=fraction), int(NOW.timestamp())
    shown = ages[: have - wanted]
    answers = [Bad("timeout") if age is None else timestamp(base - age) for age in shown]

    verdict = ruled(a_delayed(have, delay=f"{delay}s"), wanted, *answers, now=now)

    left = have
    while left > wanted and None not in shown and (shown[left - 1 - wanted] or 0) + fraction / 1e6 >= delay:
        left -= 1
    assert (verdict.replicas if isinstance(verdict, Granted) else have) == left


@given(delay=st.from_regex(r"([1-9]w)?([1-9]d)?([1-9]h)?([1-9][0-9]?m)?[1-9][0-9]{0,2}s([1-9]ms)?", fullmatch=True))
def test_the_wait_ends_at_the_first_moment_that_is_late_enough(delay: str) -> None:
    verdict = ruled(a_delayed(5, delay=delay), 4, prepared(timedelta(0)))

    assert isinstance(verdict, DownscaleRefused)
    until = verdict.aside.until
    assert until is not None
    assert ruled(a_delayed(5, delay=delay), 4, prepared(timedelta(0)), now=until) == Granted(4)
    early = until - timedelta(microseconds=1)
    assert word(ruled(a_delayed(5, delay=delay), 4, prepared(timedelta(0)), now=early)) == "DelayNotElapsed"


def test_a_wait_beyond_the_calendar_has_no_end_that_is_told() -> None:
    verdict = ruled(a_delayed(5), 4, timestamp(2**62))

    assert isinstance(verdict, DownscaleRefused)
    assert verdict.aside.until is None


def test_a_number_of_pods_beyond_all_bounds_is_refused_and_not_counted_out() -> None:
    zone = the_zone(a_delayed(2_000_000_000))

    for wanted in (1, 1_999_999_999, 2_000_000_000, 2_000_000_001):
        assert calls_of(zone, wanted, Settings()) == Calls()
    assert word(ruled(a_delayed(2_000_000_000), 1)) == "TooManyPods"
    assert ruled(a_delayed(2_000_000_000), 2_000_000_001) == Granted(2_000_000_001)
    assert word(ruled(a_delayed(MOST_PODS + 1), 1)) == "TooManyPods"


def test_without_a_service_pods_cannot_be_asked() -> None:
    zone = a_delayed(5)
    nameless = structs.replace(zone, spec=structs.replace(zone.spec, service_name=""))

    assert calls_of(the_zone(nameless), 3, Settings()) == Calls()
    assert word(ruled(nameless, 3)) == "PrepareFailed"
    assert ruled(nameless, 7) == Granted(7)


@pytest.mark.parametrize(
    ("written", "called"),
    [
        ("http://pod/prepare", "http://HOST./prepare"),
        ("http://pod:8080/prepare", "http://HOST.:8080/prepare"),
        ("https://pod:443/a/b?x=1&y=%20", "https://HOST.:443/a/b?x=1&y=%20"),
        ("http://user:secret@pod:80", "http://user:secret@HOST.:80"),
        ("http://[::1]:8080/x", "http://HOST.:8080/x"),
        ("http://[::1]/x", "http://HOST./x"),
        ("http://pod/x#part", "http://HOST./x"),
    ],
)
def test_only_the_host_of_the_address_is_replaced(written: str, called: str) -> None:
    url = parsed(written)

    assert url is not None
    assert at_host(url, "HOST.") == called


def test_passwords_are_not_told() -> None:
    verdict = ruled(a_delayed(5, delay_url="http://user:secret@pod/x?token=secret"), 4, Bad("timeout"))

    assert isinstance(verdict, DownscaleRefused)
    assert "secret" not in verdict.aside.text


def test_a_delay_is_read_as_it_is_written() -> None:
    delay = delay_of(the_zone(a_delayed(1, delay="1d12h")))

    assert isinstance(delay, Delay)
    assert delay.nanoseconds == 36 * 3600 * 10**9
    assert delay.url.geturl() == URL


@pytest.mark.parametrize("service", ["evil.example/latest?", "x:y@evil.example", "[::1]"])
def test_a_service_that_would_lead_elsewhere_has_nobody_called(service: str) -> None:
    zone = a_delayed(5)
    zone = structs.replace(zone, spec=structs.replace(zone.spec, service_name=service))

    shrinks = ruled(zone, 3)

    assert called(calls_of(the_zone(zone), 3, Settings())) == []
    assert word(shrinks) == "DelayInvalid"
    assert isinstance(shrinks, DownscaleRefused)
    assert "spec.serviceName is no name of a Service" in shrinks.aside.text
    assert ruled(zone, 6) == Granted(6)


def test_what_an_address_hides_is_told_to_nobody() -> None:
    address = "http://user:s3cret@pod:8080/prepare?token=t0ken"

    shrinks = ruled(a_delayed(2, delay_url=address), 1, Bad("failed", "no"))
    broken = delay_of(the_zone(a_delayed(2, delay_url="http://user:s3cr?et@pod:x/")))

    assert isinstance(shrinks, DownscaleRefused)
    assert "http://ingester-zone-a-1." in shrinks.aside.text
    assert "cret" not in shrinks.aside.text
    assert "t0ken" not in shrinks.aside.text
    assert isinstance(broken, UnusableDelay)
    assert "s3cr" not in broken.problem
