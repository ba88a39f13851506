"""Rules for environment variables, and for what variables and files tell of the pod and its resources."""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.errors import Cause, required, unsupported, wrong
from kubesim.schema.values import config_key, each, label, needed, no_steps_back, qualified, subdomain, variable
from kubesim.store.versions import Tree

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_SOURCES_TEXT = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_VARIABLE_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
_KNOWN_FIELDS = (*_VARIABLE_FIELDS, "metadata.annotations", "metadata.labels", "spec.restartPolicy", "status.phase")
_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_HUGE = ("limits.hugepages-", "requests.hugepages-")


def variable_entry(entry: Tree, at: str) -> Iterator[Cause]:
    yield from needed(variable, entry.get("name"), f"{at}.name")
    source = entry.get("valueFrom")
    if source is None:
        return
    at = f"{at}.valueFrom"
    for key in _SOURCES:
        if source.get(key) is not None:
            yield from _SOURCE_RULES[key](source[key], f"{at}.{key}")
    number = sum(source.get(key) is not None for key in _SOURCES)
    if not number:
        yield wrong(at, "", _SOURCES_TEXT)
    elif entry.get("value"):
        yield wrong(at, "", "may not be specified when `value` is not empty")
    elif number > 1:
        yield wrong(at, "", "may not have more than one field specified at a time")


def _variable_field(reference: Tree, at: str) -> Iterator[Cause]:
    yield from pod_field(reference, _VARIABLE_FIELDS, at)


def pod_field(reference: Tree, allowed: tuple[str, ...], at: str) -> Iterator[Cause]:
    """A field of the pod that a variable or file shows."""
    for key in ("apiVersion", "fieldPath"):
        if not reference.get(key):
            yield required(f"{at}.{key}")
            return
    path: str = reference["fieldPath"]
    name, bracket, rest = path.partition("['")
    if bracket and rest.endswith("']"):
        if name == "metadata.annotations":
            yield from each(qualified, rest[:-2].lower(), at)
        elif name == "metadata.labels":
            yield from each(qualified, rest[:-2], at)
        else:
            yield wrong(
                f"{at}.fieldPath", path, f"error converting fieldPath: field label does not support subscript: {path}"
            )
    elif path not in _KNOWN_FIELDS:
        yield wrong(f"{at}.fieldPath", path, f"error converting fieldPath: field label not supported: {path}")
    elif path not in allowed:
        yield unsupported(f"{at}.fieldPath", path, allowed)


def _variable_resource(reference: Tree, at: str) -> Iterator[Cause]:
    yield from container_resource(reference, at)


def container_resource(reference: Tree, at: str, *, names_container: bool = False) -> Iterator[Cause]:
    """A limit or request that a variable or file shows."""
    resource = reference.get("resource") or ""
    if names_container and not reference.get("containerName"):
        yield required(f"{at}.containerName")
    elif not resource:
        yield required(f"{at}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE):
        yield unsupported(f"{at}.resource", resource, _RESOURCES)


def _key_of(reference: Tree, at: str) -> Iterator[Cause]:
    yield from each(subdomain, reference.get("name") or "", f"{at}.name")
    yield from needed(config_key, reference.get("key"), f"{at}.key")


def _file_key(reference: Tree, at: str) -> Iterator[Cause]:
    yield from needed(variable, reference.get("key"), f"{at}.key")
    yield from needed(label, reference.get("volumeName"), f"{at}.volumeName")
    path = reference.get("path")
    yield from no_steps_back(path, f"{at}.path") if path else [required(f"{at}.path")]


_SOURCE_RULES = {
    "fieldRef": _variable_field,
    "resourceFieldRef": _variable_resource,
    "configMapKeyRef": _key_of,
    "secretKeyRef": _key_of,
    "fileKeyRef": _file_key,
}


def variable_sources(sources: list[Tree], at: str) -> Iterator[Cause]:
    for index, source in enumerate(sources):
        path = f"{at}[{index}]"
        if source.get("prefix"):
            yield from each(variable, source["prefix"], f"{path}.prefix")
        kinds = [key for key in ("configMapRef", "secretRef") if source.get(key) is not None]
        for key in kinds:
            yield from needed(subdomain, source[key].get("name"), f"{path}.{key}.name")
        if not kinds:
            yield wrong(at, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(kinds) > 1:
            yield wrong(at, "", "may not have more than one field specified at a time")
