"""A kind in whose spec anything may stand."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.kubesim.desk import Desk, Tree

FREE = "/apis/example.com/v1/namespaces/default/frees"
ONE = f"{FREE}/one"
_NAMES = {"plural": "frees", "kind": "Free"}
_SPEC = {
    "type": "object",
    "x-kubernetes-preserve-unknown-fields": True,
    "properties": {
        "whole": {"type": "integer"},
        "number": {"type": "number"},
        "above": {"type": "number", "minimum": 0.5},
    },
}
_VERSION = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC}}},
}
_DEFINITION = {
    "metadata": {"name": "frees.example.com"},
    "spec": {"group": "example.com", "scope": "Namespaced", "names": _NAMES, "versions": [_VERSION]},
}


async def define(desk: Desk) -> None:
    """Has the cluster serve the kind."""
    made = await desk.send("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", _DEFINITION)
    assert made.status == 201
    await asyncio.sleep(10)


def free(**spec: Any) -> Tree:
    return {"apiVersion": "example.com/v1", "kind": "Free", "metadata": {"name": "one"}, "spec": spec}


def free_text(field: str, number: str) -> bytes:
    """The same as JSON, with a number as it is written."""
    head = '"apiVersion":"example.com/v1","kind":"Free","metadata":{"name":"one"}'
    return f'{{{head},"spec":{{"{field}":{number}}}}}'.encode()
