"""What an operator runs for leaders and workers."""

from __future__ import annotations

from fairlead.contracts.leaderworker.controllers import controllers
from fairlead.contracts.leaderworker.kinds import PART
from fairlead.contracts.leaderworker.metrics import LeaderWorkerMetrics
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.contracts.leaderworker.webhooks import endpoints
from fairlead.engine.part import Part, PartContext


def part(context: PartContext, given: Settings) -> Part:
    measures = context.metrics.of(LeaderWorkerMetrics)
    return Part(
        name=PART,
        controllers=controllers(context.caches, context.namespaces, given, measures),
        endpoints=endpoints(given.gang_scheduler),
        leads=measures.leads,
    )
