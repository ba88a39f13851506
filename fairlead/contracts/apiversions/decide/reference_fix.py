"""References to versions that go, made to name the one that stays: as one pure step over its journal (section 3.6).

First managedFields of the objects themselves, then ownerReferences of whatever belongs to them, kind after kind. What
somebody else wrote meanwhile is looked at again in another round; when a round meets none such, all is done.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import Enum
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, structs

from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.amounts import counted
from fairlead.core.ask import Ask, Bad, Good, Listing, Need
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide import managed_fields
from fairlead.engine.decide.job import JobSnapshot, Step, StepResult
from fairlead.engine.decide.managed_fields import Entry, Fields
from kubeloop.objects.meta import Ref, Resource
from kubeloop.unreadable import UNREADABLE

Tree: TypeAlias = dict[str, Any]
Translated: TypeAlias = Callable[[Entry, Tree], Fields]
"""The fields of an entry of an object's managedFields, in the version that stays."""

MOST_ROUNDS = 5
MOST_FAILURES = 100
PAGE_TIMEOUT_SECONDS = 60.0
UNLISTED = (403, 404, 405, 406)
"""Of a kind that nobody may list, that is gone, or that does not give metadata alone."""


class FixPhase(Enum):
    OBJECTS = "Objects"
    DEPENDENTS = "Dependents"
    DONE = "Done"
    INCOMPLETE = "Incomplete"


class FixFailure(Struct, frozen=True):
    object: str
    cause: str


class FixJournal(Struct, frozen=True, kw_only=True):
    phase: FixPhase = FixPhase.OBJECTS
    place: int = 0
    """Which kind of dependents is walked."""
    token: str = ""
    cursor: str = ""
    seen: int = 0
    """Objects and dependents that were looked at in this phase."""
    objects: int = 0
    """Whose managedFields were rewritten."""
    dependents: int = 0
    """Whose ownerReferences were."""
    outrun: int = 0
    """That somebody else wrote meanwhile, in this round."""
    rounds: int = 0
    failures: tuple[FixFailure, ...] = ()
    failed: int = 0
    unlisted: tuple[str, ...] = ()
    problem: str = ""


class FixView(Struct, frozen=True, kw_only=True):
    crd: str
    resource: Resource
    """In the storage version, which managedFields are to name."""
    hub: str
    """The version that ownerReferences are to name."""
    goes: frozenset[str]
    """Versions that go, and any that the definition does not have."""
    has: frozenset[str]
    """Versions of the definition."""
    kinds: tuple[Resource, ...]
    """Of dependents."""
    namespaces: tuple[str, ...] = ()
    page_size: int = 500

    def is_going(self, api_version: str) -> bool:
        group, _, version = api_version.rpartition("/")
        return group == self.resource.group and (version in self.goes or version not in self.has)


FixSnapshot: TypeAlias = JobSnapshot[FixJournal, FixView]
FixOutcome: TypeAlias = StepResult[FixJournal] | Need


def step_of(translated: Translated) -> Step[FixJournal, FixView]:
    def step(seen: FixSnapshot, now: datetime) -> FixOutcome:
        journal = seen.journal or FixJournal()
        if journal.phase in (FixPhase.DONE, FixPhase.INCOMPLETE) or journal.problem:
            return _over(journal)
        page = _page(journal, seen, now)
        if not isinstance(page, _Page):
            return page
        writes = [
            (each, write)
            for each in page.items
            if (write := _write(each, journal, seen.world, translated, now)) is not None
        ]
        if todo := seen.answers.lacking(tuple(write for _, write in writes)):
            return Need(todo)
        return _counted(journal, page, writes, seen, now)

    return step


class _Page(Struct, frozen=True):
    resource: Resource
    items: list[Tree]
    token: str


class _ListMeta(Struct, frozen=True, rename={"token": "continue"}):
    token: str = ""


class _List(Struct, frozen=True):
    items: list[Tree]
    metadata: _ListMeta = _ListMeta()


def _walked(journal: FixJournal, view: FixView) -> Resource | None:
    """The kind whose objects come next; None: there is none left."""
    if journal.phase is FixPhase.OBJECTS:
        return view.resource
    return view.kinds[journal.place] if journal.place < len(view.kinds) else None


def _page(journal: FixJournal, seen: FixSnapshot, now: datetime) -> _Page | FixOutcome:
    view, resource = seen.world, _walked(journal, seen.world)
    if resource is None:
        return _round_over(journal, now)
    listing = Listing(
        resource,
        "",
        limit=view.page_size,
        cursor=journal.token,
        metadata_only=journal.phase is FixPhase.DEPENDENTS,
    )
    asked = Ask(listing, timeout=PAGE_TIMEOUT_SECONDS)
    if todo := seen.answers.lacking((asked,)):
        return Need(todo)
    match seen.answers[asked]:
        case Bad("expired", cursor=token) if journal.token:
            return _moving(structs.replace(journal, token=token), now)  # from the start, which does no harm
        case Bad(code=code) if journal.phase is FixPhase.DEPENDENTS and code in UNLISTED:
            name = f"{resource.group}/{resource.kind}" if resource.group else resource.kind
            skipped = structs.replace(journal, unlisted=tuple(dict.fromkeys((*journal.unlisted, name))))
            return _moving(structs.replace(skipped, place=journal.place + 1, token=""), now)
        case Bad() as bad:
            return _over(
                structs.replace(journal, problem=f"{resource.plural} cannot be listed: {bad.text or bad.kind}")
            )
        case Good(body):
            try:
                found = msgspec.json.decode(body, type=_List)
            except UNREADABLE:
                return _over(structs.replace(journal, problem=f"a list of {resource.plural} cannot be read"))
    wanted = [each for each in found.items if _is_wanted(each, view)]
    return _Page(resource, wanted, found.metadata.token)


