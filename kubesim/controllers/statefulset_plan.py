"""What the StatefulSet controller does next: a pure function of the set, its pods, its revisions and the time.

The order of the steps, and which of them end a round, are those of kube-controller-manager 1.36: replicas first, then
condemned pods, then the update. It takes one pod at a time; with the gate of `maxUnavailable` as many as may be out.

In burst mode (`Parallel`) nothing blocks anything else, and places are seen to in batches of 1, 2, 4 and so on, the
last of which is the one in which something fails; in ordered mode a round ends at the first pod that must be waited
for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from kubeloop.objects.apps import REVISION_LABEL
from kubeloop.objects.core import Pod
from kubesim.controllers.statefulset_pods import (
    Set,
    Status,
    available_at,
    has_identity,
    is_available,
    is_ready,
    is_running_and_ready,
    is_terminating,
    ordinal_of,
    parent_and_ordinal,
)

ENDED = ("Failed", "Succeeded")
"""Phases of pods that will not run again."""


class Revisions(Struct, frozen=True):
    """Names of the revision that the set is at, of the one it goes to, and the collisions met when naming them."""

    current: str
    update: str
    collisions: int = 0


class Create(Struct, frozen=True):
    ordinal: int
    revision: str


class Delete(Struct, frozen=True):
    pod: Pod


class Identify(Struct, frozen=True):
    """Give an adopted pod the labels of a member and, in a set with claims, see to its volumes and their owners."""

    pod: Pod


class FillClaims(Struct, frozen=True):
    """Make the claims that a pending pod lacks."""

    pod: Pod


class SettleClaims(Struct, frozen=True):
    """Have the claims of a pod without a place owned as the retention policy says."""

    pod: Pod


Action = Create | Delete | Identify | FillClaims | SettleClaims


Place = tuple[Action, ...]
"""What is to be done about one place, one after the other."""

Batch = tuple[Place, ...]
"""Places that are seen to at the same time."""

LARGEST_BATCH = 500


class Plan(Struct, frozen=True):
    """The batches in order, the status once all are done, and the status should something fail."""

    batches: tuple[Batch, ...]
    status: Status
    failed: Status

    @property
    def actions(self) -> tuple[Action, ...]:
        return tuple(action for batch in self.batches for place in batch for action in place)


class Slot(Struct, frozen=True, gc=False):
    """A place of the set: the pod in it, or the revision of the pod to be made."""

    ordinal: int
    pod: Pod | None
    revision: str


def plan(set_: Set, pods: Sequence[Pod], revisions: Revisions, now: datetime, *, several_at_once: bool = False) -> Plan:
    """What to do about a set that owns exactly `pods`; an update takes several at once where that gate is on."""
    placed_at = [(parent_and_ordinal(pod.metadata.name)[1], pod) for pod in pods]
    slots = _slots(set_, dict(placed_at), revisions)
    condemned = _condemned(set_, placed_at)
    placed = [slot.pod for slot in slots if slot.pod is not None] + condemned
    if set_.metadata.deletion_timestamp is not None:
        return _planned((), _status(set_, pods, revisions, now), set_)
    status = _status(set_, placed, revisions, now)
    replicas, blocked = _replicas(set_, slots, now)
    batches = _batched(set_, replicas)
    if not blocked:
        if set_.spec.volume_claim_templates:
            batches += _batched(set_, {index: (SettleClaims(pod),) for index, pod in enumerate(condemned)})
        scaled, blocked = _scale_down(set_, slots, condemned, now)
        batches += _batched(set_, scaled)
    if blocked or set_.spec.update_strategy.type == "OnDelete":
        return _planned(batches, status, set_)
    choose = _outdated_within_budget if several_at_once else _outdated
    outdated = choose(set_, slots, revisions, now)
    # A pod about to be deleted no longer counts as current, whatever its revision was: this may go below zero.
    lowered = replace(status, current_replicas=status.current_replicas - len(outdated))
    return _planned((*batches, *(((Delete(pod),),) for pod in outdated)), lowered, set_, status)


def _batched(set_: Set, places: dict[int, Place]) -> tuple[Batch, ...]:
    """In batches by the numbers of the places: of an ordered set one by one.

    Places 0, 1 to 2, 3 to 6 and so on make batches, also where nothing is to be done about some of them.
    """
    batches: dict[int, list[Place]] = {}
    for index, place in places.items():
        batches.setdefault(index if set_.ordered else _batch_of(index), []).append(place)
    return tuple(map(tuple, batches.values()))


def _batch_of(index: int) -> int:
    doubling = LARGEST_BATCH.bit_length()
    behind = index - (2**doubling - 1)
    return (index + 1).bit_length() - 1 if behind < 0 else doubling + behind // LARGEST_BATCH


def next_look(set_: Set, pods: Iterable[Pod], status: Status, now: datetime) -> float | None:
    """Seconds until a ready pod becomes available, which no event will tell."""
    seconds = set_.spec.min_ready_seconds
    if not seconds or status.ready_replicas == (status.available_replicas or 0):
        return None
    moments = [moment for pod in pods if (moment := available_at(pod, seconds)) is not None and moment > now]
    return (min(moments) - now).total_seconds() if moments else float(seconds)


def _slots(set_: Set, by_ordinal: dict[int, Pod], revisions: Revisions) -> list[Slot]:
    slots = []
    for ordinal in range(set_.start, set_.start + set_.spec.replicas):
        pod = by_ordinal.get(ordinal)
        if pod is None:
            slots.append(Slot(ordinal, None, _revision_for(set_, ordinal, revisions)))
        else:
            slots.append(Slot(ordinal, pod, pod.metadata.labels.get(REVISION_LABEL, "")))
    return slots


def _revision_for(set_: Set, ordinal: int, revisions: Revisions) -> str:
    """Of a pod to be made: below the partition the current one, whatever type the strategy has."""
    strategy = set_.spec.update_strategy
    if strategy.rolling_update is not None:
        stays = ordinal < set_.start + strategy.rolling_update.partition
    else:
        stays = strategy.type == "RollingUpdate" and ordinal < set_.start + set_.status.current_replicas
    return revisions.current if stays else revisions.update


def _condemned(set_: Set, pods: Iterable[tuple[int, Pod]]) -> list[Pod]:
    """Pods outside of the set's ordinals, highest first; names without a usable ordinal are ignored."""
    start, last = set_.start, set_.start + set_.spec.replicas - 1
    outside = [pod for at, pod in pods if at >= 0 and not start <= at <= last]
    return sorted(outside, key=ordinal_of, reverse=True)


