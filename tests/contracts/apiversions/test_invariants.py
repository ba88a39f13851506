"""What holds for every schema, every rule set and every object (section 3.1 and section 3.2)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fairlead.contracts.apiversions.decide.carry_differences import differences
from fairlead.contracts.apiversions.decide.carry_entries import read
from fairlead.contracts.apiversions.decide.convert import convert
from fairlead.contracts.apiversions.decide.shapes import PLAIN
from fairlead.contracts.apiversions.decide.trees import Absent, copied, same
from fairlead.contracts.apiversions.strategies import objects, parts
from tests.contracts.apiversions.random_kinds import VERSIONS, World, worlds

pytestmark = pytest.mark.machine
SOAKS = settings().max_examples >= 1000
many = settings(
    max_examples=10_000 if SOAKS else 40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
WAYS = st.lists(st.sampled_from(VERSIONS), min_size=1, max_size=4)


def drawn(data: Any, world: World, *, whole: bool = True) -> dict[str, Any]:
    made = objects(world.definition, data.draw(st.sampled_from(VERSIONS)), {"a": "b"})
    tree: dict[str, Any] = data.draw(made if whole else parts(made))
    return tree


def version_of(tree: dict[str, Any]) -> str:
    return str(tree["apiVersion"]).partition("/")[2]


def bare(tree: dict[str, Any]) -> dict[str, Any]:
    """Annotations that are empty are none."""
    metadata = {key: value for key, value in tree["metadata"].items() if key != "annotations" or value}
    return {**tree, "metadata": metadata}


def through(tree: dict[str, Any], way: list[str], world: World) -> dict[str, Any]:
    for version in way:
        tree = convert(tree, version, world.kind).tree
    return tree


@many
@given(worlds(), WAYS, st.data())
def test_every_way_ends_with_the_object_it_began_with(world: World, way: list[str], data: Any) -> None:
    """I1 and I2."""
    tree = drawn(data, world)

    back = through(copied(tree), [*way, version_of(tree)], world)

    assert same(bare(back), tree), world.rules


@many
@given(worlds(), WAYS, st.data())
def test_parts_are_converted_and_nothing_but_body_and_annotations_changes(
    world: World, way: list[str], data: Any
) -> None:
    """I3: total, the same every time, and what the API server compares stays."""
    tree = drawn(data, world, whole=False)
    before = msgspec.json.encode(tree)

    there = through(tree, way, world)

    assert msgspec.json.encode(tree) == before
    assert msgspec.json.encode(there) == msgspec.json.encode(through(tree, way, world))
    kept = {key: value for key, value in there["metadata"].items() if key != "annotations"}
    assert (there["kind"], kept) == (tree["kind"], tree["metadata"])
    assert same(bare(through(there, [version_of(tree)], world)), tree), world.rules


@many
@given(worlds(), st.data())
def test_what_a_user_of_another_version_writes_is_never_overwritten(world: World, data: Any) -> None:
    """I4: another body, written with the annotations that were read, comes back as it was written."""
    tree, other = drawn(data, world), drawn(data, world)
    there = convert(tree, version_of(other), world.kind).tree
    written = {**other, "metadata": there["metadata"]}

    again = through(copied(written), [version_of(tree), version_of(other)], world)

    left = {key: value for key, value in again.items() if key != "metadata"}
    assert same(left, {key: value for key, value in other.items() if key != "metadata"}), world.rules


@many
@given(worlds(), st.data())
def test_a_carried_leaf_whose_annotation_goes_is_gone_and_no_other(world: World, data: Any) -> None:
    """I5: server-side apply removes by the key of an annotation. Between spokes it is two ways of this kind."""
    tree = drawn(data, world)
    hub = world.kind.hub.name
    there = convert(tree, hub if version_of(tree) != hub else data.draw(st.sampled_from(VERSIONS)), world.kind).tree
    carried = read(there["metadata"].get("annotations") or {})
    alone = sorted(key for key, entry in carried.items() if _is_plain(entry, version_of(tree)))
    if not alone:
        return
    gone = carried[data.draw(st.sampled_from(alone))]
    annotations = {key: value for key, value in there["metadata"]["annotations"].items() if key != gone.name}
    without = {**there, "metadata": {**there["metadata"], "annotations": annotations}}

    back = convert(without, version_of(tree), world.kind).tree

    found = differences("", {"spec": tree.get("spec")}, {"spec": back.get("spec")}, PLAIN)
    inside = "".join(f"/{each}" for each in gone.path)
    assert all(each.place == inside or inside.startswith(f"{each.place}/") for each in found), (found, world.rules)


def _is_plain(entry: Any, version: str) -> bool:
    """A leaf of properties alone: how items of lists move up is another matter."""
    is_named = all(isinstance(each, str) for each in entry.path)
    return is_named and not entry.is_order and entry.version == version and entry.wanted is not Absent
