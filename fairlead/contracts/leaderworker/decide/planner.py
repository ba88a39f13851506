"""How far a rollout has come and what it does next: the partition and the replicas of the leader StatefulSet.

One function of numbers (section 3.10). Leaders at and above the partition are replaced by the StatefulSet controller,
highest first; those below keep their revision. Surge groups have the indexes from `replicas` on. Whatever the order in
which groups become ready, the ready ones never fall below `replicas - unavailable` on account of the rollout (S1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.budgets import Budget


class PlannedGroup(Struct, frozen=True):
    """One group by its index; one that is not there is neither."""

    ready: bool = False
    updated: bool = False
    """Leader and workers carry the selected key."""


_MISSING = PlannedGroup()


class Leaders(Struct, frozen=True):
    """What the leader StatefulSet asks for now."""

    replicas: int
    partition: int = 0
    recorded_replicas: int | None = None
    """How many groups were wanted when it was written last; None where it does not say."""
    is_observed: bool = True
    """Whether the StatefulSet controller knows what it asks for; until then groups may go that it asked for before."""


class Numbers(Struct, frozen=True):
    replicas: int
    """Groups that are wanted, surge apart."""
    budget: Budget
    leaders: Leaders | None
    groups: tuple[PlannedGroup, ...] = ()
    """By index, those that are missing at the end left out."""
    kept_below: int = 0
    """The partition that a person asks for: groups below it stay as they are."""
    is_new_revision: bool = False
    """Whether another revision was selected in this round."""
    paused: bool = False
    has_outdated_orphans: bool = False
    """Whether leaders of another revision are there without their StatefulSet: the one that is made adopts them."""
    orphans_end: int = 0
    """One more than the highest index of leaders that nobody controls; 0 where there is none."""


class Row(Enum):
    """Which row of the decision table answered (section 3.10 point 4)."""

    CREATE = 1
    SELECT = 2
    REST = 3
    SCALE_UP = 4
    RESCALE = 5
    ROLL = 6


class Stage(Enum):
    """What a person is told about the rollout."""

    CREATING = "creating"
    SELECTED = "selected"
    STEADY = "steady"
    SCALING_FIRST = "scaling-first"
    ROLLING = "rolling"
    RECLAIMING = "reclaiming"
    HELD = "held"
    """By the partition that a person asks for; all groups from there on are updated and ready."""
    PAUSED = "paused"
    BLOCKED = "blocked"
    """By old groups that are not ready: to update a ready one would go below the budget."""


class Plan(Struct, frozen=True):
    partition: int
    replicas: int
    row: Row
    stage: Stage
    blocked_by: tuple[int, ...] = ()
    """Indexes of the old groups that are not ready and hold the rollout up."""
    waits_for: tuple[int, ...] = ()
    """Indexes of the groups at and above the partition that are not yet updated and ready."""
    is_guarded: bool = False
    """Whether surge groups stay because too few others are ready."""


_Step: TypeAlias = tuple[Row, int, int]
"""Which row answers, with the partition and the replicas that it gives."""
_Rule: TypeAlias = Callable[[Numbers, Leaders], _Step | None]


def plan(seen: Numbers) -> Plan:
    """The first row that fits, never below a person's partition (section 3.10 point 5), and guarded."""
    leaders = seen.leaders
    if leaders is None:
        # With fewer replicas, groups of a surge that are ready would go before others are.
        replicas = max(seen.replicas, min(seen.orphans_end, seen.replicas + seen.budget.surge))
        partition = replicas if seen.has_outdated_orphans else 0
        return Plan(max(partition, seen.kept_below), replicas, Row.CREATE, Stage.CREATING)
    row, partition, replicas = next(step for rule in RULES if (step := rule(seen, leaders)) is not None)
    highest = leaders.replicas if row is Row.SELECT else leaders.partition
    partition = _spared(seen, leaders, max(partition, seen.kept_below), highest)
    guarded = _reclaimable(seen, leaders, partition, replicas)
    drawn = Plan(partition, guarded, row, Stage.STEADY, is_guarded=guarded > replicas)
    return _told(seen, leaders, drawn)


