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

HANDLED_WITHIN = 5.0
"""Seconds within which whoever leads decides about a pod that went.

A replica that stands by sees pods go, too. One that went earlier was judged with its group as it was then, and may have
been left alone because the group had not started; now that it has, it would be recreated for it.
"""


def part(context: PartContext, given: Settings) -> Part:
    measures = context.metrics.of(LeaderWorkerMetrics)
    watched = Watched(context.caches, context.namespaces, given)
    nodes = NodeWatch(context.caches)

    def leads(leading: bool) -> None:
        measures.leads(leading)
        if not leading:
            nodes.clear()

    def takes_over(led_until: float) -> None:
        for each in watched:
            each.gone.forget_before(led_until - HANDLED_WITHIN)

    return Part(
        name=PART,
        controllers=(
            *controllers(watched, nodes, given, measures),
            disaggregated(context.caches, context.namespaces, measures.of_disaggregated, measures.disaggregated_queue),
        ),
        endpoints=(*endpoints(given.gang_scheduler), evictions(watched)),
        leads=leads,
        takes_over=takes_over,
    )