def _is_wanted(tree: Tree, view: FixView) -> bool:
    return not view.namespaces or tree["metadata"].get("namespace", "") in view.namespaces


def _write(tree: Tree, journal: FixJournal, view: FixView, translated: Translated, now: datetime) -> Patch | None:
    """None where it names no version that goes."""
    resource = _walked(journal, view)
    if resource is None:
        return None
    metadata = tree["metadata"]
    if journal.phase is FixPhase.OBJECTS:
        steps = _managed(tree, view, translated, now)
    else:
        steps = _owners(metadata.get("ownerReferences") or [], view)
    if not steps:
        return None
    ref = Ref(resource, metadata.get("namespace", ""), metadata["name"], metadata["uid"])
    return Patch(
        ref=ref,
        kind=PatchKind.JSON,
        body=msgspec.json.encode(steps),
        resource_version=metadata["resourceVersion"],
        does=Does.MOVE_REFERENCES,
        change_to=view.resource.api_version,
    )


def _managed(tree: Tree, view: FixView, translated: Translated, now: datetime) -> list[Tree]:
    entries = tree["metadata"].get("managedFields") or []
    if not managed_fields.names_version(entries, view.is_going):
        return []
    whole = {"apiVersion": view.resource.api_version, "kind": view.resource.kind, **tree}
    moved = managed_fields.moved(
        entries, view.is_going, view.resource.api_version, lambda entry: translated(entry, whole), now
    )
    return [{"op": "replace", "path": "/metadata/managedFields", "value": moved}]


def _owners(references: list[Tree], view: FixView) -> list[Tree]:
    """Each reference is known by its UID; order, other references and all other fields stay."""
    steps: list[Tree] = []
    for place, each in enumerate(references):
        if each.get("kind") != view.resource.kind or not view.is_going(str(each.get("apiVersion", ""))):
            continue
        path = f"/metadata/ownerReferences/{place}"
        steps.append({"op": "test", "path": f"{path}/uid", "value": each["uid"]})
        steps.append({"op": "replace", "path": f"{path}/apiVersion", "value": f"{view.resource.group}/{view.hub}"})
    return steps


def _counted(
    journal: FixJournal, page: _Page, writes: list[tuple[Tree, Patch]], seen: FixSnapshot, now: datetime
) -> FixOutcome:
    done, outrun, failures = 0, 0, list[FixFailure]()
    for tree, write in writes:
        match seen.answers[write]:
            case Good():
                done += 1
            case Bad("absent") | Bad(code=404):
                continue
            case Bad("conflict") | Bad(code=409):
                outrun += 1
            case Bad(_, text) as bad:
                failures.append(FixFailure(_name(page.resource, tree), text or bad.kind))
    is_own = journal.phase is FixPhase.OBJECTS
    after = structs.replace(
        journal,
        seen=journal.seen + len(page.items),
        objects=journal.objects + done * is_own,
        dependents=journal.dependents + done * (not is_own),
        outrun=journal.outrun + outrun,
        failures=(*journal.failures, *failures)[:MOST_FAILURES],
        failed=journal.failed + len(failures),
        token=page.token,
        cursor=_name(page.resource, page.items[-1]) if page.items else journal.cursor,
    )
    if page.token:
        return _moving(after, now)
    if is_own:
        return _moving(structs.replace(after, phase=FixPhase.DEPENDENTS, place=0, seen=0, cursor=""), now)
    return _moving(structs.replace(after, place=journal.place + 1), now)


def _round_over(journal: FixJournal, now: datetime) -> FixOutcome:
    if journal.failed:
        return _over(structs.replace(journal, phase=FixPhase.INCOMPLETE))
    if not journal.outrun:
        return _over(structs.replace(journal, phase=FixPhase.DONE))
    if journal.rounds + 1 >= MOST_ROUNDS:
        many = f"{counted(journal.outrun, 'object is', 'objects are')} written by others faster than can be read"
        return _over(structs.replace(journal, phase=FixPhase.INCOMPLETE, problem=many))
    again = structs.replace(journal, phase=FixPhase.OBJECTS, rounds=journal.rounds + 1, outrun=0, place=0, seen=0)
    return _moving(again, now)


def _name(resource: Resource, tree: Tree) -> str:
    metadata = tree["metadata"]
    return f"{resource.kind} {'/'.join(filter(None, (metadata.get('namespace'), metadata['name'])))}"


def _moving(journal: FixJournal, now: datetime) -> FixOutcome:
    return StepResult(journal, Decision("fix_page", Hold(Reason.MIGRATING, now)))


def _over(journal: FixJournal) -> FixOutcome:
    return StepResult(journal, Decision("end", Hold(Reason.COMPLETE)))
