"""Section 3.7: a zone takes its replicas from the scale of a reference resource and tells it what it has."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from fairlead.contracts.zones.decide.groups import Group, Zone
from fairlead.contracts.zones.decide.rollout.roll import Terminate
from fairlead.contracts.zones.decide.rollout.zone_order import zone_order_of
from fairlead.contracts.zones.decide.scaling.delay import (
    Calls,
    Delay,
    DownscaleRefused,
    Granted,
    UnusableDelay,
    calls_of,
    delay_of,
    ruling,
)
from fairlead.contracts.zones.decide.scaling.references import Reference, mirrors, questions, reference_of
from fairlead.contracts.zones.decide.scaling.scale_target import Findings, ScalingFailure, Want, forced
from fairlead.contracts.zones.kinds import MIRROR_WRITE_BACK
from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Need
from fairlead.core.decision import SideNote
from kubeloop.objects.meta import Ref

TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})


def mirrored(group: Group, now: datetime) -> Findings | Need:
    """Rules 27 to 31: zones in order of names; the first that changes and the first error end the walk."""
    answers, zones = group.seen.answers, [zone for zone in group.zones if mirrors(zone)]
    if need := questions(zones, answers):
        return need
    if need := pods_asked(zones, group):
        return need
    asides: list[SideNote] = []
    told = MirroredReplicas()
    for zone in zones:
        reference = reference_of(zone, answers)
        if isinstance(reference, ScalingFailure):
            return Findings(None, (*asides, reference.aside), True, told.reports)
        wanted, have = wanted_of(zone, reference), zone.statefulset.spec.replicas
        calls = calls_of(zone, wanted, group.seen.settings)
        verdict = Granted(have) if wanted == have else ruling(zone, wanted, calls, answers, now)
        match verdict:
            case Granted(replicas) if replicas != have:
                before = told.reports
                told.note(zone, reference, replicas)
                want = Want(zone, replicas, f"as {reference.ref} asks", told.reports)
                return Findings(want, tuple(asides), False, before)
            case DownscaleRefused(why):
                asides.append(why)
        told.note(zone, reference, have)
    return Findings(None, tuple(asides), False, told.reports)


def wanted_of(zone: Zone, reference: Reference) -> int:
    """R of rule 28; B-9 replaces it."""
    number = forced(zone)
    return reference.wanted if number is None else number


def pods_asked(zones: Sequence[Zone], group: Group) -> Need | None:
    """The calls of all zones as far as the walk may come: first those to pods that stay, then to pods that are to go.

    A pass that deletes pods does not cancel in zones at rest, where nothing depends on it (rule 33): pods that do not
    answer would hold up the rollout. The next pass that has nothing to delete does.

    Zones whose downscale may be refused are asked together, so that many zones do not need as many questions; when
    an earlier one then changes, pods of a later one have been told a pass before it is their turn.
    """
    answers, settings = group.seen.answers, group.seen.settings
    deletes = len(group.not_ready) < 2 and isinstance(zone_order_of(group).step, Terminate)
    calls: list[Calls] = []
    for zone in zones:
        reference = reference_of(zone, answers)
        if isinstance(reference, ScalingFailure):
            break
        wanted = wanted_of(zone, reference)
        if wanted != zone.statefulset.spec.replicas or not deletes:
            calls.append(calls_of(zone, wanted, settings))
        if changes_in_any_case(zone, wanted):
            break
    cancel = tuple(ask for each in calls for ask in each.cancel)
    prepare = tuple(ask for each in calls for ask in each.prepare)
    todo = answers.lacking(cancel, prepare)
    return Need(todo) if todo else None


def changes_in_any_case(zone: Zone, wanted: int) -> bool:
    """D0 and D2: whatever the pods answer."""
    have = zone.statefulset.spec.replicas
    match delay_of(zone):
        case None:
            return wanted != have
        case Delay():
            return wanted > have
        case UnusableDelay():
            return False


class MirroredReplicas:
    """What each reference is to be told, by the last zone that mirrors it.

    Zones with different replicas that mirror one object would otherwise take turns at writing for ever (E-18).
    """

    def __init__(self) -> None:
        self._replicas: dict[Ref, tuple[Reference, int]] = {}

    def note(self, zone: Zone, reference: Reference, replicas: int) -> None:
        """B-3: a zone that does not write back leaves the reference alone."""
        if zone.statefulset.metadata.annotations.get(MIRROR_WRITE_BACK, "true") in TRUE:
            self._replicas[reference.ref] = reference, replicas

    @property
    def reports(self) -> tuple[Patch, ...]:
        """Rule 31: only where the reference says otherwise."""
        return tuple(
            reported(reference, replicas)
            for reference, replicas in self._replicas.values()
            if reference.told != replicas
        )


def reported(reference: Reference, replicas: int) -> Patch:
    return Patch(
        ref=reference.ref,
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"status": {"replicas": replicas}}),
        subresource="status",
        does=Does.REPORT_REPLICAS,
        change_from=str(reference.told),
        change_to=str(replicas),
        optional=True,
    )
