"""Pausing a set, letting it go on, and having its pods replaced."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.leaderworker.decide.trees import part, texts
from fairlead.contracts.leaderworker.decide.verbs.targets import Target, target_named
from fairlead.contracts.leaderworker.kinds import PAUSED
from fairlead.core.ask import Answers, Need
from fairlead.core.field_managers import manifest_managers
from fairlead.core.times import format_rfc3339
from fairlead.core.verb import Nothing, Tree, VerbAnswer, VerbPlan, VerbRequest, VerbWrite, follow

RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
"""The annotation that `kubectl rollout restart` sets."""
TEMPLATES = ("leaderTemplate", "workerTemplate")


def pause(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    target = target_named(request, answers)
    if not isinstance(target, Target):
        return target
    if target.is_paused:
        return Nothing(f"{target.name} is paused already: `fairlead resume {target.place}` lets it go on")
    return VerbPlan(
        rollout=target.name,
        writes=(_marked(target, "true"),),
        said=(
            f"{target.name} is paused: no group is updated until `fairlead resume {target.place}`;"
            " groups that are on their way finish, and one that fails is recreated"
        ),
        did=f"paused the rollout of {target.name}",
        event="RolloutPaused",
    )


def resume(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    target = target_named(request, answers)
    if not isinstance(target, Target):
        return target
    if not target.is_paused:
        return Nothing(f"{target.name} is not paused: `fairlead explain {target.place}` says what it waits for")
    managers = manifest_managers(target.managed, {}, ("metadata", "annotations", PAUSED))
    put_back = f"the pause is in the manifest of {', '.join(managers)}, which puts it back: take it out there as well"
    return VerbPlan(
        rollout=target.name,
        writes=(_marked(target, None),),
        said=f"{target.name} goes on; {follow(target.set.metadata.namespace, target.name)}",
        did=f"let the rollout of {target.name} go on",
        event="RolloutResumed",
        warnings=(put_back,) if managers else (),
    )


def _marked(target: Target, value: str | None) -> VerbWrite:
    before = target.set.metadata.annotations.get(PAUSED)
    line = f"{PAUSED}: {before or 'nothing'} -> {value or 'nothing'}"
    return VerbWrite(target.ref, {"metadata": {**target.bound, "annotations": {PAUSED: value}}}, (line,))


def restart(request: VerbRequest, answers: Answers, now: datetime) -> VerbAnswer | Need:
    target = target_named(request, answers)
    if not isinstance(target, Target):
        return target
    given = target.set.spec.leader_worker_template
    which = [name for name in TEMPLATES if isinstance(given.get(name), dict)]
    stamp = format_rfc3339(now.replace(microsecond=0))
    later = f", but not before `fairlead resume {target.place}`: it is paused" if target.is_paused else ""
    return VerbPlan(
        rollout=target.name,
        writes=(_stamped(target, which, stamp),),
        said=(
            f"every group of {target.name} is replaced, the highest first and within its budget{later};"
            f" {follow(target.set.metadata.namespace, target.name)}"
        ),
        did=f"asked for a restart of {target.name}",
        event="RestartRequested",
    )


def _stamped(target: Target, which: list[str], stamp: str) -> VerbWrite:
    annotated = {"metadata": {"annotations": {RESTARTED_AT: stamp}}}
    patch: Tree = {
        "metadata": target.bound,
        "spec": {"leaderWorkerTemplate": dict.fromkeys(which, annotated)},
    }
    lines = tuple(f"{name}: {RESTARTED_AT}: {_stamp_of(target, name) or 'nothing'} -> {stamp}" for name in which)
    return VerbWrite(target.ref, patch, lines)


def _stamp_of(target: Target, name: str) -> str:
    template = part(target.set.spec.leader_worker_template, name)
    return texts(template, "metadata", "annotations").get(RESTARTED_AT, "")
