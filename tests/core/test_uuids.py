"""UUIDs as the API server takes them, and those made from names."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.core.uuids import OID, parse, uuid5

ONE = "12345678-9abc-def0-1234-56789abcdef0"


@pytest.mark.parametrize(
    "text",
    [
        ONE,
        ONE.upper(),
        ONE.replace("-", ""),
        "12345678-9abcdef0-123456789ABCDEF0",
        "123456789abc-def01234-56789abcdef0",
    ],
)
def test_any_case_is_taken_and_any_hyphen_may_be_missing(text: str) -> None:
    assert parse(text) == ONE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        ONE[:-1],
        f"{ONE}0",
        f"{ONE}\n",
        f" {ONE}",
        f"{{{ONE}}}",
        f"urn:uuid:{ONE}",
        ONE.replace("-", "--"),
        ONE.replace("1", "\N{FULLWIDTH DIGIT ONE}"),
        ONE.replace("0", "g"),
        "1-2345678-9abc-def0-1234-56789abcdef0",
        None,
        7,
        [ONE],
    ],
)
def test_everything_else_is_none(text: object) -> None:
    assert parse(text) is None


@given(some.uuids(), some.booleans())
def test_every_uuid_is_found_again(given_one: uuid.UUID, upper: bool) -> None:
    text = str(given_one).upper() if upper else given_one.hex

    assert parse(text) == str(given_one)


@given(some.text())
def test_names_give_the_uuids_of_version_five(name: str) -> None:
    assert uuid5(name) == str(uuid.uuid5(uuid.NAMESPACE_OID, name))
    assert uuid.NAMESPACE_OID.bytes == OID
