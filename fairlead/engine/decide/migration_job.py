"""Storage migration as a job: one step over its journal, from the first look at the definition to the last.

It begins at once, because what is stored in the old version is worked out anew with every read. An API server that has
not heard of the storage version may store an object in the old one even after that, so every object is written once
more before the old version is forgotten; and again, should the definition have changed meanwhile: its storage version
may have been another one for a while. Whatever fails is tried again later, and nothing waits for it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import Enum
from typing import TypeAlias

from msgspec import Struct, structs

from fairlead.core.act import Patch
from fairlead.core.ask import Ask, Bad, Good, Listing, Need
from fairlead.core.decision import Decision, Hold, SideNote
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import JobSnapshot, Turn, journaled, not_leading
from fairlead.engine.decide.migration import (
    PAGE_TIMEOUT_SECONDS,
    Changed,
    Clean,
    Fate,
    Forgotten,
    Incomplete,
    Plan,
    Progress,
    Prune,
    Raced,
    Tree,
    Unforgotten,
    Unsent,
    definition_asked,
    definition_found,
    forgetting,
    forgotten,
    incomplete,
    plan_of,
    prune,
)
from fairlead.engine.decide.rewrite import RewriteEnd, page_of
from kubeloop.unreadable import UNREADABLE

LOOKS = timedelta(hours=6)
MOST_CHANGES = 5
"""Of the definition in one run."""
MOST_NAMED = 10
"""Objects of one run of which a failure is told each; of the others their number is."""
UNANSWERED = frozenset({"unreachable", "not-sent"})
"""They say nothing of the object: the server is away, or the lease is."""


class MigrationPace(Struct, frozen=True):
    page: int = 500
    settling: float = 10.0
    """Seconds after which every API server has heard of the storage version."""
    first_delay: float = 5.0
    longest_delay: float = 300.0
    """Between two runs, doubling."""
    at_once: int = 4
    """Objects written at a time."""


class Phase(Enum):
    REST = "rest"
    """Until there may be something to do."""
    REWRITE = "rewrite"
    REWRITE_AGAIN = "rewrite-again"
    """When every API server has heard of the storage version."""
    FORGET = "forget"


class MigrationJournal(Struct, frozen=True, kw_only=True):
    phase: Phase = Phase.REST
    plan: Plan | None = None
    """What is migrated; None while it rests."""
    cursor: str = ""
    """Of the next page."""
    heard_by_all: datetime | None = None
    changes: int = 0
    """Of the definition since the run began."""
    progress: Progress = Progress()
    runs_failed: int = 0
    """One after the other, since the last that succeeded."""
    problem: str = ""
    """Why the last run did not succeed."""
    until: datetime | None = None
    """How long it rests."""


class MigrationView(Struct, frozen=True):
    """What is migrated and how, and what the caches show of it."""

    definition: str
    """Its name."""
    mixed: bool
    """Whether objects may be stored in another version than the storage version."""
    pace: MigrationPace = MigrationPace()


Snapshot: TypeAlias = JobSnapshot[MigrationJournal, MigrationView]
Outcome: TypeAlias = Turn[MigrationJournal] | Need


def step(seen: Snapshot, now: datetime) -> Outcome:
    journal, pace = seen.journal or MigrationJournal(), seen.world.pace
    if (plan := journal.plan) is None:
        return _rested(journal, seen, now, pace)
    match journal.phase:
        case Phase.REST:
            return _rested(journal, seen, now, pace)
        case Phase.REWRITE:
            return _rewritten(journal, plan, seen, now, pace)
        case Phase.REWRITE_AGAIN:
            return _settled(journal, now, pace) or _rewritten(journal, plan, seen, now, pace)
        case Phase.FORGET:
            return _forgotten(journal, plan, seen, now, pace)


def _settled(journal: MigrationJournal, now: datetime, pace: MigrationPace) -> Outcome | None:
    """None when every API server has heard of the storage version; a clock that was set back does not delay it."""
    heard = min(journal.heard_by_all or now, now + timedelta(seconds=pace.settling))
    if now >= heard:
        return None
    return Turn(structs.replace(journal, heard_by_all=heard), Decision("settle", Hold(Reason.STORAGE_SETTLING, heard)))


def _is_due(journal: MigrationJournal, now: datetime, pace: MigrationPace) -> bool:
    """Whether it has rested for long enough; who rests for longer than ever is told has a clock that was set back."""
    longest = timedelta(seconds=pace.longest_delay) if journal.problem else LOOKS
    return journal.until is None or not now < journal.until <= now + longest


def _rested(journal: MigrationJournal, seen: Snapshot, now: datetime, pace: MigrationPace) -> Outcome:
    """Begins a run when it is time, or when the definition shows that there is something to do."""
    if not _is_due(journal, now, pace) and (journal.problem or not seen.world.mixed):
        reason = Reason.MIGRATION_INCOMPLETE if journal.problem else Reason.COMPLETE
        return Turn(journal, Decision("rest", Hold(reason, journal.until)))
    begun = MigrationJournal(runs_failed=journal.runs_failed)
    read = definition_asked(seen.world.definition)
    if todo := seen.answers.lacking((read,)):
        return Need(todo)
    match definition_found(seen.answers[read], seen.world.definition):
        case str(problem):
            return _ended(begun, problem, now, pace)
        case definition:
            found = plan_of(definition)
    match found:
        case Clean():
            return _finished(begun, now)
        case Changed(text):
            return _ended(begun, text, now, pace)
        case Plan() as plan:
            heard = now + timedelta(seconds=pace.settling)
            begun = structs.replace(begun, phase=Phase.REWRITE, plan=plan, heard_by_all=heard)
            return Turn(begun, _moving("begin", now))


def _rewritten(journal: MigrationJournal, plan: Plan, seen: Snapshot, now: datetime, pace: MigrationPace) -> Outcome:
    """One page: every object of it written back as it was read."""
    page = Ask(Listing(plan.resource, "", limit=pace.page, cursor=journal.cursor), timeout=PAGE_TIMEOUT_SECONDS)
    if todo := seen.answers.lacking((page,)):
        return Need(todo)
    match seen.answers[page]:
        case Bad("expired", cursor=cursor) if journal.cursor:  # without one from the start, which does no harm
            return Turn(structs.replace(journal, cursor=cursor), _moving("go_on_elsewhere", now))
        case Bad() as bad:
            return _ended(journal, bad.text or bad.kind, now, pace)
        case Good(body):
            try:
                objects, cursor = page_of(plan.resource, body)
            except UNREADABLE:
                return _ended(journal, f"an object of {plan.resource.plural} cannot be read", now, pace)
    walks = [each.walked(seen.answers) for each in objects]
    if questions := tuple(walk for walk in walks if not isinstance(walk, RewriteEnd)):
        return Need((questions,), stop_at=UNANSWERED)
    ends = [walk for walk in walks if isinstance(walk, RewriteEnd)]
    return _counted(journal, ends, cursor, now, pace)


def _counted(
    journal: MigrationJournal, ends: list[RewriteEnd], cursor: str, now: datetime, pace: MigrationPace
) -> Outcome:
    """What has become of a page, and what comes after it."""
    answered = [each for each in ends if each.kind not in UNANSWERED]
    lost = next((each for each in ends if each.kind == "unreachable"), None)
    if lost is None and len(answered) < len(ends):
        return Turn(journal, not_leading(now))
    failures = [each for each in answered if each.fate is Fate.FAILED]
    notes = tuple(
        SideNote(each.ref, Reason.MIGRATION_INCOMPLETE, each.text)
        for each in failures[: max(MOST_NAMED - journal.progress.failed, 0)]
    )
    progress = journal.progress.with_page([each.fate for each in answered])
    after = structs.replace(journal, cursor=cursor, progress=progress)
    if lost is not None:
        return _ended(after, lost.text, now, pace, notes)
    if cursor:
        return Turn(after, _moving("rewrite_page", now, notes))
    if progress.failed:
        return _ended(after, incomplete(progress).text, now, pace, notes)
    if journal.phase is Phase.REWRITE:
        again = structs.replace(after, phase=Phase.REWRITE_AGAIN, progress=structs.replace(progress, stored=0))
        return Turn(again, _moving("rewrite_all", now, notes))
    return Turn(structs.replace(after, phase=Phase.FORGET), _moving("rewrite_all_again", now, notes))


def _forgotten(journal: MigrationJournal, plan: Plan, seen: Snapshot, now: datetime, pace: MigrationPace) -> Outcome:
    """Forgets the other versions, if the definition still says what it said at the beginning."""

    def chosen(definition: Tree) -> Patch | Outcome:
        return _to_forget(journal, plan, seen, definition, now, pace)

    match forgotten(seen.world.definition, seen.answers, chosen):
        case Forgotten():
            return _finished(journal, now)
        case Unsent():
            return Turn(journal, not_leading(now))
        case Unforgotten(text):
            return _ended(journal, text, now, pace)
        case Raced():
            return _ended(journal, "the definition is written faster than it can be read", now, pace)
        case outcome:
            return outcome


def _to_forget(
    journal: MigrationJournal, plan: Plan, seen: Snapshot, definition: Tree, now: datetime, pace: MigrationPace
) -> Patch | Outcome:
    """The write that forgets them, or what is to be done instead."""
    match prune(plan, journal.progress, definition):
        case Clean():
            return _finished(journal, now)
        case Changed(text) | Incomplete(text):
            return _ended(journal, text, now, pace)
        case Prune() if definition["metadata"].get("generation", 0) != plan.generation:
            return _changed(journal, plan, definition, now, pace)
        case Prune() as pruned:
            return forgetting(seen.world.definition, plan, pruned)


def _changed(journal: MigrationJournal, plan: Plan, definition: Tree, now: datetime, pace: MigrationPace) -> Outcome:
    """Once more, for whatever was stored while the definition was another."""
    if journal.changes == MOST_CHANGES:
        return _ended(journal, "its definition keeps changing", now, pace)
    again = structs.replace(
        journal,
        phase=Phase.REWRITE_AGAIN,
        plan=structs.replace(plan, generation=definition["metadata"].get("generation", 0)),
        heard_by_all=now + timedelta(seconds=pace.settling),
        changes=journal.changes + 1,
        progress=structs.replace(journal.progress, stored=0),
    )
    return Turn(again, _moving("follow_definition", now))


def _moving(rule: str, now: datetime, notes: tuple[SideNote, ...] = ()) -> Decision:
    return Decision(rule, Hold(Reason.MIGRATING, now), asides=notes)


def _finished(journal: MigrationJournal, now: datetime) -> Outcome:
    rested = structs.replace(journal, phase=Phase.REST, plan=None, cursor="", runs_failed=0, problem="")
    rested = structs.replace(rested, until=now + LOOKS)
    return Turn(rested, Decision("finish", Hold(Reason.COMPLETE, rested.until)))


def _ended(
    journal: MigrationJournal, problem: str, now: datetime, pace: MigrationPace, notes: tuple[SideNote, ...] = ()
) -> Outcome:
    """A run that did not succeed; the next one begins from the start, more and more slowly."""
    delay = min(pace.first_delay * 2.0 ** min(journal.runs_failed, 60), pace.longest_delay)
    rested = structs.replace(
        journal,
        phase=Phase.REST,
        plan=None,
        cursor="",
        runs_failed=journal.runs_failed + 1,
        problem=problem,
        until=now + timedelta(seconds=delay),
    )
    return Turn(rested, Decision("end_run", Hold(Reason.MIGRATION_INCOMPLETE, rested.until), asides=notes))


decide = journaled(step, MigrationJournal)
