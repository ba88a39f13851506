"""A model of what the StatefulSet controller makes of the planner's numbers, one small step at a time.

Groups are letters: `.` absent, then the key in lower case while not ready and in upper case while ready. Any leader at
or above the partition with an old key may be replaced at any time: that is more than the controller does with or
without `MaxUnavailableStatefulSet`, so that what holds here holds for both. `controller_turn` is what it really does.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.budgets import Budget
from fairlead.contracts.leaderworker.decide.planner import Leaders, Numbers, Plan, PlannedGroup, plan

ABSENT = "."


class World(Struct, frozen=True):
    replicas: int
    budget: Budget
    groups: str
    """By index, one letter each."""
    set_replicas: int
    partition: int = 0
    recorded: int | None = None
    template: str = "a"
    """Key of the leader StatefulSet's template."""
    previous: str = "a"
    """Key of its current revision: leaders below the partition are made of it."""
    spec: str = "a"
    """Key of what the user wants."""
    kept_below: int = 0
    paused: bool = False

    @property
    def ready(self) -> int:
        return sum(each.isupper() for each in self.groups)

    @property
    def leaders(self) -> int:
        return len(self.groups) - self.groups.count(ABSENT)

    @property
    def is_finished(self) -> bool:
        moved = all(each == self.spec.upper() for each in self.groups[self.kept_below : self.replicas])
        return moved and self.template == self.spec and self.partition == self.kept_below


def at_rest(replicas: int, unavailable: int, surge: int, kept_below: int = 0) -> World:
    return World(
        replicas,
        Budget(unavailable, surge),
        "A" * replicas,
        replicas,
        recorded=replicas,
        kept_below=kept_below,
        partition=kept_below,
    )


def numbers(world: World, groups: str | None = None) -> Numbers:
    """What the planner reads; `groups` are those of an older view."""
    shown = world.groups if groups is None else groups
    return Numbers(
        replicas=world.replicas,
        budget=world.budget,
        leaders=Leaders(world.set_replicas, world.partition, world.recorded),
        groups=tuple(PlannedGroup(each.isupper(), each.lower() == world.spec) for each in shown),
        kept_below=world.kept_below,
        is_new_revision=world.template != world.spec,
        paused=world.paused,
    )


def planned(world: World, groups: str | None = None) -> tuple[World, Plan]:
    """The world after a round of the planner has been applied."""
    drawn = plan(numbers(world, groups))
    return applied(world, drawn), drawn


def applied(world: World, drawn: Plan) -> World:
    after = replace(
        world,
        partition=drawn.partition,
        set_replicas=drawn.replicas,
        recorded=world.replicas,
        template=world.spec,
    )
    return with_groups(after, world.groups)


def with_groups(world: World, groups: str) -> World:
    """With these groups and a place for each that is wanted: equal worlds are written alike."""
    return replace(world, groups=groups.rstrip(ABSENT).ljust(world.set_replicas, ABSENT))


def controller_steps(world: World) -> Iterator[World]:
    """Everything that the StatefulSet controller might do next, whatever its order and its limits."""
    for index, letter in enumerate(world.groups):
        if index >= world.set_replicas:
            if letter != ABSENT:
                yield _with(world, index, ABSENT)
        elif letter == ABSENT:
            yield _with(world, index, world.template if index >= world.partition else world.previous)
        elif index >= world.partition and letter.lower() != world.template:
            yield _with(world, index, ABSENT)


def readiness_steps(world: World) -> Iterator[World]:
    for index, letter in enumerate(world.groups):
        if letter.islower():
            yield _with(world, index, letter.upper())


def controller_turn(world: World, is_gated: bool) -> World:
    """One whole turn: makes what is missing, takes away what is too much, and replaces from the top.

    Without the gate the highest outdated leader is replaced when all above it are ready. With it, so many at once that
    no more than the set's own `maxUnavailable` are away.
    """
    groups = list(world.groups)
    for index, letter in enumerate(groups):
        if index >= world.set_replicas:
            groups[index] = ABSENT
        elif letter == ABSENT:
            groups[index] = world.template if index >= world.partition else world.previous
    away = sum(not each.isupper() for each in groups[: world.set_replicas])
    left = world.budget.max_unavailable_leaders - away if is_gated else 1
    for index in range(world.set_replicas - 1, world.partition - 1, -1):
        if left <= 0:
            break
        if groups[index].lower() != world.template:
            groups[index] = ABSENT
            left -= 1
        elif not is_gated and groups[index].islower():
            break
    settled = with_groups(world, "".join(groups))
    if all(each.lower() == world.template for each in groups[: world.set_replicas]) and world.partition == 0:
        return replace(settled, previous=world.template)
    return settled


def _with(world: World, index: int, letter: str) -> World:
    return with_groups(world, world.groups[:index] + letter + world.groups[index + 1 :])
