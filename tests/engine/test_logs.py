"""Log records: one per line on the stream, level, ts and msg first, in logfmt or JSON."""

from __future__ import annotations

import io
import json
import re

import pytest
import structlog

from fairlead.engine.logs import configure


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


@pytest.mark.parametrize("value", ["a\rlevel=error", "a\nb", "\x1b[2Jb", "nul\x00", "\x85", "\u2028", "\ud800", "\x7f"])
@pytest.mark.parametrize("form", ["logfmt", "json"])
def test_no_value_ends_a_line_or_commands_a_terminal(form: str, value: str) -> None:
    stream = io.StringIO()

    configure("info", form, stream).info("pod said", text=value)

    line = stream.getvalue()
    assert line.endswith("\n")
    assert line[:-1].isprintable()
    assert len(line.splitlines()) == 1
    assert line.encode()


@pytest.mark.parametrize(
    "value",
    [
        "plain",
        "two words",
        "a=b",
        'say "x"',
        "back\\slash",
        "back \\ slash",
        "",
        "ü",
        7,
        1.5,
        True,
        False,
        None,
        ("a", 1),
    ],
    ids=repr,
)
def test_ordinary_values_are_written_as_structlog_writes_them(value: object) -> None:
    usual = structlog.processors.LogfmtRenderer(key_order=["level", "ts", "msg"], bool_as_flag=False)
    stream = io.StringIO()

    configure("info", "logfmt", stream).info("a message", value=value, other="x y")

    line = stream.getvalue().rstrip("\n")
    ts = line.split()[1].removeprefix("ts=")
    event = {"value": value, "other": "x y", "msg": "a message", "ts": ts, "level": "info"}
    assert line == usual(None, "", event)


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
