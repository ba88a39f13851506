"""What may keep a zone from starting although it is its turn: a soak time, then a health check.

Only the start is held: a zone of which a pod is updated already goes on, and the first zone of a rollout has nothing
to wait for. A zone that is held is passed by, unless it is not ready.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairlead.contracts.zones.decide.groups import Group, Zone
from fairlead.contracts.zones.decide.healthchecks.healthcheck import CheckFinding, JudgedHealth, Result, judged
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import Then
from fairlead.contracts.zones.decide.rollout.soak import soaking
from fairlead.contracts.zones.decide.scaling.scale_target import aside
from fairlead.core.ask import Need
from fairlead.core.decision import SideNote
from fairlead.core.reason import Reason
from fairlead.core.times import format_rfc3339


class Start(Struct, frozen=True):
    """Whether a zone may start."""

    zone: Zone
    reason: Reason | None = None
    """Why it is held; None lets it start."""
    until: datetime | None = None
    """When to look again."""
    detail: str = ""
    """In words that stay the same while the reason does."""
    numbers: str = ""
    """What differs from look to look."""
    judged: JudgedHealth | None = None
    """What Prometheus had to say."""

    @property
    def warnings(self) -> tuple[SideNote, ...]:
        """What is wrong and holds nothing."""
        if self.judged is None:
            return ()
        findings, name = self.judged.that(Then.WARN), self.judged.by.name
        return tuple(aside(self.zone, Reason.HEALTH_CHECK_WARNING, f"{name}: {said(each)}") for each in findings)


def start_of(zone: Zone, group: Group) -> Start | Need:
    """Whether this zone, which has outdated pods, may begin to delete them."""
    if zone.has_updated:
        return Start(zone)
    if soak := soaking(zone, group):
        end = format_rfc3339(soak.until)
        detail = f"{soak.rolled.name} must be ready for {soak.length}, until {end}"
        return Start(zone, Reason.SOAKING, soak.until, detail)
    match judged(zone, group):
        case Need() as need:
            return need
        case None:
            return Start(zone)
        case outcome:
            return checked(zone, outcome)


def checked(zone: Zone, outcome: JudgedHealth) -> Start:
    pausing = outcome.that(Then.PAUSE)
    if not pausing:
        return Start(zone, judged=outcome)
    unasked = any(each.result is Result.UNASKED for each in pausing)
    reason = Reason.HEALTH_CHECK_UNASKED if unasked else Reason.HEALTH_CHECK_FAILING
    detail = f"{outcome.by.name}: {'; '.join(map(said, pausing))}"
    numbers = "; ".join(f"{each.check}: {each.detail}" for each in pausing if each.detail)
    return Start(zone, reason, outcome.until, detail, numbers, outcome)


def said(finding: CheckFinding) -> str:
    match finding.result:
        case Result.NO_DATA:
            return f"check '{finding.check}' has no data"
        case Result.UNREACHABLE:
            return f"check '{finding.check}' could not be run"
        case Result.UNASKED:
            return f"only the operator runs check '{finding.check}'"
        case _:
            return f"check '{finding.check}' fails"
