"""Union schemas: structural, the same for pruning in every version, and open to what each version holds."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.apiversions.decide.pruned_leaves import (
    is_union_safe,
    lost_of,
    pruned,
    schemas_of,
    text_of,
)
from fairlead.contracts.apiversions.decide.trees import copied, same
from fairlead.contracts.apiversions.decide.union import with_unions
from fairlead.contracts.apiversions.samples import sample
from kubeloop.schemas.structural import compile_schema, prune
from kubesim.crds.schema_rules import causes_of
from kubesim.schema.conformance import Checker, list_causes
from tests.contracts.apiversions.decide.definitions import V1, V2, Tree, a_definition, a_version
from tests.contracts.apiversions.decide.widgets import INTEGER, TEXT, listed, made_of
from tests.examples import examples

OPEN = {"x-kubernetes-preserve-unknown-fields": True}
EITHER = {"x-kubernetes-int-or-string": True}
NAMES = ("a", "b", "name")
LEAVES = (
    TEXT,
    {"type": "string", "enum": ["x", "y"]},
    {"type": "string", "nullable": True},
    INTEGER,
    {"type": "integer", "minimum": 0, "maximum": 5, "exclusiveMaximum": True},
    {"type": "boolean"},
    {"type": "string", "default": "x"},
    {"type": "object", **OPEN},
    OPEN,
    EITHER,
)


def objects(inside: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
    return st.builds(
        lambda properties, asked, more: {
            "type": "object",
            "properties": properties,
            **({"required": sorted(asked & properties.keys())} if asked & properties.keys() else {}),
            **more,
        },
        st.dictionaries(st.sampled_from(NAMES), inside, min_size=1),
        st.sets(st.sampled_from(NAMES)),
        st.sampled_from([{}, {}, {}, OPEN, {"minProperties": 0, "maxProperties": 9}]),
    )


def list_map(item: Tree) -> Tree:
    fields = {**item["properties"], "name": TEXT}
    return listed({**item, "properties": fields, "required": ["name"]}, "name")


SCHEMAS: st.SearchStrategy[Tree] = st.recursive(
    st.sampled_from(LEAVES),
    lambda inside: st.one_of(
        objects(inside),
        inside.map(lambda each: {"type": "object", "additionalProperties": each}),
        inside.map(listed),
        objects(inside).map(list_map),
    ),
    max_leaves=8,
)
ROOTS = SCHEMAS.map(lambda each: made_of(spec=each))


def a_kind(*schemas: Tree) -> Tree:
    names = [f"v{index}" for index, _ in enumerate(schemas, 1)]
    return a_definition(*(a_version(name, each) for name, each in zip(names, schemas, strict=True)), stored=())


def places(definition: Tree) -> list[tuple[str, str, list[str]]]:
    return [(each.known_to, each.pruned_by, [text_of(leaf) for leaf in each.leaves]) for each in pruned(definition)]


def schema_in(version: Tree) -> Tree:
    found: Tree = version["schema"]["openAPIV3Schema"]
    return found


def test_leaves_that_another_version_prunes_are_named() -> None:
    assert places(a_definition()) == [
        ("v1", "v2", ["/spec/colour"]),
        ("v1", "v2", ["/spec/legacyMode"]),
        ("v2", "v1", ["/spec/paint/colour", "/spec/paint/finish"]),
        ("v2", "v1", ["/spec/parts/*/name", "/spec/parts/*/weight"]),
    ]


def test_versions_that_are_neither_served_nor_stored_do_not_count() -> None:
    gone = a_version("v1", V1, served=False)

    assert is_union_safe(a_definition(gone, a_version("v2", V2, storage=True)))
    assert not is_union_safe(a_definition(gone, a_version("v2", V2, storage=True), stored=("v1", "v2")))


def test_versions_without_a_schema_keep_everything_and_lose_it_in_the_others() -> None:
    anything = {"type": "object", **OPEN}

    assert places(a_kind(anything, V1)) == [("v1", "v2", ["/*"])]


@pytest.mark.parametrize(
    ("one", "other", "lost"),
    [
        pytest.param(TEXT, INTEGER, [], id="a scalar of another type stays"),
        pytest.param(made_of(a=TEXT), TEXT, ["/spec/a"], id="an object where a text is known"),
        pytest.param({"type": "object", "additionalProperties": TEXT}, made_of(a=TEXT), ["/spec/*"], id="a map"),
        pytest.param(made_of(a=TEXT), {"type": "object", "additionalProperties": TEXT}, [], id="fields in a map"),
        pytest.param(listed(made_of(a=TEXT)), listed(TEXT), ["/spec/*/a"], id="items"),
        pytest.param(listed(made_of(a=TEXT)), OPEN, [], id="anything may be there"),
        pytest.param(
            made_of(a=made_of(b=TEXT)), {**made_of(a=made_of(c=TEXT)), **OPEN}, ["/spec/a/b"], id="a known field"
        ),
    ],
)
def test_what_is_pruned_follows_the_rules_of_the_server(one: Tree, other: Tree, lost: list[str]) -> None:
    found = [
        leaf
        for _, by, leaves in places(a_kind(made_of(spec=one), made_of(spec=other)))
        for leaf in leaves
        if by == "v2"
    ]

    assert found == lost


@examples(60)
@given(ROOTS, ROOTS, st.integers(0, 99))
def test_what_the_schemas_say_is_lost_is_what_objects_lose(one: Tree, other: Tree, seed: int) -> None:
    """Whether an object of one version loses something follows from the schemas alone."""
    definition = a_kind(one, other)
    nodes = schemas_of(definition)
    body = sample(nodes["v1"], Random(seed))
    prune(body, nodes["v1"])

    lost = lost_of(body, nodes["v2"])

    assert not lost or any(each.pruned_by == "v2" for each in pruned(definition))


def test_fields_of_other_versions_are_added_without_rules() -> None:
    definition = with_unions(a_definition()).definition

    v1, v2 = (schema_in(each)["properties"]["spec"]["properties"] for each in definition["spec"]["versions"])
    assert v1["paint"] == made_of(colour=TEXT, finish=TEXT)
    assert v2["legacyMode"] == {"type": "boolean"}
    assert is_union_safe(definition)


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        pytest.param(TEXT, INTEGER, OPEN, id="types that differ are opened"),
        pytest.param(
            {"type": "integer", "minimum": 1, "maximum": 3},
            {"type": "integer", "minimum": 0},
            {"type": "integer", "minimum": 0},
            id="bounds are the widest",
        ),
        pytest.param(
            {"type": "string", "enum": ["a"]},
            {"type": "string", "enum": ["b", "a"]},
            {"type": "string", "enum": ["a", "b"]},
            id="values of both",
        ),
        pytest.param(made_of(("a", "b"), a=TEXT, b=TEXT), made_of(("a",), a=TEXT, b=TEXT), None, id="required of all"),
        pytest.param(
            {**made_of(a=TEXT), "x-kubernetes-validations": [{"rule": "self.a == 'x'"}]},
            made_of(a=TEXT),
            made_of(a=TEXT),
            id="an expression of one version does not hold for the other",
        ),
        pytest.param(
            listed(made_of(("name",), name=TEXT), "name"),
            listed(made_of(("name",), name=TEXT)),
            listed(made_of(("name",), name=TEXT)),
            id="a list that is a map in one version only",
        ),
    ],
)
def test_rules_are_weakened_to_what_all_versions_share(one: Tree, other: Tree, wanted: Tree | None) -> None:
    definition = with_unions(a_kind(made_of(spec=one), made_of(spec=other))).definition

    found = schema_in(definition["spec"]["versions"][0])["properties"]["spec"]
    assert found == (wanted if wanted is not None else made_of(("a",), a=TEXT, b=TEXT))


def test_a_field_whose_type_is_opened_cannot_be_selected_by_any_more() -> None:
    first = a_version(
        "v1", made_of(spec=made_of(a=TEXT, b=TEXT)), selectableFields=[{"jsonPath": ".spec.a"}, {"jsonPath": ".spec.b"}]
    )

    union = with_unions(a_definition(first, a_version("v2", made_of(spec=made_of(a=INTEGER, b=TEXT)))))

    assert union.definition["spec"]["versions"][0]["selectableFields"] == [{"jsonPath": ".spec.b"}]
    assert union.notes == ("v1 cannot be selected by .spec.a any more: its type is open",)


def test_versions_that_agree_stay_as_they_are() -> None:
    definition = a_kind(V1, V1)

    assert same(with_unions(definition).definition, definition)


@examples(80)
@given(st.lists(ROOTS, min_size=2, max_size=3), st.integers(0, 99))
def test_unions_are_structural_and_take_every_object_of_every_version(schemas: list[Tree], seed: int) -> None:
    definition = a_kind(*schemas)

    union = with_unions(definition).definition

    assert pruned(union) == []
    unions = [schema_in(each) for each in union["spec"]["versions"]]
    for each in unions:
        assert causes_of(each, "spec", has_status=False) == []
    for schema in schemas:
        body = valid_sample(schema, seed)
        if body is not None:
            for each in unions:
                assert_takes(each, body)


def valid_sample(schema: Tree, seed: int) -> Tree | None:
    """An object that its own version takes; None where chance has made none."""
    node = compile_schema(schema)
    body = sample(node, Random(seed))
    prune(body, node)
    return body if Checker().check(body, node) and not list_causes(body, node) else None


def assert_takes(schema: Tree, body: Any) -> None:
    node, before = compile_schema(schema), copied(body)
    checker = Checker()
    assert checker.check(body, node), (schema, body, checker.causes)
    assert list_causes(body, node) == []
    prune(body, node)
    assert same(body, before)
