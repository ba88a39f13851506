"""Kinds by chance: versions with schemas of their own, and rules between them that need not make sense."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.rule_sets import RulesRejected, kind_of, read_rules
from tests.contracts.apiversions.decide.widgets import BOOLEAN, INTEGER, NAME, TEXT, definition, listed, made_of

NAMES = ("a", "b", "c", "name")
VERSIONS = ("v1", "v2", "v3")
Draw = Any

SCALARS: st.SearchStrategy[Any] = st.sampled_from(
    [TEXT, TEXT, INTEGER, BOOLEAN, {"type": "number"}, {"x-kubernetes-int-or-string": True}]
)


class World(Struct, frozen=True, eq=False):
    definition: dict[str, Any]
    rules: dict[str, Any]
    kind: KindConversion


def fields(inner: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from(NAMES), inner, min_size=least, max_size=4).map(
        lambda found: made_of(**found)
    )


def _keyed(found: dict[str, Any]) -> dict[str, Any]:
    properties = {**found["properties"], "name": TEXT}
    return listed(made_of(("name",), **properties), "name")


PLACES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        fields(inner),
        fields(inner).map(_keyed),
        fields(inner).map(listed),
        SCALARS.map(listed),
        SCALARS.map(lambda each: {"type": "object", "additionalProperties": each}),
        fields(inner).map(lambda each: {"type": "object", "additionalProperties": each}),
        st.just({"type": "object", "x-kubernetes-preserve-unknown-fields": True}),
        inner.map(lambda each: {**each, "nullable": True} if "type" in each else each),
    ),
    max_leaves=4,
)
BODIES = fields(PLACES, 1).map(lambda spec: made_of(spec=spec))


@st.composite
def schemas(draw: Draw) -> dict[str, Any]:
    """Versions that share some fields: each takes most of the first one's."""
    first = draw(BODIES)
    found = {"v1": first}
    for version in VERSIONS[1:]:
        other = draw(BODIES)["properties"]["spec"]["properties"]
        shared = first["properties"]["spec"]["properties"]
        kept = {name: each for name, each in shared.items() if draw(st.booleans())}
        found[version] = made_of(spec=made_of(**{**other, **kept}))
    return found


def places(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """Pointers to all that the schema names."""
    for name, each in schema.get("properties", {}).items():
        yield f"{path}/{name}"
        yield from places(each, f"{path}/{name}")
    below = schema.get("items") or schema.get("additionalProperties")
    if below:
        yield f"{path}/*"
        yield from places(below, f"{path}/*")


@st.composite
def operations(draw: Draw, one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    here = st.sampled_from([*places(one)])
    there = st.sampled_from([*places(other), "/spec/new", "/spec/a/new"])
    path, target = draw(here), draw(there)
    found: dict[str, Any] = draw(
        st.sampled_from(
            [
                {"op": "move", "from": path, "to": target},
                {"op": "move", "from": path, "to": target, "overwrite": True},
                {"op": "copy", "from": path, "to": target},
                {"op": "drop", "path": path},
                {"op": "set", "path": target, "value": draw(st.sampled_from([1, "x", True, {}, [1]]))},
                {"op": "cast", "path": path, "to": draw(st.sampled_from(["string", "integer", "number", "boolean"]))},
                {"op": "wrap", "path": path},
                {"op": "unwrap", "path": path},
                {"op": "listToMap", "path": path, "key": "name"},
                {"op": "mapToList", "path": path, "key": "name"},
                {"op": "mergeInto", "from": path, "to": target, "key": "k"},
                {"op": "renameKeys", "path": path, "table": {"a": "z"}},
                {"op": "duration", "path": path, "unit": "s"},
                {"op": "quantity", "path": path, "unit": "Mi"},
                {"op": "scale", "path": path, "by": draw(st.sampled_from([10, 0.5, -3]))},
                {"op": "split", "from": path, "to": [target, "/spec/rest"], "by": ",", "last": draw(st.booleans())},
                {"op": "textToList", "path": path, "by": ","},
                {"op": "listToText", "path": path, "by": ","},
                {"op": "mapValues", "path": path, "table": {"a": "one", "1": "two", "true": "yes"}},
                {"op": "each", "path": path, "rules": [{"op": "move", "from": "/a", "to": "/b"}]},
                {"op": "when", "exists": path, "rules": [{"op": "drop", "path": target}]},
                {"op": "when", "path": path, "equals": "a", "rules": [{"op": "copy", "from": path, "to": target}]},
            ]
        )
    )
    return found


@st.composite
def worlds(draw: Draw) -> World:
    """What the rules may not say is left out of them."""
    found = draw(schemas())
    whole = definition(**found)
    spokes: list[dict[str, Any]] = []
    for version in ("v1", "v3"):
        taken: list[dict[str, Any]] = []
        for op in draw(st.lists(operations(found[version], found["v2"]), max_size=5)):
            if _loads(whole, version, [*taken, op]):
                taken.append(op)
        spokes.append({"version": version, "toHub": taken})
    rules = {"kind": "ConversionRules", "crd": NAME, "hub": "v2", "spokes": spokes}
    return World(whole, rules, kind_of(read_rules(rules), whole))


def _loads(whole: dict[str, Any], version: str, ops: list[dict[str, Any]]) -> bool:
    rules = {"kind": "ConversionRules", "crd": NAME, "hub": "v2", "spokes": [{"version": version, "toHub": ops}]}
    try:
        kind_of(read_rules(rules), whole)
    except RulesRejected:
        return False
    return True
