"""RolloutTraits and their plans: where they live, the words that are stored, and what decisions read of them.

Specs and statuses arrive as trees that anybody may have written; `decide.reading` makes these Structs of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, TypeAlias

from msgspec import Struct

from kubeloop.objects.meta import Meta, Resource

PART = "plans"
NOUN = "rollouttrait"
HANDOVER_NOUN = "applicationdeployment"
"""What is rolled where one Application follows another."""
REVISION_NOUN = "rollout"
"""What is rolled where one revision of a component follows another."""
SNAPSHOT_NOUN = "approllout"
"""What is rolled where one revision of an Application follows another."""
STANDARD_GROUP = "standard.oam.dev"
CORE_GROUP = "core.oam.dev"
ROLLOUT_TRAITS = Resource(STANDARD_GROUP, "v1alpha1", "rollouttraits", "RolloutTrait")
ROLLOUTS = Resource(STANDARD_GROUP, "v1alpha1", "rollouts", "Rollout")
"""Of component revisions."""
METRIC_TEMPLATES = Resource(STANDARD_GROUP, "v1alpha1", "metrictemplates", "MetricTemplate")
ALERT_PROVIDERS = Resource(STANDARD_GROUP, "v1alpha1", "alertproviders", "AlertProvider")
APPLICATION_DEPLOYMENTS = Resource(CORE_GROUP, "v1alpha2", "applicationdeployments", "ApplicationDeployment")
APPLICATIONS = Resource(CORE_GROUP, "v1alpha2", "applications", "Application")
COMPONENTS = Resource(CORE_GROUP, "v1alpha2", "components", "Component")
CONFIGURATIONS = Resource(CORE_GROUP, "v1alpha2", "applicationconfigurations", "ApplicationConfiguration")
APPLICATION_REVISIONS = Resource(CORE_GROUP, "v1beta1", "applicationrevisions", "ApplicationRevision")
"""Snapshots of Applications."""
APP_ROLLOUTS = Resource(CORE_GROUP, "v1beta1", "approllouts", "AppRollout")
"""Of these snapshots."""
WORKLOAD_DEFINITIONS = Resource(CORE_GROUP, "v1alpha2", "workloaddefinitions", "WorkloadDefinition")
TRAIT_DEFINITIONS = Resource(CORE_GROUP, "v1alpha2", "traitdefinitions", "TraitDefinition")
CLONE_SETS = Resource("apps.kruise.io", "v1alpha1", "clonesets", "CloneSet")
NEWER_CLONE_SETS = Resource("apps.kruise.io", "v1beta1", "clonesets", "CloneSet")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
LEASE = "kubevela"
OWN_LABELS = {"app.kubernetes.io/name": "vela-core"}
INSTALLED_FOR = "fairlead.dev/vela-core-namespace"
"""Label of what an installation has outside of its namespace: whose it is."""
INJECT_CA = "fairlead.dev/inject-vela-core-ca"
"""Label by which a webhook configuration asks for the authority of the operator's certificate."""
EVENT_SOURCE = "fairlead-plans"
OUR_MANAGER = "fairlead"