def _replicas(set_: Set, slots: list[Slot], now: datetime) -> tuple[dict[int, Place], bool]:
    """What to do about the set's places, by their numbers, and whether the round ends here."""
    places: dict[int, Place] = {}
    ordered, claims = set_.ordered, bool(set_.spec.volume_claim_templates)
    for index, slot in enumerate(slots):
        pod = slot.pod
        if pod is not None and not ordered and not claims and _is_settled(set_, pod, slot.ordinal):
            continue
        fills = claims and pod is not None and pod.status.phase == "Pending"
        place: Place = (FillClaims(pod),) if fills and pod is not None else ()
        action, waits = _replica(set_, slot, now, ordered=ordered)
        if action is not None:
            place = (*place, action)
        if place:
            places[index] = place
        if waits and ordered:
            return places, True
    return places, False


def _is_settled(set_: Set, pod: Pod, ordinal: int) -> bool:
    """Whether nothing is to be done about a pod that nobody waits for."""
    return pod.status.phase not in ENDED and has_identity(set_, pod, ordinal)


def _replica(set_: Set, slot: Slot, now: datetime, *, ordered: bool) -> tuple[Action | None, bool]:
    """What to do about one place, and whether an ordered set waits for it."""
    pod = slot.pod
    if pod is None:
        return Create(slot.ordinal, slot.revision), True
    if pod.status.phase in ENDED:
        return (None if is_terminating(pod) else Delete(pod)), True
    if ordered and (
        is_terminating(pod) or not is_running_and_ready(pod) or not is_available(pod, set_.spec.min_ready_seconds, now)
    ):
        return None, True
    is_done = not set_.spec.volume_claim_templates and has_identity(set_, pod, slot.ordinal)
    return (None if is_done else Identify(pod)), False


