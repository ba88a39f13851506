"""Bodies without what a schema does not know: the same as the API server makes of them, and nothing is changed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from fairlead.contracts.apiversions.decide.pruning import pruner, second_pruner
from fairlead.contracts.apiversions.decide.trees import Tree, copied
from kubeloop.schemas.structural import compile_schema, prune

TEXT = {"type": "string"}
OPEN = {"x-kubernetes-preserve-unknown-fields": True}


def made_of(**properties: Any) -> Tree:
    return {"type": "object", "properties": properties}


def listed(items: Tree) -> Tree:
    return {"type": "array", "items": items}


SCHEMAS = {
    "plain": made_of(a=TEXT, b=made_of(a=TEXT, b=TEXT), c=listed(made_of(a=TEXT, c=listed(TEXT)))),
    "maps": made_of(a={"type": "object", "additionalProperties": made_of(a=TEXT)}, b={"additionalProperties": True}),
    "open": made_of(a={**made_of(b=made_of(a=TEXT)), **OPEN}, b={**listed(made_of(a=TEXT)), **OPEN}, c=OPEN),
    "open maps": made_of(a={"type": "object", "additionalProperties": made_of(b=TEXT), **OPEN}),
    "objects inside": made_of(
        a={**made_of(b=made_of(a=TEXT)), "x-kubernetes-embedded-resource": True},
        b=listed({**made_of(a=TEXT), "x-kubernetes-embedded-resource": True}),
        c={**made_of(a=TEXT), **OPEN, "x-kubernetes-embedded-resource": True},
    ),
    "open from the root": {**made_of(a=made_of(b=TEXT)), **OPEN},
}
KEYS = ("a", "b", "c", "apiVersion", "kind", "metadata")


def anything(chance: Random, depth: int = 0) -> Any:
    match chance.randrange(5 if depth < 5 else 2):
        case 0:
            return chance.choice((None, True, 1, "x"))
        case 1:
            return chance.choice(({}, []))
        case 2:
            return [anything(chance, depth + 1) for _ in range(chance.randrange(3))]
    return {key: anything(chance, depth + 1) for key in chance.sample(KEYS, chance.randrange(1, 5))}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_body_loses_what_it_loses_on_the_api_server(name: str) -> None:
    chance, schema = Random(name), compile_schema(SCHEMAS[name])
    pruned = pruner(schema)

    for _ in range(500):
        body = {key: anything(chance) for key in ("a", "b", "c", "d")}
        before, expected = copied(body), copied(body)
        prune(expected, schema)

        assert pruned(body) == expected
        assert body == before


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_loses_nothing_is_the_very_same(name: str) -> None:
    """So it is known that an object has no field which its version does not know."""
    chance, schema = Random(name), compile_schema(SCHEMAS[name])
    pruned = pruner(schema)

    for _ in range(500):
        body = {key: anything(chance) for key in ("a", "b", "c", "d")}
        prune(body, schema)

        assert pruned(body) is body


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_body_that_was_made_from_a_pruned_one_loses_the_same_with_fewer_looks(name: str) -> None:
    chance, inside = Random(name), SCHEMAS[name]
    first = compile_schema(made_of(spec=inside, status=made_of(a=TEXT)))
    other = compile_schema(made_of(spec=made_of(**inside["properties"] | {"a": made_of(c=TEXT)}), status=inside))
    for schema in (first, other):
        second = second_pruner(schema, first)
        for _ in range(300):
            before = {key: {name: anything(chance) for name in "abcd"} for key in ("spec", "status")}
            prune(before, first)
            body = {**before, "spec": {**before["spec"], chance.choice("abcd"): anything(chance)}, "more": {"a": 1}}
            expected = copied(body)
            prune(expected, schema)

            assert second(body, before) == expected
