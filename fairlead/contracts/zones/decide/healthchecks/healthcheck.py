"""U-5: whether a zone may start, judged by what Prometheus measures on the pods that were rolled before it.

The start of the rollout is written on each zone before the first pod of the group goes, and read from there. Zones that
have pods from after it were rolled before this one; others have nothing to do with the rollout. The baseline is
measured at that moment, on pods that are still outdated. Answers serve for a while, so that passes which follow each
other quickly do not ask again; then all is measured anew.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from enum import Enum

import msgspec
from msgspec import Struct, structs

from fairlead.contracts.zones.decide.groups import Group, Zone
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import HealthCheck, QueryCheck, Then
from fairlead.contracts.zones.decide.healthchecks.queries import judgement, matchers, measurement
from fairlead.contracts.zones.decide.rollout.readiness import appeared_at
from fairlead.contracts.zones.kinds import HEALTH_CHECK, HEALTH_CHECK_STARTED
from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Answers, Ask, Bad, Need
from fairlead.core.prometheus import Measured, NoData, Number, is_one, measured
from fairlead.core.times import format_rfc3339, parse_rfc3339
from kubeloop.objects.core import Pod

EVERY = 30
"""Seconds after which a zone that is held is judged anew."""


class Result(Enum):
    PASSED = "passed"
    FAILED = "failed"
    NO_DATA = "no-data"
    UNREACHABLE = "unreachable"
    UNASKED = "unasked"
    """A look does not ask."""


class CheckFinding(Struct, frozen=True):
    """What one check came to."""

    check: str
    result: Result
    then: Then | None
    """What follows; None when all is well."""
    detail: str = ""
    """With the numbers, which differ from time to time."""


class JudgedHealth(Struct, frozen=True):
    by: HealthCheck
    findings: tuple[CheckFinding, ...]
    until: datetime
    """When it is judged anew."""

    def that(self, then: Then) -> tuple[CheckFinding, ...]:
        return tuple(finding for finding in self.findings if finding.then is then)


def referred(zone: Zone, group: Group) -> HealthCheck | str | None:
    """The object that the zone's annotation names; a text says why there is none that can be used."""
    name = zone.statefulset.metadata.annotations.get(HEALTH_CHECK)
    if not name:
        return None
    found = next((check for check in group.seen.checks if check.name == name), None)
    if found is None:
        return f'there is no valid RolloutHealthCheck "{name}"'
    if not found.matches(zone.statefulset.metadata.labels):
        return f'RolloutHealthCheck "{name}" does not select its labels'
    return found


def judged(zone: Zone, group: Group) -> JudgedHealth | Need | None:
    """None when nothing is to be judged: no check, no zone rolled before it, or the start must be written down first.

    It is asked of a zone that has not begun.
    """
    check = referred(zone, group)
    if not isinstance(check, HealthCheck) or lacks_start(zone, group) or not rolled_before(zone, group):
        return None
    window = window_of(group.at)
    answers = group.seen.answers
    wanted = [_measurements(each, check, zone, group, window) for each in check.checks]
    if unasked := answers.lacking(tuple(ask for pair in wanted for ask in pair if ask is not None)):
        return Need(unasked)
    numbers = [(_read(now, answers), _read(before, answers)) for now, before in wanted]
    finals = [_judgement(each, check, *pair, window) for each, pair in zip(check.checks, numbers, strict=True)]
    if unasked := answers.lacking(tuple(ask for ask in finals if ask is not None)):
        return Need(unasked)
    findings = (
        _finding(each, *pair, final, answers) for each, pair, final in zip(check.checks, numbers, finals, strict=True)
    )
    return JudgedHealth(check, tuple(findings), window + timedelta(seconds=EVERY))


