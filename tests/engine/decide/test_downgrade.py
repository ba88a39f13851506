"""Which version may lead after which, and what is noted of it on the Lease: apiversions section 3.10."""

from __future__ import annotations

import pytest

from fairlead.engine.decide.downgrade import (
    MAX_OPERATOR_VERSION,
    OPERATOR_VERSION,
    is_downgrade,
    noted,
    refusal,
    unknown_storage,
)


@pytest.mark.parametrize(
    ("own", "most", "refused"),
    [
        ("1.2.0", "1.3.0", True),
        ("1.2.9", "2.0.0", True),
        ("1.2.0", "1.3.0-rc1", True),
        ("1.3.0", "1.3.9", False),
        ("1.3.0-rc1", "1.3.0", False),
        ("1.4.0", "1.3.0", False),
        ("1.2.0", "", False),
        ("1.2.0", "newest", False),
    ],
)
def test_lower_minor_does_not_lead_after_a_higher_one(own: str, most: str, refused: bool) -> None:
    assert is_downgrade(own, {MAX_OPERATOR_VERSION: most} if most else {}) is refused


@pytest.mark.parametrize(
    ("own", "most", "registered", "lowers", "raised"),
    [
        ("1.3.0", None, False, False, None),
        ("1.3.0", None, True, False, "1.3.0"),
        ("1.3.0", "1.2.0", True, False, "1.3.0"),
        ("1.3.0", "1.3.1", True, False, None),
        ("1.2.0", "1.3.0", True, False, None),
        ("1.2.0", "1.3.0", False, True, None),
        ("1.2.0", "1.3.0", True, True, "1.2.0"),
        ("1.3.0", "garbage", True, False, "1.3.0"),
    ],
)
def test_highest_version_is_noted_once_its_kinds_are_registered(
    own: str, most: str | None, registered: bool, lowers: bool, raised: str | None
) -> None:
    given = {} if most is None else {MAX_OPERATOR_VERSION: most}

    found = noted(own, given, registered=registered, lowers=lowers)

    assert found[OPERATOR_VERSION] == own
    assert found.get(MAX_OPERATOR_VERSION) == raised


def test_refusal_names_both_versions_and_the_ways_out() -> None:
    text = refusal("1.2.0", {MAX_OPERATOR_VERSION: "1.3.0"})

    assert all(each in text for each in ("1.2.0", "1.3.0", "--allow-downgrade", MAX_OPERATOR_VERSION))


def test_downgrade_that_is_allowed_is_refused_where_objects_are_stored_in_an_unknown_version() -> None:
    known = frozenset({"v1", "v2"})

    assert unknown_storage([("a.example", "v2", known)]) == ""
    assert "b.example is stored in v3" in unknown_storage([("a.example", "v2", known), ("b.example", "v3", known)])
