"""The state machine of a storage migration: one pure step over its journal.

Check → Settle → Checkpoint → Refs → Choose → BuiltIn or Rewrite → Verify → Prune → Clean; Incomplete where objects
failed, Conflict where the definition became another one. Who cannot wait begins early: Check → Refs → Choose → Rewrite
→ Settle → Checkpoint → Verify → Prune, where Verify writes every object once more. A run that is killed goes on behind
its cursor, as long as the definition says what it said.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import structs

from fairlead.core.act import Patch
from fairlead.core.ask import Ask, Bad, Listing, Need
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import Step, StepResult, journaled, not_leading
from fairlead.engine.decide.migration import (
    PAGE_TIMEOUT_SECONDS,
    Changed,
    Clean,
    Forgotten,
    MigrationPlan,
    Prune,
    Raced,
    Tree,
    Unforgotten,
    Unsent,
    definition_asked,
    definition_found,
    difference,
    forgetting,
    forgotten,
    plan_of,
    prune,
)
from fairlead.engine.decide.storage_migration.built_in import await_built_in, choose
from fairlead.engine.decide.storage_migration.journal import (
    FINAL,
    MOST_ROUNDS,
    MigrationPhase,
    MigrationSnapshot,
    StepOutcome,
    StorageJournal,
    StorageView,
    ended,
    entering,
    moving,
    stopped,
)
from fairlead.engine.decide.storage_migration.lost_definition import stopped_or_lost
from fairlead.engine.decide.storage_migration.objects import page_of
from fairlead.engine.decide.storage_migration.rewriting import refs, rewrite, verify
from fairlead.engine.decide.storage_migration.walking import page_asked
from kubeloop.unreadable import UNREADABLE

Unsafe = Callable[[Tree], str]
"""Why a write in the storage version would drop what another version holds; empty where it would not."""


def step_of(unsafe: Unsafe = lambda _: "") -> Step[StorageJournal, StorageView]:
    def step(seen: MigrationSnapshot, now: datetime) -> StepOutcome:
        journal = seen.journal
        if journal is None or journal.run != seen.world.run or not _is_of(journal, seen.world):
            return _entered(journal, seen, now, unsafe)
        if journal.phase in FINAL or journal.problem:
            return StepResult(journal, Decision("rest", Hold(Reason.COMPLETE)))
        if journal.plan is None:
            return _entered(None, seen, now, unsafe)
        return _at(journal, journal.plan, seen, now, unsafe)

    return step


def _at(
    journal: StorageJournal, plan: MigrationPlan, seen: MigrationSnapshot, now: datetime, unsafe: Unsafe
) -> StepOutcome:
    match journal.phase:
        case MigrationPhase.SETTLE:
            return _settled(journal, now, seen.world)
        case MigrationPhase.CHECKPOINT:
            return _checkpoint(journal, plan, seen, now)
        case MigrationPhase.REFS | MigrationPhase.REWRITE | MigrationPhase.VERIFY:
            return _spoiled(journal, plan, seen, now, unsafe) or _page(journal, plan, seen, now)
        case MigrationPhase.CHOOSE:
            return choose(journal, plan, seen, now)
        case MigrationPhase.BUILT_IN:
            return await_built_in(journal, seen, now)
        case MigrationPhase.PRUNE:
            return _pruned(journal, plan, seen, now, unsafe)
        case _:
            return _entered(None, seen, now, unsafe)


def _page(journal: StorageJournal, plan: MigrationPlan, seen: MigrationSnapshot, now: datetime) -> StepOutcome:
    match journal.phase:
        case MigrationPhase.REFS:
            return refs(journal, plan, seen, now)
        case MigrationPhase.REWRITE:
            return rewrite(journal, plan, seen, now)
        case _:
            return verify(journal, plan, seen, now)


def decide_of(unsafe: Unsafe = lambda _: "") -> Callable[[MigrationSnapshot, datetime], Any]:
    return journaled(step_of(unsafe), StorageJournal)


def _entered(before: StorageJournal | None, seen: MigrationSnapshot, now: datetime, unsafe: Unsafe) -> StepOutcome:
    """A run begins: behind the cursor of one that was cut off, or with a look at the definition."""
    definition = _definition(seen)
    if isinstance(definition, Need):
        return definition
    view = seen.world
    begun = StorageJournal(crd=view.crd, run=view.run, scope=view.namespaces)
    if isinstance(definition, str):
        return stopped(begun, definition)
    if before is not None and before.plan is not None and _goes_on(before, before.plan, view, definition):
        settled = _settled_anew(before, before.plan, definition, view, now)
        return moving(structs.replace(before, run=view.run, problem="", settled=settled), "resume", now)
    match plan_of(definition, even_clean=view.force):
        case Clean():
            if before is not None and before.phase is MigrationPhase.CLEAN:  # what the last run did stays known
                return StepResult(before, Decision("clean", Hold(Reason.COMPLETE)))
            return ended(begun, MigrationPhase.CLEAN, now)
        case Changed(text):
            return stopped(begun, text)
        case MigrationPlan() as plan:
            if (why := unsafe(definition)) and not view.loses:
                return stopped(structs.replace(begun, plan=plan), why)
            first = MigrationPhase.REFS if view.early else MigrationPhase.SETTLE
            begun = structs.replace(begun, phase=first, plan=plan, is_early=view.early)
            return moving(structs.replace(begun, settled=_settles(definition, view, now)), "check", now)


def _is_of(journal: StorageJournal, view: StorageView) -> bool:
    """Whether it tells of what is migrated; people may have edited it."""
    is_same = (journal.crd, journal.scope) == (view.crd, view.namespaces)
    return is_same and journal.place in range(max(len(view.namespaces), 1))


def _goes_on(before: StorageJournal, plan: MigrationPlan, view: StorageView, definition: Tree) -> bool:
    return before.phase not in FINAL and _is_of(before, view) and not difference(plan, definition)


def _settled_anew(
    before: StorageJournal, plan: MigrationPlan, definition: Tree, view: StorageView, now: datetime
) -> datetime | None:
    """A definition that was written since may have had another storage version for a while, and API servers that have
    not heard of its end."""
    if definition["metadata"].get("generation", 0) == plan.generation:
        return before.settled
    return max(before.settled or now, _settles(definition, view, now))


def _spoiled(
    journal: StorageJournal, plan: MigrationPlan, seen: MigrationSnapshot, now: datetime, unsafe: Unsafe
) -> StepOutcome | None:
    """Why the next page is not written: whoever changed the definition since the last one may have taken its conversion
    away, and every write would drop something then."""
    asked = definition_asked(seen.world.crd)
    if todo := seen.answers.lacking((asked, page_asked(journal, plan, seen.world))):
        return Need(todo)
    definition = definition_found(seen.answers[asked], seen.world.crd)
    if isinstance(definition, str):  # its objects cannot be listed either, and that says more
        return None
    if why := difference(plan, definition):
        return ended(journal, MigrationPhase.CONFLICT, now, why)
    why = "" if seen.world.loses else unsafe(definition)
    return stopped(journal, why) if why else None


def _settles(definition: Tree, view: StorageView, now: datetime) -> datetime:
    """When every API server has heard of the storage version; what nobody knows is counted from now.

    Who writes meanwhile waits for nothing, and so need not trust that two clocks are the same.
    """
    wait = timedelta(seconds=view.settle_seconds)
    changed = None if view.early else _changed_at(definition)
    return now + wait if changed is None or changed > now else changed + wait


def _changed_at(definition: Tree) -> datetime | None:
    """When the versions were last written, as its managedFields say."""
    times = []
    for entry in definition["metadata"].get("managedFields") or ():
        fields = entry.get("fieldsV1") or {}
        if "f:versions" in (fields.get("f:spec") or {}):
            try:
                times.append(datetime.strptime(entry.get("time", ""), "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC))
            except ValueError:
                return None
    return max(times, default=None)


def _settled(journal: StorageJournal, now: datetime, view: StorageView) -> StepOutcome:
    """A clock that was set back does not delay it."""
    until = min(journal.settled or now, now + timedelta(seconds=view.settle_seconds))
    if view.dry_run or now >= until:
        return entering(journal, MigrationPhase.CHECKPOINT, now)
    held = structs.replace(journal, settled=until)
    return StepResult(held, Decision("settle", Hold(Reason.STORAGE_SETTLING, until)))


def _checkpoint(journal: StorageJournal, plan: MigrationPlan, seen: MigrationSnapshot, now: datetime) -> StepOutcome:
    """The definition's generation first, then the version of a list: in this order neither can be too new."""
    definition = _definition(seen)
    if isinstance(definition, Need):
        return definition
    if isinstance(definition, str):
        return stopped_or_lost(journal, plan, seen, now, definition)
    if why := difference(plan, definition):
        return ended(journal, MigrationPhase.CONFLICT, now, why)
    listing = Ask(Listing(plan.resource, "", limit=1, metadata_only=True), timeout=PAGE_TIMEOUT_SECONDS)
    if todo := seen.answers.lacking((listing,)):
        return Need(todo)
    answer = seen.answers[listing]
    if isinstance(answer, Bad):
        return stopped_or_lost(journal, plan, seen, now, f"the objects cannot be listed: {answer.text or answer.kind}")
    try:
        version = page_of(plan.resource, answer.value)[3]
    except UNREADABLE:
        return stopped(journal, f"a list of {plan.resource.plural} cannot be read")
    generation = definition["metadata"].get("generation", 0)
    after = structs.replace(journal, plan=structs.replace(plan, generation=generation), list_version=version)
    after = structs.replace(after, is_walked=False, is_early=False)
    return entering(after, MigrationPhase.VERIFY if journal.changes or journal.is_early else MigrationPhase.REFS, now)


