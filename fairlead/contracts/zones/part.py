"""What an operator runs for zones."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import structs
from structlog.types import FilteringBoundLogger

from fairlead.contracts.zones.controllers import controller
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.kinds import PART
from fairlead.contracts.zones.metrics import ZoneMetrics
from fairlead.contracts.zones.phased_controller import with_phased
from fairlead.contracts.zones.ready_time_controller import stamping
from fairlead.contracts.zones.settings import Settings
from fairlead.contracts.zones.unfinished_controller import unfinished
from fairlead.contracts.zones.watched import WatchedZones
from fairlead.contracts.zones.webhooks import CacheLookups, endpoints
from fairlead.engine.part import Part, PartContext
from kubeloop.caches import Caches
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod


def part(context: PartContext, given: Settings) -> Part:
    """The interval is that of the process."""
    settings = structs.replace(given, reconcile_interval=context.interval)
    caches, namespaces = context.caches, context.namespaces
    made = zones(caches, namespaces, settings, context.metrics.of(ZoneMetrics), context.log)
    return with_phased(made, caches, namespaces, settings) if settings.phased_deployments else made


def zones(
    caches: Caches, namespaces: tuple[str, ...], settings: Settings, metrics: ZoneMetrics, log: FilteringBoundLogger
) -> Part:
    """The part for these namespaces; none means all."""
    watched = {namespace: WatchedZones(caches, namespace, log, metrics) for namespace in namespaces or ("",)}
    return Part(
        name=PART,
        controllers=(
            controller(watched, settings, metrics, log),
            stamping({name: (each.pods, each.budgets) for name, each in watched.items()}, settings),
            unfinished({name: each.pods for name, each in watched.items()}, settings),
        ),
        endpoints=endpoints(settings, _lookups(watched), metrics),
        leads=metrics.leads,
        counts=metrics.counts,
    )


def _lookups(watched: Mapping[str, WatchedZones]) -> CacheLookups:
    """What webhooks see; of a namespace that is not watched, nothing is cached and no budget is in force."""

    def guards(namespace: str) -> tuple[DisruptionBudget, ...] | None:
        each = watched.get(namespace) or watched.get("")
        return () if each is None else each.budgets.known_of(namespace)

    def pod(namespace: str, name: str) -> Pod | None:
        each = watched.get(namespace) or watched.get("")
        return None if each is None or each.pods.is_outdated else each.pods.store.get(namespace, name)

    def zones(namespace: str) -> tuple[StatefulSet, ...]:
        each = watched.get(namespace) or watched.get("")
        items = () if each is None else each.zones.store.items()
        return tuple(zone for zone in items if zone.metadata.namespace == namespace)

    return CacheLookups(guards, pod, zones)
