"""Pausing a plan, and letting it go on."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.plans.decide.verbs.targets import GIVING_UP, PLAN, VerbTarget, target_named
from fairlead.contracts.plans.kinds import FINALISING, ROLLING
from fairlead.core.ask import Answers, Need
from fairlead.core.verb import Nothing, Refused, VerbAnswer, VerbPlan, VerbRequest, VerbWrite, follow


def pause(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    target = target_named(request, answers)
    if not isinstance(target, VerbTarget):
        return target
    if target.has_ended:
        return Refused(f"{target.name} has ended ({target.state}): there is nothing to pause")
    if target.state in GIVING_UP:
        return Refused(f"{target.name} is being given up ({target.state}), which a pause does not stop")
    if target.state == FINALISING:
        return Refused(f"all batches of {target.name} are rolled: it is about to complete")
    if target.plan.paused:
        return Nothing(f"{target.name} is paused already: `fairlead resume {target.place}` lets it go on")
    where = "it stops before batch 0"
    if target.state == ROLLING:
        where = f"it stays in batch {target.status.current_batch}, and pods that are on their way become ready"
    return VerbPlan(
        rollout=target.name,
        writes=(_written(target, paused=True),),
        said=f"{target.name} is paused: {where}; `fairlead resume {target.place}` lets it go on",
        did=f"paused {target.name}",
        event="RolloutPaused",
        warnings=target.put_back_by(*PLAN, "paused"),
    )


def resume(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    target = target_named(request, answers)
    if not isinstance(target, VerbTarget):
        return target
    if not target.plan.paused:
        return Nothing(f"{target.name} is not paused: `fairlead explain {target.place}` says what it waits for")
    return VerbPlan(
        rollout=target.name,
        writes=(_written(target, paused=False),),
        said=f"{target.name} goes on; {follow(target.namespace, target.name)}",
        did=f"let {target.name} go on",
        event="RolloutResumed",
        warnings=target.put_back_by(*PLAN, "paused"),
    )


def _written(target: VerbTarget, *, paused: bool) -> VerbWrite:
    def word(value: bool) -> str:
        return "true" if value else "false"

    line = f"{'.'.join(PLAN)}.paused: {word(target.plan.paused)} -> {word(paused)}"
    return target.patched({"rolloutPlan": {"paused": paused}}, (line,))
