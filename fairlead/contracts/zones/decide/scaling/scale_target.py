"""What a search for a zone to scale comes to: one change at most, and what keeps other zones from theirs."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from fairlead.contracts.zones.decide.groups import Zone
from fairlead.contracts.zones.decide.rollout.max_unavailable import shown
from fairlead.contracts.zones.kinds import FORCE_REPLICAS
from fairlead.contracts.zones.words import REASONS, WRITES
from fairlead.core.act import Does, EventNote, Patch, PatchKind
from fairlead.core.decision import SideNote
from fairlead.core.integers import parse_integer
from fairlead.core.reason import Reason

SCALE_TIMEOUT_SECONDS = 30.0
"""Seconds for which admission of a scale may take: pods are told to prepare meanwhile."""
LONGEST_DETAIL = 400
"""Characters; annotations and answers of strangers may be of any length."""


class Want(Struct, frozen=True):
    """This zone is to have so many replicas."""

    zone: Zone
    replicas: int
    why: str
    reports: tuple[Patch, ...] = ()
    """What reference resources are to be told once it has them."""


class ScalingFailure(Struct, frozen=True):
    """A scaling error, which ends all scaling of the group in this pass (rules 22, 24, 27)."""

    aside: SideNote


class Findings(Struct, frozen=True):
    """How a walk over the zones ended: with a change, with an error, or with neither."""

    want: Want | None = None
    asides: tuple[SideNote, ...] = ()
    failed: bool = False
    reports: tuple[Patch, ...] = ()
    """What reference resources are to be told when no zone changes."""


def aside(
    zone: Zone, reason: Reason, detail: str, *, instead_of: int | None = None, until: datetime | None = None
) -> SideNote:
    """Why a zone keeps the replicas it has; `instead_of` is what it would have otherwise."""
    have = zone.statefulset.spec.replicas
    wanted = have if instead_of is None else instead_of
    brief = detail if len(detail) <= LONGEST_DETAIL else f"{detail[: LONGEST_DETAIL - 3]}..."
    text = REASONS[reason].text.format(object=zone.name, count=have, limit=wanted, detail=brief)
    return SideNote(zone.ref, reason, text, until)


def failure(zone: Zone, reason: Reason, detail: str) -> ScalingFailure:
    return ScalingFailure(aside(zone, reason, detail))


def forced(zone: Zone) -> int | None:
    """B-9: the number that goes before any other; None when there is none that can be used."""
    text = zone.statefulset.metadata.annotations.get(FORCE_REPLICAS)
    if text is None:
        return None
    try:
        number = parse_integer(text, bits=32)
    except ValueError:
        return None
    return number if number >= 0 else None


def unusable_force(zone: Zone) -> SideNote | None:
    """What to say of a forced number that is ignored because it is none."""
    text = zone.statefulset.metadata.annotations.get(FORCE_REPLICAS)
    if text is None or forced(zone) is not None:
        return None
    return aside(zone, Reason.ANNOTATION_IGNORED, f"{FORCE_REPLICAS}: {shown(text)} is not a number of 0 or more")


def scaled(want: Want) -> Patch:
    """The write of the replicas and of nothing else.

    It holds only for the incarnation and the number that were decided on. Without a resource version the status may
    change meanwhile, and a refused write is recognised when it is decided on again.
    """
    statefulset, words = want.zone.statefulset, WRITES[Does.SCALE]
    have = statefulset.spec.replicas
    steps = [
        {"op": "test", "path": "/metadata/uid", "value": statefulset.metadata.uid},
        {"op": "test", "path": "/spec/replicas", "value": have},
        {"op": "replace", "path": "/spec/replicas", "value": want.replicas},
    ]
    text = words.text.format(count=have, limit=want.replicas, detail=want.why)
    return Patch(
        ref=want.zone.ref,
        kind=PatchKind.JSON,
        body=msgspec.json.encode(steps),
        does=Does.SCALE,
        scope=want.zone.ref.uid,
        change_from=str(have),
        change_to=str(want.replicas),
        tell=EventNote(want.zone.ref, False, words.event, text),
        refusable=True,
        min_timeout_seconds=SCALE_TIMEOUT_SECONDS,
    )


def after(moment: datetime, nanoseconds: int) -> datetime | None:
    """The moment so much later, to the microsecond and never too early; None beyond what a calendar holds."""
    try:
        return moment + timedelta(microseconds=-(-nanoseconds // 1000))
    except OverflowError:
        return None
