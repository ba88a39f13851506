"""A set as people look at it: what its round was decided on, all its pods, and what was decided about its groups."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cached_property

from msgspec import Struct

from fairlead.contracts.leaderworker.decide.budgets import Budget, budget
from fairlead.contracts.leaderworker.decide.groups import (
    GroupState,
    groups_of,
    key_on,
    partition_of,
    replicas_of,
    rolling_update,
)
from fairlead.contracts.leaderworker.decide.identity import parent_and_ordinal
from fairlead.contracts.leaderworker.decide.revisions import Unusable, selection
from fairlead.contracts.leaderworker.decide.seen import SetSeen
from fairlead.contracts.leaderworker.decide.set_round import Rolled, rolled
from fairlead.contracts.leaderworker.decide.set_view import of_spec
from fairlead.contracts.leaderworker.kinds import LARGEST_REPLICAS, WORKER_INDEX, Pod, StatefulSet
from fairlead.core.decision import Decision
from fairlead.core.progress_deadline import deadline_of


class Shown(Struct, frozen=True, dict=True, kw_only=True):
    seen: SetSeen
    decision: Decision
    pods: tuple[Pod, ...]
    """Leaders and workers, all that carry the set's name."""
    rounds: Mapping[str, Decision]
    """By the name of the leader: what was last decided about the group."""
    since: Mapping[str, datetime] = {}
    """By `key_of_wait`: when a wait was first seen that no fact dates."""
    at: datetime

    @property
    def name(self) -> str:
        return self.seen.set.metadata.name

    @property
    def place(self) -> str:
        """Name and namespace as arguments of a command."""
        return f"{self.name} -n {self.seen.set.metadata.namespace}"

    @property
    def leaders(self) -> StatefulSet | None:
        """The StatefulSet of leaders, where it is the set's own."""
        found = self.seen.leaders
        is_own = found is not None and found.metadata.controller_uid == self.seen.set.metadata.uid
        return found if is_own else None

    @cached_property
    def rolled(self) -> Rolled | None:
        """What the revision and the groups come to.

        None where the leaders are another's or cannot be told, and of a set that is left alone.
        """
        given, leaders = self.seen.set, self.leaders
        if (leaders is None and self.seen.leaders is not None) or given.spec.replicas > LARGEST_REPLICAS:
            return None
        chosen = selection(given, leaders, self.seen.revisions)
        return None if isinstance(chosen, Unusable) else rolled(self.seen, chosen)

    @cached_property
    def key(self) -> str:
        """The one that all groups are to carry."""
        if self.rolled is not None:
            return self.rolled.key
        return "" if self.leaders is None else key_on(self.leaders.metadata)

    @cached_property
    def groups(self) -> dict[int, GroupState]:
        """By index, those that there are."""
        if self.rolled is not None:
            found = self.rolled.groups
        else:
            size = of_spec(self.seen.set).size
            found = groups_of(
                self.leaders,
                self.seen.pods,
                self.seen.workers,
                self.seen.members,
                self.seen.revisions,
                self.key,
                lambda _: size,
            )
        return {each.index: each for each in found}

    @cached_property
    def partition(self) -> int:
        """Of the leaders after this round."""
        if self.rolled is not None:
            return self.rolled.plan.partition
        return 0 if self.leaders is None else partition_of(self.leaders)

    @cached_property
    def replicas(self) -> int:
        """Of the leaders after this round, the surge among them."""
        if self.rolled is not None:
            return self.rolled.plan.replicas
        return 0 if self.leaders is None else replicas_of(self.leaders)

    @cached_property
    def budget(self) -> Budget:
        return budget(rolling_update(self.seen.set), self.seen.set.spec.replicas)

    @property
    def kept_below(self) -> int:
        """The partition that a person asks for."""
        return max(0, rolling_update(self.seen.set).partition)

    @cached_property
    def deadline(self) -> timedelta:
        """How long a pod may take to become ready before it counts as stuck."""
        return deadline_of(self.seen.set.metadata.annotations)[0]

    @cached_property
    def members(self) -> dict[str, list[Pod]]:
        """By the name of the leader, the pods of a group."""
        found: dict[str, list[Pod]] = {}
        for pod in self.pods:
            is_leader = pod.metadata.labels.get(WORKER_INDEX) == "0"
            leader = pod.metadata.name if is_leader else parent_and_ordinal(pod.metadata.name)[0]
            found.setdefault(leader, []).append(pod)
        return found

    def leader_name(self, index: int) -> str:
        return f"{self.name}-{index}"
