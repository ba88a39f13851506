"""Durations are accepted, refused and reckoned exactly as Go and Prometheus do (zones section 2.12)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeloop.durations import (
    format_go,
    go_nanoseconds,
    parse_go,
    parse_human,
    parse_prometheus,
    prometheus_nanoseconds,
)

SECOND = 1_000_000_000
HOUR = 3600 * SECOND

GO = {
    "0": 0,
    "+0": 0,
    "-0": 0,
    "0s": 0,
    "5s": 5 * SECOND,
    "+5s": 5 * SECOND,
    "-1h": -HOUR,
    ".5s": SECOND // 2,
    "1.s": SECOND,
    "1.5h": HOUR * 3 // 2,
    "5m": 300 * SECOND,
    "1us": 1000,
    "1\u00b5s": 1000,
    "1\u03bcs": 1000,
    "1h30m": HOUR * 3 // 2,
    "30m1h": HOUR * 3 // 2,
    "1s1s": 2 * SECOND,
    "1ms2us3ns": 1_002_003,
    "00000000000000000000000000005s": 5 * SECOND,
    "0.3333333333333333333h": 1_200_000_000_000,
    "0.100000000000000000000h": 360_000_000_000,
    "0.1ns": 0,
    "1.9ns": 1,
    "9223372036854775807ns": 2**63 - 1,
    "9223372036854775.807us": 2**63 - 1,
    "-9223372036854775808ns": -(2**63),
    "9007199254.740993ms": 9_007_199_254_740_993,
}

NOT_GO = [
    "",
    "+",
    "-",
    "3",
    "1.",
    ".",
    ".s",
    "-.s",
    "s",
    "1d",
    "1w",
    "1y",
    "1 s",
    " 1s",
    "1s ",
    "1S",
    "1e3s",
    "--1s",
    "+-1s",
    "1h-5m",
    "1_0s",
    "\u0661s",
    "9223372036854775808ns",
    "-9223372036854775809ns",
    "9223372036854775807ns1ns",
    "3000000h",
    "9" * 5000 + "s",
]

PROMETHEUS = {
    "0": 0,
    "0s": 0,
    "1ms": 1_000_000,
    "30s": 30 * SECOND,
    "5m": 300 * SECOND,
    "1d": 24 * HOUR,
    "1w": 7 * 24 * HOUR,
    "1y": 365 * 24 * HOUR,
    "1d12h": 36 * HOUR,
    "1y2w3d4h5m6s7ms": (365 + 14 + 3) * 24 * HOUR + 4 * HOUR + 306 * SECOND + 7_000_000,
    "010s": 10 * SECOND,
    "292y": 292 * 365 * 24 * HOUR,
    "9223372036s": 9_223_372_036 * SECOND,
}

NOT_PROMETHEUS = [
    "",
    "1",
    "00",
    "-1s",
    "+1s",
    "1.5h",
    "0.5s",
    "1us",
    "1ns",
    "5m1h",
    "1s1s",
    "1ms1s",
    "1d1w",
    "1 s",
    " 1s",
    "1s ",
    "s",
    "h1",
    "1H",
    "293y",
    "292y100000d",
    "9" * 5000 + "s",
    "18446744073709551617ms",
]


@pytest.mark.parametrize("text", GO)
def test_a_go_duration_is_reckoned_to_the_nanosecond(text: str) -> None:
    assert go_nanoseconds(text) == GO[text]
    assert parse_go(text) == GO[text] / SECOND


@pytest.mark.parametrize("text", NOT_GO)
def test_what_go_refuses_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_go(text)


@pytest.mark.parametrize("text", PROMETHEUS)
def test_a_prometheus_duration_is_reckoned_to_the_nanosecond(text: str) -> None:
    assert prometheus_nanoseconds(text) == PROMETHEUS[text]
    assert parse_prometheus(text) == PROMETHEUS[text] / SECOND


@pytest.mark.parametrize("text", NOT_PROMETHEUS)
def test_what_prometheus_refuses_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_prometheus(text)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (5, "5s"),
        (1.5, "1.5s"),
        (300, "5m0s"),
        (3600, "1h0m0s"),
        (3661.25, "1h1m1.25s"),
        (0.1, "100ms"),
        (0.0000015, "1.5\u00b5s"),
        (2e-9, "2ns"),
        (-90, "-1m30s"),
        (0.001001, "1.001ms"),
    ],
)
def test_a_duration_is_printed_as_go_prints_it(seconds: float, text: str) -> None:
    assert format_go(seconds) == text


@given(st.integers(min_value=0, max_value=10**15))
def test_what_is_printed_reads_back_as_the_same_duration(microseconds: int) -> None:
    seconds = microseconds / 1_000_000

    assert parse_go(format_go(seconds)) == pytest.approx(seconds, abs=1e-9, rel=1e-15)


def test_an_unknown_unit_is_named_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match='"1d" has the unknown unit "d": use h, m, s, ms, us or ns'):
        parse_go("1d")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1h", 3600.0),
        ("90m", 5400.0),
        ("1h 30m", 5400.0),
        (" 1h30m ", 5400.0),
        ("2 days", 172800.0),
        ("1week 1day", 691200.0),
        ("1 minute 5 secs", 65.0),
        ("1M", 2_630_016.0),
        ("1year", 31_557_600.0),
        ("1.5h", 5400.0),
        ("250ms", 0.25),
    ],
)
def test_durations_in_words(text: str, seconds: float) -> None:
    assert parse_human(text) == seconds


@pytest.mark.parametrize("text", ["", " ", "soon", "1", "1h 30", "5 apples", "1h,5m", "9" * 30 + "h"])
def test_what_is_no_duration_in_words_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_human(text)
