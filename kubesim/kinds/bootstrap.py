"""What every cluster is born with: the roles and bindings of a real one, and its two priority classes.

They were read from a real cluster (`data/bootstrap.json`, written by `tools.bootstrap`). All clusters share the bodies
but for what is a cluster's own: UIDs, times, resource versions.
"""

from __future__ import annotations

import uuid
from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct

from kubeloop.objects.meta import Resource
from kubesim.draws import Draws
from kubesim.kinds.registry import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, PRIORITY_CLASSES, ROLE_BINDINGS, ROLES
from kubesim.store.store import Store
from kubesim.store.versions import Author, Head, Tree

_RESOURCES = {
    resource.kind: resource
    for resource in (PRIORITY_CLASSES, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS, ROLES, ROLE_BINDINGS)
}
_UID, _CREATED = b"<uid>", b"<created>"
_encode = msgspec.json.Encoder().encode


class _Pattern(Struct, frozen=True):
    """An object but for its UID and the time of its creation."""

    resource: Resource
    key: tuple[str, str]
    labels: dict[str, str]
    start: bytes
    """The body up to the UID."""
    middle: bytes
    end: bytes


def furnish(store: Store, namespaces: tuple[str, ...], created: str, author: Author) -> None:
    """Makes the objects in a store that has none of them; those of namespaces that are not there are left out."""
    draws, moment = store.draws("bootstrap"), created.encode()
    for pattern in _patterns():
        namespace, name = pattern.key
        # Drawn for all, so that a UID does not depend on which namespaces there are.
        uid = drawn_uid(draws)
        if namespace and namespace not in namespaces:
            continue
        body = b"".join((pattern.start, uid.encode(), pattern.middle, moment, pattern.end))
        store.table(pattern.resource).born(pattern.key, Head(name, namespace, uid, pattern.labels), body, author)


def drawn_uid(draws: Draws) -> str:
    return str(uuid.UUID(int=draws.integer() << 64 | draws.integer(), version=4))


@cache
def _patterns() -> tuple[_Pattern, ...]:
    """In the order of the file."""
    text = files("kubesim").joinpath("data/bootstrap.json").read_bytes()
    return tuple(_pattern(tree) for tree in msgspec.json.decode(text, type=list[Tree]))


def _pattern(tree: Tree) -> _Pattern:
    metadata = dict(tree["metadata"])
    labels = metadata.get("labels", {})
    key = metadata.get("namespace", ""), metadata["name"]
    own = {"uid": _UID.decode(), "creationTimestamp": _CREATED.decode()}
    body = _encode(
        {
            "kind": tree["kind"],
            "apiVersion": tree["apiVersion"],
            "metadata": {"resourceVersion": "0", "name": metadata.pop("name"), **own, **metadata},
            **{part: value for part, value in tree.items() if part not in ("kind", "apiVersion", "metadata")},
        }
    )
    start, _, rest = body.partition(_UID)
    middle, _, end = rest.partition(_CREATED)
    return _Pattern(_RESOURCES[tree["kind"]], key, labels, start, middle, end)
