"""What a round reports about its set: the status, and once an update is done, which revisions nobody needs any more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide import notes
from fairlead.contracts.leaderworker.decide.groups import GroupState, carried_keys, have_moved
from fairlead.contracts.leaderworker.decide.recreations import counters_on, entry_name, failed_groups, limits_of
from fairlead.contracts.leaderworker.decide.revision_writes import forgotten
from fairlead.contracts.leaderworker.decide.revisions import history_limit, surplus
from fairlead.contracts.leaderworker.decide.seen import SetSeen
from fairlead.contracts.leaderworker.decide.status import StatusReport, report
from fairlead.core.act import AnyWrite, Does, Patch, PatchKind

COUNTS_SPACING = timedelta(seconds=1)
"""Between two statuses that tell nothing but other counts."""


class SetReport(Struct, frozen=True):
    writes: tuple[AnyWrite, ...] = ()
    is_done: bool = False
    """Whether the update is done (section 3.11 point 5)."""
    again: datetime | None = None
    """When a status is due that only counts anew; None where none is postponed."""


def reported(seen: SetSeen, groups: Sequence[GroupState], key: str, now: datetime) -> SetReport:
    """Nothing before there are leaders: what is observed is what was recorded and applied."""
    if seen.leaders is None:
        return SetReport()
    uids = {entry_name(each.key, each.index): each.leader.metadata.uid for each in groups}
    failed = failed_groups(limits_of(seen.set), counters_on(seen.leaders), uids)
    told = report(seen.set, seen.leaders, groups, now, failed)
    again = _postponed(seen, told, now)
    writes = () if again is not None else (*_status(seen, told), *_forgotten(seen, told, key))
    return SetReport(writes, told.is_done, again)


def _postponed(seen: SetSeen, told: StatusReport, now: datetime) -> datetime | None:
    """When a status is due that only counts anew, soon after another was written; None: at once (section 3.2 step 7).

    A group that is replaced changes the counts five times within a second or so. Whatever turns is reported at once.
    """
    before, last = seen.set.status, seen.reported
    if last is None or not told.is_changed or not timedelta(0) <= now - last.at < COUNTS_SPACING:
        return None
    counted = replace(
        told.status,
        replicas=before.replicas,
        ready_replicas=before.ready_replicas,
        updated_replicas=before.updated_replicas,
    )
    return last.at + COUNTS_SPACING if counted == before else None


def _status(seen: SetSeen, told: StatusReport) -> tuple[AnyWrite, ...]:
    body = msgspec.json.encode({"status": told.status}, order="sorted")
    if not told.is_changed or _is_dropped(seen, told, body):
        return ()
    metadata = seen.set.metadata
    written = Patch(
        ref=notes.set_ref(seen.set),
        kind=PatchKind.MERGE,
        body=body,
        subresource="status",
        resource_version=metadata.resource_version,
        does=Does.REPORT_STATUS,
        scope=metadata.uid,
        contested=True,
        tell=None if told.turn is None else notes.turned(seen.set, told.turn),
    )
    return (written,)


def _is_dropped(seen: SetSeen, told: StatusReport, body: bytes) -> bool:
    """Whether only the generation differs, and this very status was written: the definition has no place for it."""
    if seen.reported is None or seen.reported.body != body:
        return False
    before = seen.set.status
    return replace(told.status, observed_generation=before.observed_generation) == before


def _forgotten(seen: SetSeen, told: StatusReport, key: str) -> list[AnyWrite]:
    """After the status, in the round that found the update done (section 3.12 point 9).

    A view of pods may be older than a revision that came and went: groups have moved when the controller counts them.
    """
    if not told.is_done or seen.leaders is None or not have_moved(seen.leaders, seen.set.spec.replicas):
        return []
    limit = history_limit(seen.set, seen.settings.history_limit).limit
    carried = carried_keys(seen.pods, seen.workers)
    return forgotten(seen.set, surplus(seen.set, seen.revisions, key, carried, limit), seen.revisions, key)
