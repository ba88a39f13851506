"""One slice of a DisaggregatedSet on its way from old revisions to the target (section 6.7).

The children of the target are made empty, and what the old ones have is noted on them; then one step follows another,
each when all that is new is ready. What is decided is seen in the children alone, so a crash anywhere only delays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.decide.disaggregated import notes
from fairlead.contracts.leaderworker.decide.disaggregated.children import Child, Generation
from fairlead.contracts.leaderworker.decide.disaggregated.planner import RoleCounts, RoleStep, next_step
from fairlead.contracts.leaderworker.decide.trees import part
from fairlead.contracts.leaderworker.decide.validation import amount_of
from fairlead.contracts.leaderworker.disaggregated.kinds import INITIAL_REPLICAS, DisaggregatedSet, Role
from fairlead.contracts.leaderworker.kinds import Json
from fairlead.core.act import Does, EventNote, Patch, PatchKind
from fairlead.core.rounding import Rounding

USUAL_SURGE, USUAL_UNAVAILABLE = 1, 0

Telling: TypeAlias = Callable[[DisaggregatedSet, str, str, int, int], EventNote]
"""Of a role, a child, and its replicas before and after."""


class SliceState(Struct, frozen=True):
    """The children of one slice, and where its roles are to come to."""

    index: int
    revision: str
    """The one that is wanted."""
    target: Generation
    """Its children, maybe not all of them yet."""
    olds: tuple[Generation, ...]
    """Of other revisions, the newest first; some have replicas."""
    wanted: dict[str, int | None]
    """Replicas by role; None where nobody says."""


def counts_of(given: DisaggregatedSet, state: SliceState) -> dict[str, RoleCounts]:
    """By role: those of the spec in its order, then those that only old revisions have."""
    roles = {each.name: each for each in given.spec.roles}
    gone = sorted({name for old in state.olds for name in old.roles} - roles.keys())
    return {
        **{name: _counted(state, name, _target(state, each), each) for name, each in roles.items()},
        **{name: _counted(state, name, 0, None) for name in gone},
    }


def _target(state: SliceState, role: Role) -> int:
    """While there are old ones, an autoscaler takes none of the new ones away."""
    wanted, new = state.wanted[role.name], _new(state, role.name)
    if wanted is None:
        return new
    return max(wanted, new) if role.is_external else wanted


def _new(state: SliceState, role: str) -> int:
    return state.target.roles[role].replicas if role in state.target.roles else 0


def _counted(state: SliceState, name: str, target: int, role: Role | None) -> RoleCounts:
    olds = [old.roles[name] for old in state.olds if name in old.roles]
    surge, unavailable = (USUAL_SURGE, USUAL_UNAVAILABLE) if role is None else limits_of(role, target)
    return RoleCounts(
        initial=sum(each.initial for each in olds),
        old=sum(each.replicas for each in olds),
        new=_new(state, name) if role is not None else 0,
        target=target,
        surge=surge,
        unavailable=unavailable,
    )


def limits_of(role: Role, target: int) -> tuple[int, int]:
    """Surge and unavailable: those of the role's strategy where they let anything move."""
    given: Json = part(role.spec, "rolloutStrategy", "rollingUpdateConfiguration")
    surge = amount_of(given.get("maxSurge", 0), target, Rounding.UP) or 0
    unavailable = amount_of(given.get("maxUnavailable", 0), target, Rounding.DOWN) or 0
    if unavailable > 0:
        return max(0, surge), unavailable
    return (surge, USUAL_UNAVAILABLE) if surge > 0 else (USUAL_SURGE, USUAL_UNAVAILABLE)


def notes_due(given: DisaggregatedSet, state: SliceState) -> tuple[tuple[Child, int], ...]:
    """Old children of which it is still to be noted how many replicas there were, before any is taken away.

    When a rollout begins that is all of them, with what they have. One that comes in the middle of another, or turns
    back to a revision that is there, finds fewer old ones than there were: the newest old child of a role then stands
    for those that are gone, or that are new already, so that no role counts as one that never had enough.
    """
    roles = {each.name: each for each in given.spec.roles}
    names = dict.fromkeys(name for old in state.olds for name in old.roles)
    return tuple(due for name in names for due in _notes_of_role(state, name, roles.get(name)))


def _notes_of_role(state: SliceState, name: str, role: Role | None) -> Iterator[tuple[Child, int]]:
    children = [old.roles[name] for old in state.olds if name in old.roles]
    is_turn = bool(state.target.roles)
    unnoted = [each for each in children if each.noted is None]
    if is_turn and not unnoted:
        return
    values = {each.name: each.initial if is_turn else each.replicas for each in children}
    if is_turn or _is_interrupted(state):
        target = 0 if role is None else _target(state, role)
        there = sum(each.replicas for each in children) + _new(state, name)
        first = (unnoted or children)[0] if is_turn else children[0]
        values[first.name] += max(0, max(there, target) - sum(values.values()))
    yield from ((each, values[each.name]) for each in children if each.noted != values[each.name])


