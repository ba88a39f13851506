"""Rule 27: the reference resource of a zone, found by its kind and read through its `scale`."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from fairlead.contracts.zones.decide.groups import Zone
from fairlead.contracts.zones.decide.rollout.max_unavailable import shown
from fairlead.contracts.zones.decide.scaling.scale_target import ScalingFailure, failure
from fairlead.contracts.zones.kinds import MIRROR_API_VERSION, MIRROR_KIND, MIRROR_NAME
from fairlead.core.ask import Answers, Ask, Bad, Discover, Good, Need, Question, Read
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref, ServedVersion
from kubeloop.unreadable import UNREADABLE

SCALE = "scale"
SCALE_KIND, SCALE_GROUP = "Scale", "autoscaling/"
LARGEST = 2**31 - 1
"""The most replicas that any workload can have."""

# They become parts of a path, so that anything which leads elsewhere is refused. Nothing in them can be read in two
# ways: an annotation may have a quarter of a million characters.
_API_VERSION = re.compile(r"(?:[a-z0-9][a-z0-9.-]*)?(?:/[a-z0-9]*)?", re.ASCII)
_NAME = re.compile(r"(?!\.\.?$)[^/%\s]+")


class Reference(Struct, frozen=True):
    ref: Ref
    wanted: int
    """`spec.replicas` of its scale."""
    told: int
    """`status.replicas` of its scale."""


class _Named(Struct, frozen=True):
    uid: str = ""


class _Count(Struct, frozen=True):
    replicas: int = 0


class _Scale(Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: _Named = _Named()
    spec: _Count = _Count()
    status: _Count = _Count()


def mirrors(zone: Zone) -> bool:
    """Whether the zone names a reference; a name without a kind, or a kind without a name, is none."""
    annotations = zone.statefulset.metadata.annotations
    return bool(annotations.get(MIRROR_NAME) and annotations.get(MIRROR_KIND))


def questions(zones: Iterable[Zone], answers: Answers) -> Need | None:
    """What must be asked before all of their references are known, as far as that can be told yet.

    How the kinds are served comes first, then the scale in every version that has one, which is one as a rule. So a
    pass asks twice, however many zones there are.
    """
    kinds = [kind for zone in zones if isinstance(kind := kind_of(zone), Discover)]
    if todo := answers.lacking(once(Ask(kind) for kind in kinds)):
        return Need(todo)
    todo = answers.lacking(once(ask for zone in zones for ask in scales_of(zone, answers)))
    return Need(todo) if todo else None


def once(asks: Iterable[Question]) -> tuple[Question, ...]:
    return tuple(dict.fromkeys(asks))


def kind_of(zone: Zone) -> Discover | str:
    """Which kind is meant, or what is wrong with how it is written; of the API version only the group counts."""
    annotations = zone.statefulset.metadata.annotations
    written, name = annotations.get(MIRROR_API_VERSION, ""), annotations[MIRROR_NAME]
    if not _API_VERSION.fullmatch(written):
        return f"{MIRROR_API_VERSION}: {shown(written)} is not of the form group/version"
    if not _NAME.fullmatch(name):
        return f"{MIRROR_NAME}: {shown(name)} is not the name of an object"
    group, slash, _ = written.partition("/")
    return Discover(group if slash else "", annotations[MIRROR_KIND])


def served_of(zone: Zone, answers: Answers) -> tuple[ServedVersion, ...] | str:
    """The versions in which the kind is served, or why they are not known."""
    kind = kind_of(zone)
    if isinstance(kind, str):
        return kind
    match answers[Ask(kind)]:
        case Bad(word, text):
            return f"cannot find out how kind {shown(kind.kind)} is served: {text or word}"
        case Good(value):
            return msgspec.json.decode(value, type=tuple[ServedVersion, ...])


def scales_of(zone: Zone, answers: Answers) -> tuple[Ask, ...]:
    """A read of the scale in every version that has one, the preferred version first.

    Only in the namespace of the zone: what is in none is told nothing by whoever may annotate a StatefulSet.
    """
    served = served_of(zone, answers)
    if isinstance(served, str):
        return ()
    metadata = zone.statefulset.metadata
    name = metadata.annotations[MIRROR_NAME]
    return tuple(
        Ask(Read(Ref(each.resource, metadata.namespace, name), SCALE))
        for each in served
        if SCALE in each.subresources and each.resource.namespaced
    )


def scale_in(ask: Ask, answers: Answers) -> _Scale | None:
    """None for whatever is no Scale: only in one of them a number that is left out means 0."""
    answer = answers[ask]
    if not isinstance(answer, Good):
        return None
    try:
        scale = msgspec.json.decode(answer.value, type=_Scale)
    except UNREADABLE:
        return None
    return scale if scale.kind == SCALE_KIND and scale.api_version.startswith(SCALE_GROUP) else None


def reference_of(zone: Zone, answers: Answers) -> Reference | ScalingFailure:
    """The first version whose scale can be read, once all questions are answered."""
    served = served_of(zone, answers)
    if isinstance(served, str):
        reason = Reason.INVALID_ANNOTATION if isinstance(kind_of(zone), str) else Reason.REFERENCE_UNREADABLE
        return failure(zone, reason, served)
    reads = scales_of(zone, answers)
    for ask in reads:
        scale = scale_in(ask, answers)
        if scale is None or not isinstance(ask.to, Read):
            continue
        if not 0 <= scale.spec.replicas <= LARGEST:
            detail = f"{ask.to.ref} asks for {scale.spec.replicas} replicas"
            return failure(zone, Reason.REFERENCE_UNREADABLE, detail)
        ref = msgspec.structs.replace(ask.to.ref, uid=scale.metadata.uid)
        return Reference(ref, scale.spec.replicas, scale.status.replicas)
    return failure(zone, Reason.REFERENCE_UNREADABLE, unreadable(zone, served, reads, answers))


def unreadable(zone: Zone, served: tuple[ServedVersion, ...], reads: tuple[Ask, ...], answers: Answers) -> str:
    annotations = zone.statefulset.metadata.annotations
    kind, written = annotations[MIRROR_KIND], annotations.get(MIRROR_API_VERSION, "")
    if not served:
        place = f"API version {shown(written)}" if written else "the core group"
        return f"the API server knows no kind {shown(kind)} in {place}"
    if not any(each.resource.namespaced for each in served):
        return f"kind {shown(kind)} is in no namespace, and references are in that of their zones"
    if not reads:
        return f"kind {shown(kind)} has no scale"
    answer = answers[reads[0]]
    why = answer.text or answer.kind if isinstance(answer, Bad) else "the answer could not be understood"
    return f"cannot read the scale of {kind.lower()}/{annotations[MIRROR_NAME]}: {why}"
