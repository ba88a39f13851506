"""Writes the schemas of built-in kinds that the embedded cluster decodes and merges by, as a real API server has them.

    python -m tools.schemas

starts the real control plane that the tests use, reads its OpenAPI v3 documents, and writes what the kinds below need
into `kubesim/data/schemas.json`: types, list types, keys, merge keys, defaults, no descriptions. Beside them stand
the types of the Go sources (`tools.go_types`), which say how a body is decoded and written. Each type is one line, so
that the difference between two releases can be read. Run it again when the release of the control plane changes, or
when a kind is added to `KINDS`.
"""

from __future__ import annotations

import json
import ssl
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane
from tools.go_types import Sources
from tools.keeping import keep, without_options

Tree = dict[str, Any]

TARGET = Path(__file__).parent.parent / "kubesim" / "data" / "schemas.json"
KINDS = {
    "v1": (
        "Binding ConfigMap DeleteOptions Endpoints Event LimitRange Namespace Node PersistentVolume "
        "PersistentVolumeClaim Pod PodTemplate ReplicationController ResourceQuota Secret Service ServiceAccount"
    ),
    "admissionregistration.k8s.io/v1": (
        "MutatingWebhookConfiguration ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding "
        "ValidatingWebhookConfiguration"
    ),
    "apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "authentication.k8s.io/v1": "SelfSubjectReview TokenRequest TokenReview",
    "authorization.k8s.io/v1": (
        "LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview SubjectAccessReview"
    ),
    "autoscaling/v1": "HorizontalPodAutoscaler Scale",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "batch/v1": "CronJob Job",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "events.k8s.io/v1": "Event",
    "networking.k8s.io/v1": "Ingress IngressClass NetworkPolicy",
    "policy/v1": "Eviction PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "scheduling.k8s.io/v1": "PriorityClass",
    "storage.k8s.io/v1": "StorageClass VolumeAttachment",
}
"""By API version, separated by spaces."""

_PREFIXES = ("io.k8s.", "api.", "apimachinery.pkg.", "apis.", "apiextensions-apiserver.pkg.")
_KEPT = (
    "type",
    "format",
    "default",
    "required",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-preserve-unknown-fields",
)
_FORMATS = ("date-time", "int-or-string")


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the file; answers with 1 when there is no control plane to ask."""
    without_options("schemas", __doc__, arguments)
    try:
        with Plane() as plane:
            document = collected(reader(plane))
    except Unavailable as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    keep(TARGET, printed(document))
    return 0


def reader(plane: Plane) -> Callable[[str], Tree]:
    """Reads a document of the API server by its path, as an administrator."""
    trust = ssl.create_default_context(cafile=str(plane.folder / "ca.crt"))
    trust.load_cert_chain(plane.folder / "admin.crt", plane.folder / "admin.key")
    host, _, port = plane.url.removeprefix("https://").partition(":")

    def read(path: str) -> Tree:
        connection = HTTPSConnection(host, int(port), timeout=60, context=trust)
        try:
            connection.request("GET", path, headers={"Accept": "application/json"})
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            raise Unavailable(f"GET {path} was answered with {answer.status}: {body[:200].decode(errors='replace')}")
        found: Tree = json.loads(body)
        return found

    return read


def collected(read: Callable[[str], Tree]) -> Tree:
    """The kinds, and every type that they are made of."""
    schemas: Tree = {}
    for version in KINDS:
        prefix = "apis" if "/" in version else "api"
        schemas |= read(f"/openapi/v3/{prefix}/{version}")["components"]["schemas"]
    kinds: dict[str, str] = {}
    for name, schema in schemas.items():
        for said in schema.get("x-kubernetes-group-version-kind") or ():
            version = f"{said['group']}/{said['version']}" if said["group"] else said["version"]
            if said["kind"] in KINDS.get(version, "").split():
                kinds[f"{version} {said['kind']}"] = name
    missing = [f"{version} {kind}" for version, names in KINDS.items() for kind in names.split()]
    missing = [kind for kind in missing if kind not in kinds]
    if missing:
        raise Unavailable(f"the control plane does not serve {', '.join(missing)}")
    needed = dict(sorted(kinds.items()))
    types = _closure({short(name): reduced(schema) for name, schema in schemas.items()}, map(short, needed.values()))
    release = read("/version")["gitVersion"]
    named = {kind: short(name) for kind, name in needed.items()}
    return {"release": release, "kinds": named, "types": types, "go": Sources(release).collected(named.values())}


def _closure(types: Tree, names: Iterable[str]) -> Tree:
    """These types and all that they refer to, by name."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _references(types[name])
    return {name: types[name] for name in sorted(found)}


def _references(schema: Tree) -> Iterator[str]:
    if "$ref" in schema:
        yield schema["$ref"]
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    for each in inner:
        if isinstance(each, dict):
            yield from _references(each)


def short(name: str) -> str:
    """The name of a type without the package that all of them come from."""
    for prefix in _PREFIXES:
        name = name.removeprefix(prefix)
    return name


def reduced(schema: Tree) -> Tree:
    """What merging needs to know of a schema; `$ref` is the short name of a type."""
    kept: Tree = {key: schema[key] for key in _KEPT if key in schema}
    if kept.get("format") not in _FORMATS:
        kept.pop("format", None)
    reference = next((each["$ref"] for each in (schema, *(schema.get("allOf") or ())) if "$ref" in each), None)
    if reference is not None:
        kept["$ref"] = short(reference.rpartition("/")[2])
    if "properties" in schema:
        kept["properties"] = {name: reduced(each) for name, each in sorted(schema["properties"].items())}
    if "items" in schema:
        kept["items"] = reduced(schema["items"])
    rest = schema.get("additionalProperties")
    if rest is not None:
        kept["additionalProperties"] = reduced(rest) if isinstance(rest, dict) else rest
    return kept


def printed(document: Tree) -> str:
    """As JSON with a line for each kind and type."""

    def lines(entries: Tree) -> str:
        return ",\n".join(
            f"{json.dumps(key)}:{json.dumps(each, separators=(',', ':'))}" for key, each in entries.items()
        )

    parts = ",\n".join(f'"{part}":{{\n{lines(document[part])}\n}}' for part in ("kinds", "types", "go"))
    return f'{{"release":{json.dumps(document["release"])},\n{parts}}}\n'


if __name__ == "__main__":
    sys.exit(main())
