"""What the server says about itself: its version, its groups, its resources.

Clients ask for it group by group, or, in the newer form, for all groups at once. The documents are made when they are
asked for and kept until a definition adds a kind or takes one away.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from kubesim.discovery import health
from kubesim.kinds.registry import DEFINITIONS, NAMESPACES, Kind, Registry
from kubesim.store.versions import Tree

RELEASE = "v1.36.4"
HEALTH = health.PATHS
_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_CUSTOM_VERBS = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
_TERMINATING_VERBS = ["delete", "deletecollection", "get", "list", "watch"]
_CHANGED = ["get", "patch", "update"]
_CONNECTED = ["create", "get"]
_PROXIED = ["create", "delete", "get", "patch", "update"]
_SUBRESOURCES = {
    "attach": ("", "", "PodAttachOptions", _CONNECTED),
    "binding": ("", "", "Binding", ["create"]),
    "eviction": ("policy", "v1", "Eviction", ["create"]),
    "exec": ("", "", "PodExecOptions", _CONNECTED),
    "finalize": ("", "", "Namespace", ["update"]),
    "log": ("", "", "Pod", ["get"]),
    "portforward": ("", "", "PodPortForwardOptions", _CONNECTED),
    "proxy": ("", "", "{kind}ProxyOptions", _PROXIED),
    "scale": ("autoscaling", "v1", "Scale", _CHANGED),
    "token": ("authentication.k8s.io", "v1", "TokenRequest", ["create"]),
}
"""Group, version, kind and verbs of parts that are not simply the object itself."""
# As the server ranks its groups; those of definitions come after them, by name.
_ORDER = (
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
)
_ANY_METHOD = ("", "api", "apis")


_OLD_STORAGE = {DEFINITIONS: f"{DEFINITIONS.group}/v1beta1"}
"""Kinds that are stored in a version which is not served."""


class Document(Struct, frozen=True):
    """A document as bytes, with the tag by which a client knows whether it has it already."""

    body: bytes
    tag: str


class Documents:
    """The documents of a registry, made once for every state of it."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._kept: dict[tuple[str, str], Document | None] = {}
        self._state = registry.state

    def plain(self, path: str, address: str = "") -> Document | None:
        """The document at a path; None where there is none. `address` is where the client found the server."""
        if path.strip("/") == "api":
            return _document(_api(address))
        return self._made("plain", path.strip("/"), lambda name: describe(self._registry, name))

    def grouped(self, path: str) -> Document | None:
        """All groups at once, with their resources: those below `/api`, or those below `/apis`."""
        return self._made("grouped", path.strip("/"), lambda name: _all_groups(self._registry, name))

    def _made(self, form: str, name: str, make: Callable[[str], Tree | None]) -> Document | None:
        if self._state != self._registry.state:
            self._kept.clear()
            self._state = self._registry.state
        if (form, name) not in self._kept:
            tree = make(name)
            if tree is None:
                return None  # what is not there is not remembered: there is no end of it
            self._kept[form, name] = _document(tree)
        return self._kept[form, name]


def _document(tree: Tree) -> Document:
    body = msgspec.json.encode(tree) + b"\n"
    return Document(body, f'"{hashlib.sha512(body).hexdigest().upper()}"')


def takes(path: str, method: str) -> bool:
    """Whether a document may be asked for by a method."""
    return method in ("GET", "HEAD") or path.strip("/") in _ANY_METHOD


def describe(registry: Registry, path: str) -> Tree | None:
    """The document at a path, None where there is none."""
    match path.strip("/").split("/"):
        case [""]:
            return {"paths": sorted({*_paths(registry), *health.paths()})}
        case ["version"]:
            return _version()
        case ["apis"]:
            groups = [_group(group, versions) for group, versions in _groups(registry) if group]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group] if group:
            versions = registry.versions().get(group)
            return None if versions is None else {"kind": "APIGroup", "apiVersion": "v1"} | _group(group, versions)
        case ["api", version]:
            return _resources(registry, "", version)
        case ["apis", group, version] if group:
            return _resources(registry, group, version)
        case _:
            return None


def _paths(registry: Registry) -> list[str]:
    found = ["/api", "/apis", "/apis/", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"]
    for group, versions in registry.versions().items():
        prefix = f"/apis/{group}" if group else "/api"
        found += [prefix, *(f"{prefix}/{version}" for version in versions)]
    return found


def _version() -> Tree:
    major, minor, _ = RELEASE.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "emulationMajor": major,
        "emulationMinor": minor,
        "minCompatibilityMajor": major,
        "minCompatibilityMinor": str(int(minor) - 1),
        "gitVersion": f"{RELEASE}+fairlead",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "linux/amd64",
    }


def _api(address: str) -> Tree:
    reached = [{"clientCIDR": "0.0.0.0/0", "serverAddress": address}] if address else []
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": reached}


def _groups(registry: Registry) -> list[tuple[str, list[str]]]:
    def rank(item: tuple[str, list[str]]) -> tuple[int, str]:
        return (_ORDER.index(item[0]), "") if item[0] in _ORDER else (len(_ORDER), item[0])

    return sorted(registry.versions().items(), key=rank)


