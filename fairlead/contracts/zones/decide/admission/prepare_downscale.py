"""The webhook prepare-downscale (sections 3.11 and 3.12): pods that a downscale removes prepare, one zone at a time.

A request runs from its record to its answer without a lock: it reads the mark of its group, then the lists, then takes
the mark, calls the pods and writes the time of the downscale. Whoever reads the lists after another has taken the mark
loses the swap; whoever reads them after the mark has ended sees the time that was written.
A review is not signed, so what it shows only says what is asked for; which pods are called and how is read live.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct, structs

from fairlead.contracts.zones.decide.admission import downscale_marks
from fairlead.contracts.zones.decide.admission.downscale_effects import DownscaleRequest, carried_out
from fairlead.contracts.zones.decide.admission.last_downscale import annotated, too_soon
from fairlead.contracts.zones.decide.admission.live_lists import pods_question
from fairlead.contracts.zones.decide.admission.neighbours import group_of, unsettled, zones_in, zones_question
from fairlead.contracts.zones.decide.admission.preparation import Preparation, preparation_of, refusal_of
from fairlead.contracts.zones.decide.admission.review_reading import (
    SCALE,
    Downscale,
    ReviewSnapshot,
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
from fairlead.contracts.zones.decide.admission.zone_tracker import Tracked
from fairlead.contracts.zones.kinds import PREPARE_DOWNSCALE
from fairlead.core.ask import Ask, Bad, Good, Need, Read, StartOver
from fairlead.core.decision import Admit
from kubeloop.objects.apps import STATEFULSETS, Ordinals, StatefulSet
from kubeloop.objects.meta import Ref

NOT_THERE = "the cluster has no such StatefulSet, or another one of this name; try again"
"""Reviews are not signed: a made up one must at least speak of what is there, down to its UID, to have pods called."""


def prepare_downscale(seen: ReviewSnapshot, now: datetime) -> Admit | Need | StartOver:
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
    request = DownscaleRequest(seen, now, change, zone, group_of(zone))
    if refusal := refusal_of(zone, change, _start(seen, change, zone)):
        return request.denied(refusal.word, refusal.text)
    namespace = seen.review.namespace
    record = downscale_marks.question(namespace, request.group) if request.group else downscale_marks.own_question(zone)
    if todo := seen.answers.lacking((record,)):
        return Need(todo)
    mark = seen.answers[record]
    if isinstance(mark, Bad):
        return request.denied("record-unread", f"it is not known whether another is in progress: {_why(mark)}")
    if busy := downscale_marks.in_progress(mark, now):
        where = ", of the same group," if request.group else ""
        return request.denied(
            "in-progress", f"a downscale of {busy}{where} is in progress; try again when it has ended"
        )
    judged = _in_group(request) if request.group else _alone(request)
    return carried_out(judged, record, mark) if isinstance(judged, DownscaleRequest) else judged


def outpaced(seen: ReviewSnapshot) -> Admit:
    """The answer when others have taken and ended the mark of the group for as long as there was time."""
    change = downscale_of(seen.review)
    if isinstance(change, Admit):
        return change
    because = "other downscales of the same group were faster each time; nothing was done, so try again"
    return denied("outpaced", f"{sentence(seen.review, change)} is not allowed: {because}")


def _zone(seen: ReviewSnapshot, change: Downscale) -> StatefulSet | Admit | Need:
    """Section 3.11 step 3: the StatefulSet, as it was before or as it is when only its Scale is reviewed."""
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


def _start(seen: ReviewSnapshot, change: Downscale, zone: StatefulSet) -> int:
    """The first ordinal after the change; a Scale does not change it."""
    if change.kind == SCALE:
        return zone.spec.ordinals.start
    wanted = decoded(seen.review.object, _Wanted)
    return wanted.spec.ordinals.start if wanted and wanted.spec and wanted.spec.ordinals else 0


def _in_group(request: DownscaleRequest) -> DownscaleRequest | Admit | Need:
    """Section 3.11 steps 8 to 10: the request with what the lists told about it, when the group lets it pass."""
    answers, listing = request.seen.answers, zones_question(request.seen.review.namespace, request.group)
    tracker = request.tracker
    lists = (listing,) if tracker is None else (listing, tracker.question())
    if todo := answers.lacking(lists):
        return Need(todo)
    zones = zones_in(answers[listing])
    if isinstance(zones, str):
        return request.denied("zones-unread", zones)
    found = _as_it_is(request, next((zone for zone in zones if _same(zone, request.zone)), None))
    if isinstance(found, Admit):
        return found
    judged = _spaced(found, zones)
    return judged if not isinstance(judged, DownscaleRequest) else _settled(judged, zones) or judged


def _as_it_is(request: DownscaleRequest, zone: StatefulSet | None) -> DownscaleRequest | Admit:
    """With the zone as it was read under the same mark, and the calls to its pods."""
    if zone is None:
        return request.denied("not-there", NOT_THERE)
    if group_of(zone) != request.group:
        return request.denied("group-changed", "its group has changed; try again")
    seen, change = request.seen, request.change
    preparation = preparation_of(zone, change, _start(seen, change, zone), seen)
    if not isinstance(preparation, Preparation):
        return request.denied(preparation.word, preparation.text)
    if not preparation.ordinals:
        # Somebody was faster; the API server finds that its object has changed and asks again.
        return ignored("not-a-downscale")
    return structs.replace(request, zone=zone, preparation=preparation)


def _spaced(request: DownscaleRequest, zones: tuple[StatefulSet, ...]) -> DownscaleRequest | Admit | Need:
    """Section 3.11 step 9; the request with what the lists told about its zone and the tracker."""
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


def _settled(request: DownscaleRequest, zones: tuple[StatefulSet, ...]) -> Admit | Need | None:
    """Section 3.11 step 10; None when every other zone is at rest."""
    others = _others(request, zones)
    questions = tuple(pods_question(zone) for zone in others)
    if todo := request.seen.answers.lacking(questions):
        return Need(todo)
    because = unsettled(others, [request.seen.answers[question] for question in questions])
    return request.denied("zone-unsettled", because) if because else None


def _others(request: DownscaleRequest, zones: tuple[StatefulSet, ...]) -> tuple[StatefulSet, ...]:
    """Rule 38: a zone does not hold itself back."""
    return tuple(zone for zone in zones if zone.metadata.name != request.zone.metadata.name)


def _alone(request: DownscaleRequest) -> DownscaleRequest | Admit | Need:
    """The same for a zone that has nobody to mind."""
    review, metadata = request.seen.review, request.zone.metadata
    live = Ask(Read(Ref(STATEFULSETS, review.namespace, review.name, metadata.uid)))
    if todo := request.seen.answers.lacking((live,)):
        return Need(todo)
    answer = request.seen.answers[live]
    if isinstance(answer, Bad) and answer.kind != "absent":
        return request.denied("zone-unread", f"it could not be read: {_why(answer)}")
    zone = decoded(answer.value, StatefulSet) if isinstance(answer, Good) else None
    found = _as_it_is(request, zone if zone is not None and _same(zone, request.zone) else None)
    if isinstance(found, Admit) or (tracker := found.tracker) is None:
        return found
    tracked = tracker.read()
    if isinstance(tracked, str):
        return found.denied("tracker-unread", tracked)
    if tracked is not None and not isinstance(tracked, Tracked):
        return Need(((tracked,),))
    return structs.replace(found, tracked=tracked)


def _same(one: StatefulSet, other: StatefulSet) -> bool:
    mine, theirs = one.metadata, other.metadata
    return (mine.uid, mine.namespace, mine.name) == (theirs.uid, theirs.namespace, theirs.name)


def _why(bad: Bad) -> str:
    return bad.text or bad.kind
