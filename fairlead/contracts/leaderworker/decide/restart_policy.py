"""When a group is recreated as a whole, because one of its pods failed or went (section 3.9).

The group's leader is deleted in the foreground, so that the whole old group is gone before another leader is made.
Each leader is deleted at most once, and only for pods of its own group: whatever dies of the group before it is none.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.groups import is_ready, key_on
from fairlead.contracts.leaderworker.decide.identity import parent_and_ordinal
from fairlead.contracts.leaderworker.decide.recreations import (
    Counters,
    RecreationLimits,
    Recreations,
    entry_name,
    written,
)
from fairlead.contracts.leaderworker.kinds import (
    RECREATE_AFTER_START_POLICY,
    RECREATE_ON_RESTART,
    WORKER_INDEX,
    Pod,
    StatefulSet,
)

_RECREATING = (RECREATE_ON_RESTART, RECREATE_AFTER_START_POLICY)


class RestartSeen(Struct, frozen=True, kw_only=True):
    """What decides about one group."""

    index: int
    leader: Pod | None
    pods: tuple[Pod, ...]
    """All of the group's name and index, the leader among them."""
    gone: tuple[Pod, ...] = ()
    """Those that were deleted and not yet handled."""
    workers: StatefulSet | None = None
    """The StatefulSet of the leader's name."""
    policy: str
    """Of the group's own revision (section 3.9 point 1)."""
    size: int
    """Of the group's own revision."""
    waits_for_start: bool = False
    """Whether the set asks with its annotation that groups which have not started be left alone."""
    limits: RecreationLimits = RecreationLimits()
    counters: Counters = {}
    living: frozenset[str] = frozenset()
    """Names of the entries of all keys and indexes that are there."""


class Leave(Struct, frozen=True, tag=True):
    """Nothing is to be done."""


class Leaving(Struct, frozen=True, tag=True):
    """The leader is going already: nothing more is made for it."""


class Recreate(Struct, frozen=True, tag=True):
    """The leader is to be deleted, on account of a pod (section 3.9 point 5)."""

    leader: Pod
    failed: str
    counters: str | None = None
    """What is recorded before; None where nothing is."""


class Postponed(Struct, frozen=True, tag=True):
    """The group is recreated at a later time, also by another process."""

    until: datetime
    failed: str
    counters: str | None = None


class Exhausted(Struct, frozen=True, tag=True):
    """The group was recreated as often as it may be, and is left as it is."""

    failed: str
    counters: str | None = None


class Recovered(Struct, frozen=True, tag=True):
    """The group was ready for so long that its recreations are forgotten, or will be then."""

    at: datetime
    counters: str | None = None
    """What is recorded; None until then."""


Verdict: TypeAlias = Leave | Leaving | Recreate | Postponed | Exhausted | Recovered


def judge(seen: RestartSeen, now: datetime) -> Verdict:
    """What becomes of the group."""
    leader = seen.leader
    if leader is None or seen.policy not in _RECREATING:
        return Leave()
    failed = next((each for each in _triggers(seen) if _concerns(seen, leader, each)), None)
    if failed is None and not _is_kept(seen, leader):
        return _rested(seen, leader, now)
    if leader.metadata.deletion_timestamp is not None:
        return Leaving()
    name = leader.metadata.name if failed is None else failed.metadata.name
    return _bounded(seen, leader, name, now) if seen.limits.counts else Recreate(leader, name)


def _triggers(seen: RestartSeen) -> Iterable[Pod]:
    """Pods that failed or went, in the order of their names (section 3.9 points 2 and 6)."""
    found = [each for each in seen.pods if is_restarted(each) or each.metadata.deletion_timestamp is not None]
    return sorted((*found, *seen.gone), key=lambda each: (each.metadata.name, each.metadata.uid))


def is_restarted(pod: Pod) -> bool:
    """Whether a container of a pod that is not over has been started again."""
    statuses = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return pod.status.phase in ("Running", "Pending") and any(each.restart_count > 0 for each in statuses)


def _concerns(seen: RestartSeen, leader: Pod, pod: Pod) -> bool:
    """Whether the group of this leader is recreated for it (section 3.9 points 3 and 4)."""
    if pod.metadata.labels.get(WORKER_INDEX) == "0":
        if pod.metadata.uid != leader.metadata.uid:
            return False
    elif not _is_worker_of(seen, leader, pod):
        return False
    return not _awaits_start(seen, leader, pod)


