"""What the path of a request names: a collection, an object, a part of one.

The server decodes a path before it takes it apart, so that a slash is one however it is written. Kinds of definitions
are served by another part of the real server than built-in ones, which refuses what it does not know in other words.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from msgspec import Struct

from kubesim.errors import bad_request, method_not_allowed, method_not_supported, no_such_resource, not_found
from kubesim.kinds.registry import NAMESPACES, Kind, Registry

NAMESPACE_PARTS = ("status", "finalize")
_BROKEN = re.compile(r"%(?![0-9a-fA-F]{2})")
_NOT_NAMES = (".", "..")
_LONGEST = 2
_PASSED_ON = "proxy"


class Target(Struct, frozen=True):
    """What a path names."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    below: str = ""
    """What is left of the path after `proxy`, which is for the other side."""


_OBJECT = ("GET", "PUT", "PATCH", "DELETE")
_COLLECTION = ("GET", "POST", "DELETE")
_PART = ("GET", "PUT", "PATCH")
_METHODS = {
    "attach": ("GET", "POST"),
    "binding": ("POST",),
    "eviction": ("POST",),
    "exec": ("GET", "POST"),
    "finalize": ("PUT",),
    "log": ("GET",),
    "portforward": ("GET", "POST"),
    "proxy": ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"),
    "token": ("POST",),
}
"""Of subresources that are not read and written as objects are."""
_VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


class Unserved(Exception):
    """Nothing is served there, which is told without a Status."""


def is_broken(path: str) -> bool:
    """Whether the path cannot be decoded."""
    return "%" in path and _BROKEN.search(path) is not None


def find(registry: Registry, path: str, method: str) -> Target:
    """What the path names; raises Unserved or StatusError when that is nothing."""
    decoded = unquote(path) if "%" in path else path
    match decoded.removeprefix("/").removesuffix("/").split("/"):
        case ["api", version, *rest] if rest:
            group = ""
        case ["apis", group, version, *rest] if rest:
            pass
        case _:
            raise Unserved
    namespace: str | None = None
    plural, *tail = rest
    if plural == "namespaces" and len(tail) > 1 and (group or tail[1] not in NAMESPACE_PARTS):
        namespace, plural, *tail = tail
    kind = registry.find(group, version, plural)
    if kind is None:
        raise _nothing(registry, group)
    if namespace == "":
        raise bad_request("Namespace parameter required.")
    if kind.custom is not None:
        return _custom(kind, namespace or "", tail, method)
    return _built_in(kind, namespace or "", tail)


def _nothing(registry: Registry, group: str) -> Exception:
    """In the groups of built-in kinds a Status is given, elsewhere none."""
    versions = registry.versions().get(group, ())
    built_in = any(kind.custom is None for each in versions for kind in registry.served(group, each))
    return no_such_resource() if built_in else Unserved()


def _built_in(kind: Kind, namespace: str, tail: list[str]) -> Target:
    name, subresource = (*tail, "", "")[:_LONGEST]
    below = ""
    if subresource == _PASSED_ON:
        tail, below = tail[:_LONGEST], "/".join(tail[_LONGEST:])
    misplaced = kind.resource.namespaced and name and not namespace
    if len(tail) > _LONGEST or misplaced or (namespace and not kind.resource.namespaced):
        raise no_such_resource()
    if (subresource and subresource not in kind.subresources) or (kind.answered and name):
        raise no_such_resource()
    return Target(kind, namespace, _checked(name), subresource, below)


def _custom(kind: Kind, namespace: str, tail: list[str], method: str) -> Target:
    name, subresource = (*tail, "", "")[:_LONGEST]
    lists = method in ("GET", "HEAD") and not name
    if bool(namespace) != kind.resource.namespaced and not (kind.resource.namespaced and lists):
        raise Unserved
    if subresource and subresource not in kind.subresources:
        missing = not_found(kind.resource, name)
        missing.warnings += kind.warnings
        raise missing
    return Target(kind, namespace, _checked(name), subresource)


def _checked(name: str) -> str:
    if name in _NOT_NAMES:
        raise bad_request(f"Name parameter invalid: \"{name}\": may not be '{name}'")
    if "%" in name:
        raise bad_request(f"Name parameter invalid: \"{name}\": may not contain '%'")
    return name


def permit(target: Target, method: str) -> None:
    """Refuses a method that what the path names does not have."""
    kind = target.kind
    if target.subresource:
        allowed = _METHODS.get(target.subresource, _PART)
    elif target.name:
        allowed = _OBJECT if kind.custom is None else (*_OBJECT, "POST")
    elif kind.answered:
        allowed = ("POST",)
    elif kind.resource.namespaced and not target.namespace:
        allowed = ("GET",)
    else:
        allowed = _COLLECTION[:2] if kind.resource == NAMESPACES else _COLLECTION
    if method in allowed:
        return
    if kind.custom is None:
        raise method_not_allowed()
    if method in ("PUT", "PATCH") and not target.name:
        raise bad_request("name must be provided")
    raise method_not_supported(kind.resource, _VERBS.get(method, ""))
