"""What verification refuses of a plan before it looks at workloads.

Admission says most of it earlier, where there are webhooks; nothing that protects pods relies on them.
"""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.contracts.plans.decide.component_revisions import is_revision
from fairlead.contracts.plans.decide.traffic.dialects import SMI
from fairlead.contracts.plans.decide.traffic.routes import ALL
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Fail
from fairlead.contracts.plans.decide.workloads.live import Style
from fairlead.contracts.plans.kinds import STRATEGIES, RolloutPlan, TraitSpec

_LARGEST_PORT = 65535


def spec_problem(spec: TraitSpec, namespace: str, style: Style) -> Fail | None:
    problem = next(_broken(spec, namespace, style), None)
    return None if problem is None else Fail(Why.SPEC_INVALID, problem)


def _broken(spec: TraitSpec, namespace: str, style: Style) -> Iterator[str]:
    plan, target = spec.rollout_plan, spec.target_ref
    for each in (target, *spec.source_ref):
        if not (each.api_version and each.kind and each.name):
            yield "targetRef and every sourceRef need apiVersion, kind and name"
        if each.namespace not in ("", namespace):
            yield f"the {each.kind} {each.name} is named in the namespace {each.namespace}: it must be in {namespace}"
        is_snapshot = is_revision(each) and style is not Style.PAIR
        if (each.group, each.kind) != (target.group, target.kind) and not is_snapshot:
            yield f"the source {each.name} is a {each.kind}: it must be a {target.kind} as the target is"
    if style is Style.PAIR and any(each.names_same(target) for each in spec.source_ref):
        yield f"the {target.kind} {target.name} is both source and target"
    if plan.rollout_strategy and plan.rollout_strategy not in STRATEGIES:
        yield f"rolloutStrategy is {plan.rollout_strategy}: write {' or '.join(STRATEGIES)}"
    both = (plan.last_batch_to_rollout, plan.batch_partition)
    if None not in both and both[0] != both[1]:
        yield f"lastBatchToRollout is {both[0]} and batchPartition is {both[1]}: they are one field, give one"
    yield from _unroutable(plan)


def _unroutable(plan: RolloutPlan) -> Iterator[str]:
    routing = plan.traffic_routing
    if routing is not None and routing.port is not None and not 1 <= routing.port <= _LARGEST_PORT:
        yield f"trafficRouting.port is {routing.port}: write a number from 1 to {_LARGEST_PORT}"
    for place, batch in enumerate(plan.rollout_batches or ()):
        if routing is None and (batch.traffic_match or batch.traffic_weight is not None):
            yield f"rolloutBatches[{place}] shares traffic: say in trafficRouting which route it is about"
        if batch.traffic_weight is not None and not 0 <= batch.traffic_weight <= ALL:
            yield f"rolloutBatches[{place}].trafficWeight is {batch.traffic_weight}: write a number from 0 to {ALL}"
        if batch.traffic_match and routing is not None and routing.provider == SMI.provider:
            yield f"rolloutBatches[{place}] has trafficMatch, but a TrafficSplit cannot match headers: take it out"
        for match in batch.traffic_match:
            given = sum(each is not None for each in (match.exact, match.prefix, match.regex))
            if not match.header or given != 1:
                yield f"rolloutBatches[{place}].trafficMatch needs a header with one of exact, prefix and regex"
