"""Owners of an object that is brought back: those that are there, and no others.

The garbage collector knows owners by their UIDs and deletes what names none that is there. An owner that was made again
has another UID than the backup says, so a reference as it was saved would have the object collected as soon as it is
written; and one to an owner that is gone would have it collected for good.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.decide.offline.walks import Unfit, good, told
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.ask import Answers, Ask, Bad, Discover, Good, Read
from kubeloop.objects.meta import Ref, Resource, ServedVersion

Reference: TypeAlias = dict[str, Any]


class OwnedTree(Struct, frozen=True):
    """What is wanted of an object, with references to owners that are there."""

    tree: Tree
    missing: tuple[str, ...] = ()
    """Owners that are not, as people call them."""


def with_owners(wanted: Tree, live: Tree | None, answers: Answers, known: frozenset[str]) -> OwnedTree:
    """References that the live object has are nobody's doing here, so they stay as they are wanted; `known` are UIDs
    that count as there. Raises Unfit where it cannot be told."""
    metadata = wanted["metadata"]
    references: list[Reference] = metadata.get("ownerReferences") or []
    held = known | {each["uid"] for each in (live or {"metadata": {}})["metadata"].get("ownerReferences") or ()}
    if all(each["uid"] in held for each in references):
        return OwnedTree(wanted)
    namespace = metadata.get("namespace") or ""
    found = [each if each["uid"] in held else _found(each, namespace, answers) for each in references]
    rest = {key: value for key, value in metadata.items() if key != "ownerReferences"}
    kept = [each for each in found if each is not None]
    missing = tuple(_title(each) for each, there in zip(references, found, strict=True) if there is None)
    return OwnedTree({**wanted, "metadata": {**rest, **({"ownerReferences": kept} if kept else {})}}, missing)


def depths(uids: Mapping[str, str], owners: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """By path, how many owners of the same backup stand above one another, where there are any.

    `uids` has the path of each UID, `owners` the UIDs of owners by path. Owners in a circle stand beside one another.
    """
    found: dict[str, int] = {}
    waiting = {path: {uids[each] for each in held if each in uids} - {path} for path, held in owners.items()}
    waiting = {path: above for path, above in waiting.items() if above}
    while waiting:
        placed = [path for path, above in waiting.items() if not above & waiting.keys()] or [*waiting]
        depth = max(found.values(), default=0) + 1
        found |= dict.fromkeys(placed, depth)
        waiting = {path: above for path, above in waiting.items() if path not in found}
    return found


def _found(reference: Reference, namespace: str, answers: Answers) -> Reference | None:
    """The reference with the UID that its owner has now; None where there is no such owner."""
    resource = _served(reference, answers)
    if resource is None or (resource.namespaced and not namespace):
        return None
    ref = Ref(resource, namespace if resource.namespaced else "", reference["name"])
    match told(answers, Ask(Read(ref, metadata_only=True))):
        case Good(body):
            uid = msgspec.json.decode(body)["metadata"]["uid"]
            return {**reference, "apiVersion": resource.api_version, "uid": uid}
        case Bad("absent"):
            return None
        case Bad(kind, text):
            raise Unfit(f"its owner {_title(reference)} cannot be read: {text or kind}")


def _served(reference: Reference, answers: Answers) -> Resource | None:
    """The kind of the owner, in the version of the reference where that is served."""
    group = reference["apiVersion"].rpartition("/")[0]
    asked = Ask(Discover(group, reference["kind"]))
    served = [each.resource for each in msgspec.json.decode(good(answers, asked).value, type=list[ServedVersion])]
    named = [each for each in served if each.api_version == reference["apiVersion"]]
    return next(iter(named or served), None)


def _title(reference: Reference) -> str:
    return f"{reference['kind']} {reference['name']}"
