"""Converting every object before anything is written, so that a bad upgrade is found out before it is begun.

Nothing is changed: where the new version is served already, each write is tried on the server as well.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

import msgspec
from msgspec import Struct, structs

from fairlead.contracts.apiversions.decide.broken_rules import broken
from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.offline import object_parts
from fairlead.contracts.apiversions.decide.offline.object_conversion import in_version
from fairlead.contracts.apiversions.decide.offline.object_parts import Parts
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import MANAGER, MOST_NAMED, UpgradeFailure
from fairlead.contracts.apiversions.decide.offline.walks import Interrupted, Unfit, told, walked
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.act import Does, Replace
from fairlead.core.ask import Ask, Bad, Good, Listing, Need
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import JobSnapshot, StepResult, journaled

PAGE_SECONDS = 60.0


class RehearsalWorld(Struct, frozen=True):
    kind: KindConversion
    old: Parts
    new: Parts
    tries: bool
    """Whether the new version is served already, so that writes can be tried."""
    without: str = ""
    """A version that is to be removed."""
    page: int = 500


class RehearsalJournal(Struct, frozen=True):
    cursor: str = ""
    done: int = 0
    failed: int = 0
    carrying: int = 0
    """Objects that hold something which the new version cannot."""
    failures: tuple[UpgradeFailure, ...] = ()
    problem: str = ""
    is_over: bool = False


RehearsalSnapshot: TypeAlias = JobSnapshot[RehearsalJournal, RehearsalWorld]


def step(seen: RehearsalSnapshot, now: datetime) -> StepResult[RehearsalJournal] | Need:
    journal, world = seen.journal or RehearsalJournal(), seen.world
    if journal.is_over or journal.problem:
        return StepResult(journal, Decision("finish", Hold(Reason.COMPLETE)))
    listing = Ask(Listing(world.old.resource, "", limit=world.page, cursor=journal.cursor), timeout=PAGE_SECONDS)
    try:
        match told(seen.answers, listing) if listing in seen.answers.known else None:
            case None:
                return Need(((listing,),))
            case Bad("expired"):
                return StepResult(RehearsalJournal(), Decision("begin_again", Hold(Reason.MIGRATING, now)))
            case Bad(kind, text):
                return _ended(journal, f"the objects cannot be listed: {text or kind}")
            case Good(body):
                found = msgspec.json.decode(body)
        resource = world.old.resource
        items = [{"apiVersion": resource.api_version, "kind": resource.kind, **each} for each in found["items"]]
        ends = walked([_bound(seen, each) for each in items])
    except Interrupted as error:
        return _ended(journal, str(error))
    if isinstance(ends, Need):
        return ends
    failures = tuple(
        UpgradeFailure(object_parts.name_of(item), str(end))
        for item, end in zip(items, ends, strict=True)
        if isinstance(end, Unfit)
    )
    after = structs.replace(
        journal,
        cursor=found["metadata"].get("continue") or "",
        done=journal.done + len(items) - len(failures),
        failed=journal.failed + len(failures),
        carrying=journal.carrying + sum(end is True for end in ends),
        failures=(*journal.failures, *failures)[:MOST_NAMED],
    )
    if after.cursor:
        return StepResult(after, Decision("rehearse_page", Hold(Reason.MIGRATING, now)))
    return StepResult(structs.replace(after, is_over=True), Decision("finish", Hold(Reason.COMPLETE)))


def _ended(journal: RehearsalJournal, problem: str) -> StepResult[RehearsalJournal]:
    return StepResult(structs.replace(journal, problem=problem), Decision("stop", Hold(Reason.MIGRATION_INCOMPLETE)))


def _bound(seen: RehearsalSnapshot, item: Tree) -> Callable[[], bool]:
    return lambda: _rehearsed(seen, item)


def _rehearsed(seen: RehearsalSnapshot, item: Tree) -> bool:
    """Whether it holds something that the new version cannot; raises Unfit where it cannot be converted."""
    world = seen.world
    new = world.new.resource.version
    wanted = in_version(item, new, world.kind, world.without)
    schema = world.kind.hub.schema if new == world.kind.hub.name else world.kind.spokes[new].version.schema
    if wrong := next(broken(wanted, schema), None):
        place, rule = wrong
        raise Unfit(f"{new} does not allow it: {rule} at /{'/'.join(map(str, place))}")
    if world.tries:
        write = Replace(
            ref=world.new.ref(item),
            body=object_parts.over(wanted, item),
            resource_version=item["metadata"]["resourceVersion"],
            does=Does.CONVERT_OBJECT,
            manager=MANAGER,
            dry_run=True,
        )
        match told(seen.answers, write):
            case Bad(kind, text) if kind not in ("absent", "conflict"):
                raise Unfit(text or kind)
    return object_parts.carries(wanted, world.old.resource.version)


decide = journaled(step, RehearsalJournal)
