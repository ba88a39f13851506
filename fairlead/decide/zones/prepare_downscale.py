"""The webhook prepare-downscale (3.11, 3.12): the pods that a downscale removes prepare for it, one zone at a time.

A request runs from its record to its answer without a lock: it reads the mark of its group, then the lists, then takes
the mark, calls the pods and writes the time of the downscale. Whoever reads the lists after another has taken the mark
loses the swap; whoever reads them after the mark has ended sees the time that was written.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec
from msgspec import Struct, structs

from fairlead.api.apps import STATEFULSETS, Ordinals, StatefulSet
from fairlead.api.meta import Ref
from fairlead.api.times import format_rfc3339
from fairlead.api.zones import LAST_DOWNSCALE, PREPARE_DOWNSCALE
from fairlead.decide.act import Does, Patch, PatchKind
from fairlead.decide.ask import Anew, Ask, Awaited, Bad, Good, Need, Question
from fairlead.decide.decision import Admit
from fairlead.decide.zones import marks
from fairlead.decide.zones.last_downscale import annotated, is_repetition, too_soon
from fairlead.decide.zones.lists import pods_question
from fairlead.decide.zones.neighbours import group_of, unsettled, zones_in, zones_question
from fairlead.decide.zones.preparation import Preparation, Refusal, preparation_of
from fairlead.decide.zones.reviewing import (
    SCALE,
    Downscale,
    Seen,
    decoded,
    denied,
    downscale_of,
    ignored,
    name_of,
    parent_question,
    sentence,
    unjudged,
    unread_parent,
)
from fairlead.decide.zones.tracker import Tracked, Tracker

AWAITED = Ask(Awaited())
"""Asked when the pods have prepared, which may take as long as a client waits, and before the time is written.

