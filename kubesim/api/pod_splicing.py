"""Bodies of pods in parts: most writes of a pod touch its status or its metadata and nothing else.

A body ends with spec and status, in this order, so that it can be cut between them and neither has to be decoded where
the other changes. The spec, the largest part, is shared by all versions of a pod, and by pods that are alike but for
their names. A body that is put together in another way is left to whoever decodes it.
"""

from __future__ import annotations

from copy import copy
from typing import Any

import msgspec
from msgspec import Raw, Struct, field, structs
from msgspec.structs import force_setattr

from kubesim.rules.workloads import stateful_set_status
from kubesim.store.store import Table
from kubesim.store.versions import STAMP, Author, Head, Parted, PartReader, Tree, Version

_RULES = {"StatefulSet": stateful_set_status}
"""Of kinds whose status is looked at alone, and which keep nothing else that a status write may change."""
_START = b'{"kind":"Pod","apiVersion":"v1","metadata":{' + STAMP
_METADATA, _SPEC, _STATUS = b',"metadata":', b',"spec":', b',"status":'
_NO_NODE = b'"nodeName":null'


class _PodSpec(Struct):
    """What decides how a pod may change."""

    node_name: str | None = field(name="nodeName", default=None)
    grace: int | None = field(name="terminationGracePeriodSeconds", default=None)
    restarts: str | None = field(name="restartPolicy", default=None)
    gates: list[Tree] | None = field(name="schedulingGates", default=None)


class _Pod(Struct):
    metadata: Raw
    spec: Raw
    status: Raw


class _Ending(Struct):
    """Of any object, with its status."""

    kind: str
    status: Raw


class _Phased(Struct):
    phase: str | None = None


_phased = msgspec.json.Decoder(_Phased)
_pod = msgspec.json.Decoder(_Pod)
_pod_spec = msgspec.json.Decoder(_PodSpec)
_ending = msgspec.json.Decoder(_Ending)
_tree = msgspec.json.Decoder(Tree)
_encode = msgspec.json.Encoder().encode


class Spec(Struct, frozen=True):
    """The JSON of specs but for what pods have of their own, without the brace at its end."""

    before: tuple[bytes, ...]
    """Cut where the name of the volume with the token stands."""
    after: tuple[bytes, ...] = ()
    """What follows the name of the pod, cut likewise; nothing where the name does not occur."""
    known: Tree = {}
    """As much of the tree as decides how a pod may change."""
    is_shared: bool = True
    """Whether other pods have it too."""
    _read: dict[PartReader, Any] = {}
    """What readers have made of it; None of those that see what pods have of their own."""

    def read(self, reader: PartReader) -> Any:
        """The spec of any pod; None where the reader sees that pods differ in it."""
        if reader not in self._read:
            one, other = (reader.decode(self.text(token, name) + b"}") for token, name in ((b"a", "a"), (b"b", "b")))
            self._read[reader] = one if one == other else None
        return self._read[reader]

    def text(self, token: bytes, name: str) -> bytes:
        """That of one pod."""
        before = token.join(self.before)
        return before + name.encode() + token.join(self.after) if self.after else before


class Body(Struct, frozen=True, gc=False):
    """The body of a pod in parts."""

    metadata: bytes
    """What follows the resource version in it."""
    spec: Spec
    status: bytes
    token: bytes = b""
    """The name of the volume with the token, where the spec leaves it open."""
    node: str | None = None
    """Where the pod was bound to, if the spec does not say."""

    def joined(self, version: Version) -> bytes:
        metadata = b'%b%d",%b' % (_START, version.revision, self.metadata)
        return b"".join((metadata, _SPEC, self.spec_text(version.head.name), _STATUS, self.status, b"}"))

    def spec_text(self, name: str) -> bytes:
        text = self.spec.text(self.token, name)
        return text + b"}" if self.node is None else text + b"," + _encode({"nodeName": self.node})[1:]

    def has_spec_of(self, other: Parted) -> bool:
        return isinstance(other, Body) and self.spec is other.spec and self.node == other.node

    def spec_read(self, version: Version, reader: PartReader) -> Any:
        """Decoded once for all pods that share it, where the reader does not see what each has of its own."""
        shared = self.spec.read(reader)
        if shared is None:
            return reader.decode(self.spec_text(version.head.name))
        field = reader.field("nodeName") if self.node is not None else None
        if field is not None:
            shared = copy(shared)
            force_setattr(shared, field, self.node)
        return shared

    def __len__(self) -> int:
        shared = 0 if self.spec.is_shared else len(self.spec.before[0])
        return len(self.metadata) + len(self.status) + shared

    def with_status(self, status: Tree) -> Body:
        return Body(self.metadata, self.spec, _encode(status), self.token, self.node)


