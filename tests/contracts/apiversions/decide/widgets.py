"""A kind whose two versions differ in every way that rules can express, and one that is between them."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.apiversions.decide.convert import KindConversion, convert
from fairlead.contracts.apiversions.decide.rule_sets import kind_of, read_rules

GROUP = "example.com"
NAME = f"widgets.{GROUP}"
TEXT, INTEGER, BOOLEAN = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}


def listed(items: dict[str, Any], *keys: str) -> dict[str, Any]:
    by_keys = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [*keys]} if keys else {}
    return {"type": "array", "items": items, **by_keys}


def made_of(required: tuple[str, ...] = (), **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, **({"required": [*required]} if required else {})}


PARTS = listed(made_of(("name",), name=TEXT, colour=TEXT, weight=INTEGER), "name")
V1 = made_of(
    spec=made_of(
        ("size",),
        size=INTEGER,
        mode=TEXT,
        enabled=TEXT,
        wait=TEXT,
        memory=TEXT,
        percent=INTEGER,
        image=TEXT,
        zones=TEXT,
        owner=TEXT,
        note=TEXT,
        parts=PARTS,
        labels={"type": "object", "additionalProperties": TEXT},
        ports=listed(made_of(port=INTEGER, label=TEXT)),
        old=made_of(a=INTEGER, b=TEXT),
        volumes=listed(made_of(name=TEXT, path=TEXT)),
    ),
    status=made_of(phase=TEXT, seen=INTEGER),
)
V2 = made_of(
    spec=made_of(
        ("replicas",),
        replicas=INTEGER,
        mode=TEXT,
        enabled=BOOLEAN,
        waitSeconds=INTEGER,
        memoryMi=INTEGER,
        ratio=INTEGER,
        repository=TEXT,
        tag=TEXT,
        zones=listed(TEXT),
        note=TEXT,
        parts=listed(made_of(("name",), name=TEXT, color=TEXT, weight=INTEGER), "name"),
        labels={"type": "object", "additionalProperties": TEXT},
        ports=listed(made_of(port=TEXT, name=TEXT)),
        volumes={"type": "object", "additionalProperties": made_of(path=TEXT)},
        fresh=made_of(x=INTEGER, y=listed(INTEGER)),
        parcels=listed(made_of(("id",), id=TEXT, kind=TEXT), "id"),
    ),
    status=made_of(phase=TEXT, seen=INTEGER),
)
V3 = made_of(spec=made_of(replicas=INTEGER, note=TEXT, parts=PARTS), status=made_of(phase=TEXT))
SPLIT = ["/spec/repository", "/spec/tag"]
PORT_RULES = [{"op": "cast", "path": "/port", "to": "string"}, {"op": "move", "from": "/label", "to": "/name"}]
RULES: dict[str, Any] = {
    "kind": "ConversionRules",
    "crd": NAME,
    "hub": "v2",
    "spokes": [
        {
            "version": "v1",
            "toHub": [
                {"op": "move", "from": "/spec/size", "to": "/spec/replicas"},
                {"op": "mapValues", "path": "/spec/mode", "table": {"fast": "Speedy", "slow": "Careful"}},
                {"op": "cast", "path": "/spec/enabled", "to": "boolean"},
                {"op": "duration", "path": "/spec/wait", "unit": "s"},
                {"op": "move", "from": "/spec/wait", "to": "/spec/waitSeconds"},
                {"op": "quantity", "path": "/spec/memory", "unit": "Mi"},
                {"op": "move", "from": "/spec/memory", "to": "/spec/memoryMi"},
                {"op": "move", "from": "/spec/percent", "to": "/spec/ratio"},
                {"op": "scale", "path": "/spec/ratio", "by": 10},
                {
                    "op": "split",
                    "from": "/spec/image",
                    "to": ["/spec/repository", "/spec/tag"],
                    "by": ":",
                    "last": True,
                },
                {"op": "textToList", "path": "/spec/zones", "by": ","},
                {"op": "mergeInto", "from": "/spec/owner", "to": "/spec/labels", "key": "owner"},
                {"op": "renameKeys", "path": "/spec/labels", "table": {"team": "squad"}},
                {"op": "move", "from": "/spec/parts/*/colour", "to": "/spec/parts/*/color"},
                {
                    "op": "each",
                    "path": "/spec/ports/*",
                    "rules": [
                        {"op": "cast", "path": "/port", "to": "string"},
                        {"op": "move", "from": "/label", "to": "/name"},
                    ],
                },
                {"op": "listToMap", "path": "/spec/volumes", "key": "name"},
                {"op": "drop", "path": "/spec/old"},
            ],
        },
        {"version": "v3"},
    ],
}


def definition(**schemas: dict[str, Any]) -> dict[str, Any]:
    """With these versions, or with the three above."""
    versions = [
        {"name": name, "served": True, "storage": name == "v2", "schema": {"openAPIV3Schema": schema}}
        for name, schema in (schemas or {"v1": V1, "v2": V2, "v3": V3}).items()
    ]
    names = {"kind": "Widget", "plural": "widgets"}
    return {"metadata": {"name": NAME}, "spec": {"group": GROUP, "names": names, "versions": versions}}


def widgets(rules: dict[str, Any] | None = None) -> KindConversion:
    return kind_of(read_rules(RULES if rules is None else rules), definition())


def two_versions(first: dict[str, Any], second: dict[str, Any], **spoke: Any) -> KindConversion:
    """A kind of v1 and v2, the hub, with these schemas and these rules for v1."""
    rules = {"kind": "ConversionRules", "crd": NAME, "hub": "v2", "spokes": [{"version": "v1", **spoke}]}
    return kind_of(read_rules(rules), definition(v1=first, v2=second))


KIND = widgets()


def widget(version: str, annotations: dict[str, str] | None = None, **body: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": "one", "namespace": "test", "labels": {"a": "b"}}
    if annotations is not None:
        metadata["annotations"] = annotations
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": metadata, **body}


def to(version: str, tree: dict[str, Any], kind: KindConversion = KIND) -> dict[str, Any]:
    return convert(tree, version, kind).tree
