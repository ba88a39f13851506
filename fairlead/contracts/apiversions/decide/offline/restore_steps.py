"""Bringing the objects of a backup back: only what differs is written, and nothing is deleted (section 3.7.6).

A page of objects after the other, as `object_restore` has it for each; whatever one owned that was made again is then
pointed to the new one, as `restored_dependents` has it.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from fairlead.contracts.apiversions.decide.offline.backup_format import Dependent
from fairlead.contracts.apiversions.decide.offline.object_restore import Fate, ObjectRestore, name_of
from fairlead.contracts.apiversions.decide.offline.restore_journal import (
    RestoredObject,
    RestoreJournal,
    RestoreSnapshot,
)
from fairlead.contracts.apiversions.decide.offline.restored_dependents import DependentPointer
from fairlead.contracts.apiversions.decide.offline.walks import Interrupted, Unfit, walked
from fairlead.core.ask import Need
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import StepResult, journaled

MOST_NAMED = 100


def step(seen: RestoreSnapshot, now: datetime) -> StepResult[RestoreJournal] | Need:
    """A page of objects, and behind them a page of dependents."""
    journal, world = seen.journal or RestoreJournal(), seen.world
    begins, count = journal.next, len(world.paths)
    try:
        if begins < count:
            return _objects(journal, seen, world.objects_from(begins), now)
        dependents = world.dependents[begins - count : begins - count + world.page]
        if dependents:
            return _dependents(journal, seen, dependents, now)
    except Interrupted as error:
        stopped = structs.replace(journal, problem=str(error))
        return StepResult(stopped, Decision("stop", Hold(Reason.MIGRATION_INCOMPLETE)))
    return StepResult(journal, Decision("finish", Hold(Reason.COMPLETE)))


def _objects(
    journal: RestoreJournal, seen: RestoreSnapshot, paths: tuple[str, ...], now: datetime
) -> StepResult[RestoreJournal] | Need:
    ends = walked([ObjectRestore(seen, path, now).walk for path in paths])
    if isinstance(ends, Need):
        return ends
    fates = [each for each in ends if isinstance(each, Fate)]
    skipped = tuple(RestoredObject(each.name, each.text) for each in fates if each.what == "skipped")
    failed = tuple(
        RestoredObject(name_of(path), str(end)) for path, end in zip(paths, ends, strict=True) if isinstance(end, Unfit)
    )
    orphaned = tuple(
        RestoredObject(each.name, f"without its owner {', '.join(each.missing)}, which is not there")
        for each in fates
        if each.missing
    )
    kinds = [each.what for each in fates]
    after = structs.replace(
        journal,
        next=journal.next + len(paths),
        same=journal.same + kinds.count("same"),
        changed=journal.changed + kinds.count("changed"),
        created=journal.created + kinds.count("created"),
        recreated={**journal.recreated, **dict(_recreated(fates))},
        skipped=(*journal.skipped, *skipped)[:MOST_NAMED],
        failed=(*journal.failed, *failed)[:MOST_NAMED],
        skipped_count=journal.skipped_count + len(skipped),
        failed_count=journal.failed_count + len(failed),
        orphaned=(*journal.orphaned, *orphaned)[:MOST_NAMED],
        orphaned_count=journal.orphaned_count + len(orphaned),
    )
    return StepResult(after, Decision("restore_page", Hold(Reason.MIGRATING, now)))


def _recreated(fates: list[Fate]) -> list[tuple[str, tuple[str, str]]]:
    return [(old, (each.name, each.uids[0])) for each in fates if each.uids for old in each.uids[1:]]


def _dependents(
    journal: RestoreJournal, seen: RestoreSnapshot, dependents: tuple[Dependent, ...], now: datetime
) -> StepResult[RestoreJournal] | Need:
    concerned = [each for each in dependents if each.owner in journal.recreated]
    here = seen.world.parts.resource
    ends = walked([DependentPointer(seen.answers, each, journal.recreated, here).walk for each in concerned])
    if isinstance(ends, Need):
        return ends
    named = [f"{each.kind}/{each.name}" for each in concerned]
    failed = tuple(
        RestoredObject(name, str(end)) for name, end in zip(named, ends, strict=True) if isinstance(end, Unfit)
    )
    after = structs.replace(
        journal,
        next=journal.next + len(dependents),
        pointed=journal.pointed + sum(each is True for each in ends),
        failed=(*journal.failed, *failed)[:MOST_NAMED],
        failed_count=journal.failed_count + len(failed),
    )
    return StepResult(after, Decision("point_page", Hold(Reason.MIGRATING, now)))


decide = journaled(step, RestoreJournal)
