"""What decides the reviews of LeaderWorkerSets, and from what, for whoever decides recorded ones again."""

from __future__ import annotations

from fairlead.contracts.leaderworker.decide.reviews import ReviewSnapshot
from fairlead.contracts.leaderworker.webhooks import JUDGES
from fairlead.core.replay import Decider

DECIDERS = {path: Decider(ReviewSnapshot, judge) for path, judge in JUDGES.items()}
"""By controller, and by the first path of a webhook."""