# Labels and annotations (section 2.11).
APPLICATION = "app.oam.dev/name"
COMPONENT = "app.oam.dev/component"
COMPONENT_REVISION = "app.oam.dev/revision"
RESOURCE_TYPE = "app.oam.dev/resourceType"
WORKLOAD_TYPE, TRAIT_TYPE = "WORKLOAD", "TRAIT"
CONFIGURATION_HASH = "app.oam.dev/appConfig-hash"
REVISION_OF = "controller.oam.dev/component"
ROLLOUT_TEMPLATE = "app.oam.dev/rollout-template"
REVISION_ONLY = "app.oam.dev/revision-only"
"""On an Application: it is kept as revisions, and nothing is made of it."""
APPLICATION_REVISION_HASH = "app.oam.dev/app-revision-hash"
CREATING = "app.oam.dev/creating"
CONFIGURATION_ROLLOUT = "app.oam.dev/appconfig-rollout"
INACTIVE = "app.oam.dev/app-revision"
ROLLING_COMPONENTS = "app.oam.dev/rolling-components"
CONFIGURATION_GENERATION = "app.oam.dev/generation"
ORIGINAL = "app.oam.dev/rollout-original"
"""On a claimed workload: what it was before the first attempt."""
ADJUSTMENTS = "app.oam.dev/rollout-adjustments"
ACTION = "fairlead.dev/rollout-action"
TRAFFIC_COPIES = "fairlead.dev/rollout-traffic-copies"
"""On a route: digests of the entries that a rollout added for requests with a header."""
TRAIT_FINALIZER = "finalizers.rollouttrait.standard.oam.dev"
DEPLOYMENT_FINALIZER = "finalizers.applicationdeployment.oam.dev"
ROLLOUT_FINALIZER = "finalizers.rollout.standard.oam.dev"
APP_ROLLOUT_FINALIZER = "finalizers.approllout.oam.dev"
WORKLOAD_NAME = "trait.oam.dev/workload-name"
WORKLOAD_KIND = "trait.oam.dev/workload-gvk"
"""On a Rollout: the workload that it makes, before it is there; the kind is an object of apiVersion and kind."""

# States (sections 3.2 and 3.3).
LOCATING = "locatingTargetApp"
"""Before all others, where a kind of rollouts makes its target itself."""
VERIFYING = "verifyingSpec"
INITIALIZING = "initializing"
ROLLING = "rollingInBatches"
FINALISING = "finalising"
FAILING = "rolloutFailing"
ABANDONED = "rolloutAbandoned"
ABANDONING = "rolloutAbandoning"
"""As other releases write the state before."""
DELETING = "RolloutDeletingState"
SUCCEEDED = "rolloutSucceed"
FAILED = "rolloutFailed"
STATES = (LOCATING, VERIFYING, INITIALIZING, ROLLING, FINALISING, FAILING, ABANDONED, DELETING, SUCCEEDED, FAILED)
TERMINAL = frozenset({SUCCEEDED, FAILED})

BATCH_INITIALIZING = "batchInitializing"
BATCH_ROLLING = "batchInRolling"
BATCH_VERIFYING = "batchVerifying"
BATCH_REFUSED = "batchVerifyFailed"
BATCH_FINALIZING = "batchFinalizing"
BATCH_READY = "batchReady"
BATCH_STATES = (
    BATCH_INITIALIZING,
    BATCH_ROLLING,
    BATCH_VERIFYING,
    BATCH_REFUSED,
    BATCH_FINALIZING,
    BATCH_READY,
)

# Types of conditions (section 2.10).
PAUSED_CONDITION = "BatchPaused"
STATE_CONDITIONS = {
    LOCATING: "TargetAppLocating",
    VERIFYING: "RolloutSpecVerifying",
    INITIALIZING: "RolloutInitializing",
    FINALISING: "RolloutFinalizing",
    FAILING: "RolloutFailing",
    ABANDONED: "RolloutAbandoning",
    DELETING: "RolloutDeleting",
    SUCCEEDED: "RolloutSucceed",
    FAILED: "RolloutFailed",
}
BATCH_CONDITIONS = {
    BATCH_INITIALIZING: "BatchInitializing",
    BATCH_ROLLING: "RolloutInProgress",
    BATCH_VERIFYING: "BatchVerifying",
    BATCH_REFUSED: "BatchRolloutFailed",
    BATCH_FINALIZING: "BatchFinalizing",
    BATCH_READY: "BatchReady",
}

