"""Objects come in pruned, without nulls that are not allowed and with their defaults."""

from __future__ import annotations

from typing import Any

from kubeloop.schemas.structural import compile_schema, take_in

Tree = dict[str, Any]


def an_object(**properties: Tree) -> Tree:
    return {"type": "object", "properties": properties}


def taken_in(spec: Any, **properties: Tree) -> tuple[Any, list[str]]:
    """What becomes of a spec under a schema of these properties, and which fields were not known."""
    tree = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec}
    unknown = take_in(tree, compile_schema(an_object(spec=an_object(**properties))))
    return tree.get("spec"), unknown


NUMBER = {"type": "integer"}


def test_fields_that_the_schema_does_not_know_are_pruned_at_every_depth() -> None:
    spec = {"a": 1, "b": 2, "list": [{"n": 1, "m": 2}, {"m": 3}]}

    left, unknown = taken_in(spec, a=NUMBER, list={"type": "array", "items": an_object(n=NUMBER)})

    assert left == {"a": 1, "list": [{"n": 1}, {}]}
    assert unknown == ["spec.b", "spec.list[0].m", "spec.list[1].m"]


def test_type_and_known_metadata_stay_and_other_metadata_goes() -> None:
    metadata = {"name": "x", "labels": {"a": "b"}, "creationTimestamp": None, "color": "red"}
    tree: Tree = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata, "top": 1}

    unknown = take_in(tree, compile_schema(an_object()))

    assert tree == {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "x", "labels": {"a": "b"}},
    }
    assert unknown == ["metadata.color", "top"]


def test_below_preserved_fields_only_known_ones_are_looked_into() -> None:
    free = {"x-kubernetes-preserve-unknown-fields": True, **an_object(known=an_object(n=NUMBER))}

    left, unknown = taken_in({"free": {"any": {"x": 1}, "known": {"n": 1, "m": 2}}}, free=free)

    assert left == {"free": {"any": {"x": 1}, "known": {"n": 1}}}
    assert unknown == ["spec.free.known.m"]


def test_a_schema_that_preserves_everything_keeps_everything() -> None:
    tree: Tree = {"metadata": {}, "spec": {"a": [{"b": None}]}, "other": 1}

    unknown = take_in(tree, compile_schema({"type": "object", "x-kubernetes-preserve-unknown-fields": True}))

    assert tree == {"metadata": {}, "spec": {"a": [{"b": None}]}, "other": 1}
    assert unknown == []


def test_entries_of_a_map_are_pruned_by_the_schema_of_its_values() -> None:
    maps = {"type": "object", "additionalProperties": an_object(n=NUMBER)}

    left, _ = taken_in({"maps": {"x": {"n": 1, "m": 2}, "y": {}}}, maps=maps)

    assert left == {"maps": {"x": {"n": 1}, "y": {}}}


def test_entries_of_a_map_of_anything_lose_what_is_inside_them() -> None:
    left, _ = taken_in({"maps": {"x": {"n": 1}, "y": 2}}, maps={"type": "object", "additionalProperties": True})

    assert left == {"maps": {"x": {}, "y": 2}}


def test_embedded_objects_keep_their_type_and_metadata() -> None:
    inner = {"x-kubernetes-embedded-resource": True, **an_object(data=an_object(n=NUMBER))}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "odd": 1}, "data": {"n": 1}, "more": 2}

    left, unknown = taken_in({"inner": pod}, inner=inner)

    assert left == {"inner": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "data": {"n": 1}}}
    assert unknown == ["spec.inner.metadata.odd", "spec.inner.more"]


def test_nulls_go_unless_they_are_allowed_or_stand_for_a_default() -> None:
    spec = {"plain": None, "free": None, "filled": None, "list": [None]}

    left, _ = taken_in(
        spec,
        plain=NUMBER,
        free={"type": "integer", "nullable": True, "default": 4},
        filled={"type": "integer", "default": 5},
        list={"type": "array", "items": {"type": "integer", "default": 6}},
    )

    assert left == {"free": None, "filled": 5, "list": [6]}


def test_defaults_are_filled_in_where_their_parent_is() -> None:
    parts = an_object(count={"type": "integer", "default": 2})
    whole = {**an_object(deep=parts), "default": {"deep": {}}}

    left, _ = taken_in(
        {"list": [{}, {"count": 3}], "map": {"a": {}}},
        absent=parts,
        list={"type": "array", "items": parts},
        map={"type": "object", "additionalProperties": parts},
        whole=whole,
    )

    assert left == {"list": [{"count": 2}, {"count": 3}], "map": {"a": {"count": 2}}, "whole": {"deep": {"count": 2}}}


def test_a_default_is_copied_for_every_object() -> None:
    node = compile_schema(an_object(spec=an_object(tags={"type": "array", "items": NUMBER, "default": [1]})))
    first: Tree = {"spec": {}}
    second: Tree = {"spec": {}}

    take_in(first, node)
    first["spec"]["tags"].append(2)
    take_in(second, node)

    assert second["spec"]["tags"] == [1]
