"""Lists of widgets as the API server sends them to be converted: of one size, each different, with rules of every day.

Widgets of the second list hold five leaves that the other version does not know, which are carried with each of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Raw, Struct

GROUP = "bench.example"
CRD = f"widgets.{GROUP}"
OLD, NEW = f"{GROUP}/v1", f"{GROUP}/v2"
COUNT = 10_000
BYTES = 2000
LARGE_BYTES = 10 * 1024
CARRIED = {"note": "kept", "grade": "b", "legacyMode": True, "rank": 7, "shelf": "upper"}

Tree = dict[str, object]
_TEXT, _NUMBER = {"type": "string"}, {"type": "integer"}


def _made_of(**properties: object) -> Tree:
    return {"type": "object", "properties": properties}


def _parts() -> Tree:
    part = _made_of(name=_TEXT, weight=_NUMBER, colour=_TEXT, supplier=_TEXT)
    return {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "items": {**part, "required": ["name"]},
    }


def definition() -> Tree:
    labels = {"type": "object", "additionalProperties": _TEXT}
    both = {"size": _NUMBER, "image": _TEXT, "labels": labels, "parts": _parts(), "description": _TEXT}
    status = _made_of(phase=_TEXT, observed=_NUMBER)
    lost = {"note": _TEXT, "grade": _TEXT, "legacyMode": {"type": "boolean"}, "rank": _NUMBER, "shelf": _TEXT}
    specs = {
        "v1": _made_of(**both, **lost, colour=_TEXT, wait=_TEXT),
        "v2": _made_of(**both, paint=_made_of(colour=_TEXT, finish=_TEXT), waitFor=_TEXT),
    }
    versions = [
        {
            "name": name,
            "served": True,
            "storage": name == "v2",
            "schema": {"openAPIV3Schema": _made_of(spec=spec, status=status)},
        }
        for name, spec in specs.items()
    ]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": CRD},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions},
    }


RULES: Tree = {
    "kind": "ConversionRules",
    "crd": CRD,
    "hub": "v2",
    "spokes": [
        {
            "version": "v1",
            "toHub": [
                {"op": "move", "from": "/spec/colour", "to": "/spec/paint/colour"},
                {"op": "move", "from": "/spec/wait", "to": "/spec/waitFor"},
            ],
        }
    ],
}


def widget(index: int, *, carries: bool = False, size: int = BYTES) -> bytes:
    """So many bytes, or a few more where what it must hold takes that."""
    parts = [
        {"name": f"part-{number}", "weight": number + index % 7, "colour": "red", "supplier": f"s-{index % 13}"}
        for number in range(max(8, size // 250))
    ]
    spec: Tree = {
        "size": index,
        "colour": "red",
        "wait": "90s",
        "image": f"r.example/widget:{index}",
        "labels": {f"label-{number}": f"value-{number}" for number in range(6)},
        "parts": parts,
        **(CARRIED if carries else {}),
    }
    metadata = {"name": f"widget-{index}", "namespace": "bench", "uid": f"{index:032x}", "generation": 1}
    status = {"phase": "Ready", "observed": 1}
    tree = {"apiVersion": OLD, "kind": "Widget", "metadata": metadata, "spec": spec, "status": status}
    spec["description"] = "x" * max(0, size - len(msgspec.json.encode(tree)) - len(',"description":""'))
    return msgspec.json.encode(tree)


def review(objects: Sequence[bytes], desired: str) -> bytes:
    request = {"uid": "u", "desiredAPIVersion": desired, "objects": [Raw(each) for each in objects]}
    return msgspec.json.encode(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
    )


class _Response(Struct, frozen=True, rename="camel"):
    result: dict[str, str]
    converted_objects: list[Raw] = []


class _Answer(Struct, frozen=True):
    response: _Response


def converted(body: bytes) -> list[bytes]:
    """Raises RuntimeError for a review that failed."""
    found = msgspec.json.decode(body, type=_Answer).response
    if found.result["status"] != "Success":
        raise RuntimeError(f"a review failed: {found.result}")
    return [bytes(each) for each in found.converted_objects]


def faults(before: Sequence[bytes], there: Sequence[bytes], back: Sequence[bytes]) -> int:
    """Objects that are not what they were when they have come back, or that never went."""
    if not len(before) == len(there) == len(back):
        return max(len(before), len(there), len(back))
    moved = [msgspec.json.decode(each) for each in there]
    wrong = sum(bool(each["apiVersion"] != NEW or each["spec"].get("waitFor") != "90s") for each in moved)
    return wrong + sum(
        bool(msgspec.json.decode(one) != msgspec.json.decode(other)) for one, other in zip(before, back, strict=True)
    )
