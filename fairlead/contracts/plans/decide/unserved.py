"""What verification refuses of a plan before it looks at workloads: what nobody serves here, and what cannot be rolled.

Admission says most of it earlier, where there are webhooks; nothing that protects pods relies on them.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Fail
from fairlead.contracts.plans.decide.workloads.live import Style
from fairlead.contracts.plans.kinds import STRATEGIES, RolloutPlan, TraitSpec


def unserved(spec: TraitSpec, namespace: str, style: Style) -> Fail | None:
    if problem := next(_broken(spec, namespace, style), None):
        return Fail(Why.SPEC_INVALID, problem)
    if named := next(_lacking(spec.rollout_plan), None):
        return Fail(Why.NOT_SERVED, f"this operator does not serve {named}: take it out of the plan")
    return None


def _broken(spec: TraitSpec, namespace: str, style: Style) -> Iterator[str]:
    plan, target = spec.rollout_plan, spec.target_ref
    for each in (target, *spec.source_ref):
        if not (each.api_version and each.kind and each.name):
            yield "targetRef and every sourceRef need apiVersion, kind and name"
        if each.namespace not in ("", namespace):
            yield f"the {each.kind} {each.name} is named in the namespace {each.namespace}: it must be in {namespace}"
        if (each.group, each.kind) != (target.group, target.kind):
            yield f"the source {each.name} is a {each.kind}: it must be a {target.kind} as the target is"
    if style is Style.PAIR and any(each.names_same(target) for each in spec.source_ref):
        yield f"the {target.kind} {target.name} is both source and target"
    if plan.rollout_strategy and plan.rollout_strategy not in STRATEGIES:
        yield f"rolloutStrategy is {plan.rollout_strategy}: write {' or '.join(STRATEGIES)}"
    both = (plan.last_batch_to_rollout, plan.batch_partition)
    if None not in both and both[0] != both[1]:
        yield f"lastBatchToRollout is {both[0]} and batchPartition is {both[1]}: they are one field, give one"


def _lacking(plan: RolloutPlan) -> Iterator[str]:
    batches = plan.rollout_batches or ()
    if plan.traffic_routing is not None and plan.traffic_routing.provider != "none":
        yield "trafficRouting"
    if any(each.traffic_match or each.traffic_weight is not None for each in batches):
        yield "trafficMatch and trafficWeight"