INCREASE_FIRST, DECREASE_FIRST = "IncreaseFirst", "DecreaseFirst"
STRATEGIES = (INCREASE_FIRST, DECREASE_FIRST)
INITIALIZE_HOOK, PRE_BATCH_HOOK = "initialize-rollout", "pre-batch-rollout"
POST_BATCH_HOOK, FINALIZE_HOOK = "post-batch-rollout", "finalize-rollout"
PLAN_HOOKS = (INITIALIZE_HOOK, FINALIZE_HOOK)
BATCH_HOOKS = (PRE_BATCH_HOOK, POST_BATCH_HOOK)
METHODS = ("GET", "PUT", "POST")
SUCCESS_RATE, REQUEST_DURATION = "request-success-rate", "request-duration"
BUILT_IN_METRICS = (SUCCESS_RATE, REQUEST_DURATION)
METRIC_TEMPLATE = "MetricTemplate"
FLAGGER_GROUP = "flagger.app"
TEMPLATE_GROUPS = (STANDARD_GROUP, FLAGGER_GROUP)
FLAGGER_ALERT_PROVIDERS = Resource(FLAGGER_GROUP, "v1beta1", "alertproviders", "AlertProvider")
FLAGGER_METRIC_TEMPLATES = Resource(FLAGGER_GROUP, "v1beta1", "metrictemplates", "MetricTemplate")
IN_RANGE, OUT_OF_RANGE, NO_DATA, UNREADABLE = "inRange", "outOfRange", "noData", "error"
"""Outcomes of a look at a metric."""
ON_FAILURE_STOP, ON_FAILURE_REVERT = "stop", "revert"
SEVERITIES = ("info", "warn", "error")
NO_PROVIDER = "none"
TRAFFIC_PROVIDERS = ("istio", "gatewayapi", "smi", NO_PROVIDER)
MOST_BATCHES = 10_000
"""No plan has more: they are stored with each rollout, and looked at in every pass."""
NO_TARGET_SIZE = -1
"""`rolloutTargetSize` after a reset."""

Json: TypeAlias = dict[str, Any]
IntOrText: TypeAlias = int | str


