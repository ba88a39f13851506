"""RFC 3339, read strictly and written in one way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from fairlead.core.times import format_rfc3339, parse_rfc3339

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-03-01T12:00:00Z", NOON),
        ("2026-03-01T13:30:00+01:30", NOON),
        ("2026-03-01T12:00:00.25Z", NOON + timedelta(milliseconds=250)),
        ("2026-03-01T12:00:00.123456789Z", NOON + timedelta(microseconds=123456)),
    ],
)
def test_a_time_is_read(text: str, moment: datetime) -> None:
    assert parse_rfc3339(text) == moment


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-03-01",
        "2026-03-01T12:00Z",
        "2026-03-01T12:00:00",
        "2026-03-01 12:00:00Z",
        "2026-03-01t12:00:00z",
        " 2026-03-01T12:00:00Z",
        "2026-03-01T12:00:00.Z",
        "2026-03-01T12:00:00+0100",
        "2026-02-30T12:00:00Z",
        "2026-03-01T12:00:60Z",
        "0001-01-01T00:00:00+23:00",
        "\u0662026-03-01T12:00:00Z",
        "yesterday" * 30,
    ],
)
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="write for example 2026-03-01T12:00:00Z"):
        parse_rfc3339(text)


def test_a_time_is_written_in_whole_seconds_of_utc() -> None:
    moment = datetime(2026, 3, 1, 14, 0, 0, 999_999, tzinfo=timezone(timedelta(hours=2)))

    assert format_rfc3339(moment) == "2026-03-01T12:00:00Z"
    assert format_rfc3339(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00Z"
