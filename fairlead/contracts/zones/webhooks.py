"""The webhooks of zones (section 2.4): where each is, who judges, what it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from fairlead.contracts.zones.decide.admission.no_downscale import no_downscale
from fairlead.contracts.zones.decide.admission.prepare_downscale import outpaced, prepare_downscale
from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot, log_keys
from fairlead.contracts.zones.decide.budgets import eviction, zpdb
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.metrics import ZoneMetrics
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answers
from fairlead.engine.webhooks.admission import WebhookEndpoint
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from kubeloop.objects.review import Review

EVICTION = "eviction"
"""Component that both webhooks about disruption budgets belong to."""


class CacheLookups(Struct, frozen=True):
    """What the webhooks see of the caches."""

    guards: Callable[[str], tuple[DisruptionBudget, ...] | None]
    """The disruption budgets of a namespace; None while they are not known."""
    pod: Callable[[str, str], Pod | None]
    """A pod by namespace and name."""
    zones: Callable[[str], tuple[StatefulSet, ...]]
    """The StatefulSets of a namespace."""


def endpoints(settings: Settings, caches: CacheLookups, metrics: ZoneMetrics) -> tuple[WebhookEndpoint[Any], ...]:
    def seen(review: Review, answers: Answers) -> ReviewSnapshot:
        return ReviewSnapshot(review, answers, settings)

    def evicting(review: Review, answers: Answers) -> eviction.EvictionSnapshot:
        pod = caches.pod(review.namespace, review.name)
        guards = caches.guards(review.namespace)
        zones = caches.zones(review.namespace) if guards and pod is not None else ()
        return eviction.EvictionSnapshot(review, guards, pod, zones, answers, settings)

    timeout = settings.request_timeout
    return (
        WebhookEndpoint("no-downscale", ("/admission/no-downscale",), no_downscale, seen, log_keys, timeout),
        WebhookEndpoint(
            "prepare-downscale",
            ("/admission/prepare-downscale",),
            prepare_downscale,
            seen,
            log_keys,
            timeout,
            outpaced=outpaced,
        ),
        WebhookEndpoint(
            EVICTION,
            ("/admission/pod-eviction", "/pods/eviction"),
            eviction.judge,
            evicting,
            _eviction_keys,
            timeout,
            heard=metrics.evicted,
            working=metrics.evictions_in_work.track_inprogress,
            contested=eviction.contested,
            outpaced=eviction.outpaced,
        ),
        WebhookEndpoint(EVICTION, ("/admission/zpdb-validation",), zpdb.judge, seen, log_keys, timeout),
    )


def _eviction_keys(seen: eviction.EvictionSnapshot) -> Mapping[str, object]:
    return log_keys(ReviewSnapshot(seen.review))
