"""Precedence of versions, as semver.org has it."""

from __future__ import annotations

import pytest

from fairlead import MINIMUM_COMPATIBLE, __version__
from fairlead.core.semantic_versions import parse

ORDERED = (
    "0.0.0-UNKNOWN",
    "0.9.9",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.0.10",
    "1.2.0",
    "10.0.0",
)


def test_versions_come_in_their_order() -> None:
    versions = [parse(each) for each in ORDERED]

    assert all(versions)
    assert sorted(versions, key=lambda each: each.precedence if each else ()) == versions


@pytest.mark.parametrize(
    "text", ["", "1", "1.2", "v1.2.3", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3 ", "a.b.c"]
)
def test_anything_else_is_no_version(text: str) -> None:
    assert parse(text) is None


def test_build_does_not_count() -> None:
    one, other = parse("1.2.3+a"), parse("1.2.3+b.c")

    assert one is not None
    assert one == other


def test_versions_of_this_build_are_semantic_and_compatible() -> None:
    own, minimum = parse(__version__), parse(MINIMUM_COMPATIBLE)

    assert own is not None
    assert minimum is not None
    assert minimum.precedence <= own.precedence
