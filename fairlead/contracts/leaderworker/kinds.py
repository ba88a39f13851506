"""LeaderWorkerSets: where they live, the labels and annotations of what is made for them, and what decisions read.

Pod templates stay trees: they are stored, compared and handed on whole, with fields that nobody here knows.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, TypeAlias

from msgspec import Raw, Struct, field

from kubeloop.objects import core
from kubeloop.objects.apps import StatefulSetStatus
from kubeloop.objects.meta import LabelSelector, Meta, Resource

GROUP = "leaderworkerset.x-k8s.io"
LEADER_WORKER_SETS = Resource(GROUP, "v1", "leaderworkersets", "LeaderWorkerSet")
POD_GROUPS = Resource("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
MOST_SLICES = 10_000
"""Of a DisaggregatedSet that is looked at: our schema lets far fewer pass, and another one any number."""
PART = "leaderworker"
NOUN = "leaderworkerset"
"""A LeaderWorkerSet as documents name it."""
OWN_LABELS = {"app.kubernetes.io/name": "lws"}
"""Of what the operator makes for itself."""
INSTALLED_FOR = "fairlead.dev/lws-namespace"
"""Label of what an installation has outside of its namespace: the namespace."""
GROUP_CONTROLLER = "leaderworker-groups"
EVENT_SOURCE = "leaderworkerset"
"""Who Events come from, as upstream's controller names itself."""
LEASE = "b8b2488c.x-k8s.io"
"""Held by whoever acts on LeaderWorkerSets, under any name."""
MANAGER = "lws"
"""The field manager of leader StatefulSets: with another name, fields of an earlier controller would stay."""

OUR_MANAGER = "fairlead"
"""The field manager of what no other controller of these kinds writes."""

_PREFIX = "leaderworkerset.sigs.k8s.io/"
# Labels.
NAME = f"{_PREFIX}name"
REVISION_KEY = f"{_PREFIX}template-revision-hash"
WORKER_INDEX = f"{_PREFIX}worker-index"
GROUP_INDEX = f"{_PREFIX}group-index"
GROUP_KEY = f"{_PREFIX}group-key"
SUBGROUP_INDEX = f"{_PREFIX}subgroup-index"
SUBGROUP_KEY = f"{_PREFIX}subgroup-key"
# Annotations.
EXCLUSIVE_TOPOLOGY = f"{_PREFIX}exclusive-topology"
SUBGROUP_EXCLUSIVE_TOPOLOGY = f"{_PREFIX}subgroup-exclusive-topology"
RECREATE_AFTER_START = f"{_PREFIX}experimental-recreate-group-after-start"
REPLICAS = f"{_PREFIX}replicas"
SIZE = f"{_PREFIX}size"
LEADER_NAME = f"{_PREFIX}leader-name"
SUBGROUP_SIZE = f"{_PREFIX}subgroup-size"
OLD_SUBGROUP_SIZE = "leaderworkerset.gke.io/subgroup-size"
"""As releases before 0.6 wrote it."""
SUBGROUP_POLICY_TYPE = f"{_PREFIX}subgroup-policy-type"
SUBDOMAIN_POLICY = f"{_PREFIX}subdomainPolicy"
LEADER_REQUESTS_TPUS = f"{_PREFIX}leader-requests-tpus"
# Annotations of our own; absent, each changes nothing.
PAUSED = "fairlead.dev/paused"
RECREATE_BACK_OFF = "fairlead.dev/recreate-back-off"
MAX_GROUP_RESTARTS = "fairlead.dev/max-group-restarts"
DISRUPTION_BUDGET = "fairlead.dev/disruption-budget"
TEARDOWN = "fairlead.dev/teardown"
EXCLUSIVE_SCOPE = "fairlead.dev/exclusive-scope"
REVISION_HISTORY_LIMIT = "fairlead.dev/revision-history-limit"
GROUP_RECREATIONS = "fairlead.dev/group-recreations"

