"""What an operator runs for plans."""

from __future__ import annotations

from functools import partial

from fairlead.contracts.plans import workload_plugins
from fairlead.contracts.plans.applications.controllers import controllers as of_applications
from fairlead.contracts.plans.controllers import controller
from fairlead.contracts.plans.kinds import PART, ROLLOUT_TRAITS
from fairlead.contracts.plans.metrics import PlanMetrics
from fairlead.contracts.plans.notifier import notifier
from fairlead.contracts.plans.registered_kinds import RegisteredKinds, check
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.contracts.plans.watched import WatchedWorkloads
from fairlead.contracts.plans.webhooks import endpoints
from fairlead.engine.part import Part, PartContext


def part(context: PartContext, given: PlanSettings) -> Part:
    if plugged := workload_plugins.load():
        context.log.info("kinds of workloads plugged in", kinds=", ".join(plugged))
    workloads = {each: WatchedWorkloads(context.caches, each) for each in context.namespaces or ("",)}
    measures = context.metrics.of(PlanMetrics)
    sink = notifier(given, measures)
    kinds = RegisteredKinds(context) if given.registers_kinds else None
    keeping = () if kinds is None else (kinds.controller,)
    return Part(
        name=PART,
        controllers=(
            controller(context.caches, workloads, given, measures.of(ROLLOUT_TRAITS.kind), sink),
            *of_applications(context.caches, workloads, given, measures.of, sink),
            *keeping,
        ),
        endpoints=endpoints(given),
        remarks=tuple if kinds is None else kinds.remarks,
        before_leading=(partial(check, context.client, context.log) if kinds is None else kinds.register,),
        leads=measures.leads,
        counts=measures.counts,
    )
