"""Storage migration: every object of a kind is written once, so that all are stored in the storage version.

Any write stores an object in the storage version, and one that changes nothing is performed only where the stored
version differs, so writing each object back as it was read is right however often it is done. The versions that
objects may be stored in are forgotten only when every object was written, and only if the definition still says what
it said at the beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import msgspec
from msgspec import Struct

from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Need, Read
from fairlead.engine.decide.definitions import definition_in
from fairlead.engine.decide.job import StepResult
from fairlead.engine.decide.registration import DEFINITIONS
from kubeloop.errors import Garbled
from kubeloop.objects.meta import Ref, Resource

Tree: TypeAlias = dict[str, Any]
J = TypeVar("J", bound=Struct)

PAGE_TIMEOUT_SECONDS = 60.0
"""For which an API server works on a page of objects; it may have to be converted."""
MOST_TRIES = 5
"""Times that the definition is read and written again because somebody else wrote it in between."""


class MigrationPlan(Struct, frozen=True):
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


def plan_of(definition: Tree, *, even_clean: bool = False) -> MigrationPlan | Clean | Changed:
    """What there is to migrate; `even_clean` also where nothing needs to be."""
    spec, stored = definition["spec"], stored_in(definition)
    shape = tuple((each["name"], bool(each.get("served")), bool(each.get("storage"))) for each in spec["versions"])
    storage = next((each for each in shape if each[2]), None)
    if storage is None or not storage[1]:
        return Changed("its storage version is not served, so its objects cannot be written in it")
    if definition["metadata"].get("deletionTimestamp"):
        return Changed("it is being deleted, and goes when its last object has: see what their finalizers wait for")
    if stored == (storage[0],) and not even_clean:
        return Clean()
    names = spec["names"]
    resource = Resource(spec["group"], storage[0], names["plural"], names["kind"], spec["scope"] == "Namespaced")
    metadata = definition["metadata"]
    return MigrationPlan(resource, metadata["uid"], stored, shape, metadata.get("generation", 0))


def is_mixed(definition: Tree) -> bool:
    """Whether objects may be stored in another version than the storage version."""
    storage = tuple(str(each["name"]) for each in definition["spec"]["versions"] if each.get("storage"))
    return mixes(stored_in(definition), storage)


def mixes(stored: tuple[str, ...], storage: tuple[str, ...]) -> bool:
    """Whether a definition that has these stored versions has others than that of its storage."""
    return bool(stored) and stored != storage


class Prune(Struct, frozen=True):
    """Merge patch of the definition's status, bound to the version that was read."""

    body: bytes


def difference(plan: MigrationPlan, definition: Tree) -> str:
    """Why it is not the definition of the beginning any more, empty where it is.

    Its generation is not compared: a bundle that was exchanged meanwhile must not spoil a migration.
    """
    found = plan_of(definition, even_clean=True)
    if not isinstance(found, MigrationPlan):
        return found.text if isinstance(found, Changed) else "its versions have changed meanwhile"
    if found.uid != plan.uid:
        return "it was deleted and made again meanwhile"
    if found.resource.version != plan.resource.version:
        return f"its storage version is {found.resource.version} now and was {plan.resource.version}"
    if (found.resource, found.shape) != (plan.resource, plan.shape):
        return "its versions have changed meanwhile"
    if not set(found.stored) <= {*plan.stored, plan.resource.version}:
        return "objects may have been stored in other versions meanwhile"
    return ""


def prune(plan: MigrationPlan, definition: Tree) -> Prune | Clean | Changed:
    """What to do when every object was written, looking at the definition as it is then."""
    if why := difference(plan, definition):
        return Changed(why)
    if stored_in(definition) == (plan.resource.version,):
        return Clean()
    status = {"storedVersions": [plan.resource.version]}
    version = {"resourceVersion": definition["metadata"]["resourceVersion"]}
    return Prune(msgspec.json.encode({"metadata": version, "status": status}))


def stored_in(definition: Tree) -> tuple[str, ...]:
    """Versions that objects may be stored in."""
    return tuple((definition.get("status") or {}).get("storedVersions") or ())


def forgetting(crd: str, plan: MigrationPlan, pruned: Prune) -> Patch:
    """The write that forgets the other versions."""
    return Patch(
        ref=Ref(DEFINITIONS, "", crd),
        kind=PatchKind.MERGE,
        body=pruned.body,
        subresource="status",
        does=Does.FORGET_VERSIONS,
        change_from=",".join(plan.stored),
        change_to=plan.resource.version,
    )


def definition_asked(crd: str, after: str = "") -> Ask:
    """`after` makes reading it again another question."""
    return Ask(Read(Ref(DEFINITIONS, "", crd), after=after))


def definition_found(answer: Answer, crd: str) -> Tree | str:
    """The definition, or why there is none to go by."""
    if isinstance(answer, Bad):
        return answer.text or answer.kind
    try:
        return definition_in(answer.value, f"definition {crd}")
    except Garbled as error:
        return str(error)


class Forgotten(Struct, frozen=True):
    """The other versions are struck out."""


class Unsent(Struct, frozen=True):
    """The lease is away, and so the write."""


class Raced(Struct, frozen=True):
    """Others write the definition faster than it can be read."""


class Unforgotten(Struct, frozen=True):
    """Why they are not struck out."""

    text: str
    is_read: bool
    """Whether the definition could be read, and only the write was refused."""


def forgotten(
    crd: str, answers: Answers, chosen: Callable[[Tree], Patch | StepResult[J] | Need]
) -> StepResult[J] | Need | Forgotten | Unsent | Raced | Unforgotten:
    """Strikes the other versions out by the write that is chosen for the definition as it is now; it is read again when
    somebody else wrote it in between. What is chosen in the place of a write is what comes of it."""
    for tries in range(MOST_TRIES):
        read = definition_asked(crd, f"try {tries}" if tries else "")
        if todo := answers.lacking((read,)):
            return Need(todo)
        definition = definition_found(answers[read], crd)
        if isinstance(definition, str):
            return Unforgotten(definition, is_read=False)
        write = chosen(definition)
        if not isinstance(write, Patch):
            return write
        if todo := answers.lacking((write,)):
            return Need(todo)
        match answers[write]:
            case Good():
                return Forgotten()
            case Bad("not-sent"):
                return Unsent()
            case Bad(kind, text, code) if kind != "conflict" and code != 409:
                return Unforgotten(text or kind, is_read=True)
    return Raced()
