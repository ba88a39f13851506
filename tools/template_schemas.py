"""Writes the schemas of pod templates and claims that the definition of LeaderWorkerSets holds.

    python -m tools.template_schemas
    python -m tools.template_schemas --compare

makes them from the types behind the embedded cluster's schemas (`kubesim/data/schemas.json`, written by
`tools.schemas`), as upstream's generator makes them from the same Go types: structural, without descriptions, with
the defaults that the types state themselves. A type on each line, they are kept in
`fairlead/contracts/leaderworker/install/core_schemas.json`, and put together when the definition is made.

With `--compare` the definitions are held against upstream's, out of the Go module cache, which is filled where it lacks
the module. What upstream's say is written into `tests/contracts/leaderworker/install/upstream_schema.json` and
`upstream_disaggregated_schema.json`; the differences are printed, and any that is not meant ends with 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.install.disaggregated_definitions import REPLICAS_MESSAGE, REPLICAS_RULE
from fairlead.plane.build import Unavailable
from tools.go_types import go
from tools.keeping import keep

Tree = dict[str, Any]

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "kubesim" / "data" / "schemas.json"
TARGET = ROOT / "fairlead" / "contracts" / "leaderworker" / "install" / "core_schemas.json"
RECORD = ROOT / "tests" / "contracts" / "leaderworker" / "install" / "upstream_schema.json"
MODULE = "sigs.k8s.io/lws@v0.9.0"
DEFINITION = "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml"
DISAGGREGATED_RECORD = RECORD.with_name("upstream_disaggregated_schema.json")
DISAGGREGATED_DEFINITION = "config/crd/bases/disaggregatedset.x-k8s.io_disaggregatedsets.yaml"

TYPES = (
    "apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy",
    "core.v1.PersistentVolumeClaim",
    "core.v1.PodTemplateSpec",
)
"""Those that the definition names; what they are made of comes with them."""
MEANT = {".spec.replicas": {"minimum": 0, "maximum": 1000000}}
"""What our schema says beyond upstream's, by path."""
ROLE_SPEC = ".spec.roles[].spec"
DISAGGREGATED_MEANT: dict[str, Tree] = {
    f"{ROLE_SPEC}.replicas": MEANT[".spec.replicas"],
    ".spec": {
        "x-kubernetes-validations": [{"message": REPLICAS_MESSAGE, "rule": REPLICAS_RULE}],
    },
    ".spec.placementPolicy": {"type": "object"},
    ".spec.placementPolicy.topology": {"type": "string"},
    ".spec.placementPolicy.type": {
        "default": "None",
        "enum": ["None", "ExclusiveSlice", "ExclusiveTopology"],
        "type": "string",
    },
    ".spec.roles[].scaling": {"type": "object"},
    ".spec.roles[].scaling.mode": {"default": "Static", "enum": ["Static", "External"], "type": "string"},
    ".spec.slices": {"default": 1, "format": "int32", "maximum": 100, "minimum": 1, "type": "integer"},
    ".status.observedGeneration": {"format": "int64", "type": "integer"},
}
"""Of DisaggregatedSets, what releases after this one have: slices, placement, scalers and the status."""

_TEXT: Tree = {"type": "string"}
_TEXTS: Tree = {"type": "object", "additionalProperties": _TEXT}
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_INT_OR_STRING: Tree = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_GIVEN: dict[str, Tree] = {
    "api.resource.Quantity": {
        **_INT_OR_STRING,
        "pattern": rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$",
    },
    "meta.v1.ObjectMeta": {
        "type": "object",
        "properties": {
            "annotations": _TEXTS,
            "finalizers": {"type": "array", "items": _TEXT},
            "labels": _TEXTS,
            "name": _TEXT,
            "namespace": _TEXT,
        },
    },
    "util.intstr.IntOrString": _INT_OR_STRING,
}
"""Types that a definition describes in a way of its own."""
_KEPT = (
    "type",
    "format",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
)
_UNSTATED = {("core.v1.AzureDiskVolumeSource", "cachingMode"), ("core.v1.AzureDiskVolumeSource", "kind")}
"""Their defaults refer to a constant of Go, which upstream's generator does not follow."""
_LARGE = ("leaderTemplate", "volumeClaimTemplates", "workerTemplate")


def main(arguments: Sequence[str] | None = None) -> int:
    summary, _, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m tools.template_schemas",
        description=summary,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--compare", action="store_true", help="hold the definition against upstream's")
    options = parser.parse_args(arguments)
    if not options.compare:
        keep(TARGET, printed(collected(json.loads(SOURCE.read_text(encoding="utf-8")))))
        return 0
    ours, disaggregated, _ = definitions()
    try:
        theirs, their_disaggregated = upstream(DEFINITION), upstream(DISAGGREGATED_DEFINITION)
    except Unavailable as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    keep(RECORD, json.dumps(recorded(theirs), indent=1, sort_keys=True) + "\n")
    keep(DISAGGREGATED_RECORD, json.dumps(recorded_roles(their_disaggregated), indent=1, sort_keys=True) + "\n")
    found = [
        *differing(facts(schema_of(ours)), facts(schema_of(theirs)), MEANT),
        *differing(facts(schema_of(disaggregated)), facts(schema_of(their_disaggregated)), DISAGGREGATED_MEANT),
    ]
    for line in found:
        sys.stdout.write(f"{line}\n")
    return 1 if found else 0


def collected(document: Tree) -> Tree:
    """The types of TYPES and all that they refer to, as a definition describes them; `$ref` is the name of a type."""
    types: Tree = {}
    waiting = [*TYPES]
    while waiting:
        name = waiting.pop()
        if name not in types:
            types[name] = _GIVEN[name] if name in _GIVEN else _described(name, document)
            waiting += _references(types[name])
    return {name: types[name] for name in sorted(types)}


