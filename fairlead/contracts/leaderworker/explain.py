"""The explain document of a LeaderWorkerSet: its groups pod by pod, what comes next, and what each wait is for.

A function of what the round was decided on and of the pods as they are, so it can be made when somebody looks.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.leaderworker.decide.disruption_budget import allowance_of
from fairlead.contracts.leaderworker.decide.groups import partition_of, replicas_of
from fairlead.contracts.leaderworker.decide.planner import Stage
from fairlead.contracts.leaderworker.decide.pod_budgets import own_budget
from fairlead.contracts.leaderworker.decide.revisions import Kept
from fairlead.contracts.leaderworker.decide.set_round import Rolled
from fairlead.contracts.leaderworker.decide.status import AVAILABLE
from fairlead.contracts.leaderworker.group_waits import block_of, blocked, kept, names, resumed, worst_first
from fairlead.contracts.leaderworker.kinds import NOUN, PART, PAUSED, LeaderWorkerSet
from fairlead.contracts.leaderworker.lanes import lanes_of
from fairlead.contracts.leaderworker.shown import Shown
from fairlead.core import outcome
from fairlead.core.act import Does
from fairlead.core.decision import Hold, Move, Verdict
from fairlead.core.explain import Block, Explain, Lane, Stands
from fairlead.core.reason import Reason, ReasonKind

PAUSE = Stage.PAUSED.value
OF_TURNS = "plan"
"""The rule of waits that are about which group comes next, and not about one that is not ready."""


def explain(shown: Shown) -> Explain:
    """Where the set stands after this decision, and why."""
    verdict, metadata = shown.decision.verdict, shown.seen.set.metadata
    lanes = lanes_of(shown)
    word = _outcome(shown, lanes)
    wanted = shown.seen.set.spec.replicas
    below = [each for index, each in shown.groups.items() if index < wanted]
    return Explain(
        part=PART,
        noun=NOUN,
        namespace=metadata.namespace,
        rollout=metadata.name,
        outcome=word,
        stands=Stands(
            phase="Blocked" if word == outcome.BLOCKED else phase_of(shown),
            done=sum(each.is_updated and each.is_ready and not each.is_leaving for each in below),
            total=wanted,
            unit="groups",
            lanes=lanes,
        ),
        next=() if verdict.reason.blocks else tuple(_coming(shown)),
        blocked_by=worst_first(_waits(shown, lanes)),
        notes=(*_budget(shown), *_pause(shown)),
        again=verdict.again,
    )


def _reason(shown: Shown) -> Reason:
    """That of the decision; a partition or a pause that keeps no group from anything holds nothing.

    Neither does an apply that concerns no group: who only looks cannot tell what admission of others makes of it.
    """
    reason = shown.decision.verdict.reason
    is_idle = reason is Reason.PARTITION_REACHED and not _outdated(shown, 0)
    is_idle |= reason is Reason.PAUSED and _is_settled(shown)
    is_idle |= _only_repeats(shown.decision.verdict) and _is_settled(shown) and _is_available(shown.seen.set)
    return Reason.COMPLETE if is_idle else reason


def _only_repeats(verdict: Verdict) -> bool:
    """Whether nothing is written but the leaders, with the numbers that they have."""
    if not isinstance(verdict, Move):
        return False
    return all(each.does is Does.APPLY_LEADERS and each.change_from == each.change_to for each in verdict.writes)


def _is_settled(shown: Shown) -> bool:
    """Whether exactly the groups that are wanted are there, ready and at the newest revision."""
    wanted = shown.seen.set.spec.replicas
    there = {index for index, each in shown.groups.items() if each.is_ready and each.is_updated and not each.is_leaving}
    return len(there) == wanted and there == set(shown.groups) and all(0 <= index < wanted for index in there)


def _is_paused(shown: Shown) -> bool:
    return shown.seen.set.metadata.annotations.get(PAUSED) == "true"


def _outcome(shown: Shown, lanes: tuple[Lane, ...]) -> str:
    """One that waits for groups which nothing but a person helps does not go on by itself.

    With the partition reached nothing is left to do once the set is available (section 6.4).
    """
    if _reason(shown) is Reason.PARTITION_REACHED:
        return outcome.DONE if _is_available(shown.seen.set) else outcome.WAITING
    word = outcome.outcome_of(_reason(shown))
    if word != outcome.WAITING:
        return word
    kinds = [{block.kind for block in found} for lane in lanes if (found := _own_waits(lane))]
    stops = {ReasonKind.BLOCKED.value, ReasonKind.INVALID.value, ReasonKind.FAILED.value}
    held = {ReasonKind.HELD.value}
    if not kinds or not all(each & (stops | held) for each in kinds):
        return word
    return outcome.BLOCKED if any(each & stops for each in kinds) else outcome.HELD


def _is_available(given: LeaderWorkerSet) -> bool:
    """As its status says of its newest generation; a definition of an early release has no place for that."""
    status = given.status
    is_true = any(each.type == AVAILABLE and each.status == "True" for each in status.conditions)
    return is_true and status.observed_generation in (0, given.metadata.generation)


def _own_waits(lane: Lane) -> tuple[Block, ...]:
    return tuple(block for block in lane.waits if block.rule != OF_TURNS)


PHASES = {
    Stage.CREATING: "Creating",
    Stage.SELECTED: "Rolling",
    Stage.SCALING_FIRST: "Scaling",
    Stage.ROLLING: "Rolling",
    Stage.RECLAIMING: "Reclaiming",
    Stage.HELD: "Held",
    Stage.PAUSED: "Paused",
    Stage.BLOCKED: "Blocked",
}


def phase_of(shown: Shown) -> str:
    reason, rolled = _reason(shown), shown.rolled
    if reason is Reason.COMPLETE:
        return PHASES[Stage.PAUSED] if _is_paused(shown) else "Current"
    if reason in (Reason.SET_LEAVING, Reason.LEADERS_LEAVING):
        return "Leaving"
    if reason.blocks or rolled is None:
        return "Blocked"
    if rolled.plan.stage is Stage.STEADY and reason is Reason.SCALING:
        return "Scaling"
    return PHASES.get(rolled.plan.stage, "Settling")


def _waits(shown: Shown, lanes: tuple[Lane, ...]) -> Iterator[Block]:
    verdict, about = shown.decision.verdict, f"leaderworkerset/{shown.name}"
    groups = [block for lane in lanes for block in _own_waits(lane)]
    if isinstance(verdict, Move):
        yield from (block for block in groups if block.kind != ReasonKind.WAITING.value)
        return
    match _reason(shown):
        case Reason.COMPLETE if _is_paused(shown):
            detail = ": nothing waits for that now, and the next change will"
            yield block_of(shown, PAUSE, Reason.PAUSED, about, detail, advice=(resumed(shown),))
        case Reason.COMPLETE:
            return
        case Reason.GROUPS_NOT_READY | Reason.POD_STUCK:
            detail = "waiting for the StatefulSet controller to report the groups"
            yield from groups or [block_of(shown, shown.decision.rule, verdict.reason, about, detail)]
        case reason:
            yield from _held(shown, verdict, about)
            yield from groups if reason is Reason.OLD_GROUPS_NOT_READY else ()


def _held(shown: Shown, verdict: Hold, about: str) -> Iterator[Block]:
    rule, reason = shown.decision.rule, verdict.reason
    match reason:
        case Reason.PARTITION_REACHED:
            path = '{"spec":{"rolloutStrategy":{"rollingUpdateConfiguration":{"partition":0}}}}'
            given = shown.seen.set.metadata
            command = f"kubectl -n {given.namespace} patch leaderworkerset {given.name} --type merge -p '{path}'"
            yield block_of(shown, rule, reason, about, kept(shown), advice=(f"let all groups go on: {command}",))
        case Reason.PAUSED:
            yield block_of(shown, rule, reason, about, _kept_by_pause(shown), advice=(resumed(shown),))
        case Reason.OLD_GROUPS_NOT_READY:
            detail = blocked(shown, () if shown.rolled is None else shown.rolled.plan.blocked_by)
            yield block_of(shown, rule, reason, about, detail, advice=_more_unavailable(shown))
        case _:
            for each, detail in verdict.details or ((about, ""),):
                yield block_of(shown, rule, reason, each, detail, advice=_let_go(shown, reason))


def _let_go(shown: Shown, reason: Reason) -> tuple[str, ...]:
    """Leaders that nobody controls, as a deletion that orphans leaves them: their pods can be taken over."""
    leaders, given = shown.seen.leaders, shown.seen.set.metadata
    if reason is not Reason.NAME_TAKEN or leaders is None or leaders.metadata.controller_uid:
        return ()
    command = f"kubectl -n {given.namespace} delete statefulset {given.name} --cascade=orphan"
    return (f"nobody controls it; if its pods are those of this set, let them be taken over as they are: {command}",)


def _kept_by_pause(shown: Shown) -> str:
    left = _outdated(shown, shown.kept_below)
    surplus = [each for each in shown.groups if each >= shown.seen.set.spec.replicas]
    kept_back = (
        f"{names(shown, found)} {'stays' if len(found) == 1 else 'stay'} {where}"
        for found, where in ((left, "at the earlier revision"), (surplus, "although fewer groups are wanted"))
        if found
    )
    said = ", and ".join(kept_back)
    return f": {said}" if said else ""


def _budget(shown: Shown) -> Iterator[str]:
    """What bounds evictions, where the set asks for that (section 6.8)."""
    allowed, wanted = allowance_of(shown.seen.set), shown.seen.set.spec.replicas
    if allowed.groups is None:
        return
    own = own_budget(shown.seen)
    asked = f"evictions are to disturb at most {allowed.groups} of {wanted} groups at once"
    if not allowed.bounds(wanted):
        yield f"evictions are not bounded: all {wanted} groups may be disturbed at once" if wanted else asked
    elif shown.seen.settings.reviews_evictions:
        yield f"evictions disturb at most {allowed.groups} of {wanted} groups at once: a webhook reviews them"
    elif own is not None:
        least = own.spec.min_available
        yield f"{asked}: PodDisruptionBudget {shown.name} keeps {least} pods, which bounds pods and not groups"
    else:
        yield f"{asked}: no PodDisruptionBudget of the set is there, and no webhook is known here that reviews them"


def _pause(shown: Shown) -> Iterator[str]:
    """That the next change will not go on, where something else is waited for."""
    if _is_paused(shown) and _reason(shown) not in (Reason.PAUSED, Reason.COMPLETE):
        yield f"it is paused: a change of the template waits until `fairlead resume {shown.place}`"


def _more_unavailable(shown: Shown) -> tuple[str, ...]:
    more = shown.budget.unavailable + 1
    return (f"make these groups ready, or let {more} groups be unavailable: set maxUnavailable to {more}",)


def _coming(shown: Shown) -> Iterator[str]:
    """What is done now, or as soon as the wait is over; then what follows."""
    rolled = shown.rolled
    if rolled is None:
        return
    now = tuple(_now(shown, rolled)) if isinstance(shown.decision.verdict, Move) else ()
    yield from now
    then = "then " if now else ""
    for each in _later(shown, rolled):
        yield then + each
        then = "then "


def _now(shown: Shown, rolled: Rolled) -> Iterator[str]:
    leaders, plan = shown.seen.leaders, rolled.plan
    if not isinstance(rolled.chosen, Kept):
        yield f"record revision {rolled.key}"
    if leaders is None:
        yield f"make {plan.replicas} group{'s' * (plan.replicas != 1)} of {rolled.view.size}"
        return
    before = replicas_of(leaders)
    if plan.replicas > before:
        yield f"start {names(shown, range(before, plan.replicas))}"
    if moved := [each for each in _outdated(shown, plan.partition) if each < partition_of(leaders)]:
        yield f"update {names(shown, moved)}" + (f"; {_allowed(shown)}" if _is_without_surge(shown) else "")
    if plan.replicas < before:
        yield f"remove {names(shown, range(plan.replicas, before))}"


def _outdated(shown: Shown, first: int) -> list[int]:
    """Groups from an index on that do not carry the key yet."""
    return [index for index, each in sorted(shown.groups.items()) if index >= first and each.key != shown.key]


def _later(shown: Shown, rolled: Rolled) -> Iterator[str]:
    plan, wanted = rolled.plan, shown.seen.set.spec.replicas
    left = [index for index in _outdated(shown, shown.kept_below) if index < min(plan.partition, wanted)]
    if left and plan.stage not in (Stage.HELD, Stage.PAUSED):
        order = ", the highest first" if len(left) > 1 else ""
        yield f"update {names(shown, left)}{order}; {_allowed(shown)}"
    if plan.replicas > wanted and plan.stage not in (Stage.HELD, Stage.PAUSED) and shown.kept_below == 0:
        surge = names(shown, range(wanted, plan.replicas))
        yield f"remove {surge} of the surge when the others are ready"


def _is_without_surge(shown: Shown) -> bool:
    """Whether a surge is asked for and not used, because enough groups may be unavailable."""
    return shown.budget.surge > 0 and shown.replicas <= shown.seen.set.spec.replicas


def _allowed(shown: Shown) -> str:
    limits, wanted = shown.budget, shown.seen.set.spec.replicas
    more = f", {limits.surge} more may be there" if limits.surge else ""
    if _is_without_surge(shown):
        more = ", so that no group of the surge is needed"
    return f"at most {limits.unavailable} of {wanted} groups may be unavailable{more}"
