"""The environment contract's kinds: where they live, what they carry (section 2.7), and the settings they need.

The spec types are complete, because the custom resource definitions are made from them; a decision reads them through
`Materialize.spec`, which keeps what was sent as it was sent, for the hash.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType, convert

from kubeloop.objects.apps import StatefulSet, StatefulSetSpec, Template
from kubeloop.objects.core import CONFIGMAPS, SERVICE_ACCOUNTS, SERVICES, PodSpec
from kubeloop.objects.meta import Meta as ObjectMeta
from kubeloop.objects.meta import Resource

GROUP = "materialize.cloud"
LEASE = "orchestratord"
"""Held by whoever acts on environments, under any name."""
OWN_LABELS = {"app.kubernetes.io/name": "materialize-operator"}
"""Of what the operator of environments makes for itself."""
INSTALLED_FOR = "fairlead.dev/materialize-operator-namespace"
"""Label of what an installation has outside of any namespace: the namespace that it is in."""
MATERIALIZES = Resource(GROUP, "v1alpha2", "materializes", "Materialize")
"""In the version that is stored and reconciled."""
BALANCERS = Resource(GROUP, "v1alpha1", "balancers", "Balancer")
CONSOLES = Resource(GROUP, "v1alpha1", "consoles", "Console")
CERTIFICATES = Resource("cert-manager.io", "v1", "certificates", "Certificate")
NETWORK_POLICIES = Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")
ENVIRONMENT_CHILDREN = (NETWORK_POLICIES, SERVICE_ACCOUNTS, ROLES, ROLE_BINDINGS, SERVICES, CONFIGMAPS)
"""Watched by their label; StatefulSets and Deployments are watched with more of their fields."""

MANAGER = "orchestratord.materialize.cloud"
FINALIZER = "orchestratord.materialize.cloud/materialize"
CONDITION = "UpToDate"
NIL = "00000000-0000-0000-0000-000000000000"

RESOURCE_ID = f"{GROUP}/mz-resource-id"
"""Label of everything that belongs to an environment."""
ORGANIZATION_NAME = f"{GROUP}/organization-name"
ORGANIZATION_NAMESPACE = f"{GROUP}/organization-namespace"
NAME = f"{GROUP}/name"
"""Label that selects the pods of one generation, or of one balancerd or console."""
APP = f"{GROUP}/app"

FORCE_ROLLOUT = f"{GROUP}/force-rollout"
LAST_KNOWN_GENERATION = f"{GROUP}/last-known-active-generation"
GENERATION = f"{GROUP}/generation"
ROLLOUT_HASH = f"{GROUP}/rollout-hash"
FORCE = f"{GROUP}/force"
LISTENERS_FILE = "listeners.json"
"""Key in the ConfigMap of a generation, and name of the file that environmentd reads."""

Json: TypeAlias = dict[str, object]
Text: TypeAlias = dict[str, str]
Strategy: TypeAlias = Literal["WaitUntilReady", "ManuallyPromote", "ImmediatelyPromoteCausingDowntime"]
Authenticator: TypeAlias = Literal["Frontegg", "Password", "Sasl", "Oidc", "None"]
LOGS_IN = ("Password", "Sasl", "Oidc")
"""Kinds of authentication under which the operator signs in to environmentd."""
Uuid: TypeAlias = Annotated[str, Meta(extra_json_schema={"format": "uuid"})]


class IssuerRef(Struct, frozen=True, omit_defaults=True):
    name: str
    kind: str | None = None
    group: str | None = None


class SecretTemplate(Struct, frozen=True, omit_defaults=True):
    annotations: Text | None = None
    labels: Text | None = None


class CertificateSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is wanted of a certificate; what is absent comes from the operator's default of the same kind."""

    dns_names: tuple[str, ...] | None = None
    duration: str | None = None
    renew_before: str | None = None
    issuer_ref: IssuerRef | None = None
    secret_template: SecretTemplate | None = None
    private_key_algorithm: Literal["RSA", "ECDSA", "Ed25519"] | None = None
    private_key_size: int | None = None