class WorkloadReference(Struct, frozen=True, rename="camel"):
    """An ObjectReference, as far as it names a workload."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def named(self) -> tuple[str, str, str]:
        """The object that it names in its namespace, whatever the version."""
        return self.group, self.kind, self.name

    def names_same(self, other: WorkloadReference) -> bool:
        """Whether both name one object; both are of one namespace."""
        return self.named == other.named


def each_once(references: Iterable[WorkloadReference]) -> tuple[WorkloadReference, ...]:
    """The first of those that name one object. People may write tens of thousands of them."""
    found: dict[tuple[str, str, str], WorkloadReference] = {}
    for each in references:
        found.setdefault(each.named, each)
    return tuple(found.values())


class RolloutWebhook(Struct, frozen=True, rename="camel"):
    """Section 2.4."""

    type: str = ""
    name: str = ""
    url: str = ""
    method: str = ""
    expected_status: tuple[int, ...] = ()
    metadata: dict[str, str] = {}
    timeout: str = ""


class MetricsRange(Struct, frozen=True):
    min: IntOrText | None = None
    max: IntOrText | None = None


class CanaryMetric(Struct, frozen=True, rename="camel"):
    """Section 2.5."""

    name: str = ""
    interval: str = ""
    metrics_range: MetricsRange | None = None
    template_ref: WorkloadReference | None = None
    failure_limit: int = 0
    template_variables: dict[str, str] = {}
    success_count: int = 1
    dry_run: bool = False
    while_waiting: bool = False


class TrafficMatch(Struct, frozen=True):
    header: str = ""
    exact: str | None = None
    prefix: str | None = None
    regex: str | None = None


class NamedReference(Struct, frozen=True):
    name: str = ""
    namespace: str = ""


class TrafficRouting(Struct, frozen=True, rename="camel"):
    """Section 3.11."""

    provider: str = ""
    ingress_ref: NamedReference | None = None
    source_service: str = ""
    target_service: str = ""
    port: int | None = None


class Alert(Struct, frozen=True, rename="camel"):
    name: str = ""
    severity: str = ""
    provider_ref: NamedReference | None = None


class RolloutBatch(Struct, frozen=True, rename="camel"):
    """Section 2.3."""

    replicas: IntOrText | None = None
    pod_list: tuple[str, ...] = ()
    max_unavailable: IntOrText | None = None
    instance_interval: int = 0
    batch_rollout_webhooks: tuple[RolloutWebhook, ...] = ()
    canary_metric: tuple[CanaryMetric, ...] = ()
    traffic_weight: int | None = None
    soak_seconds: int = 0
    traffic_match: tuple[TrafficMatch, ...] = ()


class RolloutPlan(Struct, frozen=True, rename="camel"):
    """Section 2.2."""

    rollout_strategy: str = ""
    target_size: int | None = None
    num_batches: int | None = None
    rollout_batches: tuple[RolloutBatch, ...] | None = None
    last_batch_to_rollout: int | None = None
    batch_partition: int | None = None
    revert_on_delete: bool = False
    paused: bool = False
    rollout_webhooks: tuple[RolloutWebhook, ...] = ()
    canary_metric: tuple[CanaryMetric, ...] = ()
    traffic_routing: TrafficRouting | None = None
    alerts: tuple[Alert, ...] = ()
    progress_deadline_seconds: int | None = None
    on_failure: str = ""

    @property
    def partition(self) -> int | None:
        """Under either of its names; None: everything is rolled."""
        return self.batch_partition if self.last_batch_to_rollout is None else self.last_batch_to_rollout

    @property
    def is_decrease_first(self) -> bool:
        return self.rollout_strategy == DECREASE_FIRST

    @property
    def batch_count(self) -> int:
        """An empty list counts as none; a number beyond what can be rolled counts as the most that can."""
        return len(self.rollout_batches or ()) or min(max(1, self.num_batches or 1), MOST_BATCHES)

    def batch(self, index: int) -> RolloutBatch:
        """What is said of the batch; one that is computed says nothing."""
        batches = self.rollout_batches or ()
        return batches[index] if 0 <= index < len(batches) else RolloutBatch()


class TraitSpec(Struct, frozen=True, rename="camel"):
    """Section 2.6."""

    target_ref: WorkloadReference = WorkloadReference()
    source_ref: tuple[WorkloadReference, ...] = ()
    rollout_plan: RolloutPlan = RolloutPlan()


class RolloutCondition(Struct, frozen=True, rename="camel"):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0


class SourceSize(Struct, frozen=True, rename="camel"):
    """A source as it was when the attempt was verified."""

    ref: WorkloadReference = WorkloadReference()
    original_replicas: int = 0


class Carried(Struct, frozen=True, rename="camel"):
    """What an attempt that did not succeed leaves to the next."""

    refs: tuple[WorkloadReference, ...] = ()
    target_size: int = NO_TARGET_SIZE


class MetricRecord(Struct, frozen=True):
    """What is known of a metric in the batch in work."""

    name: str = ""
    value: str = ""
    """Of the last look, as Prometheus wrote it; empty where it gave none."""
    time: datetime | None = None
    """Of the last look that counts; one that could not be made does not."""
    outcome: str = ""
    failures: int = 0
    """Looks out of range in this batch."""
    successes: int = 0
    """Looks in range since the batch is available."""


class RolloutStatus(Struct, frozen=True, rename="camel"):
    """Section 2.9; every later pass goes on from this and the live workloads alone."""

    conditions: tuple[RolloutCondition, ...] = ()
    rollout_original_size: int = 0
    rollout_target_size: int = NO_TARGET_SIZE
    target_generation: str = ""
    last_applied_pod_template_identifier: str = ""
    rolling_state: str = ""
    batch_rolling_state: str = ""
    current_batch: int = 0
    upgraded_replicas: int = 0
    upgraded_ready_replicas: int = 0
    effective_batches: tuple[int, ...] = ()
    observed_generation: int = 0
    batch_start_time: datetime | None = None
    batch_available_time: datetime | None = None
    paused_since: datetime | None = None
    deadline_near_time: datetime | None = None
    hook_failures: int = 0
    last_instance_time: datetime | None = None
    start_target_size: int = 0
    traffic_weight: int | None = None
    traffic_routing: TrafficRouting | None = None
    """As it was verified, with the Services that were found: another target may come with another plan."""
    metrics: tuple[MetricRecord, ...] = ()
    sources: tuple[SourceSize, ...] = ()
    carried: Carried | None = None
    last_action: str = ""
    last_target_ref: WorkloadReference | None = None
    last_source_ref: tuple[WorkloadReference, ...] = ()


class TraitMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()


class RolloutTrait(Struct, frozen=True, dict=True):
    """As it was stored: whatever its spec and status hold, it can be decoded."""

    metadata: TraitMeta
    spec: Any = None
    status: Any = None
