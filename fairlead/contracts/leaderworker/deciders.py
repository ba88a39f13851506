"""What decides the rounds and reviews of leaders and workers, and from what, for whoever decides them again."""

from __future__ import annotations

from fairlead.contracts.leaderworker.decide import group_round, set_round
from fairlead.contracts.leaderworker.decide.disaggregated import round as disaggregated_round
from fairlead.contracts.leaderworker.decide.disaggregated.seen import DisaggregatedSeen
from fairlead.contracts.leaderworker.decide.evictions import EvictionSnapshot, judge
from fairlead.contracts.leaderworker.decide.reviews import ReviewSnapshot
from fairlead.contracts.leaderworker.decide.seen import GroupSeen, SetSeen
from fairlead.contracts.leaderworker.disaggregated.kinds import CONTROLLER as DISAGGREGATED
from fairlead.contracts.leaderworker.kinds import GROUP_CONTROLLER, PART
from fairlead.contracts.leaderworker.webhooks import EVICTION, JUDGES
from fairlead.core.replay import Decider

DECIDERS = {
    PART: Decider(SetSeen, set_round.decide),
    GROUP_CONTROLLER: Decider(GroupSeen, group_round.decide),
    DISAGGREGATED: Decider(DisaggregatedSeen, disaggregated_round.decide),
    EVICTION: Decider(EvictionSnapshot, judge),
    **{path: Decider(ReviewSnapshot, judge) for path, judge in JUDGES.items()},
}
"""By controller, and by the path of a webhook."""
