"""The explain document of a group: every zone pod by pod, what comes next, and what each wait is for.

A function of the same Snapshot as the decision, so it can be made when somebody looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from fairlead.contracts.zones.decide.groups import Group, Zone, group_of, revision_of
from fairlead.contracts.zones.decide.rollout.roll import Done, Finish, Terminate, Wait, step_of
from fairlead.contracts.zones.decide.rollout.zone_order import ZoneOrder, zone_order_of
from fairlead.contracts.zones.decide.scaling.scale_step import SCALE
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.contracts.zones.decide.stuck import troubles_of
from fairlead.contracts.zones.decide.waits import Waiting, ahead, held_exactly, paused, pods_of, waits_of, zone_waits
from fairlead.contracts.zones.kinds import NOUN, PART
from fairlead.core.act import Delete, Does, Patch, Replace
from fairlead.core.decision import Decision, Hold, Move, SideNote, Verdict
from fairlead.core.explain import Block, Cell, Explain, Lane, Stands, key_of_wait
from fairlead.core.ordinals import natural_key, ordinal_of
from fairlead.core.outcome import outcome_of
from fairlead.core.pod_readiness import is_ready, is_terminating
from fairlead.core.pod_trouble import restarts_of
from fairlead.core.reason import Reason, ReasonKind
from kubeloop.objects.core import Pod

ROLL = "roll"
OF_ROLLING = (
    Reason.HEALTH_CHECK_WARNING,
    Reason.HEALTH_CHECK_UNUSABLE,
    Reason.DEADLINE_IGNORED,
    Reason.ROTATION_IGNORED,
    Reason.SOAK_IGNORED,
)
"""Asides that are not about scaling."""
SEVERITY = (
    *(kind.value for kind in (ReasonKind.BLOCKED, ReasonKind.INVALID, ReasonKind.FAILED)),
    ReasonKind.HELD.value,
    ReasonKind.WAITING.value,
)
NO_ORDINAL = -1
"""Of a pod whose name is not `<zone>-<ordinal>`."""


def explain(seen: Snapshot, decision: Decision, now: datetime) -> Explain:
    """Where the group stands after this decision on this Snapshot, and why."""
    group = group_of(seen, now)
    order = zone_order_of(group)
    verdict = decision.verdict
    lanes = tuple(lane_of(zone, group, order, decision) for zone in group.zones)
    waits = waits_of(group, verdict) if isinstance(verdict, Hold) else ()
    return Explain(
        part=PART,
        noun=NOUN,
        namespace=seen.namespace,
        rollout=seen.group,
        outcome=outcome_of(verdict.reason),
        stands=Stands(
            phase=phase_of_group(order, verdict, lanes),
            done=sum(lane.done for lane in lanes),
            total=sum(lane.total for lane in lanes),
            unit="pods",
            lanes=lanes,
        ),
        next=() if verdict.reason.blocks else tuple(coming(order, verdict)),
        blocked_by=worst_first(
            (
                *(block_of(wait, decision.rule, seen) for wait in waits),
                *(block_beside(aside, seen) for aside in decision.asides),
            )
        ),
        again=verdict.again,
    )


def worst_first(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """What needs a person before what somebody wants so, and that before what passes."""
    return tuple(sorted(blocks, key=lambda block: SEVERITY.index(block.kind)))


def block_of(wait: Waiting, rule: str, seen: Snapshot) -> Block:
    reason = wait.reason
    return Block(
        rule=rule,
        reason=reason.word,
        object=wait.object,
        text=wait.text,
        clears=reason.clears,
        since=wait.since or seen.since.get(key_of_wait(reason.word, wait.object)),
        since_exact=wait.since is not None,
        kind=reason.kind.value,
        advice=wait.advice,
    )


def block_beside(aside: SideNote, seen: Snapshot) -> Block:
    """What is said beside the verdict, whatever that is about; most of it is about scaling."""
    reason, about = aside.reason, str(aside.about)
    since = seen.since.get(key_of_wait(reason.word, about))
    rule = ROLL if reason in OF_ROLLING else SCALE
    return Block(rule, reason.word, about, aside.text, reason.clears, since, kind=reason.kind.value)


def lane_of(zone: Zone, group: Group, order: ZoneOrder, decision: Decision) -> Lane:
    cells = tuple(cells_of(zone, group.at))
    status = zone.statefulset.status
    from_images, to_images = images_of(zone)
    return Lane(
        name=zone.name,
        phase=phase_of(zone, order, decision.verdict),
        done=sum(cell.revision == "new" and cell.state == "ready" for cell in cells),
        total=max(len(cells), len(zone.pods) + zone.missing),
        from_revision=zone.revision_before,
        to_revision=status.update_revision,
        budget=zone.budget.limit,
        cells=cells,
        from_images=from_images,
        to_images=to_images,
        waits=worst_first(
            (
                *(block_of(wait, decision.rule, group.seen) for wait in lane_waits(zone, group, order)),
                *(block_beside(aside, group.seen) for aside in decision.asides if aside.about == zone.ref),
            )
        ),
    )


def images_of(zone: Zone) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Of a pod that the zone comes from and of the template, as far as they differ; nothing when there is none."""
    before = next((pod for pod in zone.outdated if revision_of(pod) == zone.revision_before), None)
    if before is None:
        return (), ()
    old = {each.name: each.image for each in before.spec.all_containers}
    new = {each.name: each.image for each in zone.statefulset.spec.template.spec.all_containers}
    return (
        tuple(image for name, image in old.items() if new.get(name) != image),
        tuple(image for name, image in new.items() if old.get(name) != image),
    )


