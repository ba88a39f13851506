"""Objects that are served under two groups: events, kept in the form of core/v1.

The two forms hold the same facts under different names.
"""

from __future__ import annotations

import msgspec

from fairlead.sim.registry import EVENTS, Kind
from fairlead.sim.store import Tree, Version

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
    if kind.stored_as is None:
        return tree
    renamed = {_INWARD.get(key, key): value for key, value in tree.items()}
    return renamed | {"apiVersion": kind.stored_as.api_version, "kind": kind.stored_as.kind}


def outward(kind: Kind, tree: Tree) -> Tree:
    """The form that clients of this kind see."""
    if kind.resource != EVENTS:
        return tree
    renamed = {_OUTWARD.get(key, key): value for key, value in tree.items() if value != ""}
    return renamed | {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind}


def body(kind: Kind, version: Version) -> bytes:
    """JSON of a version for clients of this kind; it starts with kind and apiVersion."""
    return version.body if kind.stored_as is None else msgspec.json.encode(outward(kind, version.tree()))
