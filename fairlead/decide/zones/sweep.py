"""Section 3.4: one pass over a group, as rules tried in order; the first that answers wins.

A pass rolls the pods of one zone at most. It may record the revision of zones that are done on its way there.
"""

from __future__ import annotations

from datetime import datetime

from fairlead.api.apps import REVISION_LABEL
from fairlead.api.core import Pod
from fairlead.decide.act import AnyWrite, Delete, Does, Replace, Tell
from fairlead.decide.ask import Need
from fairlead.decide.decision import Decision, Hold, Move, Rule, Verdict
from fairlead.decide.reason import Reason
from fairlead.decide.zones.course import course_of
from fairlead.decide.zones.groups import ON_DELETE, Group, Zone, group_of, pod_ref
from fairlead.decide.zones.records import question, recorded
from fairlead.decide.zones.roll import Terminate, Wait
from fairlead.decide.zones.seen import Snapshot
from fairlead.decide.zones.tells import tells_of
from fairlead.decide.zones.words import WRITES


def strategy(group: Group, now: datetime) -> Verdict | None:
    """P2: pods of a zone that its own controller replaces must not be replaced by us as well."""
    if any(zone.statefulset.spec.update_strategy.type != ON_DELETE for zone in group.zones):
        return Hold(Reason.WRONG_STRATEGY)
    return None


def blocked(group: Group, now: datetime) -> Verdict | None:
    """P4: with two zones not ready, any deletion could cost the last healthy copy of something."""
    return Hold(Reason.TWO_ZONES_NOT_READY) if len(group.not_ready) > 1 else None


def roll(group: Group, now: datetime) -> Verdict | Need | None:
    """P5 and P6: what the zones on the course ask for, the record of finished revisions first."""
    course = course_of(group)
    records: list[AnyWrite] = []
    if course.finishing:
        if unanswered := group.seen.answers.lacking(tuple(map(question, course.finishing))):
            return Need(unanswered)
        for zone in course.finishing:
            match recorded(zone, group.seen, now):
                case Hold() as hold:
                    return hold
                case Replace() as record:
                    records.append(record)
    match course.step, course.active:
        case Terminate(pods), Zone() as zone:
            return Move(Reason.ROLLING, (*records, *[terminated(pod, zone) for pod in pods]))
        case Wait(reason), _ if not records:
            return Hold(reason)
    return Move(Reason.ROLLING, tuple(records)) if records else None


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


def decide(seen: Snapshot, now: datetime) -> Decision | Need:
    """What is to be done now in the group that is seen: the answer of the first rule that has one."""
    group = group_of(seen)
    for rule in RULES:
        match rule.answer(group, now):
            case None:
                continue
            case Need() as need:
                return need
            case verdict:
                return Decision(rule.name, verdict, tells_of(group, verdict))
    raise AssertionError("the last rule always answers")


def terminated(pod: Pod, zone: Zone) -> Delete:
    """The deletion of exactly this incarnation of the pod (H-2)."""
    words = WRITES[Does.TERMINATE_POD]
    old = pod.metadata.labels.get(REVISION_LABEL, "")
    text = words.text.format(object=pod.metadata.name, detail=old or "unknown")
    return Delete(
        ref=pod_ref(pod),
        does=Does.TERMINATE_POD,
        change_from=old,
        change_to=zone.statefulset.status.update_revision,
        tell=Tell(zone.ref, False, words.event, text),
    )
