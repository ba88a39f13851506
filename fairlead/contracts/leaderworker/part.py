"""What an operator runs for leaders and workers."""

from __future__ import annotations

from fairlead.contracts.leaderworker.controllers import controllers
from fairlead.contracts.leaderworker.kinds import PART
from fairlead.contracts.leaderworker.metrics import LeaderWorkerMetrics
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.contracts.leaderworker.watched import Watched
from fairlead.contracts.leaderworker.webhooks import endpoints, evictions
from fairlead.engine.part import Part, PartContext


def part(context: PartContext, given: Settings) -> Part:
    measures = context.metrics.of(LeaderWorkerMetrics)
    watched = Watched(context.caches, context.namespaces, given)
    return Part(
        name=PART,
        controllers=controllers(watched, given, measures),
        endpoints=(*endpoints(given.gang_scheduler), evictions(watched)),
        leads=measures.leads,
    )
