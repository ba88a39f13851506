"""Section 3.11 steps 11 to 13: the pods are called, the time is written; what comes to nothing is undone (B-4).

All of it happens under a mark, of the group or of a zone that has none: the same pods are not prepared by one request
while another takes their preparation back. Undoing comes before the denial, so that who tries again at once is not in
its way; only what the time of the request does not suffice for comes after, and the mark lasts until then. All of
it may be repeated (rule 40).
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct, structs

from fairlead.contracts.zones.decide.admission import downscale_marks
from fairlead.contracts.zones.decide.admission.last_downscale import annotated, is_repetition
from fairlead.contracts.zones.decide.admission.preparation import Preparation
from fairlead.contracts.zones.decide.admission.preparation_note import forgotten, noted
from fairlead.contracts.zones.decide.admission.review_reading import Downscale, ReviewSnapshot, denied, sentence
from fairlead.contracts.zones.decide.admission.zone_tracker import Tracked, Tracker
from fairlead.contracts.zones.kinds import LAST_DOWNSCALE
from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Ask, Bad, ClientWaiting, Good, Need, Question, StartOver
from fairlead.core.decision import Admit
from fairlead.core.times import format_rfc3339
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.meta import Ref

AWAITED = Ask(ClientWaiting())
"""Asked when the pods have prepared, which may take as long as a client waits, and before the time is written."""


class DownscaleRequest(Struct, frozen=True):
    """A downscale of a zone that wants to be prepared."""

    seen: ReviewSnapshot
    now: datetime
    change: Downscale
    zone: StatefulSet
    """Its newest state that was read."""
    group: str
    """Empty for a zone that shares its downscales with no other."""
    preparation: Preparation = Preparation()
    tracked: Tracked | None = None
    """The zone tracker as it was read; None without one."""

    @property
    def tracker(self) -> Tracker | None:
        settings = self.seen.settings
        if not settings.use_zone_tracker:
            return None
        return Tracker(self.seen.review.namespace, settings.tracker_name, self.seen.answers)

    def answer(self, question: Question) -> Good | Bad | None:
        return self.seen.answers.known.get(question)

    def denied(self, word: str, because: str) -> Admit:
        return denied(word, f"{sentence(self.seen.review, self.change)} is not allowed: {because}")


def carried_out(request: DownscaleRequest, record: Ask, mark: Good) -> Admit | Need | StartOver:
    """Allowed when every pod has prepared and the time is written; otherwise denied, and all pods are told."""
    answers = request.seen.answers
    length = request.preparation.length(request.seen.settings)
    take = downscale_marks.taken(record, mark, request.zone.metadata.name, request.now, length)
    if todo := answers.lacking((take,)):
        return Need(todo)
    taken = answers[take]
    if isinstance(taken, Bad):
        if taken.kind == "conflict":
            return StartOver()
        return request.denied("record-unwritten", f"it could not be noted that it is in progress: {_why(taken)}")
    end = downscale_marks.ended(record, taken)
    notes = _notes(request)
    if todo := answers.lacking(notes):
        return Need(todo)
    if unnoted := [bad for each in notes if isinstance(bad := answers[each], Bad) and not bad.code]:
        because = f"it could not be noted that its pods prepare: {_why(unnoted[0])}"
        return _ended(request, request.denied("unnoted", because), end)
    if todo := answers.lacking(request.preparation.posts, (AWAITED,), _stamps(request)):
        return Need(todo, stop_at_failure=True)
    outcome = _effected(request)
    match outcome:
        case Admit(allowed=False):
            return _undone(request, outcome, end)
        case Admit():
            # The mark ends before the answer: the API server repeats a review whose object was changed meanwhile, as it
            # was by the time written here, and the repetition comes at once.
            return _ended(request, outcome, end)
    return outcome


def _notes(request: DownscaleRequest) -> tuple[Patch, ...]:
    """For whoever comes after a crash; an API server that refuses one holds nobody up, but one that is silent does."""
    return noted(request.zone, request.preparation.pods, request.now)


def _stamps(request: DownscaleRequest) -> tuple[Question, ...]:
    stamp = _stamp(request)
    return () if stamp is None else (stamp,)


def _stamp(request: DownscaleRequest) -> Question | None:
    """Section 3.11 step 12: the time of this downscale; None when it repeats the last, whose time stays (H-4)."""
    zone, now, tracker = request.zone, request.now, request.tracker
    if tracker is not None:
        return tracker.write(request.tracked, zone, now)
    try:
        last = annotated(zone)
    except ValueError:
        last = None
    if is_repetition(last, zone, now):
        return None
    text = format_rfc3339(now)
    return Patch(
        does=Does.STAMP_DOWNSCALE,
        scope=zone.metadata.uid,
        change_from=zone.metadata.annotations.get(LAST_DOWNSCALE, ""),
        change_to=text,
        ref=Ref(STATEFULSETS, request.seen.review.namespace, zone.metadata.name, zone.metadata.uid),
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"metadata": {"annotations": {LAST_DOWNSCALE: text}}}),
    )


def _effected(request: DownscaleRequest) -> Admit | Need:
    """Allowed when every pod has prepared and the time is written."""
    failed = request.preparation.failures(request.seen.answers)
    if failed:
        return request.denied("prepare-failed", f"a pod did not prepare for it: {failed}")
    if isinstance(unheard := request.answer(AWAITED), Bad):
        return request.denied("unheard", f"nobody waits for the answer any more: {_why(unheard)}")
    if (tracker := request.tracker) is not None:
        left = tracker.recorded(request.tracked, request.zone, request.now)
        if isinstance(left, str) and left:
            return request.denied("unrecorded", left)
        if not isinstance(left, str):
            return Need(((left,),))
    elif (stamp := _stamp(request)) is not None and isinstance(bad := request.seen.answers[stamp], Bad):
        because = f"its time could not be written to annotation {LAST_DOWNSCALE}: {_why(bad)}"
        return request.denied("unrecorded", because)
    count = len(request.preparation.pods)
    message = f"{sentence(request.seen.review, request.change)}: {count} pod{'s' * (count != 1)} prepared"
    return Admit(allowed=True, word="prepared", message=message, level="info")


def _undone(request: DownscaleRequest, denial: Admit, end: Ask) -> Admit | Need:
    """B-4, H-15: every pod is told, also those that were never asked, and then the mark ends.

    A pod that was not reached hears it later (`unfinished`): its note stays.
    """
    answers, undo = request.seen.answers, request.preparation.undo
    if todo := answers.lacking(undo):
        return Need(todo)
    late = tuple(each for each in undo if isinstance(bad := answers[each], Bad) and bad.kind == "late")
    if late:
        return structs.replace(denial, afterwards=(late, (_at_leisure(end),)))
    return _ended(request, denial, end, _forgets(request))


def _forgets(request: DownscaleRequest) -> tuple[Patch, ...]:
    """Takes away the notes of the pods that have answered."""
    answers = request.seen.answers
    return tuple(
        forgotten(note.ref, note.change_to, note.scope)
        for note, call in zip(_notes(request), request.preparation.undo, strict=True)
        if isinstance(answers[note], Good) and (isinstance(told := answers[call], Good) or told.code)
    )


def _ended(request: DownscaleRequest, outcome: Admit, end: Ask, first: tuple[Patch, ...] = ()) -> Admit | Need:
    """With the mark ended, after these; where the time does not suffice for that, it ends after the answer."""
    if todo := request.seen.answers.lacking(first, (end,)):
        return Need(todo)
    match request.seen.answers[end]:
        case Bad(kind=kind) if kind != "conflict":
            return structs.replace(outcome, afterwards=((_at_leisure(end),),))
    return outcome


def _at_leisure(end: Ask) -> Ask:
    return structs.replace(end, timeout=Ask(end.to).timeout)


def _why(bad: Bad) -> str:
    return bad.text or bad.kind
