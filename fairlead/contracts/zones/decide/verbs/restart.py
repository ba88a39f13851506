"""Restarting a group: its pods are marked for rotation, and are replaced under the rules of a rollout."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.zones.decide.groups import ON_DELETE
from fairlead.contracts.zones.decide.verbs.targets import Target, TargetGroup, group_named, pods_of, pods_question
from fairlead.contracts.zones.kinds import ROTATE
from fairlead.contracts.zones.verb_options import ZONE
from fairlead.core.ask import Answers, Need
from fairlead.core.pod_readiness import is_terminating
from fairlead.core.verb import (
    Nothing,
    Refused,
    VerbAnswer,
    VerbPlan,
    VerbRequest,
    VerbWrite,
    follow,
)
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Ref


def restart(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    group = group_named(request, answers)
    if not isinstance(group, TargetGroup):
        return group
    if todo := answers.lacking((pods_question(group),)):
        return Need(todo)
    zones = _chosen(group, request.options.get(ZONE.flag, ()))
    if isinstance(zones, Refused):
        return zones
    if trouble := next(filter(None, map(_trouble, group.zones)), ""):
        return Refused(trouble)
    pods = pods_of(group, answers)
    marked = [pod for zone in zones for pod in pods[zone.name] if _is_meant(pod)]
    if not marked:
        return Nothing(f"{group.shown}: every pod is marked already, or there is none; {_follow(group)}")
    return VerbPlan(
        rollout=group.name,
        writes=tuple(_mark(pod) for pod in marked),
        said=_said(group, zones, len(marked)),
        did=f"asked for a restart of {', '.join(zone.name for zone in zones)}",
        event="RestartRequested",
        about=tuple(zone.ref for zone in zones),
    )


def _chosen(group: TargetGroup, names: tuple[str, ...]) -> tuple[Target, ...] | Refused:
    known = {zone.name: zone for zone in group.zones}
    for name in names:
        if name not in known:
            return Refused(f"{name} is no zone of {group.shown}: its zones are {', '.join(known)}")
    return tuple(zone for zone in group.zones if not names or zone.name in names)


def _trouble(zone: Target) -> str:
    """Why a mark on its pods would not do what it is for."""
    spec = zone.statefulset.spec
    if spec.update_strategy.type != ON_DELETE:
        return (
            f"{zone.name} has the update strategy {spec.update_strategy.type}, so nothing of its group is touched:"
            f" make spec.updateStrategy.type {ON_DELETE}, or use `kubectl rollout restart`"
        )
    if ROTATE in spec.template.metadata.labels:
        return f"the pod template of {zone.name} has the label {ROTATE}, so marks of pods are ignored: remove it there"
    return ""


def _is_meant(pod: Pod) -> bool:
    return not is_terminating(pod) and pod.metadata.labels.get(ROTATE) != "true"


def _mark(pod: Pod) -> VerbWrite:
    """Bound to this incarnation: the next pod of the name is a new one already."""
    metadata = pod.metadata
    patch = {"metadata": {"uid": metadata.uid, "labels": {ROTATE: "true"}}}
    ref = Ref(PODS, metadata.namespace, metadata.name, metadata.uid)
    return VerbWrite(ref, patch, (f"{ROTATE}: true",), skipped_when_gone=True)


def _said(group: TargetGroup, zones: tuple[Target, ...], count: int) -> str:
    names = ", ".join(zone.name for zone in zones)
    said = f"{count} pod{'s' * (count != 1)} of {names} will be replaced, one zone after the other"
    paused = [zone.name for zone in zones if zone.is_paused]
    if paused:
        return f"{said}, but not before `fairlead resume {group.place}`: {', '.join(paused)} paused"
    return f"{said}; {_follow(group)}"


def _follow(group: TargetGroup) -> str:
    return follow(group.namespace, group.shown)
