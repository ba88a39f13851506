"""Whether a RolloutTrait may be as it is (A-2 and A-3): all that is wrong with it at once, each with its path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from fairlead.contracts.plans.decide.batches import is_percent
from fairlead.contracts.plans.decide.field_rules import at_least, duration, named
from fairlead.contracts.plans.decide.metrics.rules import metric_refusals
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.decide.workloads.kind_table import kind_of
from fairlead.contracts.plans.decide.workloads.live import Style, WorkloadKind
from fairlead.contracts.plans.kinds import (
    BATCH_HOOKS,
    METHODS,
    MOST_BATCHES,
    NO_PROVIDER,
    ON_FAILURE_REVERT,
    ON_FAILURE_STOP,
    PLAN_HOOKS,
    SEVERITIES,
    STRATEGIES,
    TRAFFIC_PROVIDERS,
    IntOrText,
    Json,
    RolloutBatch,
    RolloutPlan,
    RolloutWebhook,
    TrafficRouting,
    TraitSpec,
    WorkloadReference,
)
from fairlead.core.field_errors import invalid, required

PLAN = "spec.rolloutPlan"
_NOT_NEGATIVE = "must be greater than or equal to 0"
_LARGEST_STATUS = 599
_LARGEST_PORT = 65535
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""What HTTP calls the name of a header."""


def refusals(trait: Json, namespace: str) -> Iterator[str]:
    """Of a RolloutTrait in this namespace, whatever it holds."""
    given = trait.get("spec")
    spec, wrong = read(TraitSpec, given, "spec")
    if not isinstance(given, dict):
        yield from wrong or (required("spec"),)
        return
    yield from wrong
    yield from _references(spec, namespace)
    if given.get("rolloutPlan") is None:
        yield required(PLAN)
    yield from plan_refusals(spec.rollout_plan)


def _references(spec: TraitSpec, namespace: str) -> Iterator[str]:
    target = spec.target_ref
    yield from _reference("spec.targetRef", target, namespace)
    known: set[tuple[str, str, str]] = set()
    for place, source in enumerate(spec.source_ref):
        path = f"spec.sourceRef[{place}]"
        yield from _reference(path, source, namespace)
        if source.kind and (source.group, source.kind) != (target.group, target.kind):
            yield invalid(f"{path}.kind", source.kind, "must be of the group and kind of the target")
        elif source.names_same(target) and _is_paired(target):
            yield invalid(f"{path}.name", source.name, "must not be the target")
        if source.named in known:
            yield invalid(f"{path}.name", source.name, "must not be named twice")
        known.add(source.named)


def _reference(path: str, reference: WorkloadReference, namespace: str) -> Iterator[str]:
    for name, value in (("apiVersion", reference.api_version), ("kind", reference.kind), ("name", reference.name)):
        if not value:
            yield required(f"{path}.{name}")
    yield from named(f"{path}.name", reference.name)
    if reference.namespace not in ("", namespace):
        yield invalid(f"{path}.namespace", reference.namespace, f"must be empty or {namespace}")


def _is_paired(reference: WorkloadReference) -> bool:
    """Of custom kinds that is only known when they are verified."""
    kind = kind_of(reference, {})
    return isinstance(kind, WorkloadKind) and kind.style is Style.PAIR


def plan_refusals(plan: RolloutPlan) -> Iterator[str]:
    """Section 2.2."""
    yield from _one_of(f"{PLAN}.rolloutStrategy", plan.rollout_strategy, STRATEGIES)
    yield from at_least(f"{PLAN}.targetSize", plan.target_size, 0)
    yield from at_least(f"{PLAN}.numBatches", plan.num_batches, 1)
    if plan.num_batches is not None and plan.num_batches > MOST_BATCHES:
        yield invalid(f"{PLAN}.numBatches", plan.num_batches, f"must be {MOST_BATCHES} or less")
    yield from _partitions(plan)
    yield from _one_of(f"{PLAN}.onFailure", plan.on_failure, (ON_FAILURE_STOP, ON_FAILURE_REVERT))
    yield from at_least(f"{PLAN}.progressDeadlineSeconds", plan.progress_deadline_seconds, 1)
    yield from _hooks(f"{PLAN}.rolloutWebhooks", plan.rollout_webhooks, PLAN_HOOKS)
    yield from metric_refusals(f"{PLAN}.canaryMetric", plan.canary_metric)
    for place, alert in enumerate(plan.alerts):
        yield from _one_of(f"{PLAN}.alerts[{place}].severity", alert.severity, SEVERITIES)
        if alert.provider_ref is None or not alert.provider_ref.name:
            yield required(f"{PLAN}.alerts[{place}].providerRef.name")
        else:
            yield from named(f"{PLAN}.alerts[{place}].providerRef.name", alert.provider_ref.name)
    yield from _routing(f"{PLAN}.trafficRouting", plan.traffic_routing)
    yield from _batches(plan)


def _routing(path: str, routing: TrafficRouting | None) -> Iterator[str]:
    """Section 3.11; which Services are meant may only be known when the plan is verified."""
    if routing is None:
        return
    if routing.provider not in TRAFFIC_PROVIDERS:
        yield _unsupported(f"{path}.provider", routing.provider, TRAFFIC_PROVIDERS)
    elif routing.provider != NO_PROVIDER and (routing.ingress_ref is None or not routing.ingress_ref.name):
        yield required(f"{path}.ingressRef.name")
    if routing.ingress_ref is not None:
        yield from named(f"{path}.ingressRef.name", routing.ingress_ref.name)
        yield from named(f"{path}.ingressRef.namespace", routing.ingress_ref.namespace)
    for field, service in (("sourceService", routing.source_service), ("targetService", routing.target_service)):
        yield from named(f"{path}.{field}", service)
    if routing.port is not None and not 1 <= routing.port <= _LARGEST_PORT:
        yield invalid(f"{path}.port", routing.port, f"must be from 1 to {_LARGEST_PORT}")
    if routing.source_service and routing.source_service == routing.target_service:
        yield invalid(f"{path}.targetService", routing.target_service, "must not be sourceService")


