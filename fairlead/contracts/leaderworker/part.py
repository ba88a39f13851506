"""What an operator runs for leaders and workers."""

from __future__ import annotations

from fairlead.contracts.leaderworker.controllers import controllers
from fairlead.contracts.leaderworker.disaggregated.controller import controller as disaggregated
from fairlead.contracts.leaderworker.kinds import PART
from fairlead.contracts.leaderworker.metrics import LeaderWorkerMetrics
from fairlead.contracts.leaderworker.node_watch import NodeWatch
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.contracts.leaderworker.watched import Watched
from fairlead.contracts.leaderworker.webhooks import endpoints, evictions
from fairlead.engine.part import Part, PartContext


def part(context: PartContext, given: Settings) -> Part:
    measures = context.metrics.of(LeaderWorkerMetrics)
    watched = Watched(context.caches, context.namespaces, given)
    nodes = NodeWatch(context.caches)

    def leads(leading: bool) -> None:
        measures.leads(leading)
        if not leading:
            nodes.clear()

    return Part(
        name=PART,
        controllers=(
            *controllers(watched, nodes, given, measures),
            disaggregated(context.caches, context.namespaces, measures.of_disaggregated, measures.disaggregated_queue),
        ),
        endpoints=(*endpoints(given.gang_scheduler), evictions(watched)),
        leads=leads,
    )
