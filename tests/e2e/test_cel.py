"""Rules in CEL are kept alike on both clusters, to the word."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.request import path_of
from tests.e2e.cel_cases import BAD_RULES, CASES, NUMBER, TEXT, an_object, ruled
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.definitions import (
    MERGE,
    NAME,
    Shop,
    Tree,
    a_definition,
    a_shop,
    a_version,
    a_widget,
    an_empty_shop,
    refusal,
    tree_of,
)

pytestmark = pytest.mark.fidelity


def a_ruled_version(**properties: Tree) -> Tree:
    """A version without bounds of its own, whose spec has these properties."""
    spec = {"type": "object", "properties": properties}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return a_version(schema=schema, subresources={})


def told(case: str, answer: Any) -> list[tuple[str, str]]:
    """Where below the case and what, of every cause; of none when it was taken."""
    if answer.status in (200, 201):
        return []
    return sorted((field.removeprefix(f"spec.{case}"), message) for field, _, message in refusal(answer)[2])


async def tried(shop: Shop, name: str, case: str, values: list[Any]) -> list[tuple[str, str]]:
    tree = a_widget(name) | {"spec": {case: values[0]}}
    answer = await shop.send("POST", shop.at(), tree)
    if len(values) == 1:
        return told(case, answer)
    assert answer.status == 201, answer.body
    made = tree_of(answer)
    return told(case, await shop.send("PUT", shop.at(name), made | {"spec": {case: values[1]}}))


@everywhere(controllers=False)
async def test_rules_are_kept_and_broken_in_the_servers_words(site: Site) -> None:
    found: dict[str, list[list[tuple[str, str]]]] = {}

    async with a_shop(site, a_ruled_version(**{case: schema for case, (schema, _) in CASES.items()})) as shop:
        for case, (_, trials) in CASES.items():
            found[case] = [
                await tried(shop, f"{case}-{index}", case, values) for index, (values, _) in enumerate(trials)
            ]

    assert found == {case: [sorted(causes) for _, causes in trials] for case, (_, trials) in CASES.items()}


@everywhere(controllers=False)
async def test_rules_that_cannot_be_evaluated_are_refused_with_the_definition(site: Site) -> None:
    found = {}

    async with an_empty_shop(site) as shop:
        for case, (schema, _, _) in BAD_RULES.items():
            definition = a_definition(a_ruled_version(bad=schema))
            found[case] = refusal(await shop.send("POST", path_of(CUSTOM_RESOURCES), definition))

    place = "spec.validation.openAPIV3Schema.properties[spec].properties[bad]"
    for case, (_, field, message) in BAD_RULES.items():
        at = (
            f"{place}.items.x-kubernetes-validations[0].rule"
            if field == "ITEMS"
            else f"{place}.x-kubernetes-validations{field}"
        )
        assert found[case][:2] == (422, "Invalid"), case
        fields = [(each[0], each[2]) for each in found[case][2]]
        assert [each[0] for each in fields] == [at], case
        assert fields[0][1].endswith(message), (case, fields[0][1])


@everywhere(controllers=False)
async def test_rules_wait_until_the_object_has_the_right_shape(site: Site) -> None:
    case = an_object("self.a < 3", a=NUMBER, b=TEXT | {"enum": ["x"]})

    async with a_shop(site, a_ruled_version(case=case)) as shop:
        answer = await shop.send("POST", shop.at(), a_widget() | {"spec": {"case": {"a": 5, "b": "y"}}})

    text = (
        "Invalid value: null: some validation rules were not checked because the object was invalid; correct the "
        "existing errors to complete validation"
    )
    assert [(field, message) for field, _, message in refusal(answer)[2]] == [
        ("<nil>", text),
        ("spec.case.b", 'Unsupported value: "y": supported values: "x"'),
    ]


@everywhere(controllers=False)
async def test_rules_of_a_whole_object_see_its_name_and_its_status(site: Site) -> None:
    root = ruled(
        {"type": "object", "properties": {"spec": an_object(size=NUMBER), "status": an_object(size=NUMBER)}},
        {"rule": "self.metadata.name.startsWith('w')", "message": "name must begin with w"},
        "!has(self.status) || self.status.size <= self.spec.size",
    )
    version = a_version(schema={"openAPIV3Schema": root}, subresources={"status": {}})

    async with a_shop(site, version) as shop:
        named = await shop.send("POST", shop.at(), a_widget("one"))
        await shop.send("POST", shop.at(), a_widget("wone"))
        status = [
            await shop.send("PATCH", shop.at("wone", "status"), {"status": {"size": size}}, kind=MERGE)
            for size in (1, 2)
        ]

    assert refusal(named)[2] == [("<nil>", "FieldValueInvalid", "Invalid value: name must begin with w")]
    assert status[0].status == 200
    rule = "!has(self.status) || self.status.size <= self.spec.size"
    assert refusal(status[1])[2] == [("<nil>", "FieldValueInvalid", f"Invalid value: failed rule: {rule}")]


@everywhere(controllers=False)
async def test_a_stricter_rule_does_not_hold_up_changes_elsewhere(site: Site) -> None:
    loose, strict = (an_object(*rules, a=NUMBER) for rules in ((), ("self.a < 3",)))

    async with a_shop(site, a_ruled_version(case=loose, other=NUMBER)) as shop:
        await shop.send("POST", shop.at(), a_widget() | {"spec": {"case": {"a": 5}}})
        change = {"spec": {"versions": [a_ruled_version(case=strict, other=NUMBER)]}}
        await shop.send("PATCH", path_of(CUSTOM_RESOURCES, name=NAME), change, kind=MERGE)

        async def is_stricter() -> bool:
            tree = a_widget("new") | {"spec": {"case": {"a": 5}}}
            return (await shop.send("POST", shop.at(), tree, dryRun="All")).status == 422

        await site.until(is_stricter, every=0.1)
        elsewhere = await shop.send("PATCH", shop.at("one"), {"spec": {"other": 1}}, kind=MERGE)
        here = await shop.send("PATCH", shop.at("one"), {"spec": {"case": {"a": 6}}}, kind=MERGE)

    assert elsewhere.status == 200
    assert [field for field, _, _ in refusal(here)[2]] == ["spec.case"]