HISTORY_HASH = "controller.kubernetes.io/hash"
"""Label of the revisions that controllers of workloads keep of their own."""

PARALLEL_TEARDOWN = "Parallel"
SHARED, UNIQUE_PER_REPLICA = "Shared", "UniquePerReplica"
LEADER_CREATED, LEADER_READY = "LeaderCreated", "LeaderReady"
RECREATE_ON_RESTART, RECREATE_AFTER_START_POLICY, NO_RESTART = (
    "RecreateGroupOnPodRestart",
    "RecreateGroupAfterStart",
    "None",
)
DEFAULT_RESTART = "Default"
"""An old name of NO_RESTART."""
LEADER_WORKER, LEADER_EXCLUDED = "LeaderWorker", "LeaderExcluded"
ROLLING_UPDATE = "RollingUpdate"
WITHIN_SET = "LeaderWorkerSet"
"""The value of EXCLUSIVE_SCOPE that counts."""
LARGEST_REPLICAS = 1_000_000

Json: TypeAlias = dict[str, Any]
IntOrPercent: TypeAlias = int | str


class RollingUpdate(Struct, frozen=True, rename="camel"):
    max_unavailable: IntOrPercent = 1
    max_surge: IntOrPercent = 0
    partition: int = 0


class RolloutStrategy(Struct, frozen=True, rename="camel"):
    type: str = ROLLING_UPDATE
    rolling_update_configuration: RollingUpdate | None = None


class LeaderWorkerSetSpec(Struct, frozen=True, rename="camel"):
    leader_worker_template: Json = {}
    """As it was sent: what a revision stores."""
    network_config: Json | None = None
    """As it was sent: what a revision stores."""
    replicas: int = 1
    startup_policy: str = LEADER_CREATED
    rollout_strategy: RolloutStrategy = RolloutStrategy()


class LeaderWorkerSetMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}
    creation_timestamp: datetime | None = None


class SetCondition(Struct, frozen=True, rename="camel"):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0


class LeaderWorkerSetStatus(Struct, frozen=True, rename="camel"):
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0
    hpa_pod_selector: str = ""
    observed_generation: int = 0
    conditions: tuple[SetCondition, ...] = ()


class LeaderWorkerSet(Struct, frozen=True):
    metadata: LeaderWorkerSetMeta
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()
    status: LeaderWorkerSetStatus = LeaderWorkerSetStatus()


class RevisionMeta(Meta, frozen=True, rename="camel"):
    annotations: dict[str, str] = {}
    creation_timestamp: datetime | None = None


class Revision(Struct, frozen=True):
    """A ControllerRevision; its data stays undecoded until it is compared or built from."""

    metadata: RevisionMeta
    revision: int = 0
    data: Raw = Raw(b"null")


class ManagedFields(Struct, frozen=True, rename="camel"):
    """Which fields somebody owns, as the API server keeps it."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    fields_v1: Json = field(name="fieldsV1", default_factory=dict)


class StatefulSetMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}
    managed_fields: tuple[ManagedFields, ...] = ()


class StatefulSet(Struct, frozen=True):
    """One of leaders, or of the workers of one group.

    Its spec is whole, so that a round can tell that what it would apply is there already.
    """

    metadata: StatefulSetMeta
    spec: Json = {}
    status: StatefulSetStatus = StatefulSetStatus()


class PodBudgetSpec(Struct, frozen=True, rename="camel"):
    min_available: IntOrPercent | None = None
    max_unavailable: IntOrPercent | None = None
    selector: LabelSelector | None = None


class PodBudget(Struct, frozen=True):
    """A PodDisruptionBudget."""

    metadata: Meta
    spec: PodBudgetSpec = PodBudgetSpec()


class PodSpec(core.PodSpec, frozen=True, rename="camel", omit_defaults=True):
    node_name: str = ""


class Pod(core.Pod, frozen=True):
    """With its node, which the pods of other contracts are held without."""

    spec: PodSpec = PodSpec()
