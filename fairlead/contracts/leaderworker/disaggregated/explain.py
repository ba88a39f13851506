"""The explain document of a DisaggregatedSet: its roles as lanes, old and new replicas of each, and what is waited for.

A cell is one group of a role. Which of the groups of a LeaderWorkerSet are ready is told by its own document, so that
here the first of them stand for those that are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from fairlead.contracts.leaderworker.decide.disaggregated.children import Child, child_name
from fairlead.contracts.leaderworker.decide.disaggregated.planner import RoleCounts, next_step
from fairlead.contracts.leaderworker.decide.disaggregated.rolling import SliceState, counts_of
from fairlead.contracts.leaderworker.decide.disaggregated.round import RoundView, standing
from fairlead.contracts.leaderworker.decide.disaggregated.seen import DisaggregatedSeen
from fairlead.contracts.leaderworker.disaggregated.kinds import NOUN, DisaggregatedSet
from fairlead.contracts.leaderworker.disaggregated.words import REASONS
from fairlead.contracts.leaderworker.kinds import PART
from fairlead.core.decision import Decision, Hold
from fairlead.core.explain import Block, Cell, Explain, Lane, Stands, key_of_wait
from fairlead.core.outcome import outcome_of
from fairlead.core.reason import Reason

MOST_CELLS = 100
"""Groups of a role that are shown."""
ROLLING, SETTLING = "Rolling", "Settling"
PHASES = {
    Reason.COMPLETE: "Current",
    Reason.SET_LEAVING: "Leaving",
    Reason.ROLLING: ROLLING,
    Reason.SCALING: "Scaling",
    Reason.RETIRING: "Retiring",
    Reason.NAME_TAKEN: "Blocked",
    Reason.LABEL_CHANGED: "Blocked",
    Reason.OBJECT_REFUSED: "Blocked",
    Reason.READ_FAILED: "Blocked",
    Reason.SPEC_INVALID: "Blocked",
}


def explain(seen: DisaggregatedSeen, decision: Decision, since: Mapping[str, datetime] = {}) -> Explain:
    """Where the set stands after this decision, and why."""
    given, verdict = seen.set, decision.verdict
    found = standing(seen)
    lanes = tuple(lane for state in found.slices for lane in _lanes(seen, found, state))
    is_rolling = any(state.olds for state in found.slices)
    phase = PHASES.get(verdict.reason) or (ROLLING if is_rolling else SETTLING)
    wanted = {each.name for each in given.spec.roles}
    return Explain(
        part=PART,
        noun=NOUN,
        namespace=given.metadata.namespace,
        rollout=given.metadata.name,
        outcome=outcome_of(verdict.reason),
        stands=Stands(
            phase=phase,
            done=sum(each.done for each in lanes),
            total=sum(each.total for each in lanes if each.name.rpartition("/")[2] in wanted),
            unit="groups",
            lanes=lanes,
        ),
        next=() if verdict.reason.blocks else tuple(_coming(seen, found)),
        blocked_by=tuple(_waits(given, decision, since)),
        again=verdict.again,
    )


def _lanes(seen: DisaggregatedSeen, found: RoundView, state: SliceState) -> Iterator[Lane]:
    several = seen.set.spec.slices > 1
    for name, counts in counts_of(seen.set, state).items():
        child = state.target.roles.get(name)
        olds = [old.roles[name] for old in state.olds if name in old.roles]
        yield Lane(
            name=f"{state.index}/{name}" if several else name,
            phase=phase_of_role(counts, child),
            done=min(counts.target, child.ready) if child is not None else 0,
            total=counts.target,
            from_revision=olds[0].revision if olds else found.revision,
            to_revision=found.revision,
            budget=counts.surge + counts.unavailable,
            cells=tuple(_cells(seen, state, name, olds, counts))[:MOST_CELLS],
        )


def phase_of_role(counts: RoleCounts, child: Child | None) -> str:
    if counts.old:
        return ROLLING if counts.target else "Removing"
    if child is None:
        return "Missing" if counts.target else "Removing"
    if child.replicas != counts.target:
        return "Scaling"
    return "Current" if child.is_stable else SETTLING


def _cells(
    seen: DisaggregatedSeen, state: SliceState, role: str, olds: list[Child], counts: RoleCounts
) -> Iterator[Cell]:
    child = state.target.roles.get(role)
    number = 0
    for each, revision in (*((old, "old") for old in olds), *(((child, "new"),) if child is not None else ())):
        for index in range(each.replicas):
            yield Cell(f"{each.name}-{index}", number, "ready" if index < each.ready else "notReady", revision)
            number += 1
    there = 0 if child is None else child.replicas
    name = child.name if child is not None else child_name(seen.set, state.index, state.revision, role)
    for index in range(there, counts.target):
        yield Cell(f"{name}-{index}", number, "missing", "none")
        number += 1


def _coming(seen: DisaggregatedSeen, found: RoundView) -> Iterator[str]:
    """The next step of each slice that is rolled, as soon as what is new is ready."""
    for state in found.slices:
        if not any(not old.is_drained for old in state.olds):
            continue
        where = f"slice {state.index}: " if seen.set.spec.slices > 1 else ""
        counts = counts_of(seen.set, state)
        step = next_step(tuple(counts.values()))
        if step is None:
            continue
        for (name, each), old, new in zip(counts.items(), step.old, step.new, strict=True):
            if new > each.new:
                yield f"{where}scale {name} at revision {found.revision} from {each.new} to {new}"
            if old < each.old:
                yield f"{where}take {each.old - old} of {each.old} old groups of {name} away"


def _waits(given: DisaggregatedSet, decision: Decision, since: Mapping[str, datetime]) -> Iterator[Block]:
    verdict = decision.verdict
    if not isinstance(verdict, Hold) or verdict.reason is Reason.COMPLETE:
        return
    about = f"{NOUN}/{given.metadata.name}"
    usual = "waiting for the LeaderWorkerSets to report their groups"
    for each, detail in verdict.details or ((about, usual),):
        name = each.partition("/")[2]
        is_of_groups = verdict.reason is Reason.GROUPS_NOT_READY and each != about
        look = f"see what they wait for: fairlead explain {name} -n {given.metadata.namespace}"
        yield Block(
            rule=decision.rule,
            reason=verdict.reason.word,
            object=each,
            text=REASONS[verdict.reason].text.format(object=name, detail=detail),
            clears=verdict.reason.clears,
            since=since.get(key_of_wait(verdict.reason.word, each)),
            kind=verdict.reason.kind.value,
            advice=(look,) if is_of_groups else (),
        )