def _scale_down(set_: Set, slots: list[Slot], condemned: list[Pod], now: datetime) -> tuple[dict[int, Place], bool]:
    """Which condemned pods to delete, and whether the round ends here."""
    if not set_.ordered:
        return {index: (Delete(pod),) for index, pod in enumerate(condemned) if not is_terminating(pod)}, False
    if not condemned:
        return {}, False
    pod = condemned[0]
    if is_terminating(pod):
        return {}, True
    healthy = is_running_and_ready(pod) and is_available(pod, set_.spec.min_ready_seconds, now)
    if not healthy and not _is_first_unavailable(set_, pod, slots, condemned, now):
        return {}, True
    return {0: (Delete(pod),)}, True


def _is_first_unavailable(set_: Set, pod: Pod, slots: list[Slot], condemned: list[Pod], now: datetime) -> bool:
    if any(slot.pod is None or _is_unavailable(set_, slot.pod, now) for slot in slots):
        return False
    return next((other for other in reversed(condemned) if _is_unavailable(set_, other, now)), None) is pod


def _is_unavailable(set_: Set, pod: Pod, now: datetime) -> bool:
    return is_terminating(pod) or not is_available(pod, set_.spec.min_ready_seconds, now)


def _outdated(set_: Set, slots: list[Slot], revisions: Revisions, now: datetime) -> tuple[Pod, ...]:
    """The pod to replace next: the highest that is not at the update revision, unless one above it is unavailable."""
    for slot in _updated_slots(set_, slots):
        if slot.pod is None:
            return ()
        if slot.revision != revisions.update and not is_terminating(slot.pod):
            return (slot.pod,)
        if _is_unavailable(set_, slot.pod, now):
            return ()
    return ()


def _outdated_within_budget(set_: Set, slots: list[Slot], revisions: Revisions, now: datetime) -> tuple[Pod, ...]:
    """The pods to replace next, highest first: as many as may still be out, wherever others are unavailable."""
    out = sum(slot.pod is None or _is_unavailable(set_, slot.pod, now) for slot in slots)
    outdated = [
        slot.pod
        for slot in _updated_slots(set_, slots)
        if slot.pod is not None and slot.revision != revisions.update and not is_terminating(slot.pod)
    ]
    return tuple(outdated[: max(_max_unavailable(set_) - out, 0)])


def _updated_slots(set_: Set, slots: list[Slot]) -> Iterable[Slot]:
    """Those that an update may touch, in its order."""
    rolling = set_.spec.update_strategy.rolling_update
    return reversed(slots[rolling.partition if rolling is not None else 0 :])


def _max_unavailable(set_: Set) -> int:
    """At least one; a share is rounded down."""
    rolling = set_.spec.update_strategy.rolling_update
    found = rolling.max_unavailable if rolling is not None else None
    match found:
        case None:
            return 1
        case int():
            return max(found, 1)
        case _:
            return max(int(found.removesuffix("%")) * set_.spec.replicas // 100, 1)


def _status(set_: Set, pods: Iterable[Pod], revisions: Revisions, now: datetime) -> Status:
    """Counts of the pods that exist; a terminating pod is still a replica, and still ready."""
    seconds = set_.spec.min_ready_seconds
    replicas = ready = available = current = updated = 0
    for pod in pods:
        phase, meta = pod.status.phase, pod.metadata
        if not phase:
            continue
        replicas += 1
        if phase == "Running" and is_ready(pod):
            ready += 1
            available += is_available(pod, seconds, now) if seconds else 1
        if meta.deletion_timestamp is None:
            revision = meta.labels.get(REVISION_LABEL, "")
            current += revision == revisions.current
            updated += revision == revisions.update
    return Status(
        observed_generation=set_.metadata.generation,
        replicas=replicas,
        ready_replicas=ready,
        available_replicas=available,
        current_replicas=current,
        updated_replicas=updated,
        current_revision=revisions.current,
        update_revision=revisions.update,
        collision_count=revisions.collisions,
    )


def _planned(batches: tuple[Batch, ...], status: Status, set_: Set, failed: Status | None = None) -> Plan:
    return Plan(batches, _completed(set_, status), _completed(set_, status if failed is None else failed))


def _completed(set_: Set, status: Status) -> Status:
    """A rolling update is complete when every replica is updated and ready: then the update is the current one."""
    wanted = set_.spec.replicas
    done = status.updated_replicas == status.ready_replicas == status.replicas == wanted
    if set_.spec.update_strategy.type != "RollingUpdate" or not done:
        return status
    return replace(status, current_replicas=status.updated_replicas, current_revision=status.update_revision)
