"""Conversion for tests: a kind whose versions spell one field differently, and reviews as bytes."""

from __future__ import annotations

import os
from functools import reduce
from typing import Any

import msgspec

from fairlead.engine.conversion.review import ConversionRule, Rules, Tree
from kubeloop.calls import Call

OLD, NEW = "shop.example.com/v1", "shop.example.com/v2"


class Unfit(Exception):
    """A widget has no counterpart."""


def nested(depth: int) -> list[Any]:
    """Lists in one another."""
    innermost: list[Any] = []
    return reduce(lambda inner, _: [inner], range(depth), innermost)


def convert(tree: Tree, desired: str) -> Tree:
    """`size` of v1 is `width` of v2; a spec may ask for every way to fail."""
    spec = tree.get("spec") or {}
    match spec.get("do"):
        case "refuse":
            raise Unfit("its size is of no use")
        case "fail":
            raise KeyError(spec["secret"])
        case "die":
            os._exit(1)
        case "nest":
            return {**tree, "apiVersion": desired, "spec": nested(5000)}
        case "answer nonsense":
            return {"apiVersion": "v3"}
    ours, theirs = ("size", "width") if desired == NEW else ("width", "size")
    made = {theirs if key == ours else key: value for key, value in spec.items()}
    return {**tree, "apiVersion": desired, **({"spec": made} if "spec" in tree else {})}


RULES: Rules = (ConversionRule("Widget", (OLD, NEW), convert, Unfit),)
NAME = f"{__name__}:RULES"


def a_widget(name: str = "w", version: str = OLD, **spec: Any) -> Tree:
    meta = {"name": name, "namespace": "ns", "uid": f"uid-{name}", "labels": {"a": "b"}, "finalizers": ["f"]}
    return {"apiVersion": version, "kind": "Widget", "metadata": meta, "spec": {"size": 1, **spec}}


def a_review(*objects: object, desired: str = NEW, uid: str = "uid-1", version: str = "v1") -> bytes:
    request = {"uid": uid, "desiredAPIVersion": desired, "objects": objects}
    kind = {"apiVersion": f"apiextensions.k8s.io/{version}", "kind": "ConversionReview"}
    return msgspec.json.encode({**kind, "request": request, "response": {"uid": "", "convertedObjects": None}})


def call(body: bytes, content_type: str = "application/json", method: str = "POST") -> Call:
    headers = (("Content-Type", content_type),) if content_type else ()
    return Call(method=method, url="/convert?timeout=30s", headers=headers, body=body)