class Pieces:
    """A pod's body, and `thin`, as much of its tree as decides what may become of it."""

    __slots__ = ("body", "thin")

    def __init__(self, body: Body, thin: Tree) -> None:
        self.body = body
        self.thin = thin

    def with_metadata(self, head: Head) -> tuple[Head, Body]:
        """The body with the metadata of the thin tree, where only the deletion is not as in the head."""
        metadata, body = self.thin["metadata"], self.body
        going = structs.replace(
            head,
            deletion_timestamp=metadata.get("deletionTimestamp"),
            deletion_grace_period_seconds=metadata.get("deletionGracePeriodSeconds"),
        )
        return going, Body(metadata_of(metadata), body.spec, body.status, body.token, body.node)

    def with_node(self) -> Body:
        """The body with the node and the status of the thin tree; the pod had no node before."""
        body = self.body
        return Body(body.metadata, body.spec, _encode(self.thin["status"]), body.token, self.thin["spec"]["nodeName"])


def metadata_of(tree: Tree) -> bytes:
    """Metadata as a body keeps it."""
    return _encode({key: value for key, value in tree.items() if key != "resourceVersion"})[1:]


def body_of(version: Version) -> Body | None:
    """The body of a pod in parts; None when it has other parts."""
    kept = version.kept
    return kept if isinstance(kept, Body) else _cut(version.body)


def status_of(body: Body) -> Tree:
    """A status that the caller may change."""
    return _tree.decode(body.status)


def pieces(version: Version, *, metadata: bool = False) -> Pieces | None:
    """The pieces of a pod; None when it has other pieces.

    Where the metadata is to change the thin tree has that, and of the status the phase; otherwise it is the other way.
    """
    body = body_of(version)
    if body is None:
        return None
    known = body.spec.known
    thin: Tree = {
        "metadata": _tree.decode(b"{" + body.metadata) if metadata else _identity(version.head),
        "spec": dict(known) if body.node is None else known | {"nodeName": body.node},
        "status": {"phase": _phased.decode(body.status).phase} if metadata else _tree.decode(body.status),
    }
    return Pieces(body, thin)


def _cut(body: bytes) -> Body | None:
    """The parts of a body in one piece; None when it has other parts."""
    try:
        pod = _pod.decode(body)
        known = _known(_pod_spec.decode(pod.spec))
    except msgspec.DecodeError:
        return None
    at = body.index(_METADATA) + len(_METADATA) + len(pod.metadata)
    begin, end = at + len(_SPEC), at + len(_SPEC) + len(pod.spec)
    is_usual = body.startswith(_START) and body.startswith(_SPEC, at) and body.startswith(_STATUS, end)
    if not is_usual or end + len(_STATUS) + len(pod.status) + 1 != len(body) or _NO_NODE in body[begin:end]:
        return None
    stamp = body.index(b'",', len(_START)) + 2
    spec = Spec((body[begin : end - 1],), known=known, is_shared=False)
    return Body(body[stamp:at], spec, bytes(pod.status))


def _known(spec: _PodSpec) -> Tree:
    known = {
        "nodeName": spec.node_name,
        "terminationGracePeriodSeconds": spec.grace,
        "restartPolicy": spec.restarts,
        "schedulingGates": spec.gates,
    }
    return {key: value for key, value in known.items() if value is not None}


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
