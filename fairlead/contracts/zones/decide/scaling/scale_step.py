"""P1: scaling comes first in a pass, and a pass that scales does nothing else.

A leader goes before a reference resource (E-16). What fails is said beside the verdict and stops no rolling (rule P1).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from fairlead.contracts.zones.decide.groups import Group, Zone
from fairlead.contracts.zones.decide.live import CATCH_UP, doubt, question
from fairlead.contracts.zones.decide.scaling.follow import followed, follows
from fairlead.contracts.zones.decide.scaling.mirror import mirrored
from fairlead.contracts.zones.decide.scaling.references import mirrors
from fairlead.contracts.zones.decide.scaling.scale_target import Findings, Want, aside, scaled, unusable_force
from fairlead.core.act import AnyWrite, Does, Patch
from fairlead.core.ask import REFUSAL_HOLDS, Answer, Bad, Good, Need, Question
from fairlead.core.decision import Hold, Move, SideNote, Verdict
from fairlead.core.reason import Reason

SCALE = "scale"
"""The name of P1, which comes before the rules of a pass."""
LOOK_AT_REFERENCES = timedelta(seconds=15)
"""Nobody tells when a reference changes, so it is looked at as often as an autoscaler may change it."""
TRY_AGAIN = timedelta(minutes=1)
"""After which a scaling that failed without a sign of what would help is tried again (E-13)."""


AFTER_REFUSAL = "a change of replicas in its group was refused a moment ago"
UNDONE = "it was scaled a moment ago and somebody changed it back; two controllers write its replicas"


class Scaling(Struct, frozen=True):
    """What P1 comes to."""

    verdict: Verdict | None = None
    """Of the whole pass: a zone is scaled, or the cache must catch up with a live read; None lets it go on to roll."""
    asides: tuple[SideNote, ...] = ()
    reports: tuple[AnyWrite, ...] = ()
    """What references are told although no zone is scaled."""
    again: datetime | None = None


NOTHING = Scaling()


def scaling_of(group: Group, now: datetime) -> Scaling | Need:
    """The scaling of at most one zone (S8), and all that is to be known of those that wait for theirs."""
    concerned = [zone for zone in group.zones if follows(zone) or mirrors(zone)]
    if not concerned:
        return NOTHING
    found = searched(group, now)
    if isinstance(found, Need):
        return found
    ignored = tuple(filter(None, map(unusable_force, concerned)))
    asides = (*ignored, *found.asides)
    looks = [each.until for each in asides if each.until is not None and each.until > now]
    looks += [now + LOOK_AT_REFERENCES] if any(map(mirrors, concerned)) else []
    again = min(looks, default=None)
    if found.want is None:
        return Scaling(None, asides, found.reports, again)
    match granted(found.want, group, now):
        case Need() as need:
            return need
        case Hold() as behind:
            return Scaling(behind, asides)
        case SideNote(until=until) as refused:
            return Scaling(None, (*asides, refused), found.reports, min((*looks, until or now + TRY_AGAIN)))
        case write:
            return Scaling(Move(Reason.SCALING, (write, *found.want.reports)), asides, again=again)


def searched(group: Group, now: datetime) -> Findings | Need:
    """Rule 27: references count only where following a leader changed nothing and had no error."""
    following = followed(group, now)
    if following.want is not None or following.failed:
        return following
    mirroring = mirrored(group, now)
    if isinstance(mirroring, Need):
        return mirroring
    return Findings(mirroring.want, (*following.asides, *mirroring.asides), mirroring.failed, mirroring.reports)


def granted(want: Want, group: Group, now: datetime) -> AnyWrite | SideNote | Hold | Need:
    """The write, unless it was refused or carried out a moment ago or live reads of all zones speak against it.

    All are read, because the times of the others' downscales decide as well.
    """
    answers, write = group.seen.answers, scaled(want)
    match answers.known.get(write):
        case Bad() as refused:
            detail = refused.text or refused.kind
            return aside(want.zone, Reason.SCALING_REFUSED, detail, instead_of=want.replicas)
        case Good():
            until = now + REFUSAL_HOLDS
            return aside(want.zone, Reason.SCALING_UNDONE, UNDONE, instead_of=want.replicas, until=until)
    if any(is_refused_scale(asked, answer) for asked, answer in answers.known.items()):
        until = now + REFUSAL_HOLDS  # rule 25: a refusal ends scaling, also when another zone would come next by now
        return aside(want.zone, Reason.SCALING_REFUSED, AFTER_REFUSAL, instead_of=want.replicas, until=until)
    if unread := answers.lacking(tuple(question(zone.statefulset) for zone in group.zones)):
        return Need(unread)
    for zone in group.zones:
        match doubt(zone.statefulset, group.seen):
            case Reason.READ_FAILED:
                return aside(zone, Reason.SCALING_FAILED, unread_because(zone, group))
            case Reason() as reason:
                return Hold(reason, now + CATCH_UP)
    return write


def is_refused_scale(asked: Question, answer: Answer) -> bool:
    return isinstance(asked, Patch) and asked.does is Does.SCALE and isinstance(answer, Bad)


def unread_because(zone: Zone, group: Group) -> str:
    answer = group.seen.answers[question(zone.statefulset)]
    return answer.text or answer.kind if isinstance(answer, Bad) else "the answer could not be understood"
