"""The kinds that the embedded cluster serves, a line each.

What a kind needs beyond create, read, update and delete is said by its flags; defaults and rules live in `defaults`
and `validate`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from kubeloop.objects.meta import Resource
from kubesim.crds.custom import Custom
from kubesim.errors import no_such_resource
from kubesim.rules.roles import RBAC
from kubesim.store.versions import Tree


class Kind(Struct, frozen=True):
    """How one resource is served."""

    resource: Resource
    singular: str
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[str, ...] = ()
    has_generation: bool = False
    """Changes are counted in metadata.generation."""
    counted: tuple[str, ...] = ("spec",)
    """Fields whose changes are counted; for a custom resource it is all but the metadata."""
    graceful: bool = False
    """Deletion waits for the grace period and for whoever runs the object."""
    orphans: bool = False
    """A deletion that does not say otherwise leaves behind what the object owns."""
    returns_deleted: bool = False
    """A deletion answers with the object instead of a Status."""
    create_on_update: bool = False
    """A PUT to a name that does not exist creates it."""
    unconditional_update: bool = True
    """A PUT without a resource version overwrites."""
    fields: tuple[str, ...] = ()
    """Field selectors beyond metadata.name and metadata.namespace, as paths in the stored object."""
    stored_as: Resource | None = None
    """Another resource whose objects these are, seen through a different version."""
    custom: Custom | None = None
    """What a definition says about the kind; None for a kind that is built in."""
    is_kept: bool = False
    """Objects are seen and written in whichever version they are stored in."""
    deprecation: str = ""
    """What everybody is told who uses it although there is something better."""
    answered: bool = False
    """A creation is answered at once and nothing is stored; there are no other verbs."""
    features: frozenset[str] = frozenset()
    """Feature gates that are on."""

    @property
    def storage(self) -> Resource:
        return self.stored_as or self.resource

    @property
    def list_kind(self) -> str:
        """The kind of lists of them, which a definition may choose."""
        chosen = self.custom.published["names"].get("listKind") if self.custom is not None else None
        return chosen or f"{self.resource.kind}List"

    @property
    def warnings(self) -> list[str]:
        """What everybody is told who uses it."""
        text = self.deprecation if self.custom is None else self.custom.warning
        return [text] if text else []

    @property
    def has_status(self) -> bool:
        return "status" in self.subresources


def _core(plural: str, kind: str, *, namespaced: bool = True) -> Resource:
    return Resource("", "v1", plural, kind, namespaced)


NAMESPACES = _core("namespaces", "Namespace", namespaced=False)
NODES = _core("nodes", "Node", namespaced=False)
PODS = _core("pods", "Pod")
SERVICES = _core("services", "Service")
CONFIG_MAPS = _core("configmaps", "ConfigMap")
SECRETS = _core("secrets", "Secret")
SERVICE_ACCOUNTS = _core("serviceaccounts", "ServiceAccount")
CORE_EVENTS = _core("events", "Event")
EVENTS = Resource("events.k8s.io", "v1", "events", "Event")
STATEFUL_SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
CONTROLLER_REVISIONS = Resource("apps", "v1", "controllerrevisions", "ControllerRevision")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
DISRUPTION_BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
ADMISSION = "admissionregistration.k8s.io"
VALIDATING_WEBHOOKS = Resource(
    ADMISSION, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", namespaced=False
)
MUTATING_WEBHOOKS = Resource(
    ADMISSION, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", namespaced=False
)
ROLES = Resource(RBAC, "v1", "roles", "Role")
ROLE_BINDINGS = Resource(RBAC, "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLES = Resource(RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = Resource(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
NETWORK_POLICIES = Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
ENDPOINTS = _core("endpoints", "Endpoints")
CLAIMS = _core("persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES = _core("persistentvolumes", "PersistentVolume", namespaced=False)
LIMIT_RANGES = _core("limitranges", "LimitRange")
POD_TEMPLATES = _core("podtemplates", "PodTemplate")
REPLICATION_CONTROLLERS = _core("replicationcontrollers", "ReplicationController")
RESOURCE_QUOTAS = _core("resourcequotas", "ResourceQuota")
DAEMON_SETS = Resource("apps", "v1", "daemonsets", "DaemonSet")
AUTOSCALERS = Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
AUTOSCALERS_V1 = Resource("autoscaling", "v1", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
JOBS = Resource("batch", "v1", "jobs", "Job")
CRON_JOBS = Resource("batch", "v1", "cronjobs", "CronJob")
ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
INGRESSES = Resource("networking.k8s.io", "v1", "ingresses", "Ingress")
INGRESS_CLASSES = Resource("networking.k8s.io", "v1", "ingressclasses", "IngressClass", namespaced=False)
PRIORITY_CLASSES = Resource("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", namespaced=False)
STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses", "StorageClass", namespaced=False)
ADMISSION_POLICIES = Resource(
    ADMISSION, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False
)
ADMISSION_POLICY_BINDINGS = Resource(
    ADMISSION, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", namespaced=False
)
REVIEWS = tuple(
    Resource(f"{group}.k8s.io", "v1", f"{kind.lower()}s", kind, namespaced=kind.startswith("Local"))
    for group, kind in (
        ("authentication", "SelfSubjectReview"),
        ("authentication", "TokenReview"),
        ("authorization", "LocalSubjectAccessReview"),
        ("authorization", "SelfSubjectAccessReview"),
        ("authorization", "SelfSubjectRulesReview"),
        ("authorization", "SubjectAccessReview"),
    )
)

_POD_FIELDS = (
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "spec.hostNetwork",
    "status.phase",
    "status.podIP",
    "status.podIPs",
    "status.nominatedNodeName",
)
_EVENT_FIELDS = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "type",
)

KINDS = (
    Kind(CONFIG_MAPS, "configmap", ("cm",)),
    Kind(CORE_EVENTS, "event", ("ev",), create_on_update=True, fields=(*_EVENT_FIELDS, "source")),
    Kind(NAMESPACES, "namespace", ("ns",), (), ("finalize", "status"), returns_deleted=True, fields=("status.phase",)),
    Kind(NODES, "node", ("no",), (), ("status",), fields=("spec.unschedulable",)),
    Kind(
        PODS,
        "pod",
        ("po",),
        ("all",),
        (
            "attach",
            "binding",
            "ephemeralcontainers",
            "eviction",
            "exec",
            "log",
            "portforward",
            "proxy",
            "resize",
            "status",
        ),
        has_generation=True,
        graceful=True,
        returns_deleted=True,
        fields=_POD_FIELDS,
    ),
    Kind(SECRETS, "secret", fields=("type",)),
    Kind(SERVICE_ACCOUNTS, "serviceaccount", ("sa",), subresources=("token",), returns_deleted=True),
    Kind(
        SERVICES,
        "service",
        ("svc",),
        ("all",),
        ("status",),
        returns_deleted=True,
        create_on_update=True,
        fields=("spec.clusterIP", "spec.type"),
    ),
    Kind(CONTROLLER_REVISIONS, "controllerrevision"),
    Kind(STATEFUL_SETS, "statefulset", ("sts",), ("all",), ("scale", "status"), has_generation=True),
    Kind(LEASES, "lease", create_on_update=True, unconditional_update=False),
    Kind(EVENTS, "event", ("ev",), create_on_update=True, fields=_EVENT_FIELDS, stored_as=CORE_EVENTS),
    Kind(DEPLOYMENTS, "deployment", ("deploy",), ("all",), ("scale", "status"), has_generation=True),
    Kind(REPLICA_SETS, "replicaset", ("rs",), ("all",), ("scale", "status"), has_generation=True),
    Kind(
        DISRUPTION_BUDGETS,
        "poddisruptionbudget",
        ("pdb",),
        (),
        ("status",),
        has_generation=True,
        unconditional_update=False,
    ),
    Kind(
        DEFINITIONS,
        "customresourcedefinition",
        ("crd", "crds"),
        ("api-extensions",),
        ("status",),
        has_generation=True,
        unconditional_update=False,
    ),
    Kind(
        MUTATING_WEBHOOKS,
        "mutatingwebhookconfiguration",
        (),
        ("api-extensions",),
        has_generation=True,
        counted=("webhooks",),
        unconditional_update=False,
    ),
    Kind(
        VALIDATING_WEBHOOKS,
        "validatingwebhookconfiguration",
        (),
        ("api-extensions",),
        has_generation=True,
        counted=("webhooks",),
        unconditional_update=False,
    ),
    Kind(NETWORK_POLICIES, "networkpolicy", ("netpol",), has_generation=True),
    Kind(CLUSTER_ROLE_BINDINGS, "clusterrolebinding", create_on_update=True),
    Kind(CLUSTER_ROLES, "clusterrole", create_on_update=True),
    Kind(ROLE_BINDINGS, "rolebinding", create_on_update=True),
    Kind(ROLES, "role", create_on_update=True),
    Kind(
        ENDPOINTS,
        "endpoints",
        ("ep",),
        create_on_update=True,
        deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    ),
    Kind(CLAIMS, "persistentvolumeclaim", ("pvc",), (), ("status",), returns_deleted=True),
    Kind(VOLUMES, "persistentvolume", ("pv",), (), ("status",), returns_deleted=True),
    Kind(LIMIT_RANGES, "limitrange", ("limits",), create_on_update=True),
    Kind(POD_TEMPLATES, "podtemplate", has_generation=True, counted=("template",), returns_deleted=True),
    Kind(
        REPLICATION_CONTROLLERS,
        "replicationcontroller",
        ("rc",),
        ("all",),
        ("scale", "status"),
        has_generation=True,
        orphans=True,
        fields=("status.replicas",),
    ),
    Kind(RESOURCE_QUOTAS, "resourcequota", ("quota",), (), ("status",), returns_deleted=True),
    Kind(DAEMON_SETS, "daemonset", ("ds",), ("all",), ("status",), has_generation=True),
    Kind(AUTOSCALERS, "horizontalpodautoscaler", ("hpa",), ("all",), ("status",)),
    Kind(AUTOSCALERS_V1, "horizontalpodautoscaler", ("hpa",), ("all",), ("status",), stored_as=AUTOSCALERS),
    Kind(CRON_JOBS, "cronjob", ("cj",), ("all",), ("status",), has_generation=True),
    Kind(JOBS, "job", (), ("all",), ("status",), has_generation=True, orphans=True, fields=("status.successful",)),
    Kind(ENDPOINT_SLICES, "endpointslice", has_generation=True, counted=("endpoints", "ports", "addressType")),
    Kind(INGRESS_CLASSES, "ingressclass", has_generation=True),
    Kind(INGRESSES, "ingress", ("ing",), (), ("status",), has_generation=True),
    Kind(PRIORITY_CLASSES, "priorityclass", ("pc",), has_generation=True, counted=()),
    Kind(STORAGE_CLASSES, "storageclass", ("sc",), returns_deleted=True),
    Kind(
        ADMISSION_POLICIES,
        "validatingadmissionpolicy",
        (),
        ("api-extensions",),
        ("status",),
        has_generation=True,
        unconditional_update=False,
    ),
    Kind(
        ADMISSION_POLICY_BINDINGS,
        "validatingadmissionpolicybinding",
        (),
        ("api-extensions",),
        has_generation=True,
        unconditional_update=False,
    ),
    *(Kind(resource, resource.kind.lower(), answered=True) for resource in REVIEWS),
)


_BUILT_IN = frozenset((kind.resource.api_version, kind.resource.kind) for kind in KINDS)


def is_built_in(tree: Tree) -> bool:
    """Whether an object is of a kind of this table; definitions may use the same names in groups of their own."""
    return (tree["apiVersion"], tree["kind"]) in _BUILT_IN


_GROUPS = frozenset(kind.resource.group for kind in KINDS)


def is_built_in_group(group: str) -> bool:
    return group in _GROUPS


class Registry:
    """Looks kinds up by the parts of a path; definitions add kinds and take them away."""

    def __init__(self, kinds: Iterable[Kind] = KINDS, features: frozenset[str] = frozenset()) -> None:
        self.features = features
        """Feature gates that are on."""
        gated = (replace(kind, features=features) for kind in kinds) if features else kinds
        self._kinds = {(kind.resource.group, kind.resource.version, kind.resource.plural): kind for kind in gated}
        self._listeners: list[Callable[[Kind], None]] = []
        self.state = 0
        """Another number after every change."""

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        return self._kinds.get((group, version, plural))

    def kind(self, resource: Resource) -> Kind:
        """The kind of a resource; 404 when it is not served."""
        found = self._kinds.get((resource.group, resource.version, resource.plural))
        if found is None:
            raise no_such_resource()
        return found

    def kept(self, resource: Resource) -> Kind:
        """The same for who works within the cluster: what a webhook would have to convert is seen as it is stored."""
        kind = self.kind(resource)
        if kind.custom is None or kind.custom.conversion.webhook is None:
            return kind
        return replace(kind, custom=None, is_kept=True)

    def stored(self) -> tuple[Kind, ...]:
        """One kind for every store there is."""
        stores: dict[Resource, Kind] = {}
        for kind in self._kinds.values():
            if not kind.answered and (kind.stored_as is None or kind.storage not in stores):
                stores[kind.storage] = kind
        return tuple(stores.values())

    def listen(self, listener: Callable[[Kind], None]) -> Callable[[], None]:
        """Has the listener called with a kind of every store that is added, until the answer is called."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def replace(self, group: str, plural: str, kinds: Iterable[Kind]) -> None:
        """Serves these versions of a resource, and no others of it."""
        self.state += 1
        before = {kind.storage for kind in self._kinds.values()}
        for key in [key for key in self._kinds if (key[0], key[2]) == (group, plural)]:
            del self._kinds[key]
        for kind in kinds:
            self._kinds[group, kind.resource.version, plural] = kind
        for kind in self.stored():
            if kind.storage not in before:
                for listener in self._listeners:
                    listener(kind)

    def versions(self) -> dict[str, list[str]]:
        """Versions of each group in the order of the table."""
        groups: dict[str, list[str]] = {}
        for group, version, _ in self._kinds:
            if version not in groups.setdefault(group, []):
                groups[group].append(version)
        return groups

    def served(self, group: str, version: str) -> tuple[Kind, ...]:
        return tuple(
            kind for kind in self._kinds.values() if (kind.resource.group, kind.resource.version) == (group, version)
        )
