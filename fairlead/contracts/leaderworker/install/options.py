"""What `fairlead manifests` is told about an installation of leaders and workers."""

from __future__ import annotations

from fairlead.contracts.leaderworker.install.objects import objects
from fairlead.contracts.leaderworker.install.values import Values
from fairlead.contracts.leaderworker.section import GANG_SCHEDULER, LIMIT, gang_scheduler_of
from fairlead.core.flags import Flag, Given
from fairlead.core.option_kinds import SWITCH
from fairlead.engine.install import Install, InstallPlace

MONITORING = Flag("monitoring", SWITCH, False, "monitor, alerts and a Grafana dashboard")
NETWORK_POLICY = Flag("network-policy", SWITCH, False, "limit what the operator's pods reach")
HISTORY = Flag("lws-revision-history-limit", LIMIT, 0, "old revisions that are kept for undoing (default 0)")
BUDGETS = Flag("lws-disruption-budgets", SWITCH, False, "let the operator keep PodDisruptionBudgets of groups")
EVICTIONS = Flag("lws-eviction-webhook", SWITCH, False, "have evictions of pods in groups reviewed")

DISAGGREGATED = Flag("lws-disaggregated-sets", SWITCH, False, "roles and the webhook of DisaggregatedSets")


def _values(place: InstallPlace, given: Given) -> Values:
    return Values(
        namespace=place.namespace,
        image=place.image,
        history_limit=given[HISTORY],
        gang_scheduler=gang_scheduler_of(given),
        monitoring=given[MONITORING],
        network_policy=given[NETWORK_POLICY],
        disruption_budgets=given[BUDGETS],
        eviction_webhook=given[EVICTIONS],
        disaggregated_sets=given[DISAGGREGATED],
    )


INSTALL = Install(
    flags=(MONITORING, NETWORK_POLICY, HISTORY, GANG_SCHEDULER, BUDGETS, EVICTIONS, DISAGGREGATED),
    values=_values,
    objects=objects,
)
