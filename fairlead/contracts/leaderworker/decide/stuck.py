"""A set that waits for groups whose pods do not become ready by waiting is blocked; which pods keep it.

It is about words only: what is written, and when, does not depend on it. A set goes on as soon as the pod recovers, the
template changes, or somebody deletes the pod.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.groups import GroupState, is_running_and_ready
from fairlead.contracts.leaderworker.decide.members import members_of
from fairlead.contracts.leaderworker.decide.seen import SetSeen
from fairlead.contracts.leaderworker.kinds import WORKER_INDEX, Pod
from fairlead.core.decision import Hold
from fairlead.core.ordinals import natural_key
from fairlead.core.pod_readiness import is_terminating
from fairlead.core.pod_trouble import TERMINATING, PodTrouble, trouble_of
from fairlead.core.progress_deadline import deadline_of
from fairlead.core.reason import Reason


class StuckPod(Struct, frozen=True):
    """The first pod of a group that does not become ready, or does not go, by waiting."""

    index: int
    pod: Pod
    trouble: PodTrouble

    @property
    def about(self) -> str:
        return f"pod/{self.pod.metadata.name}"

    @property
    def cause(self) -> str:
        """In words that stay the same for as long as it is stuck for this reason."""
        node = self.pod.spec.node_name
        where = f" on node {node}" if node and self.trouble.reason == TERMINATING else ""
        return f"{self.trouble.cause}{where}"


class Waits(Struct, frozen=True):
    """What the groups that are not ready come to."""

    stuck: tuple[StuckPod, ...] = ()
    """One for each group, where all of these groups have one; else none."""
    until: datetime | None = None
    """When the next pod counts as stuck though nothing changes."""


def judged(verdict: Hold, waits: Waits) -> Hold:
    """The same wait for groups, unless nothing will end it; one that a deadline will is looked at again then."""
    again = min(filter(None, (verdict.again, waits.until)), default=None)
    if not waits.stuck:
        return replace(verdict, again=again)
    return Hold(Reason.POD_STUCK, again, tuple((each.about, each.cause) for each in waits.stuck))


class PendingGroup(Struct, frozen=True):
    stuck: StuckPod | None
    until: datetime | None
    """When the next pod of it counts as stuck though nothing changes."""


def waits_of(seen: SetSeen, groups: Iterable[GroupState], replicas: int, now: datetime) -> Waits:
    pending = pending_groups(seen, groups, replicas, now).values()
    stuck = tuple(each.stuck for each in pending if each.stuck is not None)
    until = min((each.until for each in pending if each.until is not None), default=None)
    return Waits(stuck if len(stuck) == len(pending) else (), until)


def pending_groups(
    seen: SetSeen, groups: Iterable[GroupState], replicas: int, now: datetime
) -> dict[int, PendingGroup]:
    """The groups below `replicas` that are not ready, or whose leader goes, by index."""
    there = {each.index: each for each in groups}
    pending = [index for index in range(replicas) if (each := there.get(index)) is None or _is_pending(each)]
    if not pending:
        return {}
    deadline, _ = deadline_of(seen.set.metadata.annotations)
    members = members_of(seen.set.metadata.name, seen.members)
    found: dict[int, PendingGroup] = {}
    for index in pending:
        troubles = list(_troubles(members.get(index, ()), now, deadline))
        until = min((trouble.until for _, trouble in troubles if trouble.until is not None), default=None)
        group, going = there.get(index), sum(map(is_terminating, members.get(index, ())))
        is_leaving = group is not None and group.is_leaving
        first = next((each for each in troubles if keeps_group(*each, is_leaving=is_leaving, going=going)), None)
        found[index] = PendingGroup(None if first is None else StuckPod(index, *first), until)
    return found


def keeps_group(pod: Pod, trouble: PodTrouble, *, is_leaving: bool, going: int) -> bool:
    """Whether the pod is stuck and keeps its group, of which so many pods are `going`.

    Of a group that goes only a pod that does not go is in the way. Its leader waits for the others that go; those that
    stay, as on a rolling update or when the leader's node is lost, wait for the leader.
    """
    if not trouble.is_past:
        return False
    if trouble.reason == TERMINATING:
        return pod.metadata.labels.get(WORKER_INDEX) != "0" or going == 1
    return not is_leaving


def _is_pending(group: GroupState) -> bool:
    return not group.is_ready or group.is_leaving


def _troubles(pods: Iterable[Pod], now: datetime, deadline: timedelta) -> Iterator[tuple[Pod, PodTrouble]]:
    for pod in sorted(pods, key=lambda each: natural_key(each.metadata.name)):
        if is_running_and_ready(pod) and not is_terminating(pod):
            continue
        if (trouble := trouble_of(pod, now, deadline)) is not None:
            yield pod, trouble
