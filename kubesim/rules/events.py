"""Rules for Events, which are stricter for those who use their own group than for those who use the core's.

Both have the names of core/v1 in their texts, with one exception.
"""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.errors import Cause, required, wrong
from kubesim.rules import metadata as rules_metadata
from kubesim.schema.values import IMMUTABLE, each, qualified
from kubesim.store.versions import Tree

_LENGTHS = (("reportingInstance", 128), ("action", 128), ("reason", 128))
_LONGEST_MESSAGE = 1024
_FEWEST_IN_SERIES = 2
_UNSET = ("firstTimestamp", "lastTimestamp", "count", "source")
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_SOURCE = ("component", "host")
_GO_NAMES = {"uid": "UID", "apiVersion": "APIVersion"}
_TIMES = ("firstTimestamp", "lastTimestamp", "eventTime")
_STRUCTS = {"involvedObject": _REFERENCE, "related": _REFERENCE, "source": _SOURCE}
_FIXED = (
    ("involvedObject", "involvedObject"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "firstTimestamp"),
    ("lastTimestamp", "lastTimestamp"),
    ("count", "count"),
    ("reason", "reason"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)
"""As they are stored, and as they are called, in the order in which the server compares them."""


def event(tree: Tree, reporter: str = "reportingComponent") -> Iterator[Cause]:
    """An Event lies in the namespace of what it is about; one with a time of its own says who reports what."""
    here, there = tree["metadata"].get("namespace") or "", (tree.get("involvedObject") or {}).get("namespace") or ""
    at, text = "involvedObject.namespace", "does not match event.namespace"
    if tree.get("eventTime") is None:
        if (there and there != here) or (not there and here != "default"):
            yield wrong(at, there, text)
        return
    if not there and here not in ("default", "kube-system"):
        yield wrong(at, there, text)
    if not tree.get("reportingComponent"):
        yield required(reporter)
    yield from each(qualified, tree.get("reportingComponent") or "", reporter)
    for key, most in _LENGTHS:
        if not tree.get(key):
            yield required(key)
        yield from _longer(tree, key, most)
    yield from _longer(tree, "message", _LONGEST_MESSAGE)


def new_in_own_group(tree: Tree) -> Iterator[Cause]:
    """An Event of its own group has a time of its own, and nothing of what there was before it."""
    yield from event(tree, "reportingController")
    yield from rules_metadata.of_new(tree, built_in=False)
    yield from _series(tree)
    if tree.get("eventTime") is None:
        yield required("eventTime")
    if tree.get("type") not in ("Normal", "Warning"):
        yield wrong("type", "", f"has invalid value: {tree.get('type') or ''}")
    for key in _UNSET:
        if tree.get(key):
            yield wrong(key, "", "needs to be unset")


def changed_in_own_group(old: Tree, new: Tree) -> Iterator[Cause]:
    """Of an Event only its series goes on."""
    yield from event(new, "reportingController")
    if (old.get("series") or None) != (new.get("series") or None):
        yield from _series(new)
    for key, name in _FIXED:
        if (old.get(key) or None) != (new.get(key) or None):
            yield wrong(name, _told(key, new.get(key)), IMMUTABLE)


def _longer(tree: Tree, key: str, most: int) -> Iterator[Cause]:
    if len((tree.get(key) or "").encode()) > most:
        yield wrong(key, "", f"can have at most {most} characters")


def _series(tree: Tree) -> Iterator[Cause]:
    series = tree.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < _FEWEST_IN_SERIES:
        yield wrong("series.count", "", f"should be at least {_FEWEST_IN_SERIES}")
    if series.get("lastObservedTime") is None:
        yield required("series.lastObservedTime")


def _told(key: str, value: object) -> object:
    """A value as the server's own form of an Event has it."""
    if key in _STRUCTS and isinstance(value, dict):
        return {_GO_NAMES.get(part, part[0].upper() + part[1:]): value.get(part) or "" for part in _STRUCTS[key]}
    if value is None and key not in _TIMES and key not in _STRUCTS:
        return 0 if key == "count" else ""
    return value
