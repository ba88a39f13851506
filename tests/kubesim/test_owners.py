"""Entries of managed fields: read, written, kept few."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.patches import owners
from kubesim.patches.field_sets import Unreadable
from kubesim.patches.owners import APPLY, UPDATE, Owner, Owners, identity
from kubesim.patches.scale_owners import to_parent, to_scale

Tree = dict[str, Any]
REPLICAS = ("f:spec", "f:replicas")
PATHS = {"apps/v1": REPLICAS}


def an_entry(**parts: Any) -> Tree:
    entry = {
        "manager": "one",
        "operation": UPDATE,
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:a": {}},
    }
    return {key: value for key, value in (entry | parts).items() if value is not None}


def an_owner(
    manager: str, *fields: tuple[str, ...], operation: str = UPDATE, time: str | None = None, version: str = "v1"
) -> Owner:
    return Owner(manager, operation, version, frozenset(fields), time=time)


def known(*found: Owner) -> Owners:
    return {identity(each.manager, each.operation, each.version, each.subresource): each for each in found}


def test_entries_are_written_as_they_were_read() -> None:
    entries = [
        an_entry(operation=APPLY, time="2030-01-01T00:00:02Z"),
        an_entry(time="2030-01-01T00:00:01Z"),
        an_entry(time="2030-01-01T00:00:02Z", subresource="status"),
    ]

    assert owners.written(owners.read(entries)) == entries


def test_who_applies_comes_first_then_who_was_earlier() -> None:
    entries = [
        an_entry(manager="late", time="2030-01-01T00:00:02Z"),
        an_entry(manager="b", time="2030-01-01T00:00:01Z"),
        an_entry(manager="a", time="2030-01-01T00:00:01Z"),
        an_entry(manager="timeless"),
        an_entry(manager="z", operation=APPLY, time="2030-01-01T00:00:09Z"),
    ]

    written = owners.written(owners.read(entries))

    assert [entry["manager"] for entry in written] == ["z", "timeless", "a", "b", "late"]


def test_who_applies_is_the_same_in_every_version() -> None:
    entries = [
        an_entry(operation=APPLY),
        an_entry(operation=APPLY, apiVersion="v2"),
        an_entry(),
        an_entry(apiVersion="v2"),
    ]

    assert [owner.version for owner in owners.read(entries).values()] == ["v2", "v1", "v2"]


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        (an_entry(operation="Merge"), "operation must be `Apply` or `Update`"),
        (an_entry(apiVersion=None), "apiVersion must not be empty"),
        (an_entry(fieldsType=None), "missing fieldsType in managed fields entry 0"),
        (an_entry(fieldsType="FieldsV2"), 'invalid fieldsType "FieldsV2" in managed fields entry 0'),
        (an_entry(fieldsV1={"a": {}}), "path element"),
        ("text", "operation must be `Apply` or `Update`"),
    ],
)
def test_what_is_no_entry_is_told(entry: Any, why: str) -> None:
    with pytest.raises(Unreadable, match=why.replace("`", ".")):
        owners.read([entry])


@pytest.mark.parametrize(
    ("entries", "reset"), [([], True), ([{}], True), ([{}, {}], False), (None, False), ([an_entry()], False)]
)
def test_nothing_at_all_gives_ownership_up(entries: Any, reset: bool) -> None:
    assert owners.is_reset(entries) == reset


def test_ten_updaters_are_kept_and_the_oldest_taken_together() -> None:
    updaters = [
        an_owner(f"m{number:02}", (f"f:{number}",), time=f"2030-01-01T00:00:{number:02}Z") for number in range(12)
    ]
    applier = an_owner("applier", ("f:x",), operation=APPLY)

    left = owners.capped(known(*updaters, applier))

    ancient = left[identity("ancient-changes", UPDATE, "v1")]
    assert ancient.fields == {("f:0",), ("f:1",), ("f:2",)}
    assert ancient.time == "2030-01-01T00:00:02Z"
    assert sorted(owner.manager for owner in left.values()) == [
        "ancient-changes",
        "applier",
        *(f"m{number:02}" for number in range(3, 12)),
    ]


def test_updaters_of_different_versions_are_not_mixed() -> None:
    updaters = [an_owner(f"m{number:02}", (f"f:{number}",), version=f"v{number % 2}") for number in range(11)]

    left = owners.capped(known(*updaters))

    assert left[identity("ancient-changes", UPDATE, "v0")].fields == {("f:0",), ("f:2",)}
    assert identity("m01", UPDATE, "v1") in left


def test_times_alone_make_no_difference() -> None:
    assert owners.equal_but_for_times([an_entry(time="a")], [an_entry()])
    assert not owners.equal_but_for_times([an_entry()], [an_entry(manager="two")])
    assert not owners.equal_but_for_times([an_entry()], [])


def test_owners_of_replicas_own_the_scale() -> None:
    parent = known(
        an_owner("one", REPLICAS, ("f:spec", "f:paused"), operation=APPLY, version="apps/v1"),
        an_owner("two", ("f:spec", "f:paused"), version="apps/v1"),
        an_owner("old", REPLICAS, version="apps/v1beta1"),
    )

    scale = to_scale(parent, PATHS)

    assert [(owner.manager, owner.version, owner.fields) for owner in scale.values()] == [
        ("one", "autoscaling/v1", frozenset([REPLICAS]))
    ]


def test_who_takes_a_scale_takes_the_replicas() -> None:
    parent = known(
        an_owner("one", REPLICAS, ("f:spec", "f:paused"), operation=APPLY, version="apps/v1"),
        an_owner("only", REPLICAS, operation=APPLY, version="apps/v1"),
        an_owner("two", ("f:spec", "f:paused"), version="apps/v1"),
    )
    scale = known(Owner("hpa", UPDATE, "autoscaling/v1", frozenset([REPLICAS]), "scale"))

    left = to_parent(parent, scale, PATHS, "apps/v1")

    assert {(owner.manager, owner.version, owner.subresource): owner.fields for owner in left.values()} == {
        ("one", "apps/v1", ""): {("f:spec", "f:paused")},
        ("two", "apps/v1", ""): {("f:spec", "f:paused")},
        ("hpa", "apps/v1", "scale"): {REPLICAS},
    }
