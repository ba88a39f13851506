"""What the server says about itself: its version, its groups, its resources, that it is well."""

from __future__ import annotations

import re

from fairlead.sim.registry import Kind, Registry
from fairlead.sim.store import Tree

RELEASE = "v1.36.4"
HEALTH = ("/healthz", "/livez", "/readyz")
_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
_TERMINATING_VERBS = ["delete", "deletecollection", "get", "list", "watch"]
_SUBRESOURCES = {
    "binding": ("", "v1", "Binding", ["create"]),
    "eviction": ("policy", "v1", "Eviction", ["create"]),
    "scale": ("autoscaling", "v1", "Scale", ["get", "patch", "update"]),
    "token": ("authentication.k8s.io", "v1", "TokenRequest", ["create"]),
}


def describe(registry: Registry, path: str) -> Tree | None:
    """The document at a path, None where there is none."""
    match path.strip("/").split("/"):
        case ["version"]:
            return _version()
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = [_group(group, versions) for group, versions in registry.versions().items() if group]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group]:
            versions = registry.versions().get(group)
            return None if versions is None else {"kind": "APIGroup", "apiVersion": "v1"} | _group(group, versions)
        case ["api", version]:
            return _resources(registry, "", version)
        case ["apis", group, version]:
            return _resources(registry, group, version)
        case _:
            return None


def _version() -> Tree:
    major, minor, _ = RELEASE.removeprefix("v").split(".")
    return {"major": major, "minor": minor, "gitVersion": f"{RELEASE}+fairlead", "platform": "linux/amd64"}


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


def _resources(registry: Registry, group: str, version: str) -> Tree | None:
    kinds = registry.served(group, version)
    if not kinds:
        return None
    resources = [entry for kind in kinds for entry in _entries(kind)]
    group_version = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}


def _entries(kind: Kind) -> list[Tree]:
    resource = kind.resource
    entry: Tree = {
        "name": resource.plural,
        "singularName": kind.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": _verbs(kind),
    }
    if kind.short_names:
        entry["shortNames"] = list(kind.short_names)
    if kind.categories:
        entry["categories"] = list(kind.categories)
    return [entry, *(_subresource(kind, name) for name in kind.subresources)]


def _verbs(kind: Kind) -> list[str]:
    if kind.answered:
        return ["create"]
    return _TERMINATING_VERBS if kind.custom is not None and kind.custom.terminating else _VERBS


def _subresource(kind: Kind, name: str) -> Tree:
    entry: Tree = {
        "name": f"{kind.resource.plural}/{name}",
        "singularName": "",
        "namespaced": kind.resource.namespaced,
        "kind": kind.resource.kind,
        "verbs": ["get", "patch", "update"],
    }
    if name in _SUBRESOURCES:
        group, version, shown, verbs = _SUBRESOURCES[name]
        entry |= {"kind": shown, "verbs": verbs}
        if group:
            entry |= {"group": group, "version": version}
    return entry
