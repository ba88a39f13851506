"""Objects that the API server cannot read: what it says of them, and what deleting them skips (B11)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from kubeloop.errors import ApiError

REASON = "StorageReadError"
"""Of a list that fails because of such objects, where the server may delete them; else it does not say which."""
GATE = "AllowUnsafeMalformedObjectDeletion"
OPTION = "ignoreStoreReadErrorWithClusterBreakingPotential"
VERB = "unsafe-delete-ignore-read-errors"
CORRUPT = "corrupt object"
SKIPPED = (
    "its finalizers are not waited for, whatever they were to clean up",
    "nobody can look at it before or bring it back after: there is no copy but a backup",
    "admission does not judge its deletion, and no precondition is checked",
)
"""By a deletion that does not read what it deletes."""


class UnreadableObject(Struct, frozen=True, rename="camel", order=True):
    namespace: str
    name: str
    why: str
    """In the server's words, without where it is stored."""

    @property
    def place(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class UnreadableObjects(Struct, frozen=True):
    objects: tuple[UnreadableObject, ...]
    is_whole: bool = True
    """Whether the server has told of all; else more come to light when these are gone."""


def found_in(error: ApiError, group: str, plural: str) -> UnreadableObjects | None:
    """None where the list failed for another reason, or names none of them."""
    if error.reason != REASON:
        return None
    made = [_object(key, why, f"/{group}/{plural}/") for key, why in error.causes if key]
    objects = tuple(sorted(each for each in made if each is not None))
    if not objects:
        return None
    return UnreadableObjects(objects, is_whole=all(key for key, _ in error.causes))


def _object(key: str, why: str, prefix: str) -> UnreadableObject | None:
    _, found, place = key.partition(prefix)
    if not found or not place:
        return None
    namespace, _, name = place.rpartition("/")
    return UnreadableObject(namespace, name, why.rpartition("AdditionalErrorMsg: ")[2])


def is_unreadable(error: ApiError) -> bool:
    """Of one object that was asked for by its name."""
    return error.status >= 500 and (error.reason == REASON or CORRUPT in error.message)


def chosen(
    objects: Sequence[UnreadableObject], names: Iterable[str]
) -> tuple[tuple[UnreadableObject, ...], tuple[str, ...]]:
    """Those that were named, as `name` or `namespace/name`, and the names that are none of them; no name: all."""
    wanted = tuple(dict.fromkeys(names))
    if not wanted:
        return tuple(objects), ()
    kept = tuple(each for each in objects if each.place in wanted or each.name in wanted)
    known = {name for each in objects for name in (each.place, each.name)}
    return kept, tuple(each for each in wanted if each not in known)


def ambiguous(objects: Sequence[UnreadableObject], names: Iterable[str]) -> str:
    """A name that several namespaces have, which says too little about what is to go; empty: none."""
    for name in names:
        if "/" not in name and sum(each.name == name for each in objects) > 1:
            return name
    return ""
