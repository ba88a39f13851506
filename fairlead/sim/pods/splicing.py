"""Bodies of pods, changed where they change: most writes of a pod touch its status or its metadata and nothing else.

A body ends with spec and status, in this order, so that a new one can be put together from pieces of the old one and
neither has to be decoded. A body that is put together in another way is left to whoever decodes it.
"""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct, field

from fairlead.sim.rules.workloads import stateful_set_status
from fairlead.sim.store import Table
from fairlead.sim.versions import Author, Head, Tree, Version

_RULES = {"StatefulSet": stateful_set_status}
"""Of kinds whose status is looked at alone, and which keep nothing else that a status write may change."""
_METADATA, _SPEC, _STATUS = b',"metadata":', b',"spec":', b',"status":'


class _PodSpec(Struct):
    """What decides how a pod may change."""

    node_name: str | None = field(name="nodeName", default=None)
    grace: int | None = field(name="terminationGracePeriodSeconds", default=None)
    restarts: str | None = field(name="restartPolicy", default=None)
    gates: list[Tree] | None = field(name="schedulingGates", default=None)


class _Pod(Struct):
    metadata: Raw
    spec: _PodSpec
    status: Raw


class _Ending(Struct):
    """Of any object, with its status."""

    kind: str
    status: Raw


_pod = msgspec.json.Decoder(_Pod)
_ending = msgspec.json.Decoder(_Ending)
_tree = msgspec.json.Decoder(Tree)
_encode = msgspec.json.Encoder().encode


class Pieces:
    """A pod's body in pieces; `thin` is as much of its tree as decides what may become of it."""

    __slots__ = ("metadata", "spec", "start", "status", "thin")

    def __init__(self, start: bytes, spec: bytes, pod: _Pod, thin: Tree) -> None:
        self.start = start
        self.metadata = bytes(pod.metadata)
        self.spec = spec
        self.status = bytes(pod.status)
        self.thin = thin

    def with_status(self) -> bytes:
        """The body with the status of the thin tree."""
        return self._body(self.metadata, self.spec, _encode(self.thin["status"]))

    def with_metadata(self) -> tuple[Head, bytes]:
        """The body with the metadata of the thin tree, and its head."""
        metadata = self.thin["metadata"]
        return msgspec.convert(metadata, Head), self._body(_encode(metadata), self.spec, self.status)

    def with_node(self) -> bytes:
        """The body with the node and the status of the thin tree; the pod had no node before."""
        spec = self.spec[:-1] + b"," + _encode({"nodeName": self.thin["spec"]["nodeName"]})[1:]
        return self._body(self.metadata, spec, _encode(self.thin["status"]))

    def _body(self, metadata: bytes, spec: bytes, status: bytes) -> bytes:
        return b"".join((self.start, metadata, _SPEC, spec, _STATUS, status, b"}"))


def pieces(version: Version, *, metadata: bool = False) -> Pieces | None:
    """The pieces of a pod, its metadata in the thin tree where that is to change; None when it has other pieces."""
    body = version.body
    pod = _pod.decode(body)
    start = body.index(_METADATA) + len(_METADATA)
    at = start + len(pod.metadata)
    end = len(body) - len(pod.status) - len(_STATUS) - 1
    if not (body.startswith(_SPEC, at) and body.startswith(_STATUS, end)):
        return None
    spec = pod.spec
    known = {
        "nodeName": spec.node_name,
        "terminationGracePeriodSeconds": spec.grace,
        "restartPolicy": spec.restarts,
        "schedulingGates": spec.gates,
    }
    thin: Tree = {
        "metadata": _tree.decode(pod.metadata) if metadata else _identity(version.head),
        "spec": {key: value for key, value in known.items() if value is not None},
        "status": _tree.decode(pod.status),
    }
    return Pieces(body[:start], body[at + len(_SPEC) : end], pod, thin)


def _identity(head: Head) -> Tree:
    going = {} if head.deletion_timestamp is None else {"deletionTimestamp": head.deletion_timestamp}
    return {"name": head.name, "namespace": head.namespace, "uid": head.uid} | going


def with_status(table: Table, old: Version, status: Tree, author: Author) -> Version | None:
    """Stores the object with another status; None where that is not its last part or has to be looked at in full."""
    found = _ending.decode(old.body)
    rule = _RULES.get(found.kind)
    start = len(old.body) - len(found.status) - 1
    if (
        rule is None
        or old.head.deletion_timestamp is not None
        or not old.body.startswith(_STATUS, start - len(_STATUS))
    ):
        return None
    before, after = {"status": _tree.decode(found.status)}, {"status": status}
    if before == after:
        return old
    if any(rule(before, after)):
        return None
    return table.rewrite(old, old.head, old.body[:start] + _encode(status) + b"}", author)
