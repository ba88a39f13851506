"""Looks at metrics: which are due, what each comes to, and what is remembered of them (R-28 and R-29).

A look is due one interval after the last one that counts, or after the batch became available; whatever wakes a pass
before that finds nothing to ask. It counts by the status that records it, together with its time, and that write is
bound to the version of the object that was decided on: a process that dies between asking and writing has counted
nothing, and the next one makes the same look anew; once it is written it is not due, for nobody. Two that look at the
same time cannot both write. While a look is not recorded its answer serves for some seconds, so that a pass that lost
its write to somebody's edit does not ask again.

A look that cannot be made is none: it moves no time, and is tried again five seconds later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide.metrics.placeholders import DEFAULT_INTERVAL
from fairlead.contracts.plans.decide.metrics.providers import QuerySource, source_of
from fairlead.contracts.plans.decide.metrics.rules import metric_refusals, outside
from fairlead.contracts.plans.decide.turns import Pass
from fairlead.contracts.plans.kinds import (
    IN_RANGE,
    NO_DATA,
    OUT_OF_RANGE,
    UNREADABLE,
    CanaryMetric,
    MetricRecord,
)
from fairlead.core.ask import Need, Question
from fairlead.core.prometheus import Measured, NoData, Number, QueryFailed, measured
from kubeloop.durations import parse_go

SHORTEST = 1.0
"""Seconds between two looks at the least, whatever the interval: each of them is written down."""
AGAIN = timedelta(seconds=5)
"""After which a look that could not be made is tried again."""
MOST_SHOWN = 32
"""Characters of a number that is kept as it was written."""


class MetricLook(Struct, frozen=True):
    """A metric with what is known of it, and with what was found in this pass, if it was due."""

    metric: CanaryMetric
    record: MetricRecord
    due: datetime | None = None
    """When it is looked at next; None where nobody watches it now."""
    is_new: bool = False
    why: str = ""
    """What keeps it from being read."""


def interval_of(metric: CanaryMetric) -> timedelta:
    return timedelta(seconds=max(SHORTEST, parse_go(metric.interval or DEFAULT_INTERVAL)))


def looks(
    metrics: Sequence[CanaryMetric], given: Pass, since: datetime, *, at_gate: bool
) -> tuple[MetricLook, ...] | Need:
    """Each metric with its look, where that is due.

    At a gate only those are watched that say so, and looks go on; else only those since the batch is available count.
    """
    found: list[MetricLook] = []
    missing: dict[Question, None] = {}
    for place, (metric, record) in enumerate(_paired(metrics, given.status.metrics)):
        if at_gate and not metric.while_waiting:
            found.append(MetricLook(metric, record))
            continue
        look = _look(metric, record if at_gate else _since(record, since), given, since, place)
        if isinstance(look, Need):
            missing |= dict.fromkeys(question for stage in look.stages for question in stage)
        else:
            found.append(look)
    return Need((tuple(missing),)) if missing else tuple(found)


def _paired(
    metrics: Sequence[CanaryMetric], records: Sequence[MetricRecord]
) -> Iterator[tuple[CanaryMetric, MetricRecord]]:
    """Each with the record of its name; of several with one name, the first with the first."""
    left = list(records)
    for metric in metrics:
        record = next((each for each in left if each.name == metric.name), MetricRecord(metric.name))
        if record in left:
            left.remove(record)
        yield metric, record


def _since(record: MetricRecord, since: datetime) -> MetricRecord:
    """What counts since the batch is available: what was out of range stays counted for the whole batch."""
    if record.time is None or record.time >= since:
        return record
    return MetricRecord(record.name, failures=record.failures)


def _look(metric: CanaryMetric, record: MetricRecord, given: Pass, since: datetime, place: int) -> MetricLook | Need:
    if problem := next(metric_refusals("canaryMetric", (metric,)), ""):
        return _unread(metric, record, given.now, problem)
    last, interval = record.time or since, interval_of(metric)
    # A time that is further ahead than the next look was written by another clock.
    if last <= given.now + interval and given.now < last + interval:
        return MetricLook(metric, record, last + interval)
    source = source_of(metric, given)
    match source:
        case Need():
            return source
        case QueryFailed(why):
            return _unread(metric, record, given.now, why)
    number = _measured(source, given, f"{place} {last.isoformat()}")
    return number if isinstance(number, Need) else _judged(metric, record, number, given.now)


def _measured(source: QuerySource, given: Pass, look: str) -> Measured | Need:
    metadata, status = given.seen.rollout.metadata, given.status
    question = source.question(f"{metadata.uid} {status.target_generation} {status.current_batch} {look}")
    stages = given.seen.answers.lacking((question,))
    return Need(stages) if stages else measured(given.seen.answers[question])


def _judged(metric: CanaryMetric, record: MetricRecord, number: Measured, now: datetime) -> MetricLook:
    if isinstance(number, QueryFailed):
        return _unread(metric, record, now, number.why)
    due = now + interval_of(metric)
    if isinstance(number, NoData):
        return MetricLook(metric, replace(record, value="", time=now, outcome=NO_DATA), due, is_new=True)
    is_out = outside(number.value, metric) != ""
    after = replace(
        record,
        value=_shown(number),
        time=now,
        outcome=OUT_OF_RANGE if is_out else IN_RANGE,
        failures=record.failures + is_out,
        successes=record.successes + (not is_out),
    )
    return MetricLook(metric, after, due, is_new=True)


def _unread(metric: CanaryMetric, record: MetricRecord, now: datetime, why: str) -> MetricLook:
    after = replace(record, value="", outcome=UNREADABLE)
    return MetricLook(metric, after, now + AGAIN, is_new=True, why=why)


def _shown(number: Number) -> str:
    return number.text if len(number.text) <= MOST_SHOWN else repr(number.value)
