"""What a replica says of rights that it missed."""

from __future__ import annotations

from fairlead.engine import assembly
from fairlead.engine.metrics import Metrics
from fairlead.engine.missing_rights import METRIC, MissingRightsMetric
from kubeloop.errors import Forbidden
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, patch
from kubeloop.rights import MissedRights

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

    leads(True)
    rights.heard(patch(Ref(CONFIGMAPS, "a", "rules"), MERGE_PATCH, b"{}"), REFUSED)
    while_leading = shown()
    leads(False)

    assert (while_leading, shown()) == (1, None)
