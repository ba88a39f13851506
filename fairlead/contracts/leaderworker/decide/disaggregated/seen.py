"""What a round of a DisaggregatedSet is decided on."""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.leaderworker.decide.seen import Service
from fairlead.contracts.leaderworker.disaggregated.kinds import DisaggregatedSet, RoleScaler
from fairlead.contracts.leaderworker.kinds import LeaderWorkerSet
from fairlead.core.ask import Answers


class DisaggregatedSeen(Struct, frozen=True, kw_only=True):
    """Everything that a round of one DisaggregatedSet may read."""

    set: DisaggregatedSet
    children: tuple[LeaderWorkerSet, ...] = ()
    """LeaderWorkerSets that carry the set's name, in a label or before theirs, whoever owns them."""
    scalers: tuple[RoleScaler, ...] = ()
    """Likewise."""
    knows_scalers: bool = True
    """Whether there are no others."""
    services: tuple[Service, ...] = ()
    """Services that carry the set's name in a label."""
    answers: Answers = Answers({})
