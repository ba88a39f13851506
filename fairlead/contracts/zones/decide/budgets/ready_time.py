"""Z12: pods in the scope of a budget carry the time since when they have been ready (B-13).

A stamp is set when a pod is seen to be ready without one, taken away when it is seen not to be ready, and otherwise
left alone, so that at rest nothing is written.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.decide.groups import pod_ref
from fairlead.contracts.zones.kinds import READY_TIME
from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.pod_readiness import is_ready
from fairlead.core.reason import Reason
from fairlead.core.times import format_rfc3339
from kubeloop.objects.core import Pod


class ReadyTimeSnapshot(Struct, frozen=True):
    """One pod, and the budgets of its namespace."""

    pod: Pod
    guards: tuple[DisruptionBudget, ...]


def is_due(pod: Pod, guards: tuple[DisruptionBudget, ...]) -> bool:
    """Whether the stamp of a pod is not as it should be."""
    if not any(guard.selects(pod.metadata.labels) for guard in guards):
        return False
    return is_ready(pod) == (READY_TIME not in pod.metadata.annotations)


def decide(seen: ReadyTimeSnapshot, now: datetime) -> Decision:
    """The stamp that is due, or nothing at all."""
    if not is_due(seen.pod, seen.guards):
        return Decision("", Hold(Reason.COMPLETE))
    return Decision("ready-time", Move(Reason.ROLLING, (stamp(seen.pod, now),)))


def stamp(pod: Pod, now: datetime) -> Patch:
    """Bound to this incarnation of the pod: its successor of the same name is not ready because this one was."""
    time = format_rfc3339(now) if is_ready(pod) else None
    body = {"metadata": {"uid": pod.metadata.uid, "annotations": {READY_TIME: time}}}
    return Patch(
        ref=pod_ref(pod),
        does=Does.STAMP_READY,
        scope=pod.metadata.uid,
        change_from=pod.metadata.annotations.get(READY_TIME, ""),
        change_to=time or "",
        kind=PatchKind.MERGE,
        body=msgspec.json.encode(body),
    )
