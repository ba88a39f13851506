"""Storage migration: every object of a kind is written once, so that all are stored in the storage version.

Any write stores an object in the storage version, and one that changes nothing is performed only where the stored
version differs, so writing each object back as it was read is right however often it is done. The versions that
objects may be stored in are forgotten only when every object was written, and only if the definition still says what
it said at the beginning.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from kubeloop.objects.meta import Resource

Tree: TypeAlias = dict[str, Any]

MOST_TRIES = 5
"""Times that an object, or the definition, is read and written again because somebody else wrote it in between."""


class Plan(Struct, frozen=True):
    """What is migrated, as the definition was at the beginning."""

    resource: Resource
    """At the storage version."""
    uid: str
    stored: tuple[str, ...]
    shape: tuple[tuple[str, bool, bool], ...]
    """Name, served and storage of every version."""
    generation: int = 0


class Clean(Struct, frozen=True):
    """All objects are stored in the storage version."""


class Changed(Struct, frozen=True):
    """The definition is not what it was, or allows no migration; the text says why."""

    text: str


def plan_of(definition: Tree, *, even_clean: bool = False) -> Plan | Clean | Changed:
    """What there is to migrate; `even_clean` also where nothing needs to be."""
    spec, stored = definition["spec"], tuple((definition.get("status") or {}).get("storedVersions") or ())
    shape = tuple((each["name"], bool(each.get("served")), bool(each.get("storage"))) for each in spec["versions"])
    storage = next((each for each in shape if each[2]), None)
    if storage is None or not storage[1]:
        return Changed("its storage version is not served, so its objects cannot be written in it")
    if definition["metadata"].get("deletionTimestamp"):
        return Changed("it is being deleted")
    if stored == (storage[0],) and not even_clean:
        return Clean()
    names = spec["names"]
    resource = Resource(spec["group"], storage[0], names["plural"], names["kind"], spec["scope"] == "Namespaced")
    metadata = definition["metadata"]
    return Plan(resource, metadata["uid"], stored, shape, metadata.get("generation", 0))


def is_mixed(definition: Tree) -> bool:
    """Whether objects may be stored in another version than the storage version."""
    stored = (definition.get("status") or {}).get("storedVersions") or []
    storage = [each["name"] for each in definition["spec"]["versions"] if each.get("storage")]
    return bool(stored) and stored != storage


class Fate(Enum):
    """What the answer to a write says of the object."""

    STORED = "stored"
    GONE = "gone"
    READ_AGAIN = "read again"
    FAILED = "failed"


def fate_of(status: int, tries: int) -> Fate:
    """After so many tries with this HTTP status as the last answer, 0 where there was none."""
    match status:
        case status if 0 < status < 400:
            return Fate.STORED
        case 404:
            return Fate.GONE
        case 409 if tries < MOST_TRIES:
            return Fate.READ_AGAIN
        case _:
            return Fate.FAILED


class Progress(Struct, frozen=True):
    """What has become of the objects of one run."""

    stored: int = 0
    gone: int = 0
    failed: int = 0
    """In this run; the next one tries them again."""

    def with_page(self, fates: list[Fate]) -> Progress:
        """And of another page."""
        return Progress(
            self.stored + fates.count(Fate.STORED),
            self.gone + fates.count(Fate.GONE),
            self.failed + fates.count(Fate.FAILED),
        )


class Prune(Struct, frozen=True):
    """Merge patch of the definition's status, bound to the version that was read."""

    body: bytes


class Incomplete(Struct, frozen=True):
    """Some objects may be stored in another version still."""

    text: str


def incomplete(progress: Progress) -> Incomplete:
    return Incomplete(f"{progress.failed} objects could not be written")


def prune(plan: Plan, progress: Progress, definition: Tree) -> Prune | Clean | Changed | Incomplete:
    """What to do at the end of a run, looking at the definition as it is then.

    Its generation is not compared: a bundle that was exchanged meanwhile must not spoil a migration.
    """
    if progress.failed:
        return incomplete(progress)
    match plan_of(definition):
        case Plan(resource, uid, stored, shape, _):
            if (resource, uid, shape) != (plan.resource, plan.uid, plan.shape):
                return Changed("its versions have changed meanwhile")
            if not set(stored) <= {*plan.stored, plan.resource.version}:
                return Changed("objects may have been stored in other versions meanwhile")
        case other:
            return other
    status = {"storedVersions": [plan.resource.version]}
    version = {"resourceVersion": definition["metadata"]["resourceVersion"]}
    return Prune(msgspec.json.encode({"metadata": version, "status": status}))
