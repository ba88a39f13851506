"""Objects that configure zones, as they come in; their spec stays as it was written until it is checked."""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.zones.kinds import API_GROUP
from kubeloop.objects.meta import Meta, Resource

ZPDBS = Resource(API_GROUP, "v1", "zoneawarepoddisruptionbudgets", "ZoneAwarePodDisruptionBudget")
HEALTH_CHECKS = Resource(API_GROUP, "v1", "rollouthealthchecks", "RolloutHealthCheck")


class ConfigurationMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0


class ConfigurationObject(Struct, frozen=True):
    metadata: ConfigurationMeta
    spec: object = None
    """Any JSON: an object of the wrong shape must not make the watch fail."""
