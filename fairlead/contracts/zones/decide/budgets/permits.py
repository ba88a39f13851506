"""Which pods of a batch the disruption budgets let go: rule 17 with section 6.2, as requests of our own.

The test is that of the eviction webhook, on the same record, so both see what the other has let go. All that pass are
recorded in one swap per budget before the first of them is deleted.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from fairlead.contracts.zones.decide.admission.live_lists import pods_questions, zones_in
from fairlead.contracts.zones.decide.budgets.disruption import (
    LEAST_ZONES,
    BudgetedZone,
    BudgetView,
    changes_at,
    denial,
    lane_of,
    record_question,
    swap_question,
    unripe_peer,
    zones_question,
)
from fairlead.contracts.zones.decide.budgets.eviction import with_own
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.decide.groups import Group, Zone
from fairlead.contracts.zones.kinds import READY_TIME
from fairlead.core import eviction_record
from fairlead.core.ask import Answers, Bad, Good, Need, Question, StartOver
from fairlead.core.eviction_request import takes_nothing
from fairlead.core.pod_readiness import is_ready, is_terminating
from fairlead.core.times import format_rfc3339
from kubeloop.durations import format_go
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod

LOOK_AGAIN = timedelta(seconds=30)
"""What keeps a budget used up may be outside of the group, whose pass then hears nothing of it."""
SKEWED = timedelta(minutes=1)
"""By which the clock that stamped a pod as ready may be ahead without anybody being told."""


class Permits(Struct, frozen=True):
    pods: tuple[Pod, ...]
    """Those that may be deleted now."""
    denials: tuple[tuple[str, str], ...] = ()
    """The others: pod, and why not."""
    again: datetime | None = None
    """When the denied may have become free without being told."""
    stuck: bool = False
    """Whether none may be deleted, for reasons that do not pass by waiting."""


class _Denial(Struct, frozen=True):
    why: str
    lasts: bool = False


class Overlap(Struct, frozen=True):
    """Several budgets select the pod that comes first."""

    pod: Pod
    guards: tuple[DisruptionBudget, ...]


def permits(pods: tuple[Pod, ...], zone: Zone, group: Group, now: datetime) -> Permits | Overlap | Need | StartOver:
    """Which of these pods of the zone may go; with none of them in the scope of a budget, all, and nothing is asked."""
    budgets = group.seen.budgets
    if not budgets:
        return Permits(pods)
    if overlap := overlap_of(zone, budgets):
        return overlap
    held = {pod.metadata.uid: _selecting(pod, budgets) for pod in pods if not takes_nothing(pod)}
    guards = {each[0].name: each[0] for each in held.values() if len(each) == 1}
    if hopeless := _denied_by_cache(pods, zone, held, group, now):
        return hopeless
    scenes: dict[str, BudgetView | str] = {}
    for name in sorted(guards):
        match scene_of(guards[name], zone.statefulset, group, now):
            case Need() as need:
                return need
            case scene:
                scenes[name] = scene
    return _judged(pods, zone, held, scenes, group.seen.answers, now)


def _denied_by_cache(
    pods: tuple[Pod, ...], zone: Zone, held: dict[str, tuple[DisruptionBudget, ...]], group: Group, now: datetime
) -> Permits | None:
    """The denials, where what the cache shows of the group alone denies every pod: then nothing need be asked.

    A pass is woken by every event of the group; without this each would list all zones while a budget is used up.
    """
    if not all(held.get(pod.metadata.uid) for pod in pods):
        return None
    concerned = {guard.name: guard for guards in held.values() for guard in guards}
    scenes: dict[str, BudgetView | str] = {name: _cached(guard, zone, group, now) for name, guard in concerned.items()}
    denials = {pod.metadata.name: _denial(pod, zone, held[pod.metadata.uid], scenes) for pod in pods}
    denied = {name: each for name, each in denials.items() if each is not None}
    return _none(denied, _again(scenes, now)) if len(denied) == len(pods) else None


def _none(denials: dict[str, _Denial], again: datetime) -> Permits:
    told = tuple((name, each.why) for name, each in denials.items())
    return Permits((), told, again, all(each.lasts for each in denials.values()))


def _cached(guard: DisruptionBudget, own: Zone, group: Group, now: datetime) -> BudgetView:
    zones = (each for each in group.zones if each is own or guard.selects(each.statefulset.metadata.labels))
    return BudgetView(guard, tuple(BudgetedZone(each.statefulset, each.pods) for each in zones), {}, now)


def overlap_of(zone: Zone, budgets: tuple[DisruptionBudget, ...]) -> Overlap | None:
    first = zone.outdated[0]
    several = _selecting(first, budgets)
    return Overlap(first, several) if len(several) > 1 else None


def _selecting(pod: Pod, budgets: tuple[DisruptionBudget, ...]) -> tuple[DisruptionBudget, ...]:
    return tuple(guard for guard in budgets if guard.selects(pod.metadata.labels))


def scene_of(guard: DisruptionBudget, own: StatefulSet, group: Group, now: datetime) -> BudgetView | Need | str:
    """What the budget is judged on, or why that cannot be known.

    The pods of the group's own zones are asked for together with the list of zones, which rarely names others.
    """
    answers = group.seen.answers
    likely = tuple(z.statefulset for z in group.zones if guard.selects(z.statefulset.metadata.labels))
    of_pods = pods_questions(with_own(likely, own)).values()
    lists: tuple[Question, ...] = tuple(dict.fromkeys((zones_question(guard), *of_pods)))
    if unread := answers.lacking((record_question(guard),), lists):
        return Need(unread)
    recalled, zones = answers[record_question(guard)], zones_in(answers[zones_question(guard)])
    if isinstance(recalled, Bad):
        return f"the record of evictions could not be read: {recalled.text or recalled.kind}"
    if zones is None or len(zones) < LEAST_ZONES:
        found = f"fewer than {LEAST_ZONES} StatefulSets with the labels of disruption budget {guard.name} were found"
        return f"{found}; give all its zones these labels, or delete it"
    zones = with_own(zones, own)
    asked = pods_questions(zones)
    if unread := answers.lacking(tuple(dict.fromkeys(asked.values()))):
        return Need(unread)
    lanes = tuple(lane for each in zones if (lane := lane_of(each, answers[asked[each.metadata.uid]])) is not None)
    if len(lanes) < len(zones):
        return f"the pods of every zone of disruption budget {guard.name} could not be listed"
    return BudgetView(guard, lanes, eviction_record.recalled(recalled, now), now)


def _judged(
    pods: tuple[Pod, ...],
    zone: Zone,
    held: dict[str, tuple[DisruptionBudget, ...]],
    scenes: dict[str, BudgetView | str],
    answers: Answers,
    now: datetime,
) -> Permits | Need | StartOver:
    """Pod after pod, each counted as gone for those after it; then the swaps."""
    chosen: list[Pod] = []
    denials: dict[str, _Denial] = {}
    added: dict[str, BudgetView] = {}
    for pod in pods:
        guards = held.get(pod.metadata.uid, ())
        denied = _denial(pod, zone, guards, scenes) if guards else None
        if denied is not None:
            denials[pod.metadata.name] = denied
            continue
        chosen.append(pod)
        if guards:
            scene = scenes[guards[0].name]
            assert isinstance(scene, BudgetView), "a pod passes only where its budget could be judged"  # noqa: S101
            marked = BudgetView(scene.guard, scene.lanes, eviction_record.mark((pod,), scene.marks, now), now)
            scenes[guards[0].name] = added[guards[0].name] = marked
    swaps = tuple(_swap(scene, answers) for scene in added.values())
    if unsaid := answers.lacking(swaps):
        return Need(unsaid)
    failed = [answer for swap in swaps if isinstance(answer := answers[swap], Bad)]
    if any(answer.kind == "conflict" for answer in failed):
        return StartOver()
    if failed:
        unrecorded = _Denial(f"the eviction could not be recorded: {failed[0].text or failed[0].kind}", lasts=True)
        return _none({pod.metadata.name: unrecorded for pod in pods}, now + LOOK_AGAIN)
    if not chosen:
        return _none(denials, _again(scenes, now))
    told = tuple((name, each.why) for name, each in denials.items())
    return Permits(tuple(chosen), told, _again(scenes, now) if denials else None)


def _denial(
    pod: Pod, zone: Zone, guards: tuple[DisruptionBudget, ...], scenes: dict[str, BudgetView | str]
) -> _Denial | None:
    """Why this pod may not go; None when it may."""
    if len(guards) > 1:
        names = ", ".join(guard.name for guard in guards)
        return _Denial(f"more than one disruption budget selects it ({names}): remove all but one", lasts=True)
    guard, scene = guards[0], scenes[guards[0].name]
    if isinstance(scene, str):
        return _Denial(scene, lasts=True)
    if guard.is_partitioned and not guard.partition_of(pod.metadata.name):
        text = f"its name has no partition by {guard.regex}; correct the expression of disruption budget {guard.name}"
        return _Denial(text, lasts=True)
    limit = limit_of(guard, zone)
    why = denial(pod, zone.statefulset, limit, scene)
    if not why:
        return None
    if guard.is_partitioned or not _is_deadlocked(pod, zone, limit):
        return _Denial(f"{why}{_although_ready(pod, zone, scene)}")
    own = guard.limit(zone.statefulset) == 0
    larger = "the zone a larger rollout-max-unavailable" if own else f"disruption budget {guard.name} a larger maximum"
    help_ = f"delete it by hand, or give {larger}"
    return _Denial(f"{why}, and only this rollout would replace them: {help_}", lasts=True)


def _although_ready(pod: Pod, zone: Zone, scene: BudgetView) -> str:
    """What else there is to say where a pod that counts as not ready looks ready to everybody."""
    found = unripe_peer(pod, zone.statefulset, scene)
    if found is None:
        return ""
    peer, ripe = found
    name = peer.metadata.name
    if ripe is None:
        unknown = f"its annotation {READY_TIME} does not say since when"
        return f": {name} is ready, but {unknown}; the operator writes it where it may patch pods"
    delay = format_go(scene.guard.delay)
    text = f": {name} is ready, and counts as ready when it has been so for {delay}, after {format_rfc3339(ripe)}"
    if ripe - timedelta(seconds=scene.guard.delay) > scene.now + SKEWED:
        text += f"; its annotation {READY_TIME} lies ahead: take it off, and the operator writes it anew"
    return text


def _is_deadlocked(pod: Pod, zone: Zone, limit: int) -> bool:
    """Whether outdated pods that are out use up the budget which they need to be replaced.

    Of three pods that crash, with a budget of 1, each is kept by the two others.
    """
    out = [each for each in zone.outdated if not is_ready(each) and not is_terminating(each)]
    return pod in out and len(out) - 1 >= limit


def limit_of(guard: DisruptionBudget, zone: Zone) -> int:
    """A budget of 0 is for others: our own rollout then goes by the zone's budget, or by one pod of a partition."""
    return guard.limit(zone.statefulset) or (1 if guard.is_partitioned else zone.budget.limit)


def _swap(scene: BudgetView, answers: Answers) -> Question:
    recalled = answers[record_question(scene.guard)]
    assert isinstance(recalled, Good), "a scene is made of a record that was read"  # noqa: S101
    listed = (pod for lane in scene.lanes for pod in lane.pods)
    return swap_question(scene.guard, recalled.version, eviction_record.written(scene.marks, listed, scene.now))


def _again(scenes: dict[str, BudgetView | str], now: datetime) -> datetime:
    times = [changes_at(scene) for scene in scenes.values() if isinstance(scene, BudgetView)]
    return min((time for time in times if time is not None), default=now + LOOK_AGAIN)
