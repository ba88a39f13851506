"""What a replica says of rights that it missed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from fairlead.core.ask import Answers
from fairlead.engine import assembly
from fairlead.engine.decide.missing_rights import RightSnapshot, look_again
from fairlead.engine.metrics import Metrics
from fairlead.engine.missing_rights import METRIC, MissingRightsMetric
from kubeloop.errors import Forbidden
from kubeloop.missed_rights import MissedRights
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, patch
from kubeloop.rights import Missed, Right
from kubesim.time import run

REFUSED = Forbidden(
    403, "Forbidden", 'configmaps is forbidden: User "u" cannot patch resource "configmaps" in API group ""'
)


def test_who_leads_no_more_says_nothing_of_what_only_a_leader_does() -> None:
    """It would never do it again, and so never learn that the right is there."""
    metrics, rights = Metrics(), MissedRights()
    metrics.of(MissingRightsMetric).show(rights)
    leads = assembly._leads((), metrics, rights)

    def shown() -> float | None:
        return metrics.registry.get_sample_value(METRIC, {"verb": "patch", "resource": "configmaps"})

    async def refused() -> None:
        rights.heard(patch(Ref(CONFIGMAPS, "a", "rules"), MERGE_PATCH, b"{}"), REFUSED)

    leads(True)
    run(refused())
    while_leading = shown()
    leads(False)

    assert (while_leading, shown()) == (1, None)


def test_the_server_is_asked_ever_less_often_and_every_five_minutes_at_least() -> None:
    begun = datetime(2030, 1, 1, tzinfo=UTC)
    about = Ref(CONFIGMAPS, "a", "rules")
    missed = Missed(Right("patch", "", "configmaps"), "a", "rules")
    seen = RightSnapshot(missed=missed, since=begun, about=about, home="a", part="a", noun="right", answers=Answers())
    now, waits = begun, []

    while now < begun + timedelta(minutes=20):
        waits.append((look_again(seen, now) - now).total_seconds())
        now = look_again(seen, now)

    assert waits == [10, 10, 20, 40, 80, 160, 300, 300, 300]