def window_of(now: datetime) -> datetime:
    """The moment for which it is judged: the same for all passes within EVERY seconds."""
    return datetime.fromtimestamp(now.timestamp() // EVERY * EVERY, UTC)


def rolled_before(zone: Zone, group: Group) -> tuple[Zone, ...]:
    """The other zones of which pods are updated, as far as that was done since the rollout of this zone began.

    Without a record of that moment every zone with updated pods counts. So it does where the moment is still to come:
    a clock was ahead when it was written, and pods that came since seem to be from before it.
    """
    start = started_at(zone)
    if start is not None and start > group.at:
        start = None
    others = (other for other in group.zones if other is not zone and other.has_updated)
    return tuple(other for other in others if start is None or other.outdated or has_appeared(other, start))


def has_appeared(zone: Zone, start: datetime) -> bool:
    """Whether a pod of the zone is from after that moment."""
    return any(moment >= start for pod in zone.pods if (moment := appeared_at(pod)) is not None)


def _measurements(
    check: QueryCheck, of: HealthCheck, zone: Zone, group: Group, window: datetime
) -> tuple[Ask | None, Ask | None]:
    """Over updated pods now, and over outdated ones at the start; None for what is not to be had or not wanted.

    Of a start that is still to come nothing is measured yet: then the outdated pods are measured now.
    """
    targets = matchers(group.seen.namespace, rolled_before(zone, group), updated)
    current = _kept(measurement(check, of, targets, check.current_range, window))
    started = started_at(zone)
    if not check.compares or started is None:
        return current, None
    targets = matchers(group.seen.namespace, group.zones, outdated)
    baseline = started if started <= group.at else window
    return current, _kept(measurement(check, of, targets, check.baseline_range, baseline))


def updated(zone: Zone) -> tuple[Pod, ...]:
    left = {pod.metadata.uid for pod in zone.outdated}
    return tuple(pod for pod in zone.pods if pod.metadata.uid not in left)


def outdated(zone: Zone) -> tuple[Pod, ...]:
    return zone.outdated


def _kept(ask: Ask) -> Ask:
    return structs.replace(ask, max_age=EVERY)


def _read(ask: Ask | None, answers: Answers) -> Measured | None:
    if ask is None:
        return NoData()
    answer = answers[ask]
    return None if isinstance(answer, Bad) and answer.kind == "not-sent" else measured(answer)


def _judgement(
    check: QueryCheck, of: HealthCheck, current: Measured | None, baseline: Measured | None, window: datetime
) -> Ask | None:
    """None unless the numbers that it needs are there."""
    if not isinstance(current, Number):
        return None
    if not check.compares:
        return _kept(judgement(check, of, current, None, window))
    return _kept(judgement(check, of, current, baseline, window)) if isinstance(baseline, Number) else None


def _finding(
    check: QueryCheck, current: Measured | None, baseline: Measured | None, final: Ask | None, answers: Answers
) -> CheckFinding:
    needed = (current, baseline) if check.compares else (current,)
    last = None if final is None else _read(final, answers)
    if None in needed or (final is not None and last is None):
        return CheckFinding(check.name, Result.UNASKED, Then.PAUSE)
    for number in needed:
        match number:
            case NoData():
                which = "updated pods" if number is current else "the outdated pods at the start of the rollout"
                return CheckFinding(check.name, Result.NO_DATA, check.on_no_data, f"no data for {which}")
            case Number():
                continue
            case failed:
                return CheckFinding(check.name, Result.UNREACHABLE, check.on_failure, getattr(failed, "why", ""))
    numbers = ", ".join(
        f"{name} {number.text}"
        for name, number in (("current", current), ("baseline", baseline))
        if isinstance(number, Number)
    )
    if last is not None and is_one(last):
        return CheckFinding(check.name, Result.PASSED, None, numbers)
    return CheckFinding(check.name, Result.FAILED, check.on_failure, numbers)


def started_at(zone: Zone) -> datetime | None:
    """When the rollout to the zone's update revision began; None when that was not written down."""
    text = zone.statefulset.metadata.annotations.get(HEALTH_CHECK_STARTED, "")
    revision, _, time = text.partition("=")
    if not revision or revision != zone.statefulset.status.update_revision:
        return None
    try:
        return parse_rfc3339(time)
    except ValueError:
        return None


def lacks_start(zone: Zone, group: Group) -> bool:
    """Whether the start must be written on the zone before it is rolled; not tried again right after a refusal."""
    if zone.is_paused or zone.is_leaving or zone.is_stale or not zone.knows_revisions:
        return False
    if not zone.outdated or zone.has_updated or started_at(zone) is not None:
        return False
    check = referred(zone, group)
    if not isinstance(check, HealthCheck) or not check.checks:
        return False
    return not any(
        isinstance(asked, Patch) and asked.does is Does.STAMP_HEALTH_CHECK and asked.ref == zone.ref
        for asked in group.seen.answers.known
    )


def started(zone: Zone, now: datetime) -> Patch:
    """The write of the start on exactly this incarnation of the zone."""
    value = f"{zone.statefulset.status.update_revision}={format_rfc3339(now)}"
    metadata = {"uid": zone.ref.uid, "annotations": {HEALTH_CHECK_STARTED: value}}
    return Patch(
        ref=zone.ref,
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"metadata": metadata}),
        does=Does.STAMP_HEALTH_CHECK,
        scope=zone.ref.uid,
        change_to=value,
        refusable=True,
    )
