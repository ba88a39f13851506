"""Section 3.4: one pass over a group, as rules tried in order; the first that answers wins.

A pass rolls the pods of one zone at most. It may record the revision of zones that are done on its way there.
Every zone that is written to has been read live in the same round.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from fairlead.api.apps import REVISION_LABEL
from fairlead.api.core import Pod
from fairlead.decide.act import AnyWrite, Delete, Does, Tell
from fairlead.decide.ask import Ask, Need
from fairlead.decide.decision import Decision, Hold, Move, Rule, Verdict
from fairlead.decide.reason import Reason
from fairlead.decide.zones.course import Course, course_of
from fairlead.decide.zones.groups import ON_DELETE, Group, Zone, group_of, pod_ref
from fairlead.decide.zones.live import doubt, question
from fairlead.decide.zones.records import recorded
from fairlead.decide.zones.roll import Terminate, Wait
from fairlead.decide.zones.seen import Snapshot
from fairlead.decide.zones.tells import tells_of
from fairlead.decide.zones.words import WRITES

CATCH_UP = timedelta(seconds=1)
"""How long a cache may take to show what a live read has just shown."""


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
    if unread := unread_of(course, group):
        return Need(unread)
    if doubts := [reason for zone in course.touched if (reason := doubt(zone.statefulset, group.seen))]:
        return waiting(doubts[0], now)
    records: list[AnyWrite] = []
    for zone in course.finishing:
        record = recorded(zone, group.seen)
        if record is None:
            return waiting(Reason.CACHE_BEHIND, now)
        records.append(record)
    match course.step, course.active:
        case Terminate(pods), Zone() as zone:
            return Move(Reason.ROLLING, (*records, *[terminated(pod, zone) for pod in pods]))
        case Wait(reason), _ if not records:
            return Hold(reason)
    return Move(Reason.ROLLING, tuple(records)) if records else None


def unread_of(course: Course, group: Group) -> tuple[tuple[Ask, ...], ...]:
    """What must be read before the course is taken.

    An answer may change the course; then all zones are read at once, so that a pass asks twice at most.
    """
    answers = group.seen.answers
    unread = answers.lacking(tuple(question(zone.statefulset) for zone in course.touched))
    if unread and answers.known:
        return answers.lacking(tuple(question(zone.statefulset) for zone in group.zones))
    return unread


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
    raise RuntimeError("no rule answered, although the last one always does")


def terminated(pod: Pod, zone: Zone) -> Delete:
    """The deletion of exactly this incarnation of the pod (H-2)."""
    words = WRITES[Does.TERMINATE_POD]
    old = pod.metadata.labels.get(REVISION_LABEL, "")
    text = words.text.format(object=pod.metadata.name, detail=old or "unknown")
    return Delete(
        ref=pod_ref(pod),
        does=Does.TERMINATE_POD,
        scope=zone.ref.uid,
        change_from=old,
        change_to=zone.statefulset.status.update_revision,
        tell=Tell(zone.ref, False, words.event, text),
    )
