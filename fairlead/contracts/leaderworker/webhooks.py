"""The webhooks of LeaderWorkerSets (section 2.10): where each is and who judges; none needs a cache."""

from __future__ import annotations

from fairlead.contracts.leaderworker.decide.reviews import (
    ReviewSnapshot,
    default_pod,
    default_set,
    log_keys,
    validate_pod,
    validate_set,
)
from fairlead.core.ask import Answers
from fairlead.engine.webhooks.admission import Endpoint
from kubeloop.objects.review import Review

DEFAULT_SET = "/mutate-leaderworkerset-x-k8s-io-v1-leaderworkerset"
VALIDATE_SET = "/validate-leaderworkerset-x-k8s-io-v1-leaderworkerset"
DEFAULT_POD = "/mutate--v1-pod"
VALIDATE_POD = "/validate--v1-pod"
JUDGES = {
    DEFAULT_SET: default_set,
    VALIDATE_SET: validate_set,
    DEFAULT_POD: default_pod,
    VALIDATE_POD: validate_pod,
}
"""By path."""
COMPONENT = "leaderworkerset"
TIMEOUT = 10.0
"""Seconds that the API server waits where a registration says nothing else, as upstream's do."""


def endpoints(gang_scheduler: str = "") -> tuple[Endpoint[ReviewSnapshot], ...]:
    def seen(review: Review, _answers: Answers) -> ReviewSnapshot:
        return ReviewSnapshot(review, gang_scheduler)

    return tuple(Endpoint(COMPONENT, (path,), judge, seen, log_keys, TIMEOUT) for path, judge in JUDGES.items())
