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


def waits_of(seen: SetSeen, groups: Iterable[GroupState], replicas: int, now: datetime) -> Waits:
    """Of the groups below `replicas` that are not ready, or whose leader goes."""
    there = {each.index: each for each in groups}
    pending = [index for index in range(replicas) if (each := there.get(index)) is None or _is_pending(each)]
    if not pending:
        return Waits()
    deadline, _ = deadline_of(seen.set.metadata.annotations)
    members = members_of(seen.set.metadata.name, seen.members)
    stuck: list[StuckPod] = []
    untils: list[datetime] = []
    for index in pending:
        found = list(_troubles(members.get(index, ()), now, deadline))
        untils += [trouble.until for _, trouble in found if trouble.until is not None]
        group, others = there.get(index), len(members.get(index, ())) - 1
        is_leaving = group is not None and group.is_leaving
        first = next((each for each in found if keeps_group(*each, is_leaving=is_leaving, others=others)), None)
        if first is not None:
            stuck.append(StuckPod(index, *first))
    return Waits(tuple(stuck) if len(stuck) == len(pending) else (), min(untils, default=None))


def keeps_group(pod: Pod, trouble: PodTrouble, *, is_leaving: bool, others: int) -> bool:
    """Whether the pod is stuck and keeps its group; `others` are the other pods of it.

    Of a group that goes only a pod that does not go is in the way, and its leader goes last.
    """
    if not trouble.is_past:
        return False
    if trouble.reason == TERMINATING:
        return pod.metadata.labels.get(WORKER_INDEX) != "0" or not others
    return not is_leaving


def _is_pending(group: GroupState) -> bool:
    return not group.is_ready or group.is_leaving


def _troubles(pods: Iterable[Pod], now: datetime, deadline: timedelta) -> Iterator[tuple[Pod, PodTrouble]]:
    for pod in sorted(pods, key=lambda each: natural_key(each.metadata.name)):
        if is_running_and_ready(pod) and not is_terminating(pod):
            continue
        if (trouble := trouble_of(pod, now, deadline)) is not None:
            yield pod, trouble
