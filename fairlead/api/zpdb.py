"""ZoneAwarePodDisruptionBudgets, as they come in; their spec stays as it was written until it has been checked."""

from __future__ import annotations

from msgspec import Struct

from fairlead.api.meta import Meta, Resource
from fairlead.api.zones import API_GROUP

ZPDBS = Resource(API_GROUP, "v1", "zoneawarepoddisruptionbudgets", "ZoneAwarePodDisruptionBudget")


class ZpdbMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0


class Zpdb(Struct, frozen=True):
    metadata: ZpdbMeta
    spec: object = None
    """Any JSON: an object of the wrong shape must not make the watch fail."""