def cells_of(zone: Zone, now: datetime) -> Iterator[Cell]:
    """One per pod that exists or should, lowest ordinal first."""
    pods: dict[str, Pod | None] = dict.fromkeys(zone.missing_names)
    pods |= {pod.metadata.name: pod for pod in zone.pods}
    outdated = {pod.metadata.uid for pod in zone.outdated}
    not_yet_available = {pod.metadata.uid for pod in zone.not_yet_available}
    stuck = {pod.metadata.uid for pod, trouble in troubles_of(zone, now) if trouble.is_past}
    for name in sorted(pods, key=natural_key):
        pod, ordinal = pods[name], ordinal_of(name, zone.name)
        yield Cell(
            name=name,
            ordinal=NO_ORDINAL if ordinal is None else ordinal,
            state="missing" if pod is None else state_of(pod, not_yet_available, stuck),
            revision="none" if pod is None else "old" if pod.metadata.uid in outdated else "new",
            restarts=0 if pod is None else restarts_of(pod),
        )


def state_of(pod: Pod, not_yet_available: set[str], stuck: set[str]) -> str:
    if is_terminating(pod):
        return "terminating"
    if is_ready(pod):
        return "notReady" if pod.metadata.uid in not_yet_available else "ready"
    return "stuck" if pod.metadata.uid in stuck else "notReady"


def lane_waits(zone: Zone, group: Group, order: ZoneOrder) -> Iterator[Waiting]:
    """All that keeps this zone from going on, also where the decision was made by another zone's state."""
    if zone.is_paused:
        yield paused(zone)
        if not zone.is_ready:
            yield from pods_of(zone, group)
        return
    match step_of(zone):
        case Wait(reason):
            yield from zone_waits(zone, reason, group)
        case Finish() | Done():
            return
        case Terminate() if not zone.is_ready:
            yield from pods_of(zone, group)
    held = [start for start in order.held if start.zone is zone]
    yield from map(held_exactly, held)
    if order.active is not None and order.active is not zone and not held:
        yield ahead(zone, order.active)


def phase_of(zone: Zone, order: ZoneOrder, verdict: Verdict) -> str:
    """The zone's state by the table of section 3.5."""
    if zone.is_paused:
        return "Paused"
    if zone.is_stale or zone.is_leaving or not zone.knows_revisions:
        return "Waiting"
    if verdict.reason is Reason.POD_STUCK and not zone.is_ready:
        return "Blocked"
    if zone.outdated:
        return phase_of_outdated(zone, order, verdict)
    if not zone.is_ready:
        return "Settling"
    return "Current" if zone.is_current else "Finishing"


def phase_of_outdated(zone: Zone, order: ZoneOrder, verdict: Verdict) -> str:
    is_held = any(start.zone is zone for start in order.held)
    if zone is order.active and not is_held and verdict.reason.kind not in (ReasonKind.BLOCKED, ReasonKind.INVALID):
        deletes = isinstance(verdict, Move) and any(isinstance(write, Delete) for write in verdict.writes)
        return "Rolling" if deletes else "Waiting"
    return "RolledBack" if is_rolled_back(zone) else "Pending"


def is_rolled_back(zone: Zone) -> bool:
    """Whether pods of an abandoned revision run; those that are only marked for rotation are of the right one."""
    status = zone.statefulset.status
    return status.current_revision == status.update_revision != zone.revision_before


def phase_of_group(order: ZoneOrder, verdict: Verdict, lanes: tuple[Lane, ...]) -> str:
    """In one word: the phase of the zone it is about, unless the group is blocked, paused or done."""
    if verdict.reason in (Reason.SCALING, Reason.SOAKING):
        return verdict.reason.word
    match verdict.reason.kind:
        case ReasonKind.DONE:
            is_paused = any(lane.phase == "Paused" for lane in lanes)
            return "Paused" if is_paused else "Current"
        case ReasonKind.HELD:
            return "Paused"
        case ReasonKind.BLOCKED | ReasonKind.INVALID | ReasonKind.FAILED:
            return "Blocked"
        case _ if order.active is None:
            return "Finishing"
    return next(lane.phase for lane in lanes if lane.name == order.active.name)


def coming(order: ZoneOrder, verdict: Verdict) -> Iterator[str]:
    """What is done now, or as soon as the wait is over; then what follows."""
    writes = verdict.writes if isinstance(verdict, Move) else ()
    for write in writes:
        match write:
            case Delete(ref=ref):
                yield f"delete {ref.name}"
            case Patch(ref=ref, does=Does.SCALE):
                yield f"scale {ref.name} from {write.change_from} to {write.change_to}"
            case Replace(ref=ref):
                yield f"record revision {write.change_to} as current in {ref.name}"
    going = {write.ref.uid for write in writes if isinstance(write, Delete | Replace)}
    then = "then " if writes else ""
    for zone in order.order:
        if chore := chore_of(zone, going):
            yield then + (chore if zone is order.active or not then else f"zone {zone.name}")
            then = "then "


def chore_of(zone: Zone, going: set[str]) -> str:
    """What is left to do in a zone after the pods and zones in `going`; empty where nothing is, or nothing will be."""
    if zone.is_paused or zone.is_leaving or zone.is_current or zone.ref.uid in going:
        return ""
    if zone.is_stale or not zone.knows_revisions:
        return f"zone {zone.name}"
    for pod in zone.outdated:
        if pod.metadata.uid not in going and not is_terminating(pod):
            return f"delete {pod.metadata.name}"
    return f"record revision {zone.statefulset.status.update_revision} as current in {zone.name}"
