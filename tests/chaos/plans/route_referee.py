"""Judges what operators do to the route of a rollout, and whether metrics were good when a batch passed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kubesim.store.record import Entry
from tests.chaos.plans.facts import FINALISING, GIVING_UP, RolloutFact
from tests.chaos.plans.outside import Measured, RouteFact, route_fact
from tests.chaos.plans.record import Record

ALL = 100
Broken = Callable[[str, str], None]


class RouteReferee:
    """`broken` is told of a rule and what happened."""

    def __init__(self, record: Record, broken: Broken) -> None:
        self._record, self._broken = record, broken
        self.route: RouteFact | None = None
        self.overwritten: set[str] = set()
        """UIDs of rollouts during whose attempt somebody else wrote the route."""
        self.verifying: dict[str, float] = {}
        """By UID of a rollout, when its batch began to be verified."""
        self.looks: Sequence[Measured] = ()

    def see(self, entry: Entry, fact: RolloutFact | None, *, touched: bool) -> None:
        """`fact` is the rollout on whose behalf an operator wrote."""
        old, new = self.route, None if entry.type == "DELETED" else route_fact(entry.new)
        self.route = new
        if not entry.user.startswith("operator-"):
            self.overwritten |= set(self._record.rollouts)
            return
        if old is None or new is None or fact is None:
            self._broken("R-32", f"{entry.user} made or deleted the route")
            return
        if new.others != old.others:
            self._broken("R-32", f"{fact.name} changed entries of others: {new.others}")
        if sum(new.weights.values()) != ALL or not new.weights.keys() <= set(fact.services):
            self._broken("R-32", f"{fact.name} wrote the weights {new.weights}")
        for name in fact.workloads:
            grows = new.weights.get(name, 0) > old.weights.get(name, 0)
            if grows and not touched and not self._record.ready(name):
                self._broken("R-32", f"{fact.name} sends requests to {name}, which has no ready pod: {new.weights}")

    def before_pods_go(self, fact: RolloutFact) -> None:
        """Where the target grows first, it has its share before sources shrink."""
        if self.route is None or not fact.services or fact.decreases or fact.uid in self.overwritten:
            return
        wanted = ALL if fact.batch >= fact.last else ALL * fact.goal(fact.batch) // fact.size
        found = self.route.weights.get(fact.services[1], 0)
        if found < wanted:
            self._broken("R-32", f"{fact.name} takes old pods while {found} of {wanted} requests go to new ones")

    def at_success(self, fact: RolloutFact) -> None:
        if self.route is None or not fact.services or fact.uid in self.overwritten or fact.is_scale:
            return
        if set(self.route.weights) != {fact.services[1]}:
            self._broken("R-32", f"{fact.name} succeeded with the weights {self.route.weights}")

    # Metrics.

    def moves(self, old: RolloutFact, new: RolloutFact, now: float) -> None:
        """R-29: a batch passes when the last look at its metric was in range, and was made of this batch."""
        if new.batch_state == "batchVerifying" and (old.batch, old.batch_state) != (new.batch, new.batch_state):
            self.verifying[new.uid] = now
        if not new.measured or (old.batch_state, new.batch_state) != ("batchVerifying", "batchFinalizing"):
            return
        since = self.verifying.get(new.uid, 0.0)
        mine = [each for each in self.looks if each.rollout == new.name and each.at >= since]
        if not mine or not mine[-1].in_range:
            self._broken("R-29", f"batch {new.batch} of {new.name} passes with {[each.value for each in mine[-3:]]}")


def may_route(fact: RolloutFact) -> bool:
    if fact.is_rolling:
        return not fact.is_paused
    return fact.state in (FINALISING, *GIVING_UP)