def _partitions(plan: RolloutPlan) -> Iterator[str]:
    yield from at_least(f"{PLAN}.lastBatchToRollout", plan.last_batch_to_rollout, 0)
    yield from at_least(f"{PLAN}.batchPartition", plan.batch_partition, 0)
    both = (plan.last_batch_to_rollout, plan.batch_partition)
    if None not in both and both[0] != both[1]:
        yield invalid(
            f"{PLAN}.batchPartition", both[1], f"must be lastBatchToRollout, which is {both[0]}, or be absent"
        )


def _batches(plan: RolloutPlan) -> Iterator[str]:
    """Section 2.3."""
    batches = plan.rollout_batches
    if batches is None:
        return
    path = f"{PLAN}.rolloutBatches"
    if not batches:
        yield invalid(path, [], "must not be empty: leave it out, or list batches")
    elif len(batches) > MOST_BATCHES:
        yield f"{path}: Too many: {len(batches)}: must have at most {MOST_BATCHES} items"
        return
    elif plan.num_batches is not None and plan.num_batches != len(batches):
        yield invalid(f"{PLAN}.numBatches", plan.num_batches, f"must be the length of rolloutBatches, {len(batches)}")
    for place, batch in enumerate(batches):
        yield from _batch(f"{path}[{place}]", batch)
        if batch.traffic_match and plan.traffic_routing is not None and plan.traffic_routing.provider == "smi":
            yield f"{path}[{place}].trafficMatch: Forbidden: a TrafficSplit cannot match headers"


def _batch(path: str, batch: RolloutBatch) -> Iterator[str]:
    yield from _pods(f"{path}.replicas", batch.replicas)
    yield from _pods(f"{path}.maxUnavailable", batch.max_unavailable)
    if batch.pod_list and batch.replicas is not None:
        yield f"{path}.podList: Forbidden: may not be given together with replicas"
    yield from _names(f"{path}.podList", batch.pod_list)
    yield from at_least(f"{path}.instanceInterval", batch.instance_interval, 0)
    yield from at_least(f"{path}.soakSeconds", batch.soak_seconds, 0)
    if batch.traffic_weight is not None and not 0 <= batch.traffic_weight <= 100:
        yield invalid(f"{path}.trafficWeight", batch.traffic_weight, "must be from 0 to 100")
    yield from _hooks(f"{path}.batchRolloutWebhooks", batch.batch_rollout_webhooks, BATCH_HOOKS)
    yield from metric_refusals(f"{path}.canaryMetric", batch.canary_metric)
    for place, match in enumerate(batch.traffic_match):
        inside = f"{path}.trafficMatch[{place}]"
        if not match.header:
            yield required(f"{inside}.header")
        elif _TOKEN.fullmatch(match.header) is None:
            yield invalid(f"{inside}.header", match.header, "must be the name of a header, such as X-Canary")
        if sum(each is not None for each in (match.exact, match.prefix, match.regex)) != 1:
            yield required(inside, "give one of exact, prefix and regex")


def _names(path: str, names: Sequence[str]) -> Iterator[str]:
    seen: set[str] = set()
    for place, name in enumerate(names):
        inside = f"{path}[{place}]"
        if not name:
            yield required(inside)
        elif name in seen:
            yield invalid(inside, name, "must not be named twice")
        yield from named(inside, name)
        seen.add(name)


def _hooks(path: str, hooks: Sequence[RolloutWebhook], types: Sequence[str]) -> Iterator[str]:
    """Section 2.4."""
    for place, hook in enumerate(hooks):
        inside = f"{path}[{place}]"
        if not hook.type:
            yield required(f"{inside}.type")
        yield from _one_of(f"{inside}.type", hook.type, types)
        if not hook.name:
            yield required(f"{inside}.name")
        yield from _address(f"{inside}.url", hook.url)
        yield from _one_of(f"{inside}.method", hook.method, METHODS)
        for code in hook.expected_status:
            if not 100 <= code <= _LARGEST_STATUS:
                yield invalid(f"{inside}.expectedStatus", code, "must be a status of HTTP, from 100 to 599")
        yield from duration(f"{inside}.timeout", hook.timeout)


def _address(path: str, url: str) -> Iterator[str]:
    if not url:
        yield required(path)
        return
    try:
        parts = urlsplit(url)
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable or any(not each.isprintable() or each == " " for each in url):
        yield invalid(path, url, "must be an absolute address with http or https, such as https://hooks.example/start")


def _pods(path: str, value: IntOrText | None) -> Iterator[str]:
    if isinstance(value, int) and value < 0:
        yield invalid(path, value, _NOT_NEGATIVE)
    elif isinstance(value, str) and not is_percent(value):
        yield invalid(path, value, "must be a number, or a percentage such as 20%")


def _one_of(path: str, value: str, known: Sequence[str]) -> Iterator[str]:
    """An empty value counts as absent."""
    if value and value not in known:
        yield _unsupported(path, value, known)


def _unsupported(path: str, value: str, known: Sequence[str]) -> str:
    return invalid(path, value, f"must be one of {', '.join(known)}")
