"""What a group waits for, object by object: in words, with the time since when where a fact tells it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct, structs

from fairlead.contracts.zones.decide.groups import ON_DELETE, Group, Zone
from fairlead.contracts.zones.decide.live import question
from fairlead.contracts.zones.decide.rollout.readiness import available_at, counted_ready, ready_since
from fairlead.contracts.zones.decide.rollout.roll import Wait
from fairlead.contracts.zones.decide.rollout.starting import Start
from fairlead.contracts.zones.decide.rollout.zone_order import zone_order_of
from fairlead.contracts.zones.decide.stuck import advice_for, deadlock, early_advice, troubles_of
from fairlead.contracts.zones.kinds import GROUP_LABEL
from fairlead.contracts.zones.words import REASONS
from fairlead.core.ask import Bad
from fairlead.core.decision import Hold
from fairlead.core.ordinals import natural_key
from fairlead.core.pod_readiness import is_terminating
from fairlead.core.pod_trouble import PodTrouble, advice_on_missing
from fairlead.core.reason import Reason
from fairlead.core.times import format_rfc3339
from kubeloop.objects.core import Pod

MOST_WAITS = 10
"""How many pods of a zone are named as waited for; the rest are counted."""


class Waiting(Struct, frozen=True):
    zone: Zone
    reason: Reason
    object: str
    text: str
    since: datetime | None = None
    """From a fact of the cluster; None when no fact dates the wait."""
    cause: str = ""
    """The text without what differs from look to look; empty where nothing does."""
    advice: tuple[str, ...] = ()
    """What a person can do now."""
    occurrence: str = ""
    """Tells it from the next time when this is waited for; empty where that is not known."""

    @property
    def told(self) -> str:
        """In words that stay the same while the wait does."""
        return self.cause or self.text


def waits_of(group: Group, hold: Hold) -> tuple[Waiting, ...]:
    """Why the group holds: what needs a person first, then the zones that the rule names, then the pods behind it."""
    return tuple(sorted(_waits_of(group, hold.reason, hold.details), key=lambda wait: not wait.reason.blocks))


def _waits_of(group: Group, reason: Reason, details: tuple[tuple[str, str], ...]) -> tuple[Waiting, ...]:
    match reason:
        case Reason.WRONG_STRATEGY:
            return tuple(wrong_strategies(group))
        case Reason.TWO_ZONES_NOT_READY | Reason.ZONES_NOT_READY:
            return several(group, reason), *(wait for zone in group.not_ready for wait in pods_of(zone, group))
        case Reason.POD_STUCK:
            pods = (wait for zone in group.not_ready for wait in pods_of(zone, group))
            return *pods, *behind_stuck(group, details)
        case Reason.PAUSED:
            return tuple(paused(zone) for zone in group.zones if zone.is_paused and not zone.is_current)
        case Reason.READ_FAILED | Reason.CACHE_BEHIND:
            return tuple(unread(zone, group, reason) for zone in zone_order_of(group).touched)
        case Reason.SOAKING | Reason.HEALTH_CHECK_FAILING | Reason.HEALTH_CHECK_UNASKED:
            return tuple(map(held_back, zone_order_of(group).held))
        case Reason.COMPLETE:
            return tuple(paused(zone) for zone in group.zones if zone.is_paused)
        case Reason.ROLLING:
            return ()
    zone = zone_order_of(group).active
    if zone is not None and details:
        return tuple(told(zone, reason, *detail) for detail in details)
    return () if zone is None else zone_waits(zone, reason, group)


def behind_stuck(group: Group, details: tuple[tuple[str, str], ...]) -> Iterator[Waiting]:
    """What would have been waited for, if its pods could be waited for."""
    order = zone_order_of(group)
    if order.active is None:
        return
    if order.step == Wait(Reason.BUDGET_USED):
        yield spent(order.active, group)
    for detail in details:
        yield told(order.active, Reason.DISRUPTION_BUDGET, *detail)


def told(zone: Zone, reason: Reason, object_: str, detail: str) -> Waiting:
    """What the rule itself found out about an object."""
    text = REASONS[reason].text.format(object=object_.partition("/")[2], detail=detail)
    return Waiting(zone, reason, object_, text)


def zone_waits(zone: Zone, reason: Reason, group: Group) -> tuple[Waiting, ...]:
    """Why one zone does not go on."""
    match reason:
        case Reason.PAUSED_ZONE_NOT_READY | Reason.OTHER_ZONE_NOT_READY:
            return holding(zone, reason, group), *pods_of(zone, group)
        case Reason.BUDGET_USED:
            return spent(zone, group), *pods_of(zone, group)
        case Reason.POD_TERMINATING | Reason.POD_MISSING | Reason.PODS_NOT_READY | Reason.POD_UNRIPE:
            return tuple(pods_of(zone, group))
        case Reason.STATUS_STALE:
            observed, newest = zone.statefulset.status.observed_generation, zone.statefulset.metadata.generation
            return (about(zone, reason, detail=observed or 0, count=newest),)
        case _:
            return (about(zone, reason),)


def pods_of(zone: Zone, group: Group) -> Iterator[Waiting]:
    """The pods a zone waits for, the stuck ones first, in natural order, the first MOST_WAITS of them by name.

    Where no pod shows why the zone is not ready, what its status counts.
    """
    out = [pod_wait(pod, trouble, zone, group) for pod, trouble in troubles_of(zone, group.at)]
    out += [not_yet_available(zone, pod) for pod in zone.not_yet_available]
    out += [missing(zone, name) for name in zone.missing_names]
    yield from sorted(out, key=lambda wait: (not wait.reason.blocks, natural_key(wait.object)))[:MOST_WAITS]
    if (more := zone.unready + zone.missing - MOST_WAITS) > 0 and len(out) >= MOST_WAITS:
        yield about(zone, Reason.PODS_NOT_READY, detail=f"{more} more of its pods are not ready")
    if not out and not zone.is_ready:
        ready = counted_ready(zone.statefulset)
        unnamed = f"its status counts {ready} ready of {zone.expected}, {len(zone.pods)} pods exist"
        yield about(zone, Reason.PODS_NOT_READY, detail=unnamed)


def pod_wait(pod: Pod, trouble: PodTrouble, zone: Zone, group: Group) -> Waiting:
    name = pod.metadata.name
    if trouble.is_past:
        words = REASONS[Reason.POD_STUCK].text
        text, cause = (words.format(object=name, detail=detail) for detail in (trouble.text, trouble.cause))
        advice = advice_for(pod, trouble, zone, group)
        occurrence = f"{pod.metadata.uid} {trouble.since}"
        return Waiting(zone, Reason.POD_STUCK, f"pod/{name}", text, trouble.since, cause, advice, occurrence)
    reason = Reason.POD_TERMINATING if is_terminating(pod) else Reason.PODS_NOT_READY
    text = REASONS[reason].text.format(object=name, detail=trouble.text)
    return Waiting(zone, reason, f"pod/{name}", text, trouble.since, advice=early_advice(pod, trouble, zone))


def missing(zone: Zone, name: str) -> Waiting:
    text = REASONS[Reason.POD_MISSING].text.format(object=name)
    advice = advice_on_missing(zone.statefulset.metadata.namespace, zone.name)
    return Waiting(zone, Reason.POD_MISSING, f"pod/{name}", text, advice=(advice,))


def not_yet_available(zone: Zone, pod: Pod) -> Waiting:
    name, seconds = pod.metadata.name, zone.statefulset.spec.min_ready_seconds
    moment = available_at(pod, seconds)
    detail = "its condition does not say since when" if moment is None else f"until {format_rfc3339(moment)}"
    text = REASONS[Reason.POD_UNRIPE].text.format(object=name, limit=seconds, detail=detail)
    return Waiting(zone, Reason.POD_UNRIPE, f"pod/{name}", text, ready_since(pod))


def held_back(start: Start) -> Waiting:
    """A zone that may not start yet."""
    if start.reason is None:
        raise ValueError(f"{start.zone.name} is not held")
    return about(start.zone, start.reason, detail=start.detail)


def held_exactly(start: Start) -> Waiting:
    """The same with what was measured, which differs from look to look."""
    wait = held_back(start)
    return structs.replace(wait, text=f"{wait.text} ({start.numbers})") if start.numbers else wait


def wrong_strategies(group: Group) -> Iterator[Waiting]:
    for zone in group.zones:
        strategy = zone.statefulset.spec.update_strategy.type
        if strategy != ON_DELETE:
            yield about(zone, Reason.WRONG_STRATEGY, detail=strategy or "none")


def several(group: Group, reason: Reason) -> Waiting:
    """Too many zones are not ready; it is said once for all of them."""
    zones = group.not_ready
    since = min((moment for zone in zones if (moment := zone_since(zone, group)) is not None), default=None)
    wait = about(zones[0], reason, detail=", ".join(zone.name for zone in zones), count=len(zones), since=since)
    return structs.replace(wait, advice=deadlock(group))


def holding(zone: Zone, reason: Reason, group: Group) -> Waiting:
    others = ", ".join(other.name for other in group.zones if not other.is_current and not other.is_paused)
    return about(zone, reason, detail=others, since=zone_since(zone, group))


def spent(zone: Zone, group: Group) -> Waiting:
    count, limit = zone.not_ready, zone.budget.limit
    detail = f"{count} of {limit} allowed pods {'are' if count > 1 else 'is'} unavailable"
    if count > limit:
        detail = f"{count} pods are unavailable, and no more than {limit} may be"
    return about(zone, Reason.BUDGET_USED, detail=detail, since=zone_since(zone, group))


def paused(zone: Zone) -> Waiting:
    count = len(zone.outdated)
    detail = f" and not done: {count} outdated pod{'s' * (count != 1)}"
    if not count:
        detail = " and not done: its revision is not recorded as current"
    if zone.is_current:
        detail = ": nothing waits for that now, and the next change will"
    metadata = zone.statefulset.metadata
    name = metadata.labels.get(GROUP_LABEL) or '""'
    command = f"let the group go on: fairlead resume {name} -n {metadata.namespace}"
    return structs.replace(about(zone, Reason.PAUSED, detail=detail), advice=(command,))


def unread(zone: Zone, group: Group, reason: Reason) -> Waiting:
    answer = group.seen.answers.known.get(question(zone.statefulset))
    detail = answer.text or answer.kind if isinstance(answer, Bad) else "the answer could not be understood"
    return about(zone, reason, detail=detail)


def ahead(zone: Zone, active: Zone) -> Waiting:
    """A zone's turn comes after the one that is being worked on."""
    text = REASONS[Reason.OTHER_ZONE_AHEAD].text.format(object=active.name)
    return Waiting(zone, Reason.OTHER_ZONE_AHEAD, f"statefulset/{active.name}", text)


def zone_since(zone: Zone, group: Group) -> datetime | None:
    """Since when the zone has been not ready, as far as its pods tell."""
    return min((wait.since for wait in pods_of(zone, group) if wait.since is not None), default=None)


def about(
    zone: Zone,
    reason: Reason,
    *,
    detail: object = "",
    count: int = 0,
    limit: int = 0,
    since: datetime | None = None,
) -> Waiting:
    text = REASONS[reason].text.format(object=zone.name, detail=detail, count=count, limit=limit)
    return Waiting(zone, reason, f"statefulset/{zone.name}", text, since)