def _group(group: str, versions: list[str]) -> Tree:
    ordered = sorted(versions, key=priority)
    entries = [{"groupVersion": f"{group}/{version}", "version": version} for version in ordered]
    return {"name": group, "versions": entries, "preferredVersion": entries[0]}


def priority(version: str) -> tuple[int, int, int, str]:
    """Stable versions before beta before alpha, the newest first, and names of other forms last."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return 3, 0, 0, version
    stage = ("", "beta", "alpha").index(found[2] or "")
    return stage, -int(found[1]), -int(found[3] or 0), version


# One version of one group


def _resources(registry: Registry, group: str, version: str) -> Tree | None:
    kinds = _ordered(registry, group, version)
    if not kinds:
        return None
    resources = [entry for kind in kinds for entry in _entries(kind)]
    if not group:  # as the server has it
        return {"kind": "APIResourceList", "groupVersion": version, "resources": resources}
    head = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}"}
    return head | {"resources": resources}


def _ordered(registry: Registry, group: str, version: str) -> list[Kind]:
    return sorted(registry.served(group, version), key=lambda kind: kind.resource.plural)


def _entries(kind: Kind) -> list[Tree]:
    resource = kind.resource
    entry: Tree = {
        "name": resource.plural,
        "singularName": kind.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(kind),
    }
    return [entry | _names(kind) | _storage(kind), *(_subresource(kind, name) for name in _parts(kind))]


def _storage(kind: Kind) -> Tree:
    """By which clients tell whether objects are still stored as they were."""
    if kind.answered:
        return {}
    stored = kind.storage
    version = _OLD_STORAGE.get(stored, f"{stored.group}/{stored.version}")
    if kind.custom is not None:
        version = kind.custom.conversion.stored_as
    content = f"{version}/{stored.kind}".encode()
    return {"storageVersionHash": base64.b64encode(hashlib.sha256(content).digest()[:8]).decode()}


def _names(kind: Kind) -> Tree:
    given = (("shortNames", kind.short_names), ("categories", kind.categories))
    return {key: list(names) for key, names in given if names}


def _parts(kind: Kind) -> list[str]:
    """The subresources by name; of custom resources the status comes first."""
    return sorted(kind.subresources, reverse=kind.custom is not None)


def _verbs(kind: Kind) -> list[str]:
    if kind.answered:
        return ["create"]
    if kind.custom is not None:
        return _TERMINATING_VERBS if kind.custom.terminating else _CUSTOM_VERBS
    if kind.resource == NAMESPACES:
        return [verb for verb in _VERBS if verb != "deletecollection"]
    return _VERBS


def part_of(kind: Kind, name: str) -> tuple[str, str, str, list[str]]:
    """Group, version (empty for those of the resource), kind and verbs of a subresource."""
    group, version, shown, verbs = _SUBRESOURCES.get(name, ("", "", kind.resource.kind, _CHANGED))
    return group, version, shown.format(kind=kind.resource.kind), verbs


def _subresource(kind: Kind, name: str) -> Tree:
    group, version, shown, verbs = part_of(kind, name)
    entry: Tree = {
        "name": f"{kind.resource.plural}/{name}",
        "singularName": "",
        "namespaced": kind.resource.namespaced,
    }
    if group:
        entry |= {"group": group, "version": version}
    return entry | {"kind": shown, "verbs": verbs}


# All groups at once


def _all_groups(registry: Registry, name: str) -> Tree | None:
    if name not in ("api", "apis"):
        return None
    groups = [item for item in _groups(registry) if bool(item[0]) == (name == "apis")]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": [_group_entry(registry, group, versions) for group, versions in groups],
    }


def _group_entry(registry: Registry, group: str, versions: list[str]) -> Tree:
    entries = [
        {
            "version": version,
            "resources": [_resource_entry(kind) for kind in _ordered(registry, group, version)],
            "freshness": "Current",
        }
        for version in sorted(versions, key=priority)
    ]
    return {"metadata": {"name": group} if group else {}, "versions": entries}


def _resource_entry(kind: Kind) -> Tree:
    resource = kind.resource
    entry: Tree = {
        "resource": resource.plural,
        "responseKind": _response_kind(kind, "", "", resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": _verbs(kind),
    }
    entry |= _names(kind)
    if kind.subresources:
        entry["subresources"] = [_part_entry(kind, name) for name in _parts(kind)]
    return entry


def _part_entry(kind: Kind, name: str) -> Tree:
    group, version, shown, verbs = part_of(kind, name)
    return {"subresource": name, "responseKind": _response_kind(kind, group, version, shown), "verbs": verbs}


def _response_kind(kind: Kind, group: str, version: str, shown: str) -> dict[str, Any]:
    """What is answered; that it is of the resource's own group is said of custom resources alone."""
    if not version and kind.custom is not None:
        group, version = kind.resource.group, kind.resource.version
    return {"group": group, "version": version, "kind": shown}
