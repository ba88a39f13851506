"""A pass over a Component (T-1): its spec is kept as a revision before anything is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from fairlead.contracts.plans.applications.kinds import ComponentStatus, LatestComponentRevision
from fairlead.contracts.plans.decide.applications.asking import Flow, list_many, outcome
from fairlead.contracts.plans.decide.applications.foreign_kinds import foreign_kind, left_alone
from fairlead.contracts.plans.decide.applications.naming import references
from fairlead.contracts.plans.decide.applications.revisions import (
    ComponentRevision,
    body_of,
    named_revisions,
    revision_name,
    revisions_of,
)
from fairlead.contracts.plans.decide.applications.seen import FamilySeen
from fairlead.contracts.plans.decide.applications.trees import Tree, at, mapping
from fairlead.contracts.plans.decide.applications.writes import created, deleted, reported
from fairlead.contracts.plans.kinds import APP_ROLLOUTS, CONFIGURATIONS, ROLLOUT_TRAITS, ROLLOUTS
from fairlead.core.act import AnyWrite, Does, EventNote
from fairlead.core.ask import Bad, Listing
from fairlead.core.decision import Decision, Hold, Move, Outcome
from fairlead.core.reason import Reason
from kubeloop.objects.apps import CONTROLLER_REVISIONS

AGAIN = timedelta(seconds=5)
"""After so long it is looked again whether a revision may be recorded."""
_MOST_TAKEN = 8
"""How many names in a row may be somebody else's."""


def decide(seen: FamilySeen, now: datetime) -> Outcome:
    return outcome(_passed(seen, now), seen.answers)


def _passed(seen: FamilySeen, now: datetime) -> Flow[Decision]:
    if seen.is_leaving:
        return Decision("leave", Hold(Reason.SET_LEAVING))
    if said := (yield from foreign_kind()):
        return left_alone(seen, said, now)
    workload = mapping(mapping(seen.object.spec).get("workload"))
    if not workload.get("apiVersion") or not workload.get("kind"):
        said = f"the Component {seen.name} has no spec.workload with apiVersion and kind"
        return Decision("refuse", Hold(Reason.SPEC_INVALID, details=((str(seen.ref), said),)))
    status = seen.reported.read(ComponentStatus)
    found = yield from revisions_of(seen.namespace, (seen.name,))
    kept = tuple(each for each in found[seen.name] if _is_ours(seen, each))
    latest = kept[-1] if kept else None
    if latest is None or latest.spec != seen.object.spec:
        if said := (yield from _lost(seen, status)):
            return _waits(seen, "RevisionChanged", Reason.APPLICATION_PENDING, said, now)
        taken = status.latest_revision.revision if status.latest_revision is not None else 0
        number = yield from _free_number(seen, max(taken, latest.number if latest is not None else 0) + 1)
        if isinstance(number, ComponentRevision):
            return _recorded(seen, status, number.name, number.number)
        body = body_of(seen.tree, number)
        write = created(CONTROLLER_REVISIONS, seen.namespace, body, Does.RECORD_REVISION, scope=seen.uid)
        if isinstance(refusal := seen.answers.known.get(write), Bad):
            text = f"{write.change_to} was refused: {refusal.text or refusal.kind}"
            return _waits(seen, "RevisionRefused", Reason.OBJECT_REFUSED, text, now)
        return _recorded(seen, status, revision_name(seen.name, number), number, write)
    known = _recorded(seen, status, latest.name, latest.number)
    if isinstance(known.verdict, Move):
        return known
    surplus = yield from _surplus(seen, kept)
    if surplus:
        writes = tuple(deleted(each.tree, Does.FORGET_REVISION, scope=seen.uid) for each in surplus)
        return Decision("forget", Move(Reason.RETIRING, writes))
    return known


def _is_ours(seen: FamilySeen, revision: ComponentRevision) -> bool:
    """One of a Component of this name that is gone goes with it."""
    owner = revision.tree.controller
    return owner is not None and owner.get("uid") == seen.uid and not revision.tree.is_leaving


