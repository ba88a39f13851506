"""The pod-eviction webhook: tests Z1 to Z12 in order, answered in the contract's words.

An eviction of a pod that no budget is for costs no call: the cached pod's labels tell (U-4). For others the cache tells
what to ask, all at once. Instead of a lock (Z7) the record of evictions is swapped before the answer; whoever comes
second begins anew.
Within a process evictions under one budget take turns, so that none of them is left behind by faster ones.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairlead.contracts.zones.decide.admission.live_lists import pods_questions, zones_in
from fairlead.contracts.zones.decide.admission.review_reading import decoded
from fairlead.contracts.zones.decide.budgets.disruption import (
    LEAST_ZONES,
    BudgetedZone,
    BudgetView,
    Count,
    denial,
    lane_of,
    record_question,
    swap_question,
    zones_question,
)
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.settings import Settings
from fairlead.core import eviction_record
from fairlead.core.ask import Answers, Ask, Bad, Good, Need, Read, StartOver
from fairlead.core.decision import Admit
from fairlead.core.eviction_request import is_dry_run, is_eviction, takes_nothing
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import OwnerReference, Ref
from kubeloop.objects.review import Review


class EvictionSnapshot(Struct, frozen=True):
    """All that the answer to an eviction is made of."""

    review: Review
    guards: tuple[DisruptionBudget, ...] | None = ()
    """The budgets of the pod's namespace; None while it is not known which there are."""
    pod: Pod | None = None
    """As the cache shows it."""
    zones: tuple[StatefulSet, ...] = ()
    """The StatefulSets of the namespace, as far as the cache shows them."""
    answers: Answers = Answers()
    settings: Settings = Settings()


def judge(seen: EvictionSnapshot, now: datetime) -> Admit | Need | StartOver:
    """Whether the pod may be evicted; a pod that may is in the record when the answer is given."""
    review = seen.review
    if not is_eviction(review):
        return _deny("invalid-request", 400, "only the creation of an eviction of a named pod can be judged")
    if seen.guards is None:
        return _deny("cfg-not-found", 429, "the disruption budgets have not been read yet, try again in a few seconds")
    if seen.pod is not None and not _guards_of(seen.pod, seen.guards):
        return _out_of_scope()
    asked = Ask(Read(Ref(PODS, review.namespace, review.name)))
    if asked not in seen.answers.known:
        return Need(((asked, *_likely(seen)),))
    answer = seen.answers[asked]
    pod = decoded(answer.value, Pod) if isinstance(answer, Good) else None
    if pod is None:
        return _deny("pod-not-found", 400, f"pod {review.name} could not be read: {_why(answer)}")
    if takes_nothing(pod):
        state = "is being deleted" if pod.metadata.deletion_timestamp else f"is {pod.status.phase}"
        warning = f"pod {review.name} {state}, so no disruption budget was consulted"
        return Admit(allowed=True, word="pod-not-ready", warnings=(warning,))
    match _guards_of(pod, seen.guards):
        case []:
            return _out_of_scope()
        case [guard]:
            return _in_scope(seen, pod, guard, now)
        case several:
            names = ", ".join(each.name for each in several)
            return _deny("cfg-not-found", 400, f"more than one disruption budget selects pod {review.name}: {names}")


def contested(seen: EvictionSnapshot) -> str:
    """The record that this eviction is going to be written into, as the cache tells; empty where none would be."""
    if seen.pod is None or not seen.guards or takes_nothing(seen.pod) or is_dry_run(seen.review):
        return ""
    guards = _guards_of(seen.pod, seen.guards)
    return guards[0].record if len(guards) == 1 else ""


def outpaced(seen: EvictionSnapshot) -> Admit:
    """What other evictions under the budget left of it was not counted in time, so one of them counts against it."""
    references = () if seen.pod is None else seen.pod.metadata.owner_references
    zone = next((each.name for each in references if each.controller), seen.review.name)
    text = f"{Count(unknown=1).told(zone)}: other evictions under its disruption budget were faster; try again"
    return _deny("denied", 429, text)


def _guards_of(pod: Pod, guards: tuple[DisruptionBudget, ...]) -> list[DisruptionBudget]:
    return [guard for guard in guards if guard.selects(pod.metadata.labels)]


def _likely(seen: EvictionSnapshot) -> tuple[Ask, ...]:
    """What the judgement will ask for if the cache shows pod and zones as they are: all of it at once.

    The record may be read later than the lists, since its marks outlast every review that has not seen them: whoever
    was let go before that is in it, and who is let go after that makes the swap fail.
    """
    pod, guards = seen.pod, seen.guards or ()
    scope = _guards_of(pod, guards) if pod is not None and not takes_nothing(pod) else []
    owner = _owner(pod) if pod is not None else None
    if pod is None or owner is None or len(scope) != 1:
        return ()
    zones = [zone for zone in seen.zones if scope[0].selects(zone.metadata.labels) or zone.metadata.name == owner.name]
    lists = pods_questions(zones).values()
    listed = any(zone.metadata.uid == owner.uid and scope[0].selects(zone.metadata.labels) for zone in zones)
    read = () if listed else (_own_zone(pod, owner),)
    return tuple(dict.fromkeys((*read, zones_question(scope[0]), *lists, record_question(scope[0]))))


def _own_zone(pod: Pod, owner: OwnerReference) -> Ask:
    return Ask(Read(Ref(STATEFULSETS, pod.metadata.namespace, owner.name)))