def _is_worker_of(seen: RestartSeen, leader: Pod, pod: Pod) -> bool:
    """By name, key and the UIDs of its owners: workers of an earlier leader die after it, and mean nothing."""
    parent, _ = parent_and_ordinal(pod.metadata.name)
    if parent != leader.metadata.name or key_on(pod.metadata) != key_on(leader.metadata):
        return False
    owner = pod.metadata.controller_uid
    if owner == leader.metadata.uid:
        return True
    workers = seen.workers
    return (
        workers is not None
        and owner == workers.metadata.uid != ""
        and workers.metadata.controller_uid == leader.metadata.uid
    )


def _awaits_start(seen: RestartSeen, leader: Pod, handled: Pod) -> bool:
    """Whether the group has not started yet and is left alone until it has (section 3.9 point 3).

    Pods whose deletion is handled are members as they last were, also where others have their names already: with a
    node go all that ran there, and the StatefulSet controller replaces them before anybody looks.
    """
    if seen.policy != RECREATE_AFTER_START_POLICY and not seen.waits_for_start:
        return False
    went = (each for each in seen.gone if _is_worker_of(seen, leader, each))
    members = {each.metadata.name: each for each in (*seen.pods, *went, handled)}
    return len(members) != seen.size or any(each.status.phase == "Pending" for each in members.values())


def _name(seen: RestartSeen, leader: Pod) -> str:
    return entry_name(key_on(leader.metadata), seen.index)


def _entry(seen: RestartSeen, leader: Pod) -> Recreations:
    """What is recorded of the group; anew where somebody else deleted the leader that a trigger was kept for."""
    found = seen.counters.get(_name(seen, leader), Recreations())
    return Recreations() if found.due not in ("", leader.metadata.uid) else found


def _is_kept(seen: RestartSeen, leader: Pod) -> bool:
    return seen.limits.counts and _entry(seen, leader).due == leader.metadata.uid


def _bounded(seen: RestartSeen, leader: Pod, failed: str, now: datetime) -> Verdict:
    """Counted, not too soon, and not too often (section 6.8)."""
    entry, uid = _entry(seen, leader), leader.metadata.uid
    if entry.of == uid:
        return Recreate(leader, failed)  # counted, and not carried out
    kept = replace(entry, at=_not_after(entry.at, now), due=uid)
    note = None if kept == entry else _recorded(seen, leader, kept)
    if seen.limits.most is not None and entry.n >= seen.limits.most:
        return Exhausted(failed, note)
    back_off = seen.limits.back_off
    if back_off is not None and entry.n > 0 and kept.at is not None:
        until = kept.at + back_off.after(entry.n)
        if now < until:
            return Postponed(until, failed, note)
    counted = Recreations(entry.n + 1, now.replace(microsecond=0), of=uid)
    return Recreate(leader, failed, _recorded(seen, leader, counted))


def _not_after(at: datetime | None, now: datetime) -> datetime | None:
    """The time of the last recreation; now, where the clock was set back since and it lies ahead."""
    return at if at is None or at <= now else now.replace(microsecond=0)


def _recorded(seen: RestartSeen, leader: Pod, entry: Recreations) -> str:
    name = _name(seen, leader)
    return written({**seen.counters, name: entry}, seen.living | {name})


def _rested(seen: RestartSeen, leader: Pod, now: datetime) -> Verdict:
    """With a back-off, a group that was ready for its longest time starts anew."""
    back_off = seen.limits.back_off
    if back_off is None or not _entry(seen, leader).n or leader.metadata.deletion_timestamp is not None:
        return Leave()
    since = ready_since(seen)
    if since is None:
        return Leave()
    at = since + back_off.longest
    if now < at:
        return Recovered(at)
    others = {name: each for name, each in seen.counters.items() if name != _name(seen, leader)}
    return Recovered(at, written(others, seen.living))


def ready_since(seen: RestartSeen) -> datetime | None:
    """Since when all pods of the group are ready; None while one is not, or is not there."""
    if len(seen.pods) != seen.size or not all(map(is_ready, seen.pods)):
        return None
    turns = [each.last_transition_time for pod in seen.pods for each in pod.status.conditions if each.type == "Ready"]
    known = [each for each in turns if each is not None]
    return max(known) if len(known) == len(turns) else None
