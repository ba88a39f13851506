"""Log records: one per line on the stream, level, ts and msg first, in logfmt or JSON."""

from __future__ import annotations

import io
import json
import re

import pytest

from fairlead.control.logs import configure


def test_logfmt_records_begin_with_level_time_and_message() -> None:
    stream = io.StringIO()

    configure("debug", "logfmt", stream).warning("two or more zones not ready", zones="a, b")

    line = stream.getvalue()
    assert re.fullmatch(
        r'level=warn ts=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z msg="two or more zones not ready" zones="a, b"\n', line
    )


def test_json_records_carry_the_same_keys() -> None:
    stream = io.StringIO()

    configure("info", "json", stream).info("pod terminated", pod="a-0")

    record = json.loads(stream.getvalue())
    assert record.pop("ts").endswith("Z")
    assert record == {"level": "info", "msg": "pod terminated", "pod": "a-0"}


@pytest.mark.parametrize(
    ("level", "shown"),
    [("debug", 4), ("info", 3), ("warn", 2), ("error", 1)],
)
def test_a_level_hides_what_is_below_it(level: str, shown: int) -> None:
    stream = io.StringIO()
    log = configure(level, "logfmt", stream)

    log.debug("a")
    log.info("b")
    log.warning("c")
    log.error("d")

    assert len(stream.getvalue().splitlines()) == shown
