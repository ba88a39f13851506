"""What `fairlead manifests` is told about an installation of plans."""

from __future__ import annotations

from fairlead.contracts.plans.install.objects import objects
from fairlead.contracts.plans.install.values import Values
from fairlead.contracts.plans.problems import problems
from fairlead.contracts.plans.section import MESH, METRICS_SERVER
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.flags import Flag, FlagError, Given
from fairlead.core.option_kinds import SWITCH
from fairlead.engine.install import Install, InstallPlace

MONITORING = Flag("monitoring", SWITCH, False, "monitor, alerts and a Grafana dashboard")
NETWORK_POLICY = Flag("network-policy", SWITCH, False, "limit what the operator's pods reach")
WITHOUT_WEBHOOKS = Flag("no-webhooks", SWITCH, False, "plans are not reviewed when they are written")


def _values(place: InstallPlace, given: Given) -> Values:
    settings = PlanSettings(metrics_server=given[METRICS_SERVER], mesh_provider=given[MESH])
    if problem := next(problems(settings, "--{}".format), None):
        raise FlagError(problem)
    return Values(
        namespace=place.namespace,
        image=place.image,
        webhooks=not given[WITHOUT_WEBHOOKS],
        monitoring=given[MONITORING],
        network_policy=given[NETWORK_POLICY],
        metrics_server=settings.metrics_server,
        mesh_provider=settings.mesh_provider,
    )


INSTALL = Install(
    flags=(MONITORING, NETWORK_POLICY, WITHOUT_WEBHOOKS, METRICS_SERVER, MESH),
    values=_values,
    objects=objects,
)
