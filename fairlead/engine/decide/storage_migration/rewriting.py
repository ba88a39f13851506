"""The walks of a migration: managedFields that name versions which are gone, the rewrite, and the proof."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import structs

from fairlead.core.act import AnyWrite, Does, Patch, PatchKind
from fairlead.core.amounts import counted
from fairlead.core.ask import Bad, Good, Need
from fairlead.engine.decide import managed_fields
from fairlead.engine.decide.job import StepResult, not_leading
from fairlead.engine.decide.migration import MigrationPlan
from fairlead.engine.decide.storage_migration.journal import (
    MOST_CONTESTED,
    MOST_ROUNDS,
    Counts,
    MigrationPhase,
    MigrationSnapshot,
    ObjectFailure,
    StepOutcome,
    StorageJournal,
    ended,
    entering,
    moving,
)
from fairlead.engine.decide.storage_migration.objects import (
    Stored,
    failure_of,
    is_contested,
    is_gone,
    is_newer,
    version_of,
)
from fairlead.engine.decide.storage_migration.walking import PageResult, StoredPage, page_at, page_done

NOT_LEADING = frozenset({"not-sent"})


def refs(journal: StorageJournal, plan: MigrationPlan, seen: MigrationSnapshot, now: datetime) -> StepOutcome:
    """One page: managedFields of versions that the definition has no longer name the storage version then."""
    page = page_at(journal, plan, seen, now)
    if not isinstance(page, StoredPage):
        return page
    writes = [(each, _repair(each, plan, now)) for each in page.objects if _is_stale(each, plan)]
    answered = _answered(writes, journal, seen, now)
    if not isinstance(answered, PageResult):
        return answered
    untracked = sum(not each.managed for each in page.objects)
    failed, skipped = answered.counts.failed, answered.counts.skipped
    counts = Counts(done=len(page.objects) - failed - skipped, failed=failed, skipped=skipped)
    found = structs.replace(answered, counts=counts, untracked=untracked, repaired=answered.counts.done)
    after, is_last = page_done(journal, page, found, seen)
    if not is_last:
        return moving(after, "refs_page", now)
    if many := after.counts.failed:
        return ended(
            after, MigrationPhase.INCOMPLETE, now, f"{many} objects have managedFields of versions that are gone"
        )
    if after.counts.skipped and after.rounds + 1 < MOST_ROUNDS:  # who wrote them meanwhile may have left them so
        return entering(structs.replace(after, rounds=after.rounds + 1, untracked=0), MigrationPhase.REFS, now)
    return entering(after, MigrationPhase.CHOOSE, now)


def rewrite(journal: StorageJournal, plan: MigrationPlan, seen: MigrationSnapshot, now: datetime) -> StepOutcome:
    """One page: every object written without a change, which stores it in the storage version."""
    page = page_at(journal, plan, seen, now)
    if not isinstance(page, StoredPage):
        return page
    view = seen.world
    # What was only rehearsed is not repaired, and an apply to it would fail.
    written = [each for each in page.objects if not (view.dry_run and _is_stale(each, plan))]
    writes = [(each, each.touched(via_status=view.via_status)) for each in written]
    answered = _answered(writes, journal, seen, now)
    if not isinstance(answered, PageResult):
        return answered
    found = structs.replace(answered, counts=answered.counts.plus(Counts(done=len(page.objects) - len(written))))
    after, is_last = page_done(journal, page, found, seen)
    if not is_last:
        return moving(after, "rewrite_page", now)
    after = structs.replace(after, rewritten=after.counts)
    if after.counts.failed:
        return ended(
            after, MigrationPhase.INCOMPLETE, now, f"{counted(after.counts.failed, 'object')} could not be written"
        )
    if view.dry_run:
        return ended(after, MigrationPhase.REHEARSED, now)
    if after.is_early:
        return entering(after, MigrationPhase.SETTLE, now)
    is_walked = len(after.contested) <= MOST_CONTESTED
    return entering(structs.replace(after, is_walked=is_walked), MigrationPhase.VERIFY, now)


def verify(journal: StorageJournal, plan: MigrationPlan, seen: MigrationSnapshot, now: datetime) -> StepOutcome:
    """One page: each was written since the checkpoint, or a write now shows that there is nothing to write."""
    page = page_at(journal, plan, seen, now)
    if not isinstance(page, StoredPage):
        return page
    since, via = journal.list_version, seen.world.via_status
    unseen = [each for each in page.objects if not is_newer(each.version, since)]
    if journal.is_walked:
        unseen = [each for each in unseen if not _has_answered(each, journal)]
    doubtful = [(each, each.touched(via_status=via)) for each in unseen]
    answered = _answered(doubtful, journal, seen, now)
    if not isinstance(answered, PageResult):
        return answered
    unproven = sum(not _is_proven(each, seen, write, since) for each, write in doubtful) - answered.counts.failed
    failed = answered.counts.failed
    counts = Counts(done=len(page.objects) - unproven - failed, failed=failed, unproven=unproven)
    after, is_last = page_done(journal, page, structs.replace(answered, counts=counts), seen)
    if not is_last:
        return moving(after, "verify_page", now)
    if after.counts.failed:
        return ended(
            after, MigrationPhase.INCOMPLETE, now, f"{counted(after.counts.failed, 'object')} could not be written"
        )
    if not after.counts.unproven:
        return entering(after, MigrationPhase.PRUNE, now)
    if after.rounds + 1 >= MOST_ROUNDS:
        many = after.counts.unproven
        return ended(
            after,
            MigrationPhase.INCOMPLETE,
            now,
            f"{many} objects are written by others faster than they can be proven",
        )
    return entering(structs.replace(after, rounds=after.rounds + 1), MigrationPhase.REWRITE, now)


def _answered(
    writes: Sequence[tuple[Stored, AnyWrite]], journal: StorageJournal, seen: MigrationSnapshot, now: datetime
) -> PageResult | StepOutcome:
    """What became of the writes, once all are answered."""
    if todo := seen.answers.lacking(tuple(write for _, write in writes)):
        return Need(todo, stop_at=NOT_LEADING)
    done, skipped, contested, failures = 0, 0, list[str](), list[ObjectFailure]()
    for stored, write in writes:
        answer = seen.answers[write]
        if isinstance(answer, Good):
            done += 1
        elif answer.kind in NOT_LEADING:
            return StepResult(journal, not_leading(now))
        elif is_gone(answer):
            skipped += 1
        elif is_contested(answer):
            skipped += 1
            contested.append(stored.key)
        else:
            failures.append(failure_of(stored, answer))
    counts = Counts(done=done, skipped=skipped, failed=len(failures))
    return PageResult(counts=counts, failures=tuple(failures), contested=tuple(contested))


def _is_proven(stored: Stored, seen: MigrationSnapshot, write: AnyWrite, since: str) -> bool:
    answer = seen.answers[write]
    if isinstance(answer, Bad):
        return is_gone(answer)
    version = version_of(answer)
    return version == stored.version or is_newer(version, since)


def _has_answered(stored: Stored, journal: StorageJournal) -> bool:
    """Whether its write since the checkpoint has answered that there was nothing to write."""
    since = journal.list_version
    is_older = is_newer(since, stored.version) or stored.version == since
    return is_older and stored.key not in journal.contested


def _is_stale(stored: Stored, plan: MigrationPlan) -> bool:
    return managed_fields.names_version(stored.managed, lambda name: _is_gone(name, plan))


def _is_gone(api_version: str, plan: MigrationPlan) -> bool:
    """Whether it is one of the kind's group that the definition has no longer."""
    group, _, version = api_version.rpartition("/")
    return group == plan.resource.group and version not in {name for name, _, _ in plan.shape}


def _repair(stored: Stored, plan: MigrationPlan, now: datetime) -> Patch:
    """Nobody has rules for a version that is gone: its fields are kept under their names."""
    target = plan.resource.api_version
    entries = managed_fields.moved(
        stored.managed, lambda name: _is_gone(name, plan), target, lambda entry: entry.get("fieldsV1") or {}, now
    )
    return Patch(
        ref=stored.ref,
        kind=PatchKind.JSON,
        body=managed_fields.patch_of(entries),
        resource_version=stored.version,
        does=Does.MOVE_REFERENCES,
        change_to=target,
    )