Only under the mark of a group: without one the client's next attempt may be preparing the same pods meanwhile, and
undoing would undo that as well.
"""

NOT_THERE = "the cluster has no such StatefulSet, or another one of this name; try again"
"""Reviews are not signed: a made up one must at least speak of what is there, down to its UID, to have pods called."""


class Request(Struct, frozen=True):
    """A downscale of a zone that wants to be prepared."""

    seen: Seen
    now: datetime
    change: Downscale
    zone: StatefulSet
    """Its newest state that was read."""
    group: str
    """Empty for a zone that shares its downscales with no other."""
    preparation: Preparation
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


def prepare_downscale(seen: Seen, now: datetime) -> Admit | Need | Anew:
    """Allowed at once where nothing is asked of the pods, else when the group is at rest and they have prepared."""
    if seen.review.is_dry_run:
        return ignored("dry-run")
    change = downscale_of(seen.review)
    if isinstance(change, Admit):
        return change
    zone = _zone(seen, change)
    if not isinstance(zone, StatefulSet):
        return zone
    if zone.metadata.labels.get(PREPARE_DOWNSCALE) != "true":
        return ignored("not-labelled")
    preparation = preparation_of(zone, change, _start(seen, change, zone), seen)
    if isinstance(preparation, Refusal):
        because = f"{sentence(seen.review, change)} is not allowed: {preparation.text}"
        return denied(preparation.word, because)
    request = Request(seen, now, change, zone, group_of(zone), preparation)
    return _in_group(request) if request.group else _alone(request)


def outpaced(seen: Seen) -> Admit:
    """The answer when others have taken and ended the mark of the group for as long as there was time."""
    change = downscale_of(seen.review)
    if isinstance(change, Admit):
        return change
    because = "other downscales of the same group were faster each time; nothing was done, so try again"
    return denied("outpaced", f"{sentence(seen.review, change)} is not allowed: {because}")


def _zone(seen: Seen, change: Downscale) -> StatefulSet | Admit | Need:
    """Step 3: the StatefulSet, as it was before or as it is when only its Scale is reviewed."""
    review = seen.review
    if change.kind == STATEFULSETS.kind:
        found = decoded(review.old_object, StatefulSet)
        return found or unjudged("undecodable", f"{name_of(review)} was not prepared: its old object cannot be read")
    if change.kind != SCALE or review.resource.resource != STATEFULSETS.plural:
        return unjudged("kind-unsupported", f"{name_of(review)} was not prepared: only StatefulSets are")
    question = parent_question(review, STATEFULSETS)
    if todo := seen.answers.lacking((question,)):
        return Need(todo)
    answer = seen.answers[question]
    if isinstance(answer, Bad):
        return unread_parent(review, answer)
    return decoded(answer.value, StatefulSet) or unread_parent(review, None)


class _Spec(Struct, frozen=True):
    ordinals: Ordinals | None = None


class _Wanted(Struct, frozen=True):
    spec: _Spec | None = None


def _start(seen: Seen, change: Downscale, zone: StatefulSet) -> int:
    """The first ordinal after the change; a Scale does not change it."""
    if change.kind == SCALE:
        return zone.spec.ordinals.start
    wanted = decoded(seen.review.object, _Wanted)
    return wanted.spec.ordinals.start if wanted and wanted.spec and wanted.spec.ordinals else 0


def _in_group(request: Request) -> Admit | Need | Anew:
    """Steps 8 to 10 and rule 45."""
    seen, namespace = request.seen, request.seen.review.namespace
    record = marks.question(namespace, request.group)
    if todo := seen.answers.lacking((record,)):
        return Need(todo)
    mark = seen.answers[record]
    if isinstance(mark, Bad):
        return request.denied("record-unread", f"it is not known whether another is in progress: {_why(mark)}")
    if busy := marks.in_progress(mark, request.now):
        because = f"a downscale of {busy}, of the same group, is in progress; try again when it has ended"
        return request.denied("in-progress", because)

    listing = zones_question(namespace, request.group)
    tracker = request.tracker
    lists = (listing,) if tracker is None else (listing, tracker.question())
    if todo := seen.answers.lacking(lists):
        return Need(todo)
    zones = zones_in(seen.answers[listing])
    if isinstance(zones, str):
        return request.denied("zones-unread", zones)
    mine = next((zone for zone in zones if _same(zone, request.zone)), None)
    if mine is None:
        return request.denied("not-there", NOT_THERE)
    judged = _spaced(structs.replace(request, zone=mine), zones)
    if not isinstance(judged, Request):
        return judged
    return _settled(judged, zones) or _with_mark(judged, record, mark)


def _spaced(request: Request, zones: tuple[StatefulSet, ...]) -> Request | Admit | Need:
    """Step 9; the request with what the lists told about its zone and the tracker."""
    others = _others(request, zones)
    last: Callable[[StatefulSet], datetime | None] = annotated
    if (tracker := request.tracker) is not None:
        tracked = tracker.loaded(zones, request.now)
        if isinstance(tracked, str):
            return request.denied("tracker-unread", tracked)
        if not isinstance(tracked, Tracked):
            return Need(((tracked,),))
        try:
            times = tracked.times()
        except ValueError as error:
            return request.denied("tracker-unread", str(error))
        request = structs.replace(request, tracked=tracked)

        def last(zone: StatefulSet) -> datetime | None:
            return times.get(zone.metadata.name)

    because = too_soon(others, last, request.now)
    return request.denied("too-soon", because) if because else request


def _settled(request: Request, zones: tuple[StatefulSet, ...]) -> Admit | Need | None:
    """Step 10; None when every other zone is at rest."""
    others = _others(request, zones)
    questions = tuple(pods_question(zone) for zone in others)
    if todo := request.seen.answers.lacking(questions):
        return Need(todo)
    because = unsettled(others, [request.seen.answers[question] for question in questions])
    return request.denied("zone-unsettled", because) if because else None


def _others(request: Request, zones: tuple[StatefulSet, ...]) -> tuple[StatefulSet, ...]:
    """Rule 38: a zone does not hold itself back."""
    return tuple(zone for zone in zones if zone.metadata.name != request.zone.metadata.name)


def _with_mark(request: Request, record: Ask, mark: Good) -> Admit | Need | Anew:
    """Steps 11 to 13 under the mark of the group."""
    length = request.preparation.length(request.seen.settings)
    take = marks.taken(record, mark, request.zone.metadata.name, request.now, length)
    posts, stamp = _effects(request)
    if todo := request.seen.answers.lacking((take,), posts, (AWAITED,), stamp):
        return Need(todo, stop_at_failure=True)
    taken = request.seen.answers[take]
    if isinstance(taken, Bad):
        if taken.kind == "conflict":
            return Anew()
        return request.denied("record-unwritten", f"it could not be noted that it is in progress: {_why(taken)}")
    end = marks.ended(record, taken, request.now)
    outcome = _effected(request)
    if not isinstance(outcome, Admit):
        return outcome
    at_leisure = structs.replace(end, timeout=record.timeout)
    if not outcome.allowed:
        return structs.replace(outcome, afterwards=(*outcome.afterwards, (at_leisure,)))
    # The mark ends before the answer: the API server repeats a review whose object was changed meanwhile, as it was by
    # the time written here, and the repetition comes at once.
    if todo := request.seen.answers.lacking((end,)):
        return Need(todo)
    match request.seen.answers[end]:
        case Bad(kind=kind) if kind != "conflict":
            return structs.replace(outcome, afterwards=((at_leisure,),))
    return outcome


def _alone(request: Request) -> Admit | Need:
    """Steps 11 to 13 of a zone that has nobody to mind."""
    live = parent_question(request.seen.review, STATEFULSETS)
    if todo := request.seen.answers.lacking((live,)):
        return Need(todo)
    answer = request.seen.answers[live]
    if isinstance(answer, Bad) and answer.kind != "absent":
        return request.denied("zone-unread", f"it could not be read: {_why(answer)}")
    found = decoded(answer.value, StatefulSet) if isinstance(answer, Good) else None
    if found is None or not _same(found, request.zone):
        return request.denied("not-there", NOT_THERE)
    request = structs.replace(request, zone=found)
    if (tracker := request.tracker) is not None:
        tracked = tracker.read()
        if isinstance(tracked, str):
            return request.denied("tracker-unread", tracked)
        if tracked is not None and not isinstance(tracked, Tracked):
            return Need(((tracked,),))
        request = structs.replace(request, tracked=tracked)
    if todo := request.seen.answers.lacking(*_effects(request)):
        return Need(todo, stop_at_failure=True)
    return _effected(request)


def _effects(request: Request) -> tuple[tuple[Question, ...], ...]:
    """The calls and, when all have succeeded, the time."""
    stamp = _stamp(request)
    return (request.preparation.posts, () if stamp is None else (stamp,))


def _stamp(request: Request) -> Question | None:
    """Step 12: the time of this downscale; None when it is a repetition of the last, whose time stays (H-4)."""
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


def _effected(request: Request) -> Admit | Need:
    """Allowed when every pod has prepared and the time is written; otherwise denied, with all pods to be undone."""
    failed = request.preparation.failures(request.seen.answers)
    if failed:
        return _undone(request, "prepare-failed", f"a pod did not prepare for it: {failed}")
    if isinstance(unheard := request.answer(AWAITED), Bad):
        return _undone(request, "unheard", f"nobody waits for the answer any more: {_why(unheard)}")
    if (tracker := request.tracker) is not None:
        left = tracker.recorded(request.tracked, request.zone, request.now)
        if isinstance(left, str) and left:
            return _undone(request, "unrecorded", left)
        if not isinstance(left, str):
            return Need(((left,),))
    elif (stamp := _stamp(request)) is not None and isinstance(bad := request.seen.answers[stamp], Bad):
        because = f"its time could not be written to annotation {LAST_DOWNSCALE}: {_why(bad)}"
        return _undone(request, "unrecorded", because)
    count = len(request.preparation.pods)
    message = f"{sentence(request.seen.review, request.change)}: {count} pod{'s' * (count != 1)} prepared"
    return Admit(allowed=True, word="prepared", message=message, level="info")


def _undone(request: Request, word: str, because: str) -> Admit:
    """B-4, H-15: every pod is told, also those that were never asked, after the denial was sent."""
    return structs.replace(request.denied(word, because), afterwards=(request.preparation.undo,))


def _same(one: StatefulSet, other: StatefulSet) -> bool:
    mine, theirs = one.metadata, other.metadata
    return (mine.uid, mine.namespace, mine.name) == (theirs.uid, theirs.namespace, theirs.name)


def _why(bad: Bad) -> str:
    return bad.text or bad.kind