def _pruned(
    journal: StorageJournal, plan: MigrationPlan, seen: MigrationSnapshot, now: datetime, unsafe: Unsafe
) -> StepOutcome:
    def chosen(definition: Tree) -> Patch | StepOutcome:
        return _pruning(journal, plan, definition, seen, now, unsafe)

    match forgotten(seen.world.crd, seen.answers, chosen):
        case Forgotten():
            return ended(journal, MigrationPhase.CLEAN, now)
        case Unsent():
            return StepResult(journal, not_leading(now))
        case Unforgotten(text, is_read):
            problem = f"storedVersions cannot be written: {text}" if is_read else text
            return stopped_or_lost(journal, plan, seen, now, problem)
        case Raced():
            return ended(
                journal, MigrationPhase.INCOMPLETE, now, "the definition is written faster than it can be read"
            )
        case outcome:
            return outcome


def _pruning(
    journal: StorageJournal,
    plan: MigrationPlan,
    definition: Tree,
    seen: MigrationSnapshot,
    now: datetime,
    unsafe: Unsafe,
) -> Patch | StepOutcome:
    """The write that forgets the other versions, or what is to be done instead."""
    if why := difference(plan, definition):
        return ended(journal, MigrationPhase.CONFLICT, now, why)
    if seen.world.namespaces:
        return ended(
            journal, MigrationPhase.REHEARSED, now, "only some namespaces were migrated, so storedVersions stays"
        )
    pruned = prune(plan, definition)
    if not isinstance(pruned, Prune):
        return ended(journal, MigrationPhase.CLEAN, now)
    if why := unsafe(definition):
        return ended(journal, MigrationPhase.REHEARSED, now, f"storedVersions stays: {why}")
    if definition["metadata"].get("generation", 0) != plan.generation:
        return _followed(journal, seen, now)
    return forgetting(seen.world.crd, plan, pruned)


def _followed(journal: StorageJournal, seen: MigrationSnapshot, now: datetime) -> StepOutcome:
    """Its storage version may have been another one for a while: all is proven against a new checkpoint."""
    if journal.changes >= MOST_ROUNDS:
        return ended(journal, MigrationPhase.INCOMPLETE, now, "its definition keeps changing")
    settled = now + timedelta(seconds=seen.world.settle_seconds)
    after = structs.replace(journal, changes=journal.changes + 1, settled=settled)
    return entering(after, MigrationPhase.SETTLE, now)


def _definition(seen: MigrationSnapshot, after: str = "") -> Tree | str | Need:
    """The definition as it is now, or why there is none to go by."""
    asked = definition_asked(seen.world.crd, after)
    if todo := seen.answers.lacking((asked,)):
        return Need(todo)
    return definition_found(seen.answers[asked], seen.world.crd)
