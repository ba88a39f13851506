"""A definition that others bring as well: ours is added to it, and nothing of theirs goes."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from fairlead.engine.decide.joined_definitions import joined, lacking, unknown_versions
from fairlead.engine.decide.registration import Tree, differs

TEXT: Tree = {"type": "string"}
FREE: Tree = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def an_object(**properties: Any) -> Tree:
    return {"type": "object", "properties": properties}


def a_version(name: str = "v1", status: Tree | None = None, spec: Tree | None = None, **more: Any) -> Tree:
    schema = an_object(spec=spec or an_object(size=TEXT), status=status or an_object(state=TEXT))
    return {"name": name, "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **more}


def a_definition(*versions: Tree, **names: Any) -> Tree:
    return {
        "metadata": {"name": "widgets.shop.example.com"},
        "spec": {
            "group": "shop.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", **names},
            "versions": list(versions),
        },
    }


def live(definition: Tree, **spec: Any) -> Tree:
    found = deepcopy(definition)
    found["metadata"] |= {"resourceVersion": "7", "generation": 1}
    found["spec"] |= {"conversion": {"strategy": "None"}, **spec}
    return found


def schema_of(definition: Tree, part: str) -> Tree:
    found: Tree = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"][part]
    return found


def is_needed(ours: Tree, there: Tree) -> bool:
    return differs(joined(ours, there), there, lambda *_: True)


OURS = a_definition(
    a_version(
        status=an_object(state=TEXT, sources={"type": "array", "items": an_object(ref=TEXT, size=TEXT)}),
        additionalPrinterColumns=[{"name": "STATE", "type": "string", "jsonPath": ".status.state"}],
    ),
    shortNames=["wi"],
)


def test_fields_are_added_and_none_is_taken_away() -> None:
    status = an_object(
        state={"type": "string", "maxLength": 9},
        theirs=TEXT,
        sources={"type": "array", "items": {**an_object(ref=TEXT), "required": ["ref"]}},
    )
    there = live(a_definition(a_version(status={**status, "required": ["state"]}, spec=an_object(other=TEXT))))

    found = joined(OURS, there)

    after = schema_of(found, "status")
    assert after["properties"]["state"] == {"type": "string", "maxLength": 9}
    assert after["properties"]["theirs"] == TEXT
    assert after["properties"]["sources"]["items"]["properties"] == {"ref": TEXT, "size": TEXT}
    assert after["properties"]["sources"]["items"]["required"] == ["ref"]
    assert after["required"] == ["state"]
    assert schema_of(found, "spec")["properties"].keys() == {"other", "size"}
    assert found["metadata"]["resourceVersion"] == "7"
    assert is_needed(OURS, there)
    assert not is_needed(OURS, live(found))


def test_the_conversion_names_and_columns_of_others_stay() -> None:
    columns = [{"name": "Size", "type": "string", "jsonPath": ".spec.size"}]
    theirs = a_definition(a_version(additionalPrinterColumns=columns), shortNames=["wd"], categories=["all"])
    hook = {"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://somebody"}}}
    there = live(theirs, conversion=hook, preserveUnknownFields=False)

    found = joined(OURS, there)["spec"]

    assert "conversion" not in found
    assert found["preserveUnknownFields"] is False
    assert (found["names"]["shortNames"], found["names"]["categories"]) == (["wd", "wi"], ["all"])
    assert [each["name"] for each in found["versions"][0]["additionalPrinterColumns"]] == ["Size", "STATE"]


def test_what_is_there_already_is_not_written() -> None:
    wider = joined(OURS, live(a_definition(a_version(status=an_object(theirs=TEXT)))))

    assert not is_needed(OURS, live(wider))
    assert not is_needed(OURS, live(OURS))


def test_what_nobody_brought_is_ours_alone() -> None:
    found = joined(OURS, None)

    assert found["spec"]["versions"] == OURS["spec"]["versions"]
    assert found["spec"]["conversion"] == {"strategy": "None"}


def test_a_version_that_is_stored_stays_the_stored_one() -> None:
    """Of two versions that we know; the new one is served and stores nothing."""
    both = a_definition(a_version("v1"), a_version("v0", storage=False))
    there = live(a_definition(a_version("v0")))

    found = {each["name"]: each["storage"] for each in joined(both, there)["spec"]["versions"]}

    assert found == {"v0": True, "v1": False}


def test_a_field_that_holds_anything_holds_ours_as_well() -> None:
    ours = a_definition(a_version(spec=an_object(workload=FREE, tags=an_object(a=TEXT))))
    tags = {"type": "object", "additionalProperties": TEXT}
    there = live(a_definition(a_version(spec=an_object(workload={"type": "object"}, tags=tags))))

    found = schema_of(joined(ours, there), "spec")["properties"]

    assert found["workload"] == FREE
    assert found["tags"] == tags


@pytest.mark.parametrize(
    ("versions", "unknown"), [(("v1",), ()), (("v1", "v2"), ("v2",)), (("v2beta1",), ("v2beta1",))]
)
def test_versions_that_we_do_not_know_are_told(versions: tuple[str, ...], unknown: tuple[str, ...]) -> None:
    assert unknown_versions(OURS, live(a_definition(*map(a_version, versions)))) == unknown


@pytest.mark.parametrize(
    ("status", "missing"),
    [
        (an_object(state=TEXT), ("status.sources",)),
        (
            an_object(state=TEXT, sources={"type": "array", "items": an_object(ref=TEXT)}),
            ("status.sources[].size",),
        ),
        (FREE, ()),
        ({**FREE, "properties": {"state": TEXT}}, ()),
        (schema_of(OURS, "status"), ()),
    ],
    ids=["a field", "a field of a list", "anything", "anything besides", "all"],
)
def test_fields_that_would_be_forgotten_are_named(status: Tree, missing: tuple[str, ...]) -> None:
    assert lacking(OURS, live(a_definition(a_version(status=status))), "status") == missing


def test_without_the_version_everything_would_be_forgotten() -> None:
    assert lacking(OURS, live(a_definition(a_version("v0"))), "status") == ("status",)


def test_a_part_that_we_do_not_have_is_not_missed() -> None:
    """As the status of kinds that are only read."""
    version = {"name": "v1", "schema": {"openAPIV3Schema": an_object(spec=an_object(size=TEXT))}}
    ours = a_definition(version)

    assert lacking(ours, live(ours), "status") == ()
    assert lacking(ours, live(a_definition(a_version("v0"))), "status") == ()
