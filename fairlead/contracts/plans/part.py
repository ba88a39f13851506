"""What an operator runs for plans."""

from __future__ import annotations

from fairlead.contracts.plans.controllers import controller
from fairlead.contracts.plans.kinds import PART, ROLLOUT_TRAITS
from fairlead.contracts.plans.metrics import PlanMetrics
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.contracts.plans.watched import WatchedWorkloads
from fairlead.contracts.plans.webhooks import endpoints
from fairlead.engine.part import Part, PartContext


def part(context: PartContext, given: PlanSettings) -> Part:
    workloads = {each: WatchedWorkloads(context.caches, each) for each in context.namespaces or ("",)}
    measures = context.metrics.of(PlanMetrics)
    return Part(
        name=PART,
        controllers=(controller(context.caches, workloads, given, measures.of(ROLLOUT_TRAITS.kind)),),
        endpoints=endpoints(given),
        leads=measures.leads,
        counts=measures.counts,
    )
