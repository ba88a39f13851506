"""A group that waits for pods which do not become ready by waiting is blocked; which pods, and what helps.

It is about words only: what is deleted, and when, does not depend on it. A group goes on as soon as the pod recovers,
the template changes, or somebody deletes the pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import structs

from fairlead.contracts.zones.decide.groups import Group, Zone
from fairlead.contracts.zones.verb_options import TO_REVISION
from fairlead.core.decision import Hold, Verdict
from fairlead.core.pod_readiness import is_terminating
from fairlead.core.pod_trouble import TERMINATING, UNSCHEDULABLE, PodTrouble, trouble_of
from fairlead.core.progress_deadline import deadline_of
from fairlead.core.reason import Reason
from kubeloop.objects.core import Pod

PARALLEL = "Parallel"
MOST_NAMED = 10
"""How many pods one command names."""

FOR_PODS = (
    Reason.BUDGET_USED,
    Reason.DISRUPTION_BUDGET,
    Reason.PAUSED_ZONE_NOT_READY,
    Reason.PODS_NOT_READY,
    Reason.POD_MISSING,
    Reason.POD_TERMINATING,
    Reason.POD_UNRIPE,
    Reason.ZONES_NOT_READY,
)
"""Waits that end when pods become ready."""


def troubles_of(zone: Zone, now: datetime) -> Iterator[tuple[Pod, PodTrouble]]:
    """The pods of the zone that are not ready, in natural order, and why."""
    if not zone.not_ready_pods:
        return
    deadline = deadline_in(zone)
    for pod in zone.not_ready_pods:
        if (trouble := trouble_of(pod, now, deadline)) is not None:
            yield pod, trouble


def deadline_in(zone: Zone) -> timedelta:
    return deadline_of(zone.statefulset.metadata.annotations)[0]


def judged(verdict: Verdict, group: Group) -> Verdict:
    """The same verdict, but for a wait that nothing will end; one that a deadline will is looked at again then."""
    if not isinstance(verdict, Hold) or verdict.reason not in FOR_PODS:
        return verdict
    zones = group.not_ready
    troubles = [trouble for zone in zones for _, trouble in troubles_of(zone, group.at)]
    if troubles and all(trouble.is_past for trouble in troubles) and not any(map(is_coming, zones)):
        return structs.replace(verdict, reason=blocking(verdict.reason, group))
    looks = [moment for moment in (verdict.again, *(trouble.until for trouble in troubles)) if moment is not None]
    return structs.replace(verdict, again=min(looks, default=None))


def blocking(wait: Reason, group: Group) -> Reason:
    """What blocks a group that waited for this, when the pods that it waited for are all stuck.

    Where nothing is to be rolled, as in a group that was just created, zones do not block one another.
    """
    if wait is Reason.PAUSED_ZONE_NOT_READY:
        return Reason.OTHER_ZONE_NOT_READY
    if wait is Reason.ZONES_NOT_READY and any(map(is_on_its_way, group.zones)):
        return Reason.TWO_ZONES_NOT_READY
    return Reason.POD_STUCK


def is_coming(zone: Zone) -> bool:
    """Whether a pod of the zone is about to be made, or to have been ready for long enough.

    A pod that waits for the one before it to become ready is not about to be made.
    """
    return bool(zone.not_yet_available) or (
        zone.missing > 0 and zone.statefulset.spec.pod_management_policy == PARALLEL
    )


def advice_for(pod: Pod, trouble: PodTrouble, zone: Zone, group: Group) -> tuple[str, ...]:
    """What helps against one stuck pod."""
    if trouble.reason == TERMINATING:
        return trouble.advice
    if is_outdated(pod, zone):
        return trouble.advice if zone.is_paused else (deletion((pod,)), *trouble.advice)
    back = earlier_template(zone, group)
    return (*trouble.advice, f"go back to the earlier template: {back}" if back else "correct the pod template")


def early_advice(pod: Pod, trouble: PodTrouble, zone: Zone) -> tuple[str, ...]:
    """Against a pod that is not stuck yet: an outdated one without a node has done nothing, and uses the budget."""
    if trouble.reason != UNSCHEDULABLE or zone.is_paused or not is_outdated(pod, zone):
        return ()
    return (deletion((pod,)),)


def earlier_template(zone: Zone, group: Group) -> str:
    """The command that takes all zones back to what this one, or else another, comes from; empty when none moves.

    The revision is named: the one before in time may be an attempt that failed as well.
    """
    for each in (zone, *group.zones):
        if is_on_its_way(each):
            name = group.seen.group or '""'
            return f"fairlead undo {name} -n {group.seen.namespace} {TO_REVISION.flag} {each.revision_before}"
    return ""


def is_on_its_way(zone: Zone) -> bool:
    """Whether the zone has a template that not all its pods are known to have; not one that was just created."""
    if zone.is_stale or not zone.knows_revisions:
        return False
    return zone.revision_before != zone.statefulset.status.update_revision


def deadlock(group: Group) -> tuple[str, ...]:
    """The pods to delete by hand when zones hold each other up: of one zone, all that are out there and outdated.

    They are not ready anyway, so nothing is lost by it. Of several zones it is the one with the fewest of them; the
    rollout then replaces those of the last zone by itself.
    """
    found = []
    for zone in group.not_ready:
        out = list(troubles_of(zone, group.at))
        helps = all(trouble.is_past and is_outdated(pod, zone) and not is_terminating(pod) for pod, trouble in out)
        if out and helps and not zone.is_paused:
            found.append(tuple(pod for pod, _ in out))
    return (deletion(min(found, key=len)),) if found else ()


def deletion(pods: tuple[Pod, ...]) -> str:
    """The command; nothing is lost by it, and the pods come back with the new template."""
    names = " ".join(pod.metadata.name for pod in pods[:MOST_NAMED])
    which = "these pods, which are" if len(pods) > 1 else "this pod, which is"
    return f"delete {which} outdated and not ready: kubectl -n {pods[0].metadata.namespace} delete pod {names}"


def is_outdated(pod: Pod, zone: Zone) -> bool:
    return any(pod.metadata.uid == each.metadata.uid for each in zone.outdated)
