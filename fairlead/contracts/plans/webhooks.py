"""The webhooks of plans (section 2.14): where each is and who judges."""

from __future__ import annotations

from fairlead.contracts.plans.decide.admission.reviews import (
    ReviewSnapshot,
    default_rollout,
    leave,
    log_keys,
    validate_app_rollout,
    validate_application,
    validate_configuration,
    validate_deployment,
    validate_rollout,
    validate_trait,
)
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.ask import Answers
from fairlead.core.decision import Judge
from fairlead.engine.webhooks.admission import WebhookEndpoint
from kubeloop.objects.review import Review

DEFAULT_TRAIT = "/mutating-standard-oam-dev-v1alpha1-rollouttraits"
VALIDATE_TRAIT = "/validating-standard-oam-dev-v1alpha1-rollouttraits"
DEFAULT_ROLLOUT = "/mutating-standard-oam-dev-v1alpha1-rollouts"
VALIDATE_ROLLOUT = "/validating-standard-oam-dev-v1alpha1-rollouts"
DEFAULT_DEPLOYMENT = "/mutating-core-oam-dev-v1alpha2-applicationdeployments"
VALIDATE_DEPLOYMENT = "/validating-core-oam-dev-v1alpha2-applicationdeployments"
DEFAULT_APP_ROLLOUT = "/mutating-core-oam-dev-v1beta1-approllout"
VALIDATE_APP_ROLLOUT = "/validating-core-oam-dev-v1beta1-approllout"
VALIDATE_APPLICATION = "/validating-core-oam-dev-v1alpha2-applications"
VALIDATE_NEWER_APPLICATION = "/validating-core-oam-dev-v1beta1-applications"
DEFAULT_CONFIGURATION = "/mutating-core-oam-dev-v1alpha2-applicationconfigurations"
VALIDATE_CONFIGURATION = "/validating-core-oam-dev-v1alpha2-applicationconfigurations"
LEFT_ALONE = (
    DEFAULT_CONFIGURATION,
    "/mutating-core-oam-dev-v1alpha2-components",
    "/validating-core-oam-dev-v1alpha2-components",
    "/validating-core-oam-dev-v1alpha2-traitdefinitions",
    "/mutating-core-oam-dev-v1beta1-componentdefinitions",
    "/validating-core-oam-dev-v1beta1-componentdefinitions",
    "/validating-core-oam-dev-v1beta1-initializers",
    "/mutate-standard-oam-dev-v1alpha1-podspecworkload",
    "/validate-standard-oam-dev-v1alpha1-podspecworkload",
    "/mutate-standard-oam-dev-v1alpha1-metricstrait",
    "/validate-standard-oam-dev-v1alpha1-metricstrait",
)
"""Registrations of other releases still ask there."""
JUDGES: dict[str, Judge[ReviewSnapshot]] = {
    DEFAULT_TRAIT: default_rollout,
    VALIDATE_TRAIT: validate_trait,
    DEFAULT_ROLLOUT: default_rollout,
    VALIDATE_ROLLOUT: validate_rollout,
    DEFAULT_DEPLOYMENT: default_rollout,
    VALIDATE_DEPLOYMENT: validate_deployment,
    DEFAULT_APP_ROLLOUT: default_rollout,
    VALIDATE_APP_ROLLOUT: validate_app_rollout,
    VALIDATE_APPLICATION: validate_application,
    VALIDATE_NEWER_APPLICATION: validate_application,
    VALIDATE_CONFIGURATION: validate_configuration,
    **dict.fromkeys(LEFT_ALONE, leave),
}
"""By path."""
COMPONENT = "plans"
TIMEOUT = 5.0
"""Seconds that the API server waits, as registrations say."""


def endpoints(settings: PlanSettings) -> tuple[WebhookEndpoint[ReviewSnapshot], ...]:
    def seen(review: Review, answers: Answers) -> ReviewSnapshot:
        return ReviewSnapshot(review, answers, settings.system_namespace)

    return tuple(WebhookEndpoint(COMPONENT, (path,), judge, seen, log_keys, TIMEOUT) for path, judge in JUDGES.items())
