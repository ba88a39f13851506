"""The numbers of a rolling update over several roles (section 6.7 steps 1 to 7): one step, from counts alone.

Old and new replicas of every role go along one line: after step j of K there are ceil(j·T/K) new ones and floor(j·I/K)
old ones are gone. A step changes either side, whichever the limits allow; where they allow neither, both.
Where every role may surge, no role is ever beyond T+s or, with what is ready alone, below T-u. The last old ones of a
role that may not surge stay until those of all roles can go, and such a role may be one beyond its limit meanwhile.

Two roles of 4 and 2 with a surge of 1 take, as (old, new) per role:
4,0 2,0 → 4,1 2,1 → 3,1 2,1 → 3,2 2,1 → 2,2 1,1 → 2,3 1,2 → … → 0,4 0,2.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class RoleCounts(Struct, frozen=True):
    """Replicas of one role in one slice, and what a rollout may do with them."""

    initial: int
    """Old ones when the rollout began (I)."""
    old: int
    """Old ones now, of all old revisions (O)."""
    new: int
    """Of the target revision (N)."""
    target: int
    """How many are wanted (T); 0 for a role that is no longer in the spec."""
    surge: int = 1
    unavailable: int = 0

    def least_old(self, new: int) -> int:
        """So many old ones stay beside `new` new ones; none where the role grows, since it never had enough."""
        return max(0, self.target - self.unavailable - new) if self.initial >= self.target else 0


class RoleStep(Struct, frozen=True):
    """How many old and new replicas each role has next, in the order of the roles."""

    old: tuple[int, ...]
    new: tuple[int, ...]


def next_step(roles: Sequence[RoleCounts]) -> RoleStep | None:
    """None: there is nothing to change."""
    if is_complete(roles):
        return None
    news = tuple(each.new for each in roles)
    if any(each.old > each.initial for each in roles):
        return RoleStep(tuple(min(each.initial, each.old) for each in roles), news)
    if all(each.new >= each.target for each in roles):
        return RoleStep((0,) * len(roles), news)
    steps = steps_in_all(roles)
    wanted = _next_new(roles, steps)
    return (
        _scaled_up(roles, wanted) or _drained(roles, steps) or _exchanged(roles, wanted) or _past_others(roles, wanted)
    )


def is_complete(roles: Sequence[RoleCounts]) -> bool:
    return all(each.old == 0 and each.new >= each.target for each in roles)


def steps_in_all(roles: Sequence[RoleCounts]) -> int:
    """The K of the formulas: as many as the role takes that takes the most, by batches of its surge."""
    return max(_ceil(max(each.initial, each.target), each.surge or max(1, each.unavailable)) for each in roles)


def _ceil(amount: int, by: int) -> int:
    return -(-amount // by)


def _next_new(roles: Sequence[RoleCounts], steps: int) -> tuple[int, ...]:
    """One step further than the role that is furthest behind."""
    step = 1 + min(each.new * steps // each.target if each.target else steps for each in roles)
    return tuple(max(each.new, min(each.target, _ceil(step * each.target, steps))) for each in roles)


def _next_old(roles: Sequence[RoleCounts], steps: int) -> list[int]:
    """One step further than the role that is furthest ahead, and never below what must stay."""
    removed = ((each.initial - each.old) * steps // each.initial for each in roles if each.initial)
    step = 1 + max(removed, default=0)
    return [
        min(each.old, max(0, each.initial - step * each.initial // steps, each.least_old(each.new))) for each in roles
    ]


def _scaled_up(roles: Sequence[RoleCounts], wanted: tuple[int, ...]) -> RoleStep | None:
    is_more = any(new > each.new for each, new in zip(roles, wanted, strict=True))
    fits = all(
        each.old + new <= each.target + each.surge
        for each, new in zip(roles, wanted, strict=True)
        if each.target  # a role that goes away has no limit to keep
    )
    return RoleStep(tuple(each.old for each in roles), wanted) if is_more and fits else None


def _drained(roles: Sequence[RoleCounts], steps: int) -> RoleStep | None:
    news = tuple(each.new for each in roles)
    olds = _without_orphans(roles, _next_old(roles, steps), news)
    return RoleStep(olds, news) if _is_less(roles, olds) else None


def _exchanged(roles: Sequence[RoleCounts], wanted: tuple[int, ...]) -> RoleStep | None:
    """Where neither side may move alone: room is made for the new ones, and they come."""
    olds = [
        min(each.old, max(0, each.target + each.surge - new, each.least_old(new)))
        for each, new in zip(roles, wanted, strict=True)
    ]
    return RoleStep(_without_orphans(roles, olds, wanted), wanted) if _is_less(roles, olds) else None


def _past_others(roles: Sequence[RoleCounts], wanted: tuple[int, ...]) -> RoleStep:
    """Some role has more new ones than it may have, since fewer are wanted now: it holds up none that has room.

    Whoever has nothing to drain has room or is such a role, and the one that is furthest behind has room.
    """
    news = (
        new if each.old + new <= each.target + each.surge else each.new for each, new in zip(roles, wanted, strict=True)
    )
    return RoleStep(tuple(each.old for each in roles), tuple(news))


def _is_less(roles: Sequence[RoleCounts], olds: Sequence[int]) -> bool:
    return any(old < each.old for each, old in zip(roles, olds, strict=True))


def _without_orphans(roles: Sequence[RoleCounts], olds: Sequence[int], news: Sequence[int]) -> tuple[int, ...]:
    """Roles serve together, so the last old ones of all roles go at once, when the new ones suffice for all."""
    had = [old for each, old in zip(roles, olds, strict=True) if each.initial]
    if all(had) or not any(had):
        return tuple(olds)
    if all(
        new >= each.target - each.unavailable
        for each, new in zip(roles, news, strict=True)
        if each.initial >= each.target
    ):
        return (0,) * len(roles)
    return tuple(min(each.old, 1) if each.initial and not old else old for each, old in zip(roles, olds, strict=True))