def _select(seen: Numbers, leaders: Leaders) -> _Step | None:
    """Another revision begins at the top, with the surge that its groups need."""
    wanted, now = seen.replicas, leaders.replicas
    if not seen.is_new_revision:
        return None
    if seen.paused:
        return Row.SELECT, now, max(now, wanted)
    return Row.SELECT, min(wanted, now), wanted if now < wanted else _burst(seen, wanted)


def _rest(seen: Numbers, leaders: Leaders) -> _Step | None:
    """Nothing is left to do."""
    if leaders.partition == 0 and leaders.replicas == seen.replicas:
        return Row.REST, 0, seen.replicas
    return None


def _scale_up(seen: Numbers, leaders: Leaders) -> _Step | None:
    """Groups that are missing come first; none moves meanwhile."""
    if leaders.replicas < seen.replicas:
        return Row.SCALE_UP, leaders.partition, seen.replicas
    return None


def _pause(seen: Numbers, leaders: Leaders) -> _Step | None:
    """A person's pause keeps what there is."""
    if seen.paused:
        return _rescaled_row(seen, leaders), leaders.partition, leaders.replicas
    return None


def _await_controller(seen: Numbers, leaders: Leaders) -> _Step | None:
    """A group may go that was asked for before: who counts as ready now would be one too many."""
    return None if leaders.is_observed else (_rescaled_row(seen, leaders), leaders.partition, leaders.replicas)


def _rescale(seen: Numbers, leaders: Leaders) -> _Step | None:
    """Other groups are wanted than when the leaders were written: the partition stays, within what there will be.

    The same where there are more than a surge makes: fewer were wanted under a pause, before the StatefulSet controller
    had seen to what the leaders asked for, or with a larger surge. Those are about to go and give no room to others.
    """
    most = seen.replicas + seen.budget.surge
    if leaders.recorded_replicas == seen.replicas and leaders.replicas <= most:
        return None
    return Row.RESCALE, min(leaders.partition, most), _burst(seen, _unready(seen))


def _roll(seen: Numbers, leaders: Leaders) -> _Step | None:
    """The partition goes down as far as ready groups allow."""
    wanted, now = seen.replicas, leaders.replicas
    partition = lowered(_states(seen, now), seen.budget.unavailable + now - wanted, leaders.partition)
    return Row.ROLL, partition, _burst(seen, _unready(seen))


def _rescaled_row(seen: Numbers, leaders: Leaders) -> Row:
    return Row.ROLL if leaders.recorded_replicas == seen.replicas else Row.RESCALE


RULES: tuple[_Rule, ...] = (_select, _rest, _scale_up, _pause, _await_controller, _rescale, _roll)
"""Section 3.10 point 4 where leaders are there; the first that answers wins, and the last always does."""


def _states(seen: Numbers, count: int) -> tuple[PlannedGroup, ...]:
    return (*seen.groups[:count], *(_MISSING,) * (count - len(seen.groups)))


def _unready(seen: Numbers) -> int:
    """How many of the wanted groups are not both ready and updated (section 3.10 point 2)."""
    return sum(not (each.ready and each.updated) for each in _states(seen, seen.replicas))


def _burst(seen: Numbers, unready: int) -> int:
    """Replicas with as many surge groups as the unready ones need beyond the budget (section 3.10 point 3)."""
    if unready <= seen.budget.surge:
        return seen.replicas + max(0, unready - seen.budget.unavailable)
    return seen.replicas + seen.budget.surge


def lowered(groups: Sequence[PlannedGroup], step: int, partition: int) -> int:
    """The partition, lowered as far as `step` groups may be away at once (section 3.10 point 6).

    With 4 groups and a step of 1 it is 3; once group 3 is updated and ready, 2. Groups below that are not ready use the
    step up, except where they are the next in line: they have nothing to lose.
    """
    count = len(groups)
    run = 0
    while run < count and groups[count - 1 - run].ready and groups[count - 1 - run].updated:
        run += 1
    base = max(0, count - run - step)
    candidate = base + sum(not each.ready for each in groups[:base])
    for index in range(min(candidate, count - 1), base - 1, -1):
        if groups[index].ready and not groups[index].updated:
            break
        candidate = index
    return min(candidate, partition)


