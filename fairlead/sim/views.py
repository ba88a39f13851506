"""Objects that are served in more forms than they are kept in.

Events are served under two groups and kept in the form of core/v1; the two forms hold the same facts under different
names. Versions of a custom resource differ by what their schemas know.
"""

from __future__ import annotations

import msgspec

from fairlead.sim.registry import EVENTS, Kind
from fairlead.sim.store import Event, Tree, Version

# Name in events.k8s.io/v1, name in core/v1.
_NAMES = (
    ("regarding", "involvedObject"),
    ("note", "message"),
    ("reportingController", "reportingComponent"),
    ("deprecatedSource", "source"),
    ("deprecatedFirstTimestamp", "firstTimestamp"),
    ("deprecatedLastTimestamp", "lastTimestamp"),
    ("deprecatedCount", "count"),
)
_OUTWARD = {stored: shown for shown, stored in _NAMES}
_INWARD = dict(_NAMES)


def inward(kind: Kind, tree: Tree) -> Tree:
    """The stored form of a tree that a client sent."""
    if kind.custom is not None:
        return kind.custom.inward(tree)
    if kind.stored_as is None:
        return tree
    renamed = {_INWARD.get(key, key): value for key, value in tree.items()}
    return renamed | {"apiVersion": kind.stored_as.api_version, "kind": kind.stored_as.kind}


def outward(kind: Kind, tree: Tree) -> Tree:
    """The form that clients of this kind see."""
    if kind.custom is not None:
        return kind.custom.outward(tree, kind.resource.api_version)
    if kind.resource != EVENTS:
        return tree
    renamed = {_OUTWARD.get(key, key): value for key, value in tree.items() if value != ""}
    return renamed | {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind}


def body(kind: Kind, version: Version) -> bytes:
    """JSON of a version for clients of this kind; it starts with kind and apiVersion."""
    return version.body if _is_plain(kind, version) else msgspec.json.encode(outward(kind, version.tree()))


def line(kind: Kind, event: Event) -> bytes:
    """The line of a watch for clients of this kind."""
    if _is_plain(kind, event.new):
        return event.line()
    return b'{"type":"' + event.type.encode() + b'","object":' + body(kind, event.new) + b"}\n"


def _is_plain(kind: Kind, version: Version) -> bool:
    """Whether the stored bytes are what clients of this kind see."""
    return kind.stored_as is None if kind.custom is None else kind.custom.is_plain(version)
