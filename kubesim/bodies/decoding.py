"""The bodies of requests as trees: JSON, YAML or protobuf, as their type says.

A body may leave out what it is; what it says otherwise is compared with what the path serves. Refusals have the words
of the server, which tells what it could make of a body before it says what is wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

from kubeloop.objects.meta import Resource
from kubeloop.request import Request
from kubesim.bodies import go_json, wire, yaml_text
from kubesim.errors import (
    StatusError,
    bad_request,
    internal_error,
    invalid_kind,
    invalid_patch,
    invalid_version,
    too_large,
    unknown_format,
)
from kubesim.store.versions import Tree
from kubesim.typed.faults import Undecodable
from kubesim.typed.types import is_typed, metadata_problem, type_of

LARGEST = 3 * 1024 * 1024
JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
ACCEPTED = (JSON, YAML, PROTOBUF)
OPTIONS = "DeleteOptions"
_SHOWN_BYTES = 30
_SCHEME = 'in scheme "pkg/runtime/scheme.go:111"'
_MEDIA = re.compile(r"\s*([\w.+-]+/[\w.+*-]+)\s*(;\s*[\w.+-]+\s*=\s*(\"[^\"]*\"|[\w.+-]+)\s*)*;?\s*")
_SLASHES = 1
_EVICTION = "Eviction"
_MOVED = {
    "DaemonSet": "apps",
    "Deployment": "apps",
    "Ingress": "networking.k8s.io",
    "NetworkPolicy": "networking.k8s.io",
    "ReplicaSet": "apps",
}
"""The groups of kinds that were once in `extensions`."""
_SCALE = "Scale"


class Expected(Struct, frozen=True):
    """What the path of a request takes."""

    resource: Resource
    custom: bool = False
    """Objects of a definition, which the server decodes without knowing their types."""
    examine: Callable[[Tree], Tree] | None = None
    """Looks at an object of a definition that is of another version or kind, before it is refused."""


class _Undecodable(Exception):
    """Why a body cannot be decoded, and what it was known to be by then."""

    def __init__(self, why: str, kind: str = "", version: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.kind = kind
        self.version = version


def limited(request: Request) -> None:
    """Refuses a body that is too large."""
    if len(request.body) > LARGEST:
        raise too_large(f"limit is {LARGEST}")


def object_in(request: Request, expected: Expected) -> Tree:
    """The object that a request sends."""
    media = _media(request.content_type)
    if expected.custom and media == PROTOBUF:
        raise unknown_format((JSON, YAML))
    try:
        return _decoded(media, request.body, expected)
    except _Undecodable as problem:
        raise _refusal(problem, expected, request.body) from None


def settled(tree: Tree, expected: Expected, *, strategic: bool) -> Tree:
    """A patched object as what it is served as; refuses one that the patch has made something else.

    A strategic merge patch cannot: the server knows the type of what it makes.
    """
    resource = expected.resource
    if expected.custom and resource.kind != _SCALE:
        _is_typed(tree)
    said = tree.get("kind") or resource.kind, tree.get("apiVersion") or resource.api_version
    if said == (resource.kind, resource.api_version):
        if expected.custom and resource.kind != _SCALE and (why := _metadata_problem(tree)):
            raise invalid_patch(msgspec.json.encode(tree).decode(), why)
        return tree
    kind, version = map(str, said)
    if strategic or (not expected.custom and _is_another_version(kind, version, resource)):
        return tree | {"kind": resource.kind, "apiVersion": resource.api_version}
    if not expected.custom or resource.kind == _SCALE:
        raise invalid_patch(msgspec.json.encode(tree).decode(), _mismatch(tree, kind, version, resource))
    if version != resource.api_version:
        raise invalid_version(resource, kind, version, _name(tree))
    raise invalid_kind(resource, kind, _name(tree))


def _is_typed(tree: Tree) -> None:
    """Refuses a custom resource that a patch has left without its type."""
    if not tree.get("kind"):
        text = msgspec.json.encode(tree, order="sorted").decode()
        raise invalid_patch(text, f"Object 'Kind' is missing in '{text}'")
    if not tree.get("apiVersion"):
        raise internal_error("Object 'apiVersion' is missing in 'object has no apiVersion field'")


def _metadata_problem(tree: Tree) -> str:
    """What is wrong with the one part of a custom resource whose type the server knows."""
    return metadata_problem({} if tree.get("metadata") is None else tree["metadata"])


def _name(tree: Tree) -> str:
    metadata = tree.get("metadata")
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""


def options_in(request: Request, version: str) -> Tree:
    """The options of a deletion; they may be of any group, as older clients send them."""
    media = _media(request.content_type)
    expected = Expected(Resource("", version, "", OPTIONS))
    try:
        tree = _read(media, request.body, expected)
        kind, said = _said(tree, expected)
        if kind != OPTIONS:
            raise _Undecodable(_unregistered(kind, said))
        _typed(tree)
    except _Undecodable as problem:
        raise bad_request(problem.why) from None
    return tree


class _Preconditions(Struct):
    uid: str | None = None
    resourceVersion: str | None = None  # noqa: N815  a name of the API


class _Options(Struct):
    gracePeriodSeconds: int | None = None  # noqa: N815
    preconditions: _Preconditions | None = None
    orphanDependents: bool | None = None  # noqa: N815
    propagationPolicy: str | None = None  # noqa: N815
    dryRun: list[str] | None = None  # noqa: N815
    ignoreStoreReadErrorWithClusterBreakingPotential: bool | None = None  # noqa: N815


_GO_TYPES = {
    "gracePeriodSeconds": "int64",
    "preconditions": "v1.Preconditions",
    "orphanDependents": "bool",
    "propagationPolicy": "v1.DeletionPropagation",
    "dryRun": "[]string",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "bool",
}


def _typed(tree: Tree) -> None:
    """Refuses options of wrong types."""
    try:
        msgspec.convert(tree, _Options)
    except msgspec.ValidationError:
        for key, kind in _GO_TYPES.items():
            _same_type(tree, key, kind)


def _same_type(tree: Tree, key: str, kind: str) -> None:
    """Refuses one option when it is what is wrong."""
    try:
        msgspec.convert({key: tree.get(key)}, _Options)
    except msgspec.ValidationError:
        value, field = tree[key], f"DeleteOptions.{key}"
        if isinstance(value, dict) and key == "preconditions":
            key, value = next((item for item in value.items() if not isinstance(item[1], str | None)), ("", ""))
            field, kind = f"Preconditions.preconditions.{key}", "types.UID" if key == "uid" else "string"
        elif isinstance(value, list) and key == "dryRun":
            value, kind = next((item for item in value if not isinstance(item, str)), ""), "string"
        found = f"number {value}" if isinstance(value, float) and kind == "int64" else go_json.kind_of(value)
        raise _Undecodable(f"json: cannot unmarshal {found} into Go struct field {field} of type {kind}") from None


def _media(content_type: str) -> str:
    """The type that a body is said to be of; JSON when nothing is said."""
    if content_type in ("", JSON):
        return JSON
    found = _MEDIA.fullmatch(content_type)
    if found is None or found[1].lower() not in ACCEPTED:
        raise unknown_format(ACCEPTED)
    return found[1].lower()


def _refusal(problem: _Undecodable, expected: Expected, body: bytes) -> StatusError:
    name = expected.resource.kind
    if expected.custom and name == _SCALE:  # a scheme of its own, without the type that is asked for
        return bad_request(f"no kind is registered for the type v1.Scale {_SCHEME}")
    if problem.kind:
        version = json.dumps(problem.version)
        return bad_request(f"{problem.kind} in version {version} cannot be handled as a {name}: {problem.why}")
    return bad_request(
        f"the object provided is unrecognized (must be of type {name}): {problem.why} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    """The beginning of a body, as text when it looks like JSON."""
    if not body:
        return "<empty>"
    start, more = body[:_SHOWN_BYTES], " ..." if len(body) > _SHOWN_BYTES else ""
    return (start.decode(errors="replace") if body.startswith(b"{") else start.hex()) + more


def _decoded(media: str, body: bytes, expected: Expected) -> Tree:
    resource = expected.resource
    tree = _read(media, body, expected)
    if expected.custom and resource.kind != _SCALE:
        if tree.get("kind") != resource.kind or tree.get("apiVersion") != resource.api_version:
            _same_custom(tree, expected, body)
        if why := _metadata_problem(tree):
            raise _Undecodable(why, resource.kind, resource.version)
        return tree
    if tree.get("kind") == resource.kind and tree.get("apiVersion") == resource.api_version:
        return tree
    kind, version = _said(tree, expected)
    if (kind, version) == (resource.kind, resource.api_version):
        return tree
    if _is_another_version(kind, version, resource):
        if kind == _EVICTION:
            return tree | {"apiVersion": resource.api_version}
        raise _other_version(version, resource)
    raise _Undecodable(_mismatch(tree, kind, version, resource), kind, version.rpartition("/")[2])


def _is_another_version(kind: str, version: str, resource: Resource) -> bool:
    """Whether the server has one form of its own for this kind and for that of the resource."""
    if kind != resource.kind or not wire.is_registered(version, kind):
        return False
    return _home(kind, version.rpartition("/")[0]) == _home(kind, resource.group)


def _home(kind: str, group: str) -> str:
    if group == "extensions":
        return _MOVED.get(kind, group)
    return "" if group == "events.k8s.io" else group


def _other_version(version: str, resource: Resource) -> StatusError:
    return bad_request(
        f"the API version in the data ({version}) does not match the expected API version ({resource.api_version})"
    )


def _mismatch(tree: Tree, kind: str, version: str, resource: Resource) -> str:
    """Why an object of this kind is not one of the resource; it has to be one of its own kind first."""
    if not wire.is_registered(version, kind):
        return _unregistered(kind, version)
    if is_typed(version, kind):
        try:
            type_of(version, kind).read(tree)
        except Undecodable as error:
            return str(error)
    number = version.rpartition("/")[2]
    return f"converting ({number}.{kind}) to ({_package(resource)}.{resource.kind}): unknown conversion"


def _read(media: str, body: bytes, expected: Expected) -> Tree:
    if media == JSON:
        return _from_json(body)
    if media == YAML:
        try:
            found, _ = yaml_text.read(body)
        except yaml_text.YamlError as error:
            raise _Undecodable(str(error)) from None
        return _from_json(msgspec.json.encode(found))
    return _from_protobuf(body, expected)


def _from_json(body: bytes) -> Tree:
    try:
        return msgspec.json.decode(body, type=Tree)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        found = _decoded_anyway(body)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise _unreadable(go_json.not_an_object(found))
    return found


def _decoded_anyway(body: bytes) -> Any:
    """What msgspec refuses and Go takes: text that is no Unicode, values that are no object."""
    if why := go_json.problem(body):
        raise _unreadable(why)
    try:
        tree = json.loads(body.decode(errors="replace"))
        text = json.dumps(tree, ensure_ascii=False)
    except RecursionError:
        raise _unreadable("exceeded max depth") from None
    # Half of a pair of surrogates stands for nothing that could be stored.
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _unreadable(why: str) -> _Undecodable:
    return _Undecodable(f"couldn't get version/kind; json parse error: {why}")


def _from_protobuf(body: bytes, expected: Expected) -> Tree:
    try:
        found = wire.opened(body)
    except wire.WireError as error:
        raise _Undecodable(str(error)) from None
    kind, version = _said({"apiVersion": found.api_version, "kind": found.kind}, expected)
    number = version.rpartition("/")[2]
    if not (wire.is_registered(version, kind) or kind == OPTIONS):
        raise _Undecodable(_unregistered(kind, version), kind, number)
    try:
        return wire.object_of(version, kind, found.raw)
    except wire.WireError as error:
        raise _Undecodable(str(error), kind, number) from None


def _said(tree: Tree, expected: Expected) -> tuple[str, str]:
    """Kind and API version; what is left out is what is expected."""
    for key in ("apiVersion", "kind"):
        if not isinstance(tree.get(key), str | None):
            found = go_json.kind_of(tree[key])
            raise _unreadable(f"json: cannot unmarshal {found} into Go struct field .{key} of type string")
    version: str = tree.get("apiVersion") or ""
    if version.count("/") > _SLASHES:
        raise _Undecodable(f"unexpected GroupVersion string: {version}")
    return tree.get("kind") or expected.resource.kind, version or expected.resource.api_version


def _same_custom(tree: Tree, expected: Expected, body: bytes) -> None:
    """An object of a definition must say what it is."""
    resource = expected.resource
    _said(tree, Expected(resource))
    kind = tree.get("kind") or ""
    if not kind:
        raise _Undecodable(f"Object 'Kind' is missing in '{body.decode(errors='replace')}'")
    if "apiVersion" in tree and tree["apiVersion"] is None:
        raise _Undecodable(".apiVersion accessor error: <nil> is of the type <nil>, expected string", kind)
    version = tree.get("apiVersion") or ""
    if version and expected.examine is not None:
        expected.examine(tree)
    if version != resource.api_version:
        raise _other_version(version, resource)
    raise invalid_kind(resource, kind, _name(tree))


def _unregistered(kind: str, version: str) -> str:
    return f'no kind "{kind}" is registered for version "{version}" {_SCHEME}'


def _package(resource: Resource) -> str:
    """Where the server's own form of a kind is defined."""
    group = resource.group.partition(".")[0]
    return "core" if group in ("", "events") else group
