"""Section 3.5: the next step of one zone, as if it were the only one."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from fairlead.contracts.zones.decide.groups import Zone
from fairlead.contracts.zones.decide.rollout.readiness import is_stuck
from fairlead.core.pod_readiness import is_terminating
from fairlead.core.reason import Reason
from kubeloop.objects.core import Pod


class Terminate(Struct, frozen=True):
    """Delete these pods; the zone is then ongoing."""

    pods: tuple[Pod, ...]


class Wait(Struct, frozen=True):
    """The zone is ongoing and nothing is to be done in it now."""

    reason: Reason


class Finish(Struct, frozen=True):
    """Record the update revision as the current one; the zone is then done."""


class Done(Struct, frozen=True):
    """Nothing is left to do, or nothing may be done because the zone is paused."""


Step: TypeAlias = Terminate | Wait | Finish | Done


def step_of(zone: Zone) -> Step:
    """What rules 13 to 20 ask for."""
    if zone.is_paused:
        return Done()
    if zone.is_leaving:
        return Wait(Reason.ZONE_LEAVING)
    if zone.is_stale:
        return Wait(Reason.STATUS_STALE)
    if not zone.knows_revisions:
        return Wait(Reason.REVISION_UNKNOWN if zone.was_observed else Reason.STATUS_STALE)
    if zone.outdated:
        pods = batch_of(zone)
        return Terminate(pods) if pods else Wait(spent(zone))
    if not zone.is_ready:
        return Wait(unsettled(zone))
    status = zone.statefulset.status
    return Done() if status.current_revision == status.update_revision else Finish()


def batch_of(zone: Zone) -> tuple[Pod, ...]:
    """The outdated pods to delete now, lowest ordinal first: rules 16 and 17 with H-1 and U-1.

    Terminating pods are no candidates; their slot is used because they count as not ready. Stuck pods go in any case
    and stay counted, so they neither wait for budget nor make any: of 3 outdated pods with a budget of 2, one not
    ready, batch = 2 - 1 = 1 healthy pod; if the one not ready is stuck, it goes as well and still 2 are out at most.
    """
    room = zone.budget.limit - zone.not_ready
    chosen = []
    for pod in zone.outdated:
        if is_terminating(pod):
            continue
        if zone.unready and is_stuck(pod):
            chosen.append(pod)
        elif room > 0:
            room -= 1
            chosen.append(pod)
    return tuple(chosen)


def spent(zone: Zone) -> Reason:
    """Why a zone with outdated pods deletes none of them."""
    if zone.not_ready < zone.budget.limit:  # then every outdated pod is on its way out already
        return Reason.POD_TERMINATING
    return Reason.BUDGET_USED


def unsettled(zone: Zone) -> Reason:
    """Why a zone without outdated pods is not done (rule 18)."""
    if any(map(is_terminating, zone.pods)):
        return Reason.POD_TERMINATING
    if zone.missing:
        return Reason.POD_MISSING
    return Reason.POD_UNRIPE if zone.unready and zone.unready == len(zone.not_yet_available) else Reason.PODS_NOT_READY
