"""The settings that zones are served under."""

from __future__ import annotations

from msgspec import Struct


class Settings(Struct, frozen=True):
    """What the flags of the zone contract say about deciding and pacing."""

    reconcile_interval: float | None = None
    """Least seconds between two passes of a group (rule 5); None: a pass follows the facts at once."""
    cluster_domain: str = "cluster.local."
    """Stands verbatim after `svc.` in the names of pods."""
    pods_timeout: float = 5.0
    """Seconds for a call to a pod's endpoint."""
    request_timeout: float = 10.0
    """Seconds for a webhook request; handlers use nine tenths of it."""
    use_zone_tracker: bool = False
    tracker_name: str = "rollout-operator-zone-tracker"
    """ConfigMap of the times of downscales, in the namespace of the request."""
    stamp_timeout: float = 5.0
    """Seconds for writing the ready-time of a pod."""
    phased_deployments: bool = False
    """Whether Deployments with the label are held until what they depend on has rolled out."""
