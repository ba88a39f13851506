"""What `fairlead operator` is told about zones: options of the command, and keys of a section of its file."""

from __future__ import annotations

from fairlead.contracts.zones.settings import Settings
from fairlead.core.flag_kinds import NAME_ADVICE
from fairlead.core.flags import Flag, FlagError, Given
from fairlead.core.names import is_name
from fairlead.core.option_kinds import DURATION, SWITCH, option, seconds_of
from fairlead.engine.program import INTERVAL, CommonOptions, Section

CLUSTER_DOMAIN = Flag(
    "cluster-domain",
    option("CLUSTER_DOMAIN"),
    "cluster.local.",
    "domain of pods' DNS names, after svc. (default cluster.local.)",
)
PODS_TIMEOUT = Flag("pods-timeout", DURATION, "5s", "time for a call to a pod (default 5s)")
ZONE_TRACKER = Flag("zone-tracker", option("NAME"), "", "ConfigMap that keeps times of downscales")
PHASED = Flag(
    "phased-deployments",
    SWITCH,
    False,
    "hold labelled Deployments until those they depend on have rolled out; needs --webhooks",
)


def _settings(given: Given, common: CommonOptions) -> Settings:
    tracker = given[ZONE_TRACKER]
    if tracker and not is_name(tracker):
        raise FlagError(f'{given.place(ZONE_TRACKER)} is "{tracker}": {NAME_ADVICE}')
    if not given[CLUSTER_DOMAIN]:
        place = given.place(CLUSTER_DOMAIN)
        raise FlagError(f'{place} is empty: set it to the domain of the cluster, such as "cluster.local."')
    if given[PHASED] and not common.webhooks:
        raise FlagError(f"{given.place(PHASED)} needs --webhooks: a webhook is what holds a Deployment")
    return Settings(
        cluster_domain=given[CLUSTER_DOMAIN],
        pods_timeout=seconds_of(given.place(PODS_TIMEOUT), given[PODS_TIMEOUT], positive=True),
        request_timeout=common.request_timeout,
        use_zone_tracker=bool(tracker),
        tracker_name=tracker,
        phased_deployments=given[PHASED],
    )


SECTION = Section(
    flags=(INTERVAL, CLUSTER_DOMAIN, PODS_TIMEOUT, ZONE_TRACKER, PHASED), are_options=True, settings=_settings
)
