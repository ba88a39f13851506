"""The apps group: StatefulSets and Deployments, as decisions see them."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from kubeloop.objects.core import PodSpec
from kubeloop.objects.meta import LabelSelector, Meta, Resource

STATEFULSETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
REPLICASETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
CONTROLLER_REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")

REVISION_LABEL = "controller-revision-hash"
"""On each pod of a StatefulSet: the revision it was made from."""


class StatefulSetMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}


class TemplateMeta(Struct, frozen=True):
    labels: dict[str, str] = {}


class Template(Struct, frozen=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class UpdateStrategy(Struct, frozen=True):
    type: str = "RollingUpdate"


class Ordinals(Struct, frozen=True):
    start: int = 0


class StatefulSetSpec(Struct, frozen=True, rename="camel"):
    replicas: int = 1
    selector: LabelSelector = LabelSelector()
    template: Template = Template()
    update_strategy: UpdateStrategy = UpdateStrategy()
    ordinals: Ordinals = Ordinals()
    min_ready_seconds: int = 0
    """How long a pod must have been ready before it counts as available."""
    pod_management_policy: str = "OrderedReady"
    """With this one a pod is made only when those before it are ready; with `Parallel` all are made at once."""
    service_name: str = ""
    """The Service that gives its pods their names in DNS."""


class StatefulSetStatus(Struct, frozen=True, rename="camel"):
    observed_generation: int | None = None
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int | None = None
    """Ready for `minReadySeconds`; None where the status does not say."""
    current_replicas: int = 0
    """Of the current revision and not terminating."""
    updated_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""


class StatefulSet(Struct, frozen=True):
    metadata: StatefulSetMeta
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()


class DeploymentMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}


class DeploymentSpec(Struct, frozen=True, rename="camel"):
    replicas: int = 1
    selector: LabelSelector = LabelSelector()
    template: Template = Template()
    paused: bool = False


class DeploymentCondition(Struct, frozen=True, rename="camel", gc=False):
    type: str
    status: str
    reason: str = ""
    last_update_time: datetime | None = None
    """Newer than the last transition where the reason changed and the status did not."""


class DeploymentStatus(Struct, frozen=True, rename="camel"):
    observed_generation: int | None = None
    replicas: int = 0
    updated_replicas: int = 0
    available_replicas: int = 0
    conditions: tuple[DeploymentCondition, ...] = ()


class Deployment(Struct, frozen=True):
    metadata: DeploymentMeta
    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()