def _stays(group: PlannedGroup, index: int, partition: int) -> bool:
    """Whether it is ready, and the partition does not take it away."""
    return group.ready and (group.updated or index < partition)


def _ready_after(groups: Sequence[PlannedGroup], partition: int, replicas: int) -> int:
    """Ready groups that neither the partition nor the replicas would take away (section 3.10 point 7)."""
    return sum(_stays(each, index, partition) for index, each in enumerate(groups[:replicas]))


def _reclaimable(seen: Numbers, leaders: Leaders, partition: int, replicas: int) -> int:
    """Replicas, with so many surge groups kept that enough ready groups stay (section 3.10 point 7).

    Reclaiming drops the highest indexes, which may be the only ready ones. Of 4 groups with a budget of 2 and a surge
    of 3, with 0, 2, 5 and 6 ready, six leaders stay and not five.
    """
    groups = _states(seen, leaders.replicas)
    enough = min(max(0, seen.replicas - seen.budget.unavailable), _ready_after(groups, partition, leaders.replicas))
    most = min(leaders.replicas, seen.replicas + seen.budget.surge)
    staying = _ready_after(groups, partition, replicas)
    while replicas < most and staying < enough:
        staying += _stays(groups[replicas], replicas, partition)
        replicas += 1
    return replicas


def _spared(seen: Numbers, leaders: Leaders, partition: int, highest: int) -> int:
    """The partition, raised so far that enough ready groups stay, and to `highest` at most.

    It only matters when a revision is selected in the middle of a rollout. The groups of the rollout before it that are
    still away may lie anywhere, and ready surge groups stand above the wanted number: the rows count neither. Groups
    beyond the surge go, whatever they are.
    """
    count = min(leaders.replicas, seen.replicas + seen.budget.surge)
    groups = _states(seen, count)
    staying = _ready_after(groups, partition, count)
    enough = min(max(0, seen.replicas - seen.budget.unavailable), _ready_after(groups, highest, count))
    while partition < min(highest, count) and staying < enough:
        staying += groups[partition].ready and not groups[partition].updated
        partition += 1
    return partition


def _told(seen: Numbers, leaders: Leaders, drawn: Plan) -> Plan:
    groups = _states(seen, drawn.replicas)
    waits_for = tuple(
        index for index, each in enumerate(groups) if index >= drawn.partition and not (each.ready and each.updated)
    )
    blocked_by = _blocking(seen, leaders, drawn)
    return replace(
        drawn, stage=_stage(seen, leaders, drawn, waits_for, blocked_by), waits_for=waits_for, blocked_by=blocked_by
    )


def _blocking(seen: Numbers, leaders: Leaders, drawn: Plan) -> tuple[int, ...]:
    """Old groups that are not ready, where the partition would move if they were (section 3.10 point 9)."""
    if drawn.row is not Row.ROLL or seen.paused or not leaders.is_observed or drawn.partition < leaders.partition:
        return ()
    if drawn.partition <= max(0, seen.kept_below):
        return ()
    groups = _states(seen, leaders.replicas)
    sick = tuple(
        index for index, each in enumerate(groups) if index < drawn.partition and not each.ready and not each.updated
    )
    healed = tuple(PlannedGroup(True, each.updated) if index in sick else each for index, each in enumerate(groups))
    step = seen.budget.unavailable + leaders.replicas - seen.replicas
    return sick if lowered(healed, step, leaders.partition) < drawn.partition else ()


def _stage(
    seen: Numbers, leaders: Leaders, drawn: Plan, waits_for: tuple[int, ...], blocked_by: tuple[int, ...]
) -> Stage:
    if drawn.row is Row.SCALE_UP:
        return Stage.SCALING_FIRST if drawn.partition > 0 else Stage.STEADY
    if drawn.row is Row.REST and drawn.partition == 0:
        return Stage.STEADY
    if seen.paused:
        return Stage.PAUSED
    if drawn.row is Row.SELECT:
        return Stage.SELECTED
    if blocked_by:
        return Stage.BLOCKED
    if drawn.replicas < leaders.replicas:
        return Stage.RECLAIMING
    if drawn.partition == seen.kept_below > 0 and not waits_for:
        return Stage.HELD
    return Stage.ROLLING
