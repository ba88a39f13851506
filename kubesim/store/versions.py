"""Versions of objects and what writes do to them.

A version is the object's JSON plus a narrow head for what selectors, owners and preconditions read; trees are decoded
only where something is written. The JSON is kept in one piece, or in parts that versions and objects share. The line of
a watch event is built once and shared by watchers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from msgspec import Struct, field

from kubeloop import clock

Tree = dict[str, Any]
"""A decoded object."""

Key = tuple[str, str]
"""Namespace and name."""

STAMP = b'"resourceVersion":"'
LINES = 64
"""How many of the last lines are kept, because watchers share them."""
JOINED = 256
"""How many of the last bodies are kept that were put together, because they are read more than once."""
_BEGINNINGS = {type_: b'{"type":"%b","object":' % type_.encode() for type_ in ("ADDED", "MODIFIED", "DELETED")}
"""Of lines on a watch."""

_decoder: msgspec.json.Decoder[Tree] = msgspec.json.Decoder(Tree)


class Owner(Struct, frozen=True, rename="camel", gc=False):
    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool = False
    block_owner_deletion: bool = False


class Head(Struct, frozen=True, rename="camel", gc=False):
    """The part of the metadata that is read without decoding the object."""

    name: str
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = {}
    owner_references: tuple[Owner, ...] = ()
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    finalizers: tuple[str, ...] = ()


class PartReader(Protocol):
    """Reads one part of objects into a struct."""

    @property
    def decode(self) -> Callable[[bytes], Any]:
        """From its JSON."""

    def field(self, name: str) -> str | None:
        """What the struct calls a field of the API; None where it does not have it."""


class Parted(Protocol):
    """A body that is kept in parts, without its resource version."""

    def joined(self, version: Version) -> bytes:
        """The body in one piece, as that of a version."""

    @property
    def metadata(self) -> bytes:
        """What follows the resource version in it."""

    @property
    def status(self) -> bytes: ...

    def has_spec_of(self, other: Parted) -> bool:
        """Whether the other's spec is the same object; one that is equal may not be noticed."""

    def spec_read(self, version: Version, reader: PartReader) -> Any:
        """Its spec, as that of a version, as the reader reads it."""

    def __len__(self) -> int:
        """Bytes that nobody shares with it."""


class Version(Struct, eq=False, gc=False):
    """One state of one object; its body starts with kind, apiVersion and the resource version, in this order."""

    key: Key
    revision: int
    head: Head
    kept: bytes | Parted
    _joined: bytes | None = None

    @property
    def body(self) -> bytes:
        if self._joined is not None:
            return self._joined
        kept = self.kept
        if isinstance(kept, bytes):
            return kept
        self._joined = joined = kept.joined(self)
        _lately.append(self)
        if len(_lately) > JOINED:
            _lately.popleft().forget_body()
        return joined

    def status_mentions(self, text: bytes) -> bool:
        """Whether the text occurs in the status, or, of an object in one piece, anywhere in it."""
        kept = self.kept
        return text in (kept if isinstance(kept, bytes) else kept.status)

    def forget_body(self) -> None:
        """It is put together anew for whoever still needs it."""
        self._joined = None

    def tree(self) -> Tree:
        """A fresh tree that the caller may change."""
        return _decoder.decode(self.body)


class Event(Struct, gc=False):
    """What one write did; `new` of a deletion is the last state under the revision of the deletion."""

    type: str
    revision: int
    new: Version
    old: Version | None = None
    _line: bytes | None = None

    def line(self) -> bytes:
        """As sent on a watch, with the line break."""
        if self._line is None:
            self._line = b"".join((_BEGINNINGS[self.type], self.new.body, b"}\n"))
            _lined.append(self)
            if len(_lined) > LINES:
                _lined.popleft().forget_line()
        return self._line

    def forget_line(self) -> None:
        """It is built anew for whoever still needs it."""
        self._line = None

    def tree(self) -> Tree:
        return self.new.tree()


_lined: deque[Event] = deque()
"""Events that keep their lines."""
_lately: deque[Version] = deque()
"""Versions that keep their bodies in one piece beside the parts."""


class Author(Struct, frozen=True):
    """Who wrote, and how."""

    user: str
    verb: str
    subresource: str = ""


Match = Callable[[Version], bool]


def timestamp() -> str:
    """Now, in whole seconds as metadata carries it."""
    return clock.seconds(clock.now())


def encode(tree: Tree, revision: int) -> bytes:
    """The body of a version: the same fields, the identifying ones first."""
    metadata = {"resourceVersion": str(revision)} | {
        key: value for key, value in tree["metadata"].items() if key != "resourceVersion"
    }
    first = {"kind": tree["kind"], "apiVersion": tree["apiVersion"], "metadata": metadata}
    return msgspec.json.encode(first | {key: value for key, value in tree.items() if key not in first})


class _Outline(Struct, frozen=True):
    metadata: Head


class _Stamp(Struct, frozen=True):
    resource_version: str = field(name="resourceVersion")


class _Stamped(Struct, frozen=True):
    metadata: _Stamp


def restored(body: bytes) -> Version:
    """The version whose body this is."""
    head = msgspec.json.decode(body, type=_Outline).metadata
    stamp = msgspec.json.decode(body, type=_Stamped).metadata
    return Version((head.namespace, head.name), int(stamp.resource_version), head, body)


def stamped(body: bytes, revision: int) -> bytes:
    """The body under another resource version."""
    start = body.index(STAMP) + len(STAMP)
    return b"%b%d%b" % (body[:start], revision, body[body.index(b'"', start) :])


def restamped(version: Version, revision: int) -> Version:
    """The same state under another resource version."""
    kept = version.kept
    return Version(version.key, revision, version.head, stamped(kept, revision) if isinstance(kept, bytes) else kept)
