"""The zone contract's words on the wire."""

from __future__ import annotations

PART = "zones"
NOUN = "group"
"""What is rolled, as documents name it."""
"""The contract's name in options, documents and metrics."""

GROUP_LABEL = "rollout-group"
NAME_LABEL = "name"
MAX_UNAVAILABLE = "rollout-max-unavailable"
PAUSED = "grafana.com/rollout-paused"

LEADER = "grafana.com/rollout-downscale-leader"
UPSCALE_ONLY_WHEN_LEADER_READY = "grafana.com/rollout-upscale-only-when-leader-ready"
FORCE_REPLICAS = "grafana.com/rollout-force-replicas"
MIRROR_NAME = "grafana.com/rollout-mirror-replicas-from-resource-name"
MIRROR_KIND = "grafana.com/rollout-mirror-replicas-from-resource-kind"
MIRROR_API_VERSION = "grafana.com/rollout-mirror-replicas-from-resource-api-version"
MIRROR_WRITE_BACK = "grafana.com/rollout-mirror-replicas-from-resource-write-back"
DELAY = "grafana.com/rollout-delayed-downscale"
DELAY_URL = "grafana.com/rollout-prepare-delayed-downscale-url"

NO_DOWNSCALE = "grafana.com/no-downscale"
PREPARE_DOWNSCALE = "grafana.com/prepare-downscale"
PREPARE_PATH = "grafana.com/prepare-downscale-http-path"
PREPARE_PORT = "grafana.com/prepare-downscale-http-port"
MIN_TIME = "grafana.com/min-time-between-zones-downscale"
"""A label; as an annotation of the same key it goes before the label."""
LAST_DOWNSCALE = "grafana.com/last-downscale"

HEALTH_CHECK = "grafana.com/rollout-health-check"
HEALTH_CHECK_STARTED = "grafana.com/rollout-health-check-started-at"

PHASED = "grafana.com/rollout-phased"
"""Label of a Deployment, exactly `true`: its template rolls out only after that of the Deployment it depends on."""
DEPENDS_ON = "grafana.com/rollout-depends-on"
REVISION = "grafana.com/rollout-revision"
SOAK_DURATION = "grafana.com/rollout-soak-duration"
RESTART_THRESHOLD = "grafana.com/rollout-restart-threshold"
RESUME = "grafana.com/rollout-resume"
GATE = "fairlead.dev/rollout-gate"
"""Annotation written by the operator: which template of a phased Deployment is held, was blocked or has passed."""

INJECT_CA = "grafana.com/inject-rollout-operator-ca"
NAMESPACE = "grafana.com/namespace"

EXCLUDE = "fairlead.dev/exclude"
"""Annotation of a StatefulSet, exactly `true`: treated as if it had no group label."""
ROTATE = "fairlead.dev/rotate"
"""Label of a pod, exactly `true`: it is replaced as if it were outdated."""
ZONE_SOAK = "fairlead.dev/zone-soak"
"""Annotation of a StatefulSet, a Go duration: how long it must have been updated and ready before the next starts."""

OWN_LABELS = {"app.kubernetes.io/name": "rollout-operator"}
"""Of what the operator makes for itself, so that whoever removes it finds the key and the Leases it leaves behind."""

API_GROUP = "rollout-operator.grafana.com"

READY_TIME = "grafana.com/ready-time"
"""Annotation of a pod, RFC 3339: since when it has been ready."""
PREPARING = "fairlead.dev/preparing"
"""Annotation of a pod, RFC 3339: since when it may be prepared for a downscale."""
POD_ANNOTATIONS = frozenset({READY_TIME, PREPARING})
"""All that decisions read of the annotations of pods."""
