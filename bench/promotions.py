"""Judges rollouts of environments from outside: replays what happened and counts what must not have happened.

Environments, StatefulSets and Services share one order of resource versions, the order in which the store committed
their changes, so the state at each change is known exactly, whatever any watcher saw at that moment. What the
stand-ins for environmentd were told is compared by the clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from bench.generations import Environment, Event, Service, Status, generation_of
from bench.narrow import StatefulSet


class Call(Struct, frozen=True):
    """One that a stand-in for environmentd has answered."""

    at: float
    pod: str
    """`NAME-0` of a StatefulSet of that name."""
    path: str
    status: int | None

    @property
    def is_promotion(self) -> bool:
        return self.path.endswith("/promote") and self.status == 200


class Verdict(Struct, frozen=True):
    """What was done, and how often it broke a promise."""

    promotions: int = 0
    removals: int = 0
    """Generations whose StatefulSet was deleted."""
    early: int = 0
    """Removals while the next generation was not being promoted, or had not been told to take over."""
    astray: int = 0
    """Times that a public Service led to a generation that neither served nor was being promoted."""
    crowded: int = 0
    """Generations that were created beside two others, or out of order."""
    rewritten: int = 0
    """Changes of a StatefulSet that was there already, though no environment was changed twice."""
    inconsistent: int = 0
    """Statuses whose generation did not grow by one, or whose hashes changed when they must not."""
    unasked: int = 0
    """Environments that serve another generation than they should."""

    @property
    def violations(self) -> int:
        return self.early + self.astray + self.crowded + self.rewritten + self.inconsistent + self.unasked


class _Seen:
    """One environment as far as it has been replayed."""

    def __init__(self) -> None:
        self.status = Status()
        self.present: dict[int, StatefulSet] = {}
        self.removed: set[int] = set()

    def may_lead_to(self, generation: int) -> bool:
        """Whether the public Service may: the generation serves, or is being promoted."""
        return generation in (self.status.active_generation, self.status.promoting)

    def is_next(self, generation: int) -> bool:
        return generation == self.status.active_generation + 1


class _Judge:
    def __init__(self, calls: Iterable[Call]) -> None:
        self._seen: dict[str, _Seen] = {}
        self._told: dict[str, float] = {}
        for call in calls:
            if call.is_promotion:
                self._told.setdefault(call.pod.removesuffix("-0"), call.at)
        self.counts = dict.fromkeys(Verdict.__struct_fields__, 0)

    def of(self, environment: str) -> _Seen:
        return self._seen.setdefault(environment, _Seen())

    def see(self, event: Event) -> None:
        seen = self.of(event.environment)
        match event.object:
            case Environment():
                self._status(seen, event.object.status)
            case StatefulSet():
                self._statefulset(seen, event, event.object)
            case Service():
                selected = event.object.selected
                if selected is not None and not event.gone:
                    self._count("astray", not seen.may_lead_to(selected))

    def _status(self, seen: _Seen, now: Status) -> None:
        was, seen.status = seen.status, now
        grown = now.active_generation - was.active_generation
        self._count("promotions", grown > 0)
        completed = now.last_completed_rollout_hash != was.last_completed_rollout_hash
        requested = now.requested_rollout_hash != was.requested_rollout_hash
        is_broken = grown not in (0, 1) or (completed and not grown) or (requested and was.promoting is not None)
        self._count("inconsistent", is_broken)

    def _statefulset(self, seen: _Seen, event: Event, found: StatefulSet) -> None:
        generation = generation_of(found)
        before = seen.present.get(generation)
        if before is None and not event.gone:
            self._count("crowded", len(seen.present) > 1 or not seen.is_next(generation))
        elif before is not None and found.metadata.deletion_timestamp is None:
            self._count("rewritten", found.metadata.generation != before.metadata.generation)
        seen.present[generation] = found
        if event.gone:
            del seen.present[generation]
        if (event.gone or found.metadata.deletion_timestamp is not None) and generation not in seen.removed:
            seen.removed.add(generation)
            self._count("removals", True)
            self._count("early", not self._may_go(seen, event, found, generation))

    def _may_go(self, seen: _Seen, event: Event, found: StatefulSet, generation: int) -> bool:
        prefix = found.metadata.name.removesuffix(f"-{generation}")
        told = self._told.get(f"{prefix}-{generation + 1}")
        return seen.status.promoting == generation + 1 and told is not None and told <= event.at

    def _count(self, what: str, holds: bool) -> None:
        self.counts[what] += holds


def judge(events: Iterable[Event], calls: Iterable[Call], wanted: Mapping[str, int]) -> Verdict:
    """Replays the events in the order of their versions; `wanted` has the generation each environment should serve."""
    replay = _Judge(calls)
    for event in sorted(events, key=lambda event: event.version):
        if event.environment:
            replay.see(event)
    unasked = sum(replay.of(name).status.active_generation != generation for name, generation in wanted.items())
    return Verdict(**(replay.counts | {"unasked": unasked}))