def _owner(pod: Pod) -> OwnerReference | None:
    """The StatefulSet that controls it."""
    owner = next((each for each in pod.metadata.owner_references if each.controller), None)
    if owner is None or owner.kind != STATEFULSETS.kind or owner.api_version != STATEFULSETS.api_version:
        return None
    return owner


def _in_scope(seen: EvictionSnapshot, pod: Pod, guard: DisruptionBudget, now: datetime) -> Admit | Need | StartOver:
    """Z6 to Z11."""
    owner = _owner(pod)
    if owner is None:
        return _deny("sts-no-found", 500, f"pod {pod.metadata.name} is not controlled by a StatefulSet")
    asked, record = _own_zone(pod, owner), record_question(guard)
    zone = _listed_zone(seen, owner, guard)
    if unread := seen.answers.lacking((record,) if zone is not None else (asked, record)):
        return Need(unread)
    if zone is None:
        answer = seen.answers[asked]
        zone = decoded(answer.value, StatefulSet) if isinstance(answer, Good) else None
        if zone is None or zone.metadata.uid != owner.uid:
            return _deny("sts-no-found", 500, f"StatefulSet {owner.name} could not be read: {_why(answer)}")
    recalled = seen.answers[record]
    if isinstance(recalled, Bad):
        return _unrecorded(recalled)
    if (limit := guard.limit(zone)) == 0:
        return _deny("max-unavailable-0", 403, "max unavailable = 0")
    lanes = _lanes(seen, zone, pod, guard)
    if not isinstance(lanes, tuple):
        return lanes
    scene = BudgetView(guard, lanes, eviction_record.recalled(recalled, now), now)
    if why := denial(pod, zone, limit, scene):
        return _deny("denied", 429, why)
    return _recorded(seen, pod, scene, recalled.version)


def _listed_zone(seen: EvictionSnapshot, owner: OwnerReference, guard: DisruptionBudget) -> StatefulSet | None:
    """The pod's zone where the live list of zones has it: reading it alone as well would tell nothing new."""
    answer = seen.answers.known.get(zones_question(guard))
    zones = None if answer is None else zones_in(answer)
    return next((zone for zone in zones or () if zone.metadata.uid == owner.uid), None)


def _lanes(
    seen: EvictionSnapshot, zone: StatefulSet, pod: Pod, guard: DisruptionBudget
) -> tuple[BudgetedZone, ...] | Admit | Need:
    asked = zones_question(guard)
    if unread := seen.answers.lacking((asked,)):
        return Need(unread)
    zones = zones_in(seen.answers[asked])
    if zones is None or len(zones) < LEAST_ZONES:
        found = f"their list failed: {_why(seen.answers[asked])}" if zones is None else f"there is {len(zones)}"
        text = f"{LEAST_ZONES} StatefulSets or more must have the labels of disruption budget {guard.name}, but {found}"
        return _deny("min-sts-not-found", 400, text)
    if guard.is_partitioned and not guard.partition_of(pod.metadata.name):
        text = f"the name of pod {pod.metadata.name} has no partition by {guard.regex}"
        return _deny("partition-not-identified", 400, text)
    zones = with_own(zones, zone)
    lists = pods_questions(zones)
    if unread := seen.answers.lacking(tuple(dict.fromkeys(lists.values()))):
        return Need(unread)
    lanes = []
    for each in zones:
        lane = lane_of(each, seen.answers[lists[each.metadata.uid]])
        if lane is None:
            text = f"the pods of {each.metadata.name} could not be listed"
            return _deny("err: sts-pod-status-not-determined", 500, text)
        lanes.append(lane)
    return tuple(lanes)


def with_own(zones: tuple[StatefulSet, ...], own: StatefulSet) -> tuple[StatefulSet, ...]:
    """All zones that are counted: the pod's own is, also when it lacks the labels that the budget asks for."""
    known = any(zone.metadata.uid == own.metadata.uid for zone in zones)
    return zones if known else tuple(sorted((*zones, own), key=lambda zone: zone.metadata.name))


def _recorded(seen: EvictionSnapshot, pod: Pod, scene: BudgetView, version: str) -> Admit | Need | StartOver:
    allowed = Admit(allowed=True, word="allowed", level="info")
    if is_dry_run(seen.review):
        return allowed
    listed = (each for lane in scene.lanes for each in lane.pods)
    value = eviction_record.written(eviction_record.mark((pod,), scene.marks, scene.now), listed, scene.now)
    swap = swap_question(scene.guard, version, value)
    if unsaid := seen.answers.lacking((swap,)):
        return Need(unsaid)
    match seen.answers[swap]:
        case Bad(kind="conflict"):
            return StartOver()
        case Bad() as failed:
            return _unrecorded(failed)
    return allowed


def _unrecorded(failed: Bad) -> Admit:
    text = f"the record of evictions could not be read or written: {failed.text or failed.kind}"
    return _deny("err: eviction-not-recorded", 500, text)


def _out_of_scope() -> Admit:
    return Admit(allowed=True, word="pod-not-in-scope")


def _deny(word: str, code: int, message: str) -> Admit:
    return Admit(allowed=False, word=word, code=code, message=message, level="warn" if code == 500 else "info")


def _why(answer: Good | Bad) -> str:
    return "it is not what was expected" if isinstance(answer, Good) else answer.text or answer.kind
