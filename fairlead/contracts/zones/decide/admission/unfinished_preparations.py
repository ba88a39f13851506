"""Preparations that came to nothing: pods that are still wanted long after their note are told that they stay.

A process that is killed while pods prepare cannot take it back, and no webhook hears what became of a request that it
allowed: another may have denied it. When the note of a pod is older than any request can be and the pod is still
wanted, it is told, under the mark, so that no downscale prepares it meanwhile; then the note goes. A note that is far
ahead gets the time that it is, and is waited for from then.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from fairlead.contracts.zones.decide.admission import downscale_marks
from fairlead.contracts.zones.decide.admission.neighbours import group_of
from fairlead.contracts.zones.decide.admission.preparation import calls_to, uncallable
from fairlead.contracts.zones.decide.admission.preparation_note import forgotten, renewed, since_of
from fairlead.contracts.zones.decide.admission.review_reading import decoded
from fairlead.contracts.zones.decide.groups import ordinals_of, pod_ref
from fairlead.contracts.zones.kinds import PREPARE_DOWNSCALE, PREPARING
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Need, Read, StartOver
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.ordinals import ordinal_of
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import Ref

OVERDUE = timedelta(minutes=3)
"""After this nothing can come of a request any more: the API server gives up on it after a minute, and the clocks of
two replicas are not that far apart."""
AGAIN = timedelta(minutes=5)
"""Until a pod that gave no answer is told again, and until one that is about to go is looked at again."""
SOON = timedelta(seconds=5)
"""Until what is in the way is looked at again."""

NOTHING = Decision("", Hold(Reason.COMPLETE))


class PreparationSnapshot(Struct, frozen=True):
    """A pod as the cache shows it."""

    pod: Pod
    answers: Answers = Answers()
    settings: Settings = Settings()


def is_noted(pod: Pod) -> bool:
    return PREPARING in pod.metadata.annotations


def decide(seen: PreparationSnapshot, now: datetime) -> Decision | Need | StartOver:
    """The removal of a note that says nothing any more, once its pod has been told."""
    pod = seen.pod
    if not is_noted(pod) or pod.metadata.deletion_timestamp is not None:
        return NOTHING
    since = since_of(pod)
    if since is None:
        return _forget(pod)
    if since - now > OVERDUE:
        # A clock was ahead that is set right since: the pod would be left prepared for as long.
        write = renewed(pod_ref(pod), pod.metadata.annotations.get(PREPARING, ""), pod.metadata.uid, now)
        return Decision("unfinished-preparation", Move(Reason.SETTLING, (write,)))
    if now < since + OVERDUE:
        return _wait(since + OVERDUE)
    owner = _owner(pod)
    if owner is None:
        return _forget(pod)
    read = Ask(Read(owner))
    if todo := seen.answers.lacking((read,)):
        return Need(todo)
    answer = seen.answers[read]
    if isinstance(answer, Bad):
        return _forget(pod) if answer.kind == "absent" else _wait(now + SOON)
    zone = decoded(answer.value, StatefulSet)
    if zone is None or zone.metadata.uid != owner.uid:
        # Another of the same name: it adopts the pod, or the pod goes with the one before.
        return _wait(now + SOON)
    if zone.metadata.labels.get(PREPARE_DOWNSCALE) != "true" or uncallable(zone):
        return _forget(pod)
    ordinal = ordinal_of(pod.metadata.name, zone.metadata.name)
    if ordinal is None:
        return _forget(pod)
    if ordinal not in ordinals_of(zone):
        return _wait(now + AGAIN)
    return _told(seen, zone, ordinal, now)


def _told(seen: PreparationSnapshot, zone: StatefulSet, ordinal: int, now: datetime) -> Decision | Need | StartOver:
    """Zone and pod are read once more after the mark: a downscale may have begun and ended since."""
    pod, answers, group = seen.pod, seen.answers, group_of(zone)
    record = downscale_marks.question(zone.metadata.namespace, group) if group else downscale_marks.own_question(zone)
    zone_again = Ask(Read(Ref(STATEFULSETS, zone.metadata.namespace, zone.metadata.name), after="mark"))
    pod_again = Ask(Read(pod_ref(pod)))
    if todo := answers.lacking((record,), (zone_again, pod_again)):
        return Need(todo)
    mark = answers[record]
    if not isinstance(mark, Good) or downscale_marks.in_progress(mark, now):
        return _wait(now + SOON)
    if not _is_as(zone, answers[zone_again]) or not _has_note_of(pod, answers[pod_again]):
        return _wait(now + SOON)
    request = f"unfinished {pod.metadata.uid} {now.isoformat()}"
    calls = calls_to(zone, [ordinal], seen.settings, request)
    take = downscale_marks.taken(record, mark, zone.metadata.name, now, calls.length(seen.settings))
    if todo := answers.lacking((take,)):
        return Need(todo)
    taken = answers[take]
    if isinstance(taken, Bad):
        return StartOver() if taken.kind == "conflict" else _wait(now + SOON)
    if todo := answers.lacking(calls.undo, (downscale_marks.ended(record, taken),)):
        return Need(todo)
    unheard = any(isinstance(bad := answers[call], Bad) and not bad.code for call in calls.undo)
    return _wait(now + AGAIN) if unheard else _forget(pod)


def _owner(pod: Pod) -> Ref | None:
    """The StatefulSet that controls it."""
    metadata = pod.metadata
    for owner in metadata.owner_references:
        if owner.controller and owner.kind == STATEFULSETS.kind:
            return Ref(STATEFULSETS, metadata.namespace, owner.name, owner.uid)
    return None


def _is_as(zone: StatefulSet, answer: Answer) -> bool:
    """Whether the cluster still shows the same pods to be wanted, in the same group."""
    found = decoded(answer.value, StatefulSet) if isinstance(answer, Good) else None
    return (
        found is not None
        and found.metadata.uid == zone.metadata.uid
        and group_of(found) == group_of(zone)
        and ordinals_of(found) == ordinals_of(zone)
    )


def _has_note_of(pod: Pod, answer: Answer) -> bool:
    """Whether the cluster still shows the same note: a downscale that was let through a moment ago has renewed it."""
    found = decoded(answer.value, Pod) if isinstance(answer, Good) else None
    return (
        found is not None
        and found.metadata.uid == pod.metadata.uid
        and found.metadata.deletion_timestamp is None
        and found.metadata.annotations.get(PREPARING) == pod.metadata.annotations.get(PREPARING)
    )


def _forget(pod: Pod) -> Decision:
    write = forgotten(pod_ref(pod), pod.metadata.annotations.get(PREPARING, ""), pod.metadata.uid)
    return Decision("unfinished-preparation", Move(Reason.SETTLING, (write,)))


def _wait(until: datetime) -> Decision:
    return Decision("unfinished-preparation", Hold(Reason.NEEDS_ANSWER, until))
