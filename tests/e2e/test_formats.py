"""Formats, numbers, enums, nulls and defaults of schemas mean the same on both clusters."""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.clusters import Site, everywhere
from tests.e2e.definitions import Tree, a_shop, a_version, a_widget, refusal, tree_of

pytestmark = pytest.mark.fidelity

FORMATS: dict[str, tuple[list[str], list[str]]] = {
    "uuid": (
        [
            "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
            "6BA7B810-9DAD-11D1-80B4-00C04FD430C8",
            "6ba7b8109dad11d180b400c04fd430c8",
            "6ba7b810-9dad11d180b400c04fd430c8",
        ],
        ["", "{6ba7b810-9dad-11d1-80b4-00c04fd430c8}", "6ba7b810-9dad-11d1-80b4-00c04fd430cg"],
    ),
    "uuid3": (["6ba7b810-9dad-31d1-80b4-00c04fd430c8"], ["6ba7b810-9dad-41d1-80b4-00c04fd430c8"]),
    "uuid4": (
        ["6ba7b810-9dad-41d1-80b4-00c04fd430c8"],
        ["6ba7b810-9dad-11d1-80b4-00c04fd430c8", "6ba7b810-9dad-41d1-c0b4-00c04fd430c8"],
    ),
    "uuid5": (["6ba7b810-9dad-51d1-80b4-00c04fd430c8"], ["6ba7b810-9dad-11d1-80b4-00c04fd430c8"]),
    "date-time": (
        [
            "2030-01-01T00:00:00Z",
            "2030-01-01t00:00:00z",
            "2030-01-01T00:00:00.123456789+02:00",
            "2030-01-01T00:00:00,5Z",
        ],
        [
            "",
            "2030-01-01",
            "2030-01-01T00:00Z",
            "2030-01-01T00:00:00",
            "2030-01-01T00:00:00+0200",
            "2030-01-01 00:00:00Z",
            "2030-02-30T00:00:00Z",
            "2030-01-01T24:00:00Z",
            "2030-01-01T23:59:60Z",
        ],
    ),
    "date": (["2030-01-01"], ["", "2030-1-1", "2030-02-30"]),
    "duration": (["1h30m", "1.5h", "-1s", "0", "1d", "2 weeks"], ["", "5", "soon"]),
    "byte": (["YWI="], ["YWI", "!"]),
    "ipv4": (["1.2.3.4"], ["1.2.3", "::1"]),
    "ipv6": (["::1"], ["1.2.3.4"]),
    "cidr": (["1.2.3.4/8", "::1/64"], ["1.2.3.4"]),
    "mac": (["00:11:22:33:44:55"], ["x"]),
    "hostname": (["a", "a.example"], ["", "a.b", "a_b", "-a", "a..example"]),
    "uri": (["http://a", "/a", "mailto:a@b"], ["a"]),
    "email": (["a@b.example"], ["a"]),
    "hexcolor": (["#fff", "fff"], ["x"]),
    "rgbcolor": (["rgb(0,0,255)"], ["rgb(0,0,256)"]),
    "k8s-short-name": (["a-b"], ["A", "a.b", "a" * 64]),
    "k8s-long-name": (["a.b"], ["A.b", "a..b"]),
    "nobody-knows": (["", "x"], []),
}
NUMBERS: dict[str, tuple[list[float], list[float]]] = {
    "int32": ([2**31 - 1, -(2**31), 1.0], [2**31, -(2**31) - 1, 1.5]),
    "int64": ([2**31, 2**63 - 1], [1.5]),
    "nothing": ([2**40], [1.5]),
}


def a_spec(**properties: Tree) -> Tree:
    """A version whose spec has these properties."""
    spec = {"type": "object", "properties": properties}
    return a_version(schema={"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}, subresources={})


def plain(name: str) -> str:
    return name.replace("-", "")


@everywhere(controllers=False)
async def test_texts_have_the_format_that_is_demanded(site: Site) -> None:
    found: dict[str, tuple[list[str], list[str]]] = {}
    properties = {plain(name): {"type": "string", "format": name} for name in FORMATS}

    async with a_shop(site, a_spec(**properties)) as shop:
        for name, trials in FORMATS.items():
            verdicts: tuple[list[str], list[str]] = ([], [])
            for text in (*trials[0], *trials[1]):
                tree = a_widget() | {"spec": {plain(name): text}}
                answer = await shop.send("POST", shop.at(), tree, dryRun="All")
                if answer.status != 201:
                    rule = f'spec.{plain(name)} in body must be of type {name}: "{text}"'
                    cause = (f"spec.{plain(name)}", "FieldValueTypeInvalid", f'Invalid value: "{text}": {rule}')
                    assert refusal(answer) == (422, "Invalid", [cause])
                verdicts[answer.status != 201].append(text)
            found[name] = verdicts

    assert found == FORMATS


@everywhere(controllers=False)
async def test_numbers_are_within_their_format(site: Site) -> None:
    found: dict[str, tuple[list[float], list[float]]] = {}
    properties = {name: {"type": "integer", "format": name} for name in NUMBERS}

    async with a_shop(site, a_spec(**properties)) as shop:
        for name, trials in NUMBERS.items():
            verdicts: tuple[list[float], list[float]] = ([], [])
            for number in (*trials[0], *trials[1]):
                answer = await shop.send("POST", shop.at(), a_widget() | {"spec": {name: number}}, dryRun="All")
                verdicts[answer.status != 201].append(number)
            found[name] = verdicts

    assert found == NUMBERS


@everywhere(controllers=False)
async def test_nulls_defaults_and_enums_meet(site: Site) -> None:
    text = {"type": "string"}
    properties: Tree = {
        "nullable": text | {"nullable": True, "default": "filled"},
        "strict": text | {"default": "filled"},
        "bare": text,
        "whole": {
            "type": "object",
            "default": {},
            "properties": {"number": {"type": "integer", "default": 3}, "text": text | {"nullable": True}},
        },
        "items": {
            "type": "array",
            "items": {"type": "object", "nullable": True, "properties": {"text": text | {"default": "filled"}}},
        },
        "choice": text | {"enum": ["a", None], "nullable": True},
        "count": {"type": "integer", "enum": [1, 2.0]},
    }
    filled: Tree = {"nullable": "filled", "strict": "filled", "whole": {"number": 3}}
    trials: list[tuple[Tree, Any]] = [
        ({}, filled),
        ({"nullable": None, "strict": None, "bare": None}, filled | {"nullable": None}),
        ({"whole": None}, filled),
        ({"whole": {"number": None, "text": None}}, filled | {"whole": {"number": 3, "text": None}}),
        ({"items": [None, {}, {"text": None}]}, filled | {"items": [None, {"text": "filled"}, {"text": "filled"}]}),
        ({"choice": None}, [("spec.choice", 'Unsupported value: null: supported values: "a", "null"')]),
        ({"count": 2}, filled | {"count": 2}),
        ({"count": 3}, [("spec.count", 'Unsupported value: 3: supported values: "1", "2"')]),
    ]
    found: list[Any] = []

    async with a_shop(site, a_spec(**properties)) as shop:
        for spec, _ in trials:
            answer = await shop.send("POST", shop.at(), a_widget() | {"spec": spec}, dryRun="All")
            causes = [(field, message) for field, _, message in refusal(answer)[2]]
            found.append(causes or tree_of(answer)["spec"])

    assert found == [expected for _, expected in trials]