class MaterializeSpec(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Of v1alpha2 and v1, which have the same fields."""

    environmentd_image_ref: str
    environmentd_extra_args: tuple[str, ...] | None = None
    environmentd_extra_env: tuple[Json, ...] | None = None
    environmentd_connection_role_arn: str | None = None
    environmentd_resource_requirements: Json | None = None
    environmentd_scratch_volume_storage_requirement: str | None = None
    balancerd_resource_requirements: Json | None = None
    console_resource_requirements: Json | None = None
    balancerd_replicas: int | None = None
    console_replicas: int | None = None
    service_account_name: str | None = None
    service_account_annotations: Text | None = None
    service_account_labels: Text | None = None
    pod_annotations: Text | None = None
    pod_labels: Text | None = None
    force_promote: str | None = None
    force_rollout: Uuid = NIL
    rollout_strategy: Strategy = "WaitUntilReady"
    rollout_request_timeout: str | None = None
    """Absent: 24 hours."""
    backend_secret_name: str
    authenticator_kind: Authenticator = "None"
    enable_rbac: bool = False
    environment_id: Uuid = NIL
    system_parameter_configmap_name: str | None = None
    balancerd_external_certificate_spec: CertificateSpec | None = None
    console_external_certificate_spec: CertificateSpec | None = None
    internal_certificate_spec: CertificateSpec | None = None


class Condition(Struct, frozen=True, rename="camel", kw_only=True):
    """As the API writes conditions; exactly one is kept, replaced as a whole."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: datetime
    observed_generation: int | UnsetType = UNSET


class MaterializeStatus(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    resource_id: str
    active_generation: int
    last_completed_rollout_environmentd_image_ref: str | None = None
    last_completed_rollout_hash: str | None = None
    requested_rollout_hash: str | None = None
    conditions: tuple[Condition, ...]


class EnvironmentMeta(ObjectMeta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: Text = {}
    finalizers: tuple[str, ...] = ()


class Materialize(Struct, frozen=True):
    metadata: EnvironmentMeta
    spec: Json
    """As it is stored: absent, null and empty are different things to the hash."""
    status: MaterializeStatus | None = None

    @property
    def wish(self) -> MaterializeSpec:
        """The spec with its fields."""
        return convert(self.spec, MaterializeSpec)


class StaticRouting(Struct, frozen=True, rename="camel"):
    environmentd_namespace: str
    environmentd_service_name: str


class FronteggRouting(Struct, frozen=True):
    """Accepted by the schema, refused by the operator: it is not implemented."""


class BalancerSpec(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    balancerd_image_ref: str
    resource_requirements: Json | None = None
    replicas: int | None = None
    external_certificate_spec: CertificateSpec | None = None
    internal_certificate_spec: CertificateSpec | None = None
    pod_annotations: Text | None = None
    pod_labels: Text | None = None
    static_routing: StaticRouting | None = None
    frontegg_routing: FronteggRouting | None = None
    resource_id: str | None = None


class BalancerdAddress(Struct, frozen=True, rename="camel", omit_defaults=True):
    service_name: str
    namespace: str
    scheme: Literal["http", "https"]
    dns_names: tuple[str, ...] | None = None


class ConsoleSpec(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    console_image_ref: str
    resource_requirements: Json | None = None
    replicas: int | None = None
    external_certificate_spec: CertificateSpec | None = None
    pod_annotations: Text | None = None
    pod_labels: Text | None = None
    balancerd: BalancerdAddress
    authenticator_kind: Authenticator = "None"
    resource_id: str | None = None


class CompanionStatus(Struct, frozen=True, rename="camel", kw_only=True):
    """Of a Balancer or Console."""

    resource_id: str
    conditions: tuple[Condition, ...] = ()

    @property
    def is_ready(self) -> bool:
        return any(each.type == "Ready" and each.status == "True" for each in self.conditions)


class Balancer(Struct, frozen=True):
    metadata: EnvironmentMeta
    spec: BalancerSpec
    status: CompanionStatus | None = None


class Console(Struct, frozen=True):
    metadata: EnvironmentMeta
    spec: ConsoleSpec
    status: CompanionStatus | None = None


class GenerationPodSpec(PodSpec, frozen=True, rename="camel"):
    service_account_name: str = ""


class GenerationTemplate(Template, frozen=True):
    spec: GenerationPodSpec = GenerationPodSpec()


class GenerationSpec(StatefulSetSpec, frozen=True, rename="camel"):
    template: GenerationTemplate = GenerationTemplate()


class GenerationSet(StatefulSet, frozen=True):
    """The StatefulSet of a generation; those of its clusters carry its resource id, too."""

    spec: GenerationSpec = GenerationSpec()


class ServiceSpec(Struct, frozen=True):
    selector: Text = {}


class ConfigMapData(Struct, frozen=True, rename={"listeners": LISTENERS_FILE}):
    listeners: str = ""


class Child(Struct, frozen=True):
    """An object that belongs to an environment, as far as rounds look at it.

    `spec` is that of a Service, and `data` that of the ConfigMap of a generation.
    """

    metadata: EnvironmentMeta
    spec: ServiceSpec = ServiceSpec()
    data: ConfigMapData = ConfigMapData()
