"""Numbers of custom resources are kept as the server writes them."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.request import MERGE_PATCH
from tests.kubesim.desk import Desk, decoded, played
from tests.kubesim.free_values import FREE, ONE, define, free, free_text


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("12.0", b"12"),
        ("1e3", b"1000"),
        ("-0.0", b"0"),
        ("0.10", b"0.1"),
        ("1e20", b"100000000000000000000"),
        ("100000000000000000000", b"100000000000000000000"),
        ("9007199254740993.0", b"9007199254740992"),
        ("9223372036854775807", b"9223372036854775807"),
        ("123456789012345678901234567890", b"1.2345678901234568e29"),
    ],
)
def test_a_number_is_kept_as_it_is_written_by_the_server(written: str, kept: bytes) -> None:
    async def script(desk: Desk) -> Any:
        await define(desk)
        made = await desk.send("POST", FREE, free_text("number", written))
        return made.body, (await desk.send("GET", ONE)).body

    made, found = played(script)

    assert b'"number":' + kept + b"}" in made
    assert b'"number":' + kept + b"}" in found


def test_a_whole_number_with_a_fraction_is_an_integer() -> None:
    async def script(desk: Desk) -> Any:
        await define(desk)
        await desk.send("POST", FREE, free_text("whole", "12.0"))
        await desk.send("PATCH", ONE, b'{"spec":{"list":[{"a":[2.0]}]}}', MERGE_PATCH)
        await desk.apply(free_text("more", "3.0"), path=ONE)
        return (await desk.send("GET", ONE)).body

    found = played(script)

    assert all(text in found for text in (b'"whole":12', b'"list":[{"a":[2]}]', b'"more":3'))
    assert b".0" not in found


def test_rules_are_checked_before_a_number_is_made_whole() -> None:
    """The server cuts the fraction off the least that an integer may be, not off that of a float."""

    async def script(desk: Desk) -> list[int]:
        await define(desk)
        sent = [free_text("above", text) for text in ("0.0", "0")]
        return [(await desk.send("POST", FREE, body, dryRun="All")).status for body in sent]

    assert played(script) == [422, 201]


def test_a_number_that_no_float_can_be_is_refused() -> None:
    async def script(desk: Desk) -> Any:
        await define(desk)
        await desk.send("POST", FREE, free())
        patched = await desk.send("PATCH", ONE, b'{"spec":{"number":1E400}}', MERGE_PATCH)
        return await desk.send("POST", FREE, free_text("number", "1E400")), patched

    made, patched = played(script)

    why = "json: cannot unmarshal number 1E400 into Go value of type float64"
    assert made.status == patched.status == 400
    assert decoded(made)["message"] == f'Free in version "v1" cannot be handled as a Free: {why}'
    assert decoded(patched)["message"] == f"error decoding patch: {why}"
