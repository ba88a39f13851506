"""Section 3.4: one pass over a group: scaling, then rules tried in order; the first that answers wins.

A pass rolls the pods of one zone at most. It may record the revision of zones that are done on its way there.
Every zone that is written to has been read live in the same round.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from fairlead.contracts.zones.decide.budgets.permits import Overlap, permits
from fairlead.contracts.zones.decide.groups import ON_DELETE, Group, Zone, group_of, pod_ref
from fairlead.contracts.zones.decide.healthchecks.healthcheck import lacks_start, started
from fairlead.contracts.zones.decide.live import CATCH_UP, doubt, question
from fairlead.contracts.zones.decide.rollout.current_revision import recorded
from fairlead.contracts.zones.decide.rollout.event_notes import tells_of, told_beside
from fairlead.contracts.zones.decide.rollout.ignored_annotations import ignored, warned
from fairlead.contracts.zones.decide.rollout.roll import Terminate, Wait
from fairlead.contracts.zones.decide.rollout.zone_order import zone_order_of
from fairlead.contracts.zones.decide.scaling.scale_step import SCALE, Scaling, scaling_of
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.contracts.zones.decide.stuck import judged
from fairlead.contracts.zones.decide.waits import MOST_WAITS
from fairlead.contracts.zones.words import SEVERAL_TERMINATED, WRITES
from fairlead.core.act import AnyWrite, Delete, Does, EventNote
from fairlead.core.ask import Need, Question, StartOver
from fairlead.core.decision import Decision, Hold, Move, Rule, Verdict
from fairlead.core.reason import Reason
from kubeloop.objects.apps import REVISION_LABEL
from kubeloop.objects.core import Pod


def strategy(group: Group, now: datetime) -> Verdict | None:
    """P2: pods of a zone that its own controller replaces must not be replaced by us as well."""
    if any(zone.statefulset.spec.update_strategy.type != ON_DELETE for zone in group.zones):
        return Hold(Reason.WRONG_STRATEGY)
    return None


def blocked(group: Group, now: datetime) -> Verdict | None:
    """P3 and P4: with two zones not ready, any deletion could cost the last healthy copy of something."""
    return Hold(Reason.ZONES_NOT_READY) if len(group.not_ready) > 1 else None


def roll(group: Group, now: datetime) -> Verdict | Need | StartOver | None:
    """P5 and P6: what the zones in order ask for, the record of finished revisions first."""
    order = zone_order_of(group)
    if order.asks is not None:
        return order.asks
    starts = [zone for zone in group.zones if lacks_start(zone, group)] if isinstance(order.step, Terminate) else []
    touched = (*order.finishing, *starts) if starts else order.touched
    if unread := unread_of(touched, group):
        return Need(unread)
    if doubts := [reason for zone in touched if (reason := doubt(zone.statefulset, group.seen))]:
        return waiting(doubts[0], now)
    records: list[AnyWrite] = []
    for zone in order.finishing:
        record = recorded(zone, group.seen)
        if record is None:
            return waiting(Reason.CACHE_BEHIND, now)
        records.append(record)
    if starts:  # the record first; the next pass sees it and goes on
        return Move(Reason.ROLLING, (*records, *(started(zone, now) for zone in starts)))
    match order.step, order.active:
        case Terminate(pods), Zone() as zone:
            return terminating(pods, zone, group, records, now)
        case Wait(reason), _ if not records:
            return Hold(reason, again=order.again)
    return Move(Reason.ROLLING, tuple(records)) if records else None


def terminating(
    pods: tuple[Pod, ...], zone: Zone, group: Group, records: list[AnyWrite], now: datetime
) -> Verdict | Need | StartOver:
    """Rule 17: the batch, as far as the disruption budgets let it go; it is not refilled."""
    permitted = permits(pods, zone, group, now)
    if isinstance(permitted, Need | StartOver):
        return permitted
    if isinstance(permitted, Overlap):
        names = ", ".join(guard.name for guard in permitted.guards)
        held = Hold(Reason.BUDGETS_OVERLAP, details=((f"pod/{permitted.pod.metadata.name}", names),))
    else:
        deletes = tuple(terminated(pod, zone) for pod in permitted.pods)
        if deletes:
            return Move(Reason.ROLLING, (*records, *deletes), again=permitted.again)
        denials = tuple((f"pod/{name}", why) for name, why in permitted.denials[:MOST_WAITS])
        reason = Reason.DISRUPTION_STUCK if permitted.stuck else Reason.DISRUPTION_BUDGET
        held = Hold(reason, again=permitted.again, details=denials)
    return Move(Reason.ROLLING, tuple(records)) if records else held


def unread_of(touched: tuple[Zone, ...], group: Group) -> tuple[tuple[Question, ...], ...]:
    """What must be read before these zones are written to.

    An answer may change the order; then all zones are read at once, so that a pass asks twice at most.
    """
    answers = group.seen.answers
    unread = answers.lacking(tuple(question(zone.statefulset) for zone in touched))
    if not unread:
        return unread
    every = tuple(question(zone.statefulset) for zone in group.zones)
    return answers.lacking(every) if any(ask in answers.known for ask in every) else unread


def waiting(reason: Reason, now: datetime) -> Hold:
    return Hold(reason, again=now + CATCH_UP if reason is Reason.CACHE_BEHIND else None)


def complete(group: Group, now: datetime) -> Verdict:
    """Every zone is done, though a paused one perhaps only by being skipped."""
    skipped = any(zone.is_paused and not zone.is_current for zone in group.zones)
    return Hold(Reason.PAUSED if skipped else Reason.COMPLETE)


RULES: tuple[Rule[Group], ...] = (
    Rule("strategy", strategy),
    Rule("blocked", blocked),
    Rule("roll", roll),
    Rule("complete", complete),
)


def decide(seen: Snapshot, now: datetime) -> Decision | Need | StartOver:
    """What is to be done now in the group that is seen: the answer of the first rule that has one."""
    group = group_of(seen, now)
    scaling = scaling_of(group, now)
    if isinstance(scaling, Need):
        return scaling
    if scaling.verdict is not None:
        return decided(SCALE, scaling.verdict, group, scaling)
    for rule in RULES:
        match rule.answer(group, now):
            case None:
                continue
            case Need() | StartOver() as unsettled:
                return unsettled
            case verdict:
                return decided(rule.name, verdict, group, scaling)
    raise RuntimeError("no rule answered, although the last one always does")


def decided(rule: str, verdict: Verdict, group: Group, scaling: Scaling) -> Decision:
    """The verdict together with all that is to be said beside it, looked at again when the first of them wants it."""
    verdict = judged(verdict, group)
    ripening = (zone.ripens_at for zone in group.zones if zone.not_yet_available)
    looks = [moment for moment in (verdict.again, scaling.again, *ripening) if moment is not None]
    if looks:
        verdict = structs.replace(verdict, again=min(looks))
    asides = (*scaling.asides, *ignored(group), *(warned(group) if rule == "roll" else ()))
    tells = (*tells_of(group, verdict), *told_beside(asides))
    return Decision(rule, verdict, tells, asides, scaling.reports)


def terminated(pod: Pod, zone: Zone) -> Delete:
    """The deletion of exactly this incarnation of the pod (H-2)."""
    words = WRITES[Does.TERMINATE_POD]
    old = pod.metadata.labels.get(REVISION_LABEL, "")
    name, detail = pod.metadata.name, old or "unknown"
    text = words.text.format(object=name, detail=detail)
    several = SEVERAL_TERMINATED.replace("{detail}", detail)
    return Delete(
        ref=pod_ref(pod),
        does=Does.TERMINATE_POD,
        scope=zone.ref.uid,
        change_from=old,
        change_to=zone.statefulset.status.update_revision,
        tell=EventNote(zone.ref, False, words.event, text, item=name, several=several),
    )
