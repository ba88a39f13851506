"""What rounds are decided on: that of a set, and that of one of its groups."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairlead.contracts.leaderworker.kinds import LeaderWorkerSet, Pod, PodBudget, Revision, StatefulSet
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.core.ask import Answers
from kubeloop.objects.meta import Meta, Ref


class Service(Struct, frozen=True):
    metadata: Meta


class ReportedStatus(Struct, frozen=True):
    """The status that this process last wrote of a set."""

    at: datetime
    body: bytes
    """As it was sent: a definition older than ours has the server drop a part of it."""


class SetSeen(Struct, frozen=True, kw_only=True):
    """Everything that a round of one LeaderWorkerSet may read."""

    set: LeaderWorkerSet
    leaders: StatefulSet | None
    """The StatefulSet of the set's name, whoever owns it."""
    pods: tuple[Pod, ...] = ()
    """Leader pods that carry the set's name, whoever owns them."""
    members: tuple[Pod, ...] = ()
    """Leaders and workers that carry the set's name, whoever owns them."""
    workers: tuple[StatefulSet, ...] = ()
    """The other StatefulSets that carry the set's name."""
    revisions: tuple[Revision, ...] = ()
    """ControllerRevisions that carry the set's name, those of the StatefulSet controller too."""
    services: tuple[Service, ...] = ()
    """Services that carry the set's name; one of an old release carries none."""
    budgets: tuple[PodBudget, ...] = ()
    """PodDisruptionBudgets that carry the set's name, where the operator keeps some."""
    applied: dict[Ref, str] = {}
    """Digests of what this process applied last and nobody has touched since, by object without UID."""
    reported: ReportedStatus | None = None
    """None: this process has not written the status yet."""
    answers: Answers
    settings: Settings


class GroupSeen(Struct, frozen=True, kw_only=True):
    """Everything that a round of one group may read."""

    set: LeaderWorkerSet | None
    leader: Pod | None
    pods: tuple[Pod, ...] = ()
    """All of the group's name and index, the leader among them."""
    gone: tuple[Pod, ...] = ()
    """Pods of the group that were deleted and of which no round has been told."""
    leaders: StatefulSet | None = None
    """The StatefulSet of leaders: it counts the recreations of groups."""
    leader_pods: tuple[Pod, ...] = ()
    """Of all groups of the set."""
    workers: StatefulSet | None = None
    """The StatefulSet of the leader's name, whoever owns it."""
    revisions: tuple[Revision, ...] = ()
    services: tuple[Service, ...] = ()
    answers: Answers
    settings: Settings