def _is_interrupted(state: SliceState) -> bool:
    """Whether an earlier rollout had begun to take old replicas away."""
    olds = (each for old in state.olds for each in old.roles.values())
    return any(each.noted not in (None, each.replicas) for each in olds)


def noted(given: DisaggregatedSet, child: Child, replicas: int) -> Patch:
    body = {"metadata": {"annotations": {INITIAL_REPLICAS: str(replicas)}}}
    return _patched(given, child, body, Does.NOTE_REPLICAS, "", f"initial {replicas}")


def unstable(given: DisaggregatedSet, state: SliceState) -> tuple[Child, ...]:
    """Children of the target of which not everything is ready."""
    found = (state.target.roles[each.name] for each in given.spec.roles if each.name in state.target.roles)
    return tuple(each for each in found if not each.is_stable)


def step_of(given: DisaggregatedSet, state: SliceState) -> tuple[Patch, ...]:
    """One step: old replicas go before new ones come, so that no role is beyond its limit in between.

    Where fewer can go than the step says, new ones that would have had their room come with a later step.
    """
    counts = counts_of(given, state)
    step = next_step(tuple(counts.values()))
    if step is None:
        return ()
    downs = drained(state.olds, _taken(counts, step))
    gone = {name: sum(each.replicas - after for each, after in downs if each.role == name) for name in counts}
    ups = [
        (state.target.roles[name], new)
        for (name, each), old, new in zip(counts.items(), step.old, step.new, strict=True)
        if new > each.new and name in state.target.roles and (not downs or each.old - gone[name] <= old)
    ]
    return (
        *(scaled(given, each, after, notes.scaling_down) for each, after in downs),
        *(scaled(given, each, after, notes.scaling_up) for each, after in ups),
    )


def _taken(counts: dict[str, RoleCounts], step: RoleStep) -> dict[str, int]:
    return {name: each.old - old for (name, each), old in zip(counts.items(), step.old, strict=True)}


def drained(olds: Sequence[Generation], taken: dict[str, int]) -> tuple[tuple[Child, int], ...]:
    """Which old children have how many replicas next, when so many of each role are taken away.

    They are taken from the newest old revision first. A revision without one of its roles serves nobody, so that none
    loses the last of a role before all of it may go. Where nothing can go so, the one goes whole that is missed least.
    """
    return tuple(_shares(olds, taken)) or tuple(_least_missed(olds, taken))


def _shares(olds: Sequence[Generation], taken: dict[str, int]) -> Iterator[tuple[Child, int]]:
    left = {name: max(0, each) for name, each in taken.items()}
    for old in olds:
        after = {name: max(0, each.replicas - left.get(name, 0)) for name, each in old.roles.items()}
        if not all(after.values()) and _missed(old, left):
            after = {name: max(1, count) for name, count in after.items()}
        for name, each in old.roles.items():
            if after[name] < each.replicas:
                left[name] -= each.replicas - after[name]
                yield each, after[name]


def _missed(old: Generation, taken: dict[str, int]) -> int:
    """How many more than may go would go with the whole revision."""
    return sum(max(0, each.replicas - max(0, taken.get(name, 0))) for name, each in old.roles.items())


def _least_missed(olds: Sequence[Generation], taken: dict[str, int]) -> Iterator[tuple[Child, int]]:
    giving = [old for old in olds if any(each.replicas and taken.get(name, 0) > 0 for name, each in old.roles.items())]
    if giving:
        found = min(giving, key=lambda old: _missed(old, taken))
        yield from ((each, 0) for each in found.roles.values() if each.replicas)


def scaled(given: DisaggregatedSet, child: Child, after: int, tell: Telling | None = None) -> Patch:
    """A note of earlier replicas goes when there are more again: it would be wrong when they are taken away."""
    body: Json = {"spec": {"replicas": after}}
    if after > child.replicas and INITIAL_REPLICAS in child.found.metadata.annotations:
        body["metadata"] = {"annotations": {INITIAL_REPLICAS: None}}
    note = None if tell is None else tell(given, child.role, child.name, child.replicas, after)
    return _patched(given, child, body, Does.SCALE, f"replicas {child.replicas}", f"replicas {after}", note)


def _patched(
    given: DisaggregatedSet,
    child: Child,
    body: Json,
    does: Does,
    change_from: str,
    change_to: str,
    tell: EventNote | None = None,
) -> Patch:
    """Bound to the version that was decided on: a status that has changed since may say otherwise."""
    return Patch(
        ref=child.ref,
        kind=PatchKind.MERGE,
        body=msgspec.json.encode(body, order="sorted"),
        resource_version=child.found.metadata.resource_version,
        does=does,
        scope=given.metadata.uid,
        change_from=change_from,
        change_to=change_to,
        refusable=True,
        contested=True,
        tell=tell,
    )
