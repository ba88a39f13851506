"""What an operator runs for zones."""

from __future__ import annotations

from msgspec import structs

from fairlead.contracts.zones.controllers import zones
from fairlead.contracts.zones.metrics import ZoneMetrics
from fairlead.contracts.zones.phased_controller import with_phased
from fairlead.contracts.zones.settings import Settings
from fairlead.engine.part import Part, PartContext


def part(context: PartContext, given: Settings) -> Part:
    """The interval is that of the process."""
    settings = structs.replace(given, reconcile_interval=context.interval)
    caches, namespaces = context.caches, context.namespaces
    made = zones(caches, namespaces, settings, context.metrics.of(ZoneMetrics), context.log)
    return with_phased(made, caches, namespaces, settings) if settings.phased_deployments else made