def _free_number(seen: FamilySeen, first: int) -> Flow[int | ComponentRevision]:
    """A number whose name is free, or the revision that holds this very spec already."""
    for number in range(first, first + _MOST_TAKEN):
        name = revision_name(seen.name, number)
        found = yield from named_revisions(seen.namespace, (name,))
        if name not in found:
            return number
        if _is_ours(seen, found[name]) and found[name].spec == seen.object.spec:
            return found[name]
    return first + _MOST_TAKEN


def _recorded(seen: FamilySeen, status: ComponentStatus, name: str, number: int, *before: AnyWrite) -> Decision:
    new = ComponentStatus(seen.object.metadata.generation, LatestComponentRevision(name, number))
    report = None if new == status else reported(seen.reported, new, name, scope=seen.uid)
    writes = (*before, *(() if report is None else (report,)))
    if writes:
        return Decision("record", Move(Reason.APPLYING, writes))
    return Decision("rest", Hold(Reason.COMPLETE))


def _lost(seen: FamilySeen, status: ComponentStatus) -> Flow[str]:
    """Why the revision that was recorded last counts as none, although it holds this very spec; empty otherwise.

    Where admission takes its label or its owner away, each further one would be lost in the same way.
    """
    recorded = status.latest_revision
    if recorded is None:
        return ""
    found = (yield from named_revisions(seen.namespace, (recorded.name,))).get(recorded.name)
    if found is None or found.tree.is_leaving or found.spec != seen.object.spec:
        return ""
    if (found.tree.controller or {}).get("uid") not in (None, seen.uid):  # of a Component that is gone, as in a backup
        return ""
    return (
        f"the ControllerRevision {recorded.name} was recorded for this Component, and somebody took its label or its "
        "owner: delete it, and the spec is recorded again"
    )


def _waits(seen: FamilySeen, event: str, reason: Reason, text: str, now: datetime) -> Decision:
    """Whoever waits for the revision does not know why it is not there, and the status has no place for it."""
    held = Hold(reason, now + AGAIN, ((str(seen.ref), text),))
    return Decision("record", held, tell=(EventNote(seen.ref, True, event, text, repeated=True),))


def _surplus(seen: FamilySeen, kept: tuple[ComponentRevision, ...]) -> Flow[tuple[ComponentRevision, ...]]:
    """The oldest above the limit that nobody names; the latest stays."""
    over = len(kept) - max(1, seen.settings.revision_limit)
    if over <= 0:
        return ()
    kinds = (CONFIGURATIONS, ROLLOUT_TRAITS, ROLLOUTS, APP_ROLLOUTS)
    configurations, traits, rollouts, others = yield from list_many(Listing(each, seen.namespace) for each in kinds)
    used = {*_named(configurations), *_referenced(traits), *_rolled(rollouts), *_located(others)}
    return tuple(each for each in kept[:-1] if each.name not in used)[:over]


def _named(configurations: Iterable[Tree]) -> Iterator[str]:
    for each in configurations:
        for path, key in (
            ("spec.components", "revisionName"),
            ("status.workloads", "componentRevisionName"),
            ("status.historyWorkloads", "componentRevisionName"),
        ):
            yield from (str(mapping(one).get(key)) for one in _entries(at(each.tree, path)))


def _referenced(rollouts: Iterable[Tree]) -> Iterator[str]:
    for each in rollouts:
        references = [at(each.tree, "spec.targetRef"), *_entries(at(each.tree, "spec.sourceRef"))]
        yield from (str(one.get("name")) for one in map(mapping, references) if one.get("kind") == "ControllerRevision")


def _rolled(rollouts: Iterable[Tree]) -> Iterator[str]:
    paths = ("spec.targetRevisionName", "spec.sourceRevisionName")
    recorded = ("status.lastTargetRevision", "status.LastSourceRevision")
    yield from (str(at(each.tree, path)) for each in rollouts for path in (*paths, *recorded))


def _located(rollouts: Iterable[Tree]) -> Iterator[str]:
    """Workloads of a pair have the names of their revisions; of others the source is named by its revision."""
    yield from (one.name for each in rollouts for one in references(each))


def _entries(found: object) -> list[object]:
    return found if isinstance(found, list) else []
