"""Pages of a walk over all objects: asked for one after the other, and written down with what became of them."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, structs

from fairlead.core.ask import Ask, Bad, Good, Listing, Need
from fairlead.engine.decide.migration import PAGE_TIMEOUT_SECONDS, MigrationPlan
from fairlead.engine.decide.storage_migration.journal import (
    MOST_CONTESTED,
    Counts,
    MigrationSnapshot,
    ObjectFailure,
    StepOutcome,
    StorageJournal,
    StorageView,
    moving,
    stopped,
    with_failures,
)
from fairlead.engine.decide.storage_migration.lost_definition import stopped_or_lost
from fairlead.engine.decide.storage_migration.objects import Stored, page_of
from kubeloop.unreadable import UNREADABLE


class StoredPage(Struct, frozen=True):
    objects: tuple[Stored, ...]
    """Those behind the cursor."""
    token: str
    cursor: str
    total: int | None


class PageResult(Struct, frozen=True, kw_only=True):
    """What became of the objects of a page."""

    counts: Counts
    failures: tuple[ObjectFailure, ...] = ()
    contested: tuple[str, ...] = ()
    """Keys of those whose write was refused as a conflict."""
    untracked: int = 0
    repaired: int = 0


def page_asked(journal: StorageJournal, plan: MigrationPlan, view: StorageView) -> Ask:
    namespaces = view.namespaces or ("",)
    listing = Listing(
        plan.resource,
        namespaces[journal.place],
        limit=view.page_size,
        cursor=journal.token,
        metadata_only=True,
    )
    return Ask(listing, timeout=PAGE_TIMEOUT_SECONDS)


def page_at(
    journal: StorageJournal, plan: MigrationPlan, seen: MigrationSnapshot, now: datetime
) -> StoredPage | StepOutcome:
    """The page that is next, or what is to be asked or done instead."""
    asked = page_asked(journal, plan, seen.world)
    if todo := seen.answers.lacking((asked,)):
        return Need(todo)
    match seen.answers[asked]:
        case Bad("expired", cursor=token) if journal.token:
            # Without a token from the start: what is not behind the cursor is left out.
            return moving(structs.replace(journal, token=token), "go_on_elsewhere", now)
        case Bad() as bad:
            # A token may be what is wrong, such as one from before the cluster was restored: the next run has none.
            begun = structs.replace(journal, token="")
            return stopped_or_lost(begun, plan, seen, now, f"the objects cannot be listed: {bad.text or bad.kind}")
        case Good(body):
            try:
                objects, token, remaining, _ = page_of(plan.resource, body)
            except UNREADABLE:
                return stopped(journal, f"a list of {plan.resource.plural} cannot be read")
    behind = tuple(each for each in objects if not journal.cursor or each.key > journal.cursor)
    total = None if remaining is None and token else len(objects) + (remaining or 0)
    cursor = objects[-1].key if objects else journal.cursor
    return StoredPage(behind, token, max(cursor, journal.cursor), total if not journal.token else None)


def page_done(
    journal: StorageJournal, page: StoredPage, result: PageResult, seen: MigrationSnapshot
) -> tuple[StorageJournal, bool]:
    """The journal behind the page, and whether it was the last of the walk."""
    counted = structs.replace(result.counts, total=page.total)
    after = structs.replace(
        with_failures(journal, list(result.failures)),
        counts=journal.counts.plus(counted),
        contested=(*journal.contested, *result.contested)[: MOST_CONTESTED + 1],
        untracked=journal.untracked + result.untracked,
        repaired=journal.repaired + result.repaired,
        cursor=page.cursor,
        token=page.token,
    )
    if page.token:
        return after, False
    is_last = journal.place + 1 >= len(seen.world.namespaces or ("",))
    return (after, True) if is_last else (structs.replace(after, place=journal.place + 1, cursor="", token=""), False)
