"""What the published schemas say about the places of objects."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.kinds.registry import KINDS, Kind
from kubesim.patches import places
from kubesim.patches.places import LIST, MAP, SCALAR, MergePlace

Tree = dict[str, Any]


def at(place: MergePlace, path: str) -> MergePlace:
    """The place below, by names; `[]` are the items of a list."""
    for part in path.split("."):
        found = place.items if part == "[]" else place.child(part)
        assert found is not None, part
        place = found
    return place


def of(kind: str, version: str = "v1") -> MergePlace:
    found = places.built_in(version, kind)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.answered], ids=lambda kind: kind.resource.plural)
def test_every_kind_that_is_stored_has_a_schema(kind: Kind) -> None:
    assert places.built_in(kind.resource.api_version, kind.resource.kind) is not None


def test_a_kind_of_another_release_has_none() -> None:
    assert places.built_in("apps/v1beta1", "Deployment") is None


def test_lists_are_told_apart_by_their_keys() -> None:
    pod = of("Pod")

    assert at(pod, "spec.containers").keys == ("name",)
    assert at(pod, "spec.containers.[].ports").keys == ("containerPort", "protocol")
    assert at(pod, "spec.containers.[].ports").defaults == {"protocol": "TCP", "containerPort": 0}
    assert at(pod, "spec.containers.[].args").atomic_list
    assert not at(pod, "metadata.finalizers").atomic_list
    assert at(pod, "metadata.finalizers").keys == ()


def test_maps_that_are_one_value_say_so() -> None:
    assert at(of("Deployment", "apps/v1"), "spec.selector").atomic_map
    assert at(of("Service"), "spec.selector").atomic_map
    assert not at(of("Pod"), "spec.nodeSelector.x").atomic_map


def test_anything_is_a_map_with_parts_or_a_whole_list() -> None:
    free = at(places.custom({"type": "object", "x-kubernetes-preserve-unknown-fields": True}), "x.y")

    assert (free.shape({}), free.shape([]), free.shape(1), free.shape(None)) == (MAP, LIST, SCALAR, MAP)
    assert not free.atomic_map
    assert free.atomic_list


def test_what_spares_unknown_fields_does_so_below() -> None:
    inner = {"type": "object", "properties": {"known": {"type": "string"}}}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"spec": inner}}

    assert at(places.custom(schema), "spec.unknown").shape("text") == SCALAR


def test_an_unknown_field_of_a_struct_has_no_place() -> None:
    assert places.custom({"type": "object", "properties": {"spec": {"type": "object"}}}).child("odd") is None


def test_embedded_objects_have_the_fields_of_all_objects() -> None:
    template = {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {}}

    place = places.custom({"type": "object", "properties": {"template": template}})

    assert at(place, "template.metadata.ownerReferences").keys == ("uid",)
