"""The webhooks of LeaderWorkerSets: where each is and who judges.

Those of section 2.10 need no cache; that of evictions (section 6.8) looks into it for what is nobody's business here.
"""

from __future__ import annotations

from fairlead.contracts.leaderworker.decide.evictions import EvictionSnapshot, contested, outpaced
from fairlead.contracts.leaderworker.decide.evictions import judge as judge_eviction
from fairlead.contracts.leaderworker.decide.reviews import (
    ReviewSnapshot,
    default_pod,
    default_set,
    log_keys,
    validate_disaggregated,
    validate_pod,
    validate_set,
)
from fairlead.contracts.leaderworker.gather import set_of
from fairlead.contracts.leaderworker.watched import Watched
from fairlead.core.ask import Answers
from fairlead.engine.webhooks.admission import WebhookEndpoint
from kubeloop.objects.review import Review

DEFAULT_SET = "/mutate-leaderworkerset-x-k8s-io-v1-leaderworkerset"
VALIDATE_SET = "/validate-leaderworkerset-x-k8s-io-v1-leaderworkerset"
DEFAULT_POD = "/mutate--v1-pod"
VALIDATE_POD = "/validate--v1-pod"
VALIDATE_DISAGGREGATED = "/validate-disaggregatedset-x-k8s-io-v1-disaggregatedset"
JUDGES = {
    DEFAULT_SET: default_set,
    VALIDATE_SET: validate_set,
    DEFAULT_POD: default_pod,
    VALIDATE_POD: validate_pod,
    VALIDATE_DISAGGREGATED: validate_disaggregated,
}
"""By path."""
EVICTION = "/admission/leaderworker/pod-eviction"
COMPONENT = "leaderworkerset"
TIMEOUT = 10.0
"""Seconds that the API server waits where a registration says nothing else, as upstream's do."""


def endpoints(gang_scheduler: str = "") -> tuple[WebhookEndpoint[ReviewSnapshot], ...]:
    def seen(review: Review, _answers: Answers) -> ReviewSnapshot:
        return ReviewSnapshot(review, gang_scheduler)

    return tuple(WebhookEndpoint(COMPONENT, (path,), judge, seen, log_keys, TIMEOUT) for path, judge in JUDGES.items())


def evictions(watched: Watched) -> WebhookEndpoint[EvictionSnapshot]:
    def seen(review: Review, answers: Answers) -> EvictionSnapshot:
        found = watched.find(review.namespace)
        if found is None:
            return EvictionSnapshot(review, is_watched=False)
        # What no watch keeps in step says of nothing that it is nobody's business: it is read live.
        pod = None if found.pods.is_outdated else found.pods.store.get(review.namespace, review.name)
        key = None if pod is None or found.sets.is_outdated else set_of(pod)
        given = None if key is None else found.sets.store.get(*key)
        return EvictionSnapshot(review, pod, given, answers=answers)

    def keys(given: EvictionSnapshot) -> dict[str, str]:
        return log_keys(ReviewSnapshot(given.review))

    return WebhookEndpoint(
        COMPONENT,
        (EVICTION,),
        judge_eviction,
        seen,
        keys,
        TIMEOUT,
        contested=contested,
        outpaced=outpaced,
    )