def _described(name: str, document: Tree) -> Tree:
    schema, fields = document["types"][name], document["go"].get(name, {})
    made = _kept(schema)
    if "properties" not in schema:
        return made
    if embedded := next((each for each in fields if each.startswith("+")), ""):
        # An object that embeds a reference is replaced as a whole, as references are.
        reference = document["types"].get(f"{name.rpartition('.')[0]}.{embedded[1:]}", {})
        made |= {key: value for key, value in reference.items() if key == "x-kubernetes-map-type"}
    required = sorted(schema.get("required", ()))
    if required:
        made["required"] = required
    made["properties"] = {
        each: _field(name, each, inner, fields.get(each, ""), each in required)
        for each, inner in sorted(schema["properties"].items())
    }
    return made


def _field(owner: str, name: str, schema: Tree, go_type: str, required: bool) -> Tree:
    made = _member(schema, go_type)
    stated = schema.get("default", {}) != {} and not required and (owner, name) not in _UNSTATED
    return {**made, "default": schema["default"]} if stated else made


def _member(schema: Tree, go_type: str) -> Tree:
    """The OpenAPI document gives a zero to whatever Go always writes: a default is stated where a field is optional."""
    made = _kept(schema)
    if "$ref" in schema:
        made["$ref"] = schema["$ref"]
    if made.get("type") == "integer":
        made["format"] = go_type.strip("*?[]")
    if "items" in schema:
        made["items"] = _member(schema["items"], go_type)
    if isinstance(schema.get("additionalProperties"), dict):
        made["additionalProperties"] = _member(schema["additionalProperties"], "")
    return made


def _kept(schema: Tree) -> Tree:
    return {key: schema[key] for key in _KEPT if key in schema}


def _references(schema: Tree) -> Iterator[str]:
    if "$ref" in schema:
        yield schema["$ref"]
    for each in (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")):
        if isinstance(each, dict):
            yield from _references(each)


def printed(types: Tree) -> str:
    """As JSON with a line for each type."""
    lines = (f"{json.dumps(name)}:{json.dumps(each, separators=(',', ':'))}" for name, each in types.items())
    return "{" + ",\n".join(lines) + "}\n"


def upstream(definition: str) -> Tree:
    """A definition of upstream's release."""
    folder = Path(json.loads(go("mod", "download", "-json", MODULE))["Dir"])
    found: Tree = yaml.safe_load((folder / definition).read_text(encoding="utf-8"))
    return found


def schema_of(definition: Tree) -> Tree:
    found: Tree = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def facts(schema: Tree, path: str = "") -> dict[str, Tree]:
    """By path, all that a schema says of a value besides what it is made of and how it is described."""
    inner = ("properties", "items", "additionalProperties", "description")
    found = {path or ".": {key: value for key, value in schema.items() if key not in inner}}
    for name, each in schema.get("properties", {}).items():
        found |= facts(each, f"{path}.{name}")
    if "items" in schema:
        found |= facts(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        found |= facts(schema["additionalProperties"], f"{path}{{}}")
    return found


def recorded(definition: Tree) -> Tree:
    """What is kept of upstream's definition: all of the kind's own, of templates a digest and what stands out."""
    spec = definition["spec"]
    version = {key: value for key, value in spec["versions"][0].items() if key != "schema"}
    said = facts(schema_of(definition))
    own = {path: each for path, each in said.items() if not _is_large(path)}
    stands_out = ("default", "x-kubernetes-list-map-keys", "enum", "minimum", "maximum")
    return {
        "release": MODULE,
        "names": spec["names"],
        "scope": spec["scope"],
        "version": version,
        "facts": own,
        "digests": {name: digest(said, name) for name in _LARGE},
        "template": {
            path: kept
            for path, each in said.items()
            if f".{_LARGE[2]}" in path and (kept := {key: each[key] for key in stands_out if key in each})
        },
    }


def recorded_roles(definition: Tree) -> Tree:
    """What is kept of that of DisaggregatedSets: all but what roles have of LeaderWorkerSets."""
    spec = definition["spec"]
    own = {path: each for path, each in facts(schema_of(definition)).items() if not path.startswith(f"{ROLE_SPEC}.")}
    version = {key: value for key, value in spec["versions"][0].items() if key != "schema"}
    return {"release": MODULE, "names": spec["names"], "scope": spec["scope"], "version": version, "facts": own}


def digest(said: dict[str, Tree], part: str) -> str:
    """Equal for parts of two schemas that say the same."""
    lines = [f"{path} {json.dumps(each, sort_keys=True)}" for path, each in said.items() if _of_part(path, part)]
    return sha256("\n".join(sorted(lines)).encode()).hexdigest()


def _of_part(path: str, part: str) -> bool:
    return path.startswith(f".spec.leaderWorkerTemplate.{part}")


def _is_large(path: str) -> bool:
    return any(_of_part(path, part) for part in _LARGE)


def differing(ours: dict[str, Tree], theirs: dict[str, Tree], meant: dict[str, Tree]) -> Iterable[str]:
    """A line for each path of which the two say something else, unless it is meant."""
    for path in sorted(ours.keys() | theirs.keys()):
        expected = {**theirs.get(path, {}), **meant.get(path, {})}
        if ours.get(path, {}) != expected or (path in ours) != (path in theirs or path in meant):
            yield f"{path}: {json.dumps(ours.get(path))} instead of {json.dumps(expected)}"


if __name__ == "__main__":
    sys.exit(main())
