"""What is asked for by an annotation, once (X-5): giving a plan up, taking it back, and trying it again."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.plans.decide.conditions import cause
from fairlead.contracts.plans.decide.verbs.targets import VerbTarget, target_named
from fairlead.contracts.plans.decide.workloads.kind_table import kind_of
from fairlead.contracts.plans.decide.workloads.live import Style, WorkloadKind
from fairlead.contracts.plans.decide.workloads.reverts import goes_back
from fairlead.contracts.plans.kinds import ABANDONED, ACTION, DELETING, FAILED, FAILING, ROLLOUT_TRAITS, SUCCEEDED
from fairlead.contracts.plans.verb_options import REVERT
from fairlead.core.ask import Answers, Need
from fairlead.core.times import format_rfc3339
from fairlead.core.verb import Nothing, Refused, VerbAnswer, VerbPlan, VerbRequest, follow


def abort(request: VerbRequest, answers: Answers, now: datetime) -> VerbAnswer | Need:
    target = target_named(request, answers)
    if not isinstance(target, VerbTarget):
        return target
    back = bool(request.option(REVERT.flag))
    if target.has_ended:
        is_rolled = target.state == SUCCEEDED or back
        helps = f": `fairlead undo {target.place}` goes back to its source" if is_rolled else ""
        return Refused(f"{target.name} has ended ({target.state}) and cannot be aborted{helps}")
    if target.state == DELETING or (target.state == FAILING and back == goes_back(target.plan, target.status)):
        return Refused(f"{target.name} is being given up already ({target.state})")
    if target.asked in ("abort", "revert"):
        return Nothing(f"{target.name} was asked to {target.asked} already: {follow(target.namespace, target.name)}")
    if not target.state:
        return Refused(f"the operator has not begun with {target.name}: delete it, or correct its spec")
    word = "revert" if back else "abort"
    kept = _kept_new(target) if back else ()
    said = f"{target.name} is given up: its workloads stay as they are, with pods of both"
    if back:
        said = f"{target.name} is given up and goes back: old pods are ready before new ones go"
    if kept:
        said = f"{target.name} is given up"
    if target.state == ABANDONED:
        said = f"{target.name} is released for another target, and is given up before anything of that is rolled"
    return VerbPlan(
        rollout=target.name,
        writes=(target.annotated(ACTION, f"{word}@{format_rfc3339(now.replace(microsecond=0))}"),),
        said=f"{said}; {follow(target.namespace, target.name)}",
        did=f"aborted {target.name} and took it back" if back else f"aborted {target.name}",
        event="RolloutAborted",
        warnings=kept,
    )


def _kept_new(target: VerbTarget) -> tuple[str, ...]:
    """That pods which are updated in place stay new where nobody knows their earlier template (V-3 and V-4)."""
    reference = target.status.last_target_ref or target.spec.target_ref
    kind = kind_of(reference, {})
    style = kind.style if isinstance(kind, WorkloadKind) else Style.PAIR
    if target.resource != ROLLOUT_TRAITS or any(
        not each.names_same(reference) for each in target.status.last_source_ref
    ):
        return ()
    if style is Style.PARTITION:
        return (f"new pods of the {reference.kind} go back only where its controller takes a raised partition so",)
    if style is not Style.PAIR:
        named = f"the {reference.kind} {reference.name}"
        return (f"the earlier pod template of {named} is not known: new pods stay new until you put it back",)
    return ()


def retry(request: VerbRequest, answers: Answers, now: datetime) -> VerbAnswer | Need:
    target = target_named(request, answers)
    if not isinstance(target, VerbTarget):
        return target
    if target.asked == "retry":
        return Nothing(f"{target.name} was asked to try again already: {follow(target.namespace, target.name)}")
    if target.state == SUCCEEDED:
        return Refused(f"{target.name} has succeeded: there is nothing to try again")
    if target.state != FAILED:
        state = target.state or "the operator has not begun with it"
        return Refused(
            f"{target.name} has not failed ({state}): `fairlead explain {target.place}` says what it waits for"
        )
    why = cause(target.status)
    held = f"; it is paused until `fairlead resume {target.place}`" if target.plan.paused else ""
    return VerbPlan(
        rollout=target.name,
        writes=(target.annotated(ACTION, f"retry@{format_rfc3339(now.replace(microsecond=0))}"),),
        said=(
            f"{target.name} is tried again from where its workloads stand"
            f"{f'; it had failed: {why}' if why else ''}{held}; {follow(target.namespace, target.name)}"
        ),
        did=f"tried {target.name} again",
        event="RolloutRetried",
    )
