"""Objects that are served in more forms than they are kept in.

Events are served under two groups and kept in the form of core/v1; the two forms hold the same facts under different
names. Autoscalers are served in two versions (`autoscalers`). Custom resources are converted (`converting`) before they
come here.
"""

from __future__ import annotations

import msgspec

from kubesim.kinds import autoscalers
from kubesim.kinds.converting import Answers, answered, converted, copied, shown
from kubesim.kinds.registry import AUTOSCALERS_V1, EVENTS, Kind
from kubesim.store.versions import Event, Tree, Version

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
_MOST_REMEMBERED = 10_000
_OUTWARD = {stored: shown for shown, stored in _NAMES}
_INWARD = dict(_NAMES)


def inward(kind: Kind, tree: Tree) -> Tree:
    """The stored form of a tree that a client sent."""
    if kind.resource == AUTOSCALERS_V1:
        return autoscalers.inward(tree)
    if kind.resource != EVENTS or kind.stored_as is None:
        return tree
    renamed = {_INWARD.get(key, key): value for key, value in tree.items()}
    return renamed | {"apiVersion": kind.stored_as.api_version, "kind": kind.stored_as.kind}


def outward(kind: Kind, tree: Tree) -> Tree:
    """The form that clients of this kind see."""
    if kind.resource == AUTOSCALERS_V1:
        return autoscalers.outward(tree)
    if kind.resource != EVENTS:
        return tree
    renamed = {_OUTWARD.get(key, key): value for key, value in tree.items() if value != ""}
    return renamed | {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind}


async def moved(source: Kind, target: Kind, tree: Tree | None, answers: Answers) -> Tree | None:
    """A tree of one kind as another kind of the same objects."""
    if tree is None or source is target:
        return tree
    if source.custom is None:
        return outward(target, inward(source, tree))
    return (await answered(converted(source, [copied(tree)], target.resource.api_version), answers))[0]


async def body(kind: Kind, version: Version, answers: Answers) -> bytes:
    """JSON of a version for clients of this kind; it starts with kind and apiVersion."""
    if _is_plain(kind, version):
        return version.body
    return msgspec.json.encode(outward(kind, await answered(shown(kind, version), answers)))


async def item(kind: Kind, version: Version, answers: Answers) -> bytes:
    """The same for lists and watches, which ask a webhook about what is stored once, however often they show it."""
    if kind.custom is None or kind.custom.is_plain(version):
        return await body(kind, version, answers)
    remembered = kind.custom.remembered
    found = remembered.get(version.revision)
    if found is None:
        found = remembered[version.revision] = await body(kind, version, answers)
        if len(remembered) > _MOST_REMEMBERED:
            del remembered[next(iter(remembered))]
    return found


async def line(kind: Kind, event: Event, answers: Answers) -> bytes:
    """The line of a watch for clients of this kind."""
    if _is_plain(kind, event.new):
        return event.line()
    return b'{"type":"' + event.type.encode() + b'","object":' + await item(kind, event.new, answers) + b"}\n"


def _is_plain(kind: Kind, version: Version) -> bool:
    """Whether the stored bytes are what clients of this kind see."""
    return kind.stored_as is None if kind.custom is None else kind.custom.is_plain(version)
