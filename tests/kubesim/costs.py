"""Rules and what the API server says about their cost, in a list of so many items that it must say something.

`python -m tools.answers costs` asks it again. How far a rule is beyond its budget is told with up to six digits, so
equal words mean equal costs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from tests.kubesim.trees import Tree

PATH = Path(__file__).parent / "cel_costs.json"
_FACTOR = re.compile(r"Forbidden: estimated rule cost exceeds budget by factor of (.*) \(")
_RULES = "x-kubernetes-validations"
_TEXT: Tree = {"type": "string", "maxLength": 10}
_NUMBER: Tree = {"type": "integer"}


def _list(most: int, items: Tree) -> Tree:
    return {"type": "array", "maxItems": most, "items": items}


def _map(most: int, values: Tree) -> Tree:
    return {"type": "object", "maxProperties": most, "additionalProperties": values}


def _object(**properties: Tree) -> Tree:
    return {"type": "object", "properties": properties}


_PART = _object(k=_TEXT, v=_NUMBER) | {"required": ["k"]}
_PART["properties"]["in"] = _list(3, _NUMBER)
SCHEMA: Tree = _object(
    s=_TEXT,
    u={"type": "string"},
    n=_NUMBER,
    f={"type": "number"},
    b={"type": "boolean"},
    e={"type": "string", "enum": ["abc", "defgh"]},
    by={"type": "string", "format": "byte", "maxLength": 30},
    by2={"type": "string", "format": "byte"},
    d={"type": "string", "format": "duration"},
    t={"type": "string", "format": "date-time"},
    dt={"type": "string", "format": "date"},
    io={"x-kubernetes-int-or-string": True},
    io2={"x-kubernetes-int-or-string": True, "maxLength": 5},
    l=_list(20, _TEXT),
    lu={"type": "array", "items": {"type": "string", "maxLength": 3}},
    ln=_list(7, _NUMBER),
    ll=_list(5, _list(6, _TEXT)),
    m=_map(9, _TEXT),
    mn=_map(4, _NUMBER),
    mu={"type": "object", "additionalProperties": _NUMBER},
    lo=_list(8, _PART),
    p=_object(q=_object(m=_map(9, _TEXT), l=_list(8, _object(k=_TEXT, z=_NUMBER, in2=_list(3, _TEXT))))),
    o=_object(a=_TEXT, **{"x-y": _TEXT}),
) | {"required": ["s", "n"]}


def definition(rule: str, items: int) -> Tree:
    """A definition with one rule about each item of a list."""
    ruled = _list(items, SCHEMA | {_RULES: [{"rule": rule}]})
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["s"]}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _object(w=ruled | keyed)},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "costs.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "costs", "kind": "Cost"},
            "versions": [version],
        },
    }


def said(messages: Iterable[str]) -> str:
    """By how much the rule is beyond its budget; empty where it is not."""
    return next((found[1] for message in messages if (found := _FACTOR.match(message))), "")


def recorded() -> Tree:
    """By rule: how many items, and by how much that is too costly."""
    found: Tree = json.loads(PATH.read_text(encoding="utf-8"))
    return found
