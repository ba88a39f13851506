"""Pausing a group and letting it go on: an annotation on every zone, so that none goes on alone."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.zones.decide.verbs.targets import Target, TargetGroup, group_named
from fairlead.contracts.zones.kinds import PAUSED
from fairlead.core.ask import Answers, Need
from fairlead.core.field_managers import manifest_managers
from fairlead.core.verb import Nothing, VerbAnswer, VerbPlan, VerbRequest, VerbWrite, follow


def pause(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    group = group_named(request, answers)
    if not isinstance(group, TargetGroup):
        return group
    going = [zone for zone in group.zones if not zone.is_paused]
    if not going:
        return Nothing(f"{group.shown} is paused already: `fairlead resume {group.place}` lets it go on")
    return VerbPlan(
        rollout=group.name,
        writes=tuple(_write(zone, "true") for zone in going),
        said=(
            f"{group.shown} is paused ({_names(going)}): none of its pods is deleted until"
            f" `fairlead resume {group.place}`; pods that are on their way finish"
        ),
        did=f"paused the group {group.shown}",
        event="RolloutPaused",
    )


def resume(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    group = group_named(request, answers)
    if not isinstance(group, TargetGroup):
        return group
    paused = [zone for zone in group.zones if zone.is_paused]
    if not paused:
        return Nothing(f"{group.shown} is not paused: `fairlead explain {group.place}` says what it waits for")
    return VerbPlan(
        rollout=group.name,
        writes=tuple(_write(zone, None) for zone in paused),
        said=f"{group.shown} goes on ({_names(paused)}); {follow(group.namespace, group.shown)}",
        did=f"let the group {group.shown} go on",
        event="RolloutResumed",
        warnings=tuple(_put_back(paused)),
    )


def _write(zone: Target, value: str | None) -> VerbWrite:
    before = zone.statefulset.metadata.annotations.get(PAUSED)
    line = f"{PAUSED}: {before or 'nothing'} -> {value or 'nothing'}"
    return VerbWrite(zone.ref, {"metadata": {**zone.bound, "annotations": {PAUSED: value}}}, (line,))


def _names(zones: list[Target]) -> str:
    return ", ".join(zone.name for zone in zones)


def _put_back(zones: list[Target]) -> list[str]:
    """That a manifest has the pause; others do not touch an annotation that they do not know."""
    path = ("metadata", "annotations", PAUSED)
    managers = dict.fromkeys(who for zone in zones for who in manifest_managers(zone.managed, {}, path))
    if not managers:
        return []
    return [f"the pause is in the manifest of {', '.join(managers)}, which puts it back: take it out there as well"]
