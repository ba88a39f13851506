"""What metrics mean for a rollout: whether it may be verified, whether its batch gets approval, whether a gate holds.

A batch passes when the last look at each of its metrics is in range, and as many were as are asked for. One look more
out of range than tolerated refuses it. Nothing to measure, and a metric that cannot be read, are waited for and decide
nothing. A metric in a dry run is looked at once, and decides nothing either way.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide.metrics.looks import MetricLook, looks
from fairlead.contracts.plans.decide.metrics.providers import ONLINE, source_of, unserved_text
from fairlead.contracts.plans.decide.metrics.rules import metric_refusals, outside
from fairlead.contracts.plans.decide.notes import METRIC_FAILED, Note
from fairlead.contracts.plans.decide.turns import Pass, Turn, refuses, waits
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Fail, Retry
from fairlead.contracts.plans.kinds import (
    IN_RANGE,
    NO_DATA,
    OUT_OF_RANGE,
    UNREADABLE,
    CanaryMetric,
    RolloutPlan,
    RolloutStatus,
)
from fairlead.core.ask import Need, Question
from fairlead.core.prometheus import QueryFailed, is_one, measured

PLAN = "spec.rolloutPlan"


class Judged(Struct, frozen=True):
    """Nothing refuses it: the status with what was found, what is told, and when to look again."""

    status: RolloutStatus
    notes: tuple[Note, ...] = ()
    until: datetime | None = None
    waiting: Retry | None = None
    """For the first metric that is not content yet."""


def broken(plan: RolloutPlan, metrics_server: str) -> Fail | None:
    """What no correction of a template mends: metrics that say what cannot be, and built-in ones of nobody."""
    for path, metrics in _listed(plan):
        if problem := next(metric_refusals(path, metrics), None):
            return Fail(Why.SPEC_INVALID, problem)
        for metric in metrics:
            if metric.template_ref is None and not metrics_server:
                return Fail(Why.NOT_SERVED, unserved_text(metric))
    return None


def _listed(plan: RolloutPlan) -> Iterator[tuple[str, tuple[CanaryMetric, ...]]]:
    yield f"{PLAN}.canaryMetric", plan.canary_metric
    for place, batch in enumerate(plan.rollout_batches or ()):
        yield f"{PLAN}.rolloutBatches[{place}].canaryMetric", batch.canary_metric


def probed(given: Pass) -> Turn | Need | None:
    """R-30: None once whoever will be asked can be asked; dry runs hold nothing up."""
    missing: dict[Question, None] = {}
    problem = ""
    for metric in (each for _, metrics in _listed(given.spec.rollout_plan) for each in metrics if not each.dry_run):
        found = _offline(metric, given)
        if isinstance(found, Need):
            missing |= dict.fromkeys(question for stage in found.stages for question in stage)
        elif found and not problem:
            problem = f"the metric {metric.name} cannot be read: {found}"
    if missing:
        return Need((tuple(missing),))
    if not problem:
        return None
    return waits(given, Retry(Why.METRIC_UNKNOWN, problem), told=(Note(METRIC_FAILED, problem, warning=True),))


def _offline(metric: CanaryMetric, given: Pass) -> str | Need:
    """Why its provider cannot be asked; empty where it can."""
    source = source_of(metric, given)
    if isinstance(source, Need):
        return source
    if isinstance(source, QueryFailed):
        return source.why
    question = replace(source, query=ONLINE).question(f"{given.seen.rollout.metadata.uid} online")
    if stages := given.seen.answers.lacking((question,)):
        return Need(stages)
    number = measured(given.seen.answers[question])
    if is_one(number):
        return ""
    return number.why if isinstance(number, QueryFailed) else f"it does not answer {ONLINE} with 1"


def judged(given: Pass, status: RolloutStatus) -> Turn | Need | Judged:
    """Of a batch that is available since the status says so (R-28 and R-29)."""
    plan = given.spec.rollout_plan
    metrics = (*plan.batch(status.current_batch).canary_metric, *(plan.canary_metric if given.is_last else ()))
    since = status.batch_available_time or given.now
    found = looks(metrics, given, since, at_gate=False)
    answer = found if isinstance(found, Need) else _answer(given, status, found)
    if isinstance(answer, Judged) and answer.waiting is not None:
        return waits(given, replace(answer.waiting, until=answer.until), answer.status, answer.notes)
    return answer


def watched(given: Pass, status: RolloutStatus) -> Turn | Need | Judged:
    """X-3, of a batch whose plan waits at its partition: only what leaves its range decides."""
    plan = given.spec.rollout_plan
    whole = tuple(each for each in plan.canary_metric if each.while_waiting)
    metrics = (*plan.batch(status.current_batch).canary_metric, *whole)
    found = looks(metrics, given, status.paused_since or given.now, at_gate=True)
    return found if isinstance(found, Need) else _answer(given, status, found)


def _answer(given: Pass, status: RolloutStatus, found: Sequence[MetricLook]) -> Turn | Judged:
    after = replace(status, metrics=tuple(each.record for each in found))
    told = tuple(note for each in found if (note := _note(each)) is not None)
    deciding = [each for each in found if not each.metric.dry_run]
    refused = next((each for each in deciding if _is_refused(each)), None)
    if refused is not None:
        return refuses(given, Fail(Why.METRIC_REFUSED, _broken_bound(refused)), after, told)
    until = min((each.due for each in found if each.due is not None), default=None)
    waiting = next((retry for each in found if (retry := _waiting(each)) is not None), None)
    return Judged(after, told, until, waiting)


def _is_refused(look: MetricLook) -> bool:
    return look.is_new and look.record.outcome == OUT_OF_RANGE and look.record.failures > look.metric.failure_limit


def _waiting(look: MetricLook) -> Retry | None:
    """What a metric still wants; None where it is content, or decides nothing any more."""
    record, metric = look.record, look.metric
    if metric.dry_run and record.outcome:
        return None
    match record.outcome:
        case outcome if outcome == IN_RANGE and record.successes >= metric.success_count:
            return None
        case outcome if outcome == IN_RANGE:
            text = f"was in its range {record.successes} of {metric.success_count} times"
            return Retry(Why.METRIC_PENDING, f"the metric {metric.name} {text}")
        case outcome if outcome == OUT_OF_RANGE:
            return Retry(Why.METRIC_PENDING, _broken_bound(look))
        case outcome if outcome in (NO_DATA, UNREADABLE):
            return Retry(Why.METRIC_UNKNOWN, _unknown(look))
    return Retry(Why.METRIC_PENDING, f"waiting for the first look at the metric {metric.name}")


def _note(look: MetricLook) -> Note | None:
    """Of a look that was made in this pass and is not as it should be; that there is no data is no news."""
    if not look.is_new or look.record.outcome not in (OUT_OF_RANGE, UNREADABLE):
        return None
    text = _broken_bound(look) if look.record.outcome == OUT_OF_RANGE else _unknown(look)
    return Note(METRIC_FAILED, f"{text} (a dry run decides nothing)" if look.metric.dry_run else text, warning=True)


def _broken_bound(look: MetricLook) -> str:
    record, metric = look.record, look.metric
    times = "once" if record.failures == 1 else f"{record.failures} times"
    said = f"{times} out of its range in this batch, where {metric.failure_limit} are tolerated"
    return f"the metric {metric.name} is {record.value}, {_bound(look)}: {said}"


def _bound(look: MetricLook) -> str:
    """Of a value that a status holds, whoever wrote it; the range may be another one since."""
    try:
        return outside(float(look.record.value), look.metric) or "out of the range that it had"
    except ValueError:
        return "no number"


def _unknown(look: MetricLook) -> str:
    if look.record.outcome == NO_DATA:
        return f"the metric {look.metric.name} has no data: its query gives nothing, or no number"
    return f"the metric {look.metric.name} cannot be read: {look.why}"
