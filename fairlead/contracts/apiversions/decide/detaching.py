"""When a definition may do without a webhook again (section 3.13).

What is stored must be of one version, and nobody may read or write another one that would lose something of it. So
whatever is left works without an operator: every object as it is stored, in the version that it is stored in.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct, structs

from fairlead.contracts.apiversions.decide.pruned_leaves import pruned, text_of
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.union import with_unions
from fairlead.core.act import Patch
from fairlead.engine.decide.definition_writes import conversion_patch
from fairlead.engine.decide.registration import NOT_CONVERTED

MOST_PLACES = 5


class Blocker(Struct, frozen=True):
    """What must be done before a definition can be detached."""

    text: str
    commands: tuple[str, ...]
    """Each clears it."""
    alone: str = ""
    """The one of them that lasts only while no operator writes the definition; empty: all last."""


def blockers(definition: Tree) -> tuple[Blocker, ...]:
    """None where the definition may be detached."""
    name = str(definition["metadata"]["name"])
    return tuple(each for each in (_stored(definition, name), _served(definition, name)) if each is not None)


def cleared(blocker: Blocker, *, is_own: bool) -> str:
    """What is in the way of removing an operator, and what clears it; `is_own`: it registers the definition itself."""
    if is_own and blocker.alone:
        ended = "end the operator, which puts its versions back for as long as it runs, and then"
        return f"{blocker.text} (add --union, or {ended}: {blocker.alone})"
    return f"{blocker.text} (clear it with: {' or: '.join(blocker.commands)})"


def united(definition: Tree) -> tuple[Tree, tuple[str, ...]]:
    """The definition with union schemas, and what these could not keep."""
    made = with_unions(definition)
    return made.definition, made.notes


def detach_patch(definition: Tree, *, union: bool) -> tuple[Patch, tuple[str, ...]]:
    """One write, so that there is no moment without either converter or union schemas."""
    write = conversion_patch(str(definition["metadata"]["name"]), definition, NOT_CONVERTED)
    if not union:
        return write, ()
    made, notes = united(definition)
    versions = {"op": "replace", "path": "/spec/versions", "value": made["spec"]["versions"]}
    return structs.replace(write, body=msgspec.json.encode([versions, *msgspec.json.decode(write.body)])), notes


def storage_version(definition: Tree) -> str:
    return next(str(each["name"]) for each in definition["spec"]["versions"] if each.get("storage"))


def served_versions(definition: Tree) -> tuple[str, ...]:
    return tuple(str(each["name"]) for each in definition["spec"]["versions"] if each.get("served"))


def _stored(definition: Tree, name: str) -> Blocker | None:
    storage = storage_version(definition)
    stored = (definition.get("status") or {}).get("storedVersions") or [storage]
    if stored == [storage]:
        return None
    others = ", ".join(each for each in stored if each != storage)
    return Blocker(f"objects may be stored in {others}", (f"fairlead api migrate {name}",))


def _served(definition: Tree, name: str) -> Blocker | None:
    storage, served = storage_version(definition), served_versions(definition)
    if len(served) <= 1:
        return None
    lost = [text_of(leaf) for each in pruned(definition) for leaf in each.leaves]
    if not lost:
        return None
    places = [*dict.fromkeys(lost)]
    shown = ", ".join(places[:MOST_PLACES]) + (f" and {len(places) - MOST_PLACES} more" * (len(places) > MOST_PLACES))
    unserve = "; ".join(f"fairlead api unserve {name} {each}" for each in served if each != storage)
    return Blocker(
        f"versions {', '.join(served)} are served and would lose {shown} of one another",
        (unserve, f"fairlead api detach {name} --union"),
        alone=unserve,
    )
