"""Three environments that between them have everything, and what is expected of all their objects."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.contracts.environments.decide.objects.balancer import balancer, balancer_objects
from fairlead.contracts.environments.decide.objects.console import console, console_objects
from fairlead.contracts.environments.decide.objects.environment import environment_objects
from fairlead.contracts.environments.decide.objects.generation import generation_objects, public_service
from fairlead.contracts.environments.decide.objects.wanted import Environment, Wanted
from fairlead.contracts.environments.kinds import (
    Balancer,
    BalancerSpec,
    CertificateSpec,
    CompanionStatus,
    Console,
    ConsoleSpec,
    EnvironmentMeta,
    IssuerRef,
    MaterializeSpec,
    SecretTemplate,
)
from fairlead.contracts.environments.settings import DefaultCertificates, NetworkPolicies, Placement, Settings

Tree = dict[str, Any]

ID = "abcdefgh12"
ENVIRONMENT_ID = "12345678-1234-1234-1234-123456789012"
HASH = "13598446ab7a0a1707c5e01907b7b3671a3244277ee65360de502241243234de"

APART: Tree = {
    "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "kubernetes.io/hostname"}]}
}
HARDENED = {
    "runAsNonRoot": True,
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "seccompProfile": {"type": "RuntimeDefault"},
}
UNPRIVILEGED = {"fsGroup": 65532, "runAsUser": 65532, "runAsGroup": 65532}
LOCAL = Settings(create_balancers=True, create_console=True)
"""Nothing is set that need not be."""

OLD = Settings(disable_license_key_checks=True)

AWS = Settings(
    cloud_provider="aws",
    region="us-east-1",
    operator_namespace="operators",
    operator_labels={"app.kubernetes.io/name": "materialize-operator"},
    aws_account_id="123456789012",
    environmentd_iam_role_arn="arn:aws:iam::123456789012:role/operator",
    environmentd_connection_role_arn="arn:aws:iam::123456789012:role/connections",
    aws_secrets_controller_tags=("--aws-secrets-controller-tags=Team=data",),
    availability_zones=("use1-az1", "use1-az2"),
    helm_chart_version="v26.35.0",
    secrets_controller="aws-secrets-manager",
    collect_pod_metrics=True,
    prometheus_scrape_annotations=True,
    security_context=True,
    internal_statement_logging=True,
    disable_statement_logging=True,
    segment_api_key="segment-key",
    segment_client_side=True,
    image_pull_policy="if-not-present",
    cluster_replica_sizes='{"50cc": {"scale": 1}, "100cc": {"scale": 1}}',
    bootstrap_sizes=(
        ("bootstrap-default-cluster-replica-size", "50cc"),
        ("bootstrap-builtin-probe-cluster-replica-size", "mz_probe"),
    ),
    replication_factors=(("bootstrap-builtin-system-cluster-replication-factor", 2),),
    allowed_origins=("https://console.example.com",),
    internal_console_proxy_url="https://proxy.example.com",
    console_image_tag_default="v26.35.0",
    console_image_tags={"v26.34.0": "26.34.7"},
    create_balancers=True,
    create_console=True,
    environmentd=Placement(
        node_selector={"pool": "database"},
        affinity={**APART, "nodeAffinity": None},
        tolerations=({"key": "database", "operator": "Exists", "value": None},),
        default_resources={"requests": {"memory": "1Gi"}},
    ),
    clusterd=Placement(
        node_selector={"pool": "compute", "disk": "fast"},
        affinity={"podAntiAffinity": {}, "nodeAffinity": None},
        tolerations=({"key": "compute", "operator": "Exists"},),
    ),
    balancerd=Placement(
        node_selector={"pool": "edge"},
        affinity=APART,
        tolerations=({"key": "edge", "operator": "Exists"},),
        default_resources={"limits": {"memory": "256Mi"}},
    ),
    console=Placement(
        node_selector={"pool": "web"},
        affinity=APART,
        tolerations=({"key": "web", "operator": "Exists"},),
        default_resources={"limits": {"memory": "128Mi"}},
    ),
    ephemeral_volume_class="scratch",
    scheduler_name="packer",
    network_policies=NetworkPolicies(
        internal=True,
        ingress=True,
        egress=True,
        ingress_cidrs=("10.0.0.0/8", "192.0.2.0/24"),
        egress_cidrs=("0.0.0.0/0",),
    ),
    default_certificates=DefaultCertificates(
        balancerd_external=CertificateSpec(
            dns_names=("db.example.com",), issuer_ref=IssuerRef("public", "ClusterIssuer")
        ),
        console_external=CertificateSpec(issuer_ref=IssuerRef("public", "ClusterIssuer")),
        internal=CertificateSpec(duration="2160h", renew_before="360h", issuer_ref=IssuerRef("unused")),
    ),
    opentelemetry_endpoint="http://collector:4317",
    sentry_dsn="https://key@sentry.example.com/1",
    sentry_environment="production",
)
"""Everything is set."""


def an_environment(image: str = "v26.0.0", *, force_annotation: str | None = None, **spec: Any) -> Environment:
    """`m` in namespace `e`, running what it wants; the fields of its spec as Python spells them."""
    ref = image if "/" in image else f"materialize/environmentd:{image}"
    given = {"backend_secret_name": "materialize-backend", "environment_id": ENVIRONMENT_ID, **spec}
    return Environment(
        namespace="e",
        name="m",
        uid="uid-m",
        resource_id=ID,
        spec=MaterializeSpec(environmentd_image_ref=ref, **given),
        running_image=ref,
        force_annotation=force_annotation,
    )


def everything() -> Environment:
    """Every field of the spec that an object is made from is set."""
    environment = an_environment(
        "v26.35.0",
        force_annotation="now",
        environmentd_extra_args=("--orchestrator-kubernetes-coverage", "--log-filter=info"),
        environmentd_extra_env=({"name": "EXTRA", "value": "1", "valueFrom": None},),
        environmentd_connection_role_arn="arn:aws:iam::123456789012:role/own",
        environmentd_resource_requirements={"limits": {"memory": "4Gi"}, "requests": None},
        balancerd_resource_requirements={"limits": {"memory": "1Gi"}},
        console_resource_requirements={"limits": {"memory": "2Gi"}},
        balancerd_replicas=3,
        console_replicas=1,
        service_account_annotations={"note": "mine"},
        service_account_labels={"team": "data"},
        pod_annotations={"b": "2", "a": "1"},
        pod_labels={"team": "data", "app": "database"},
        force_rollout="33333333-3333-3333-3333-333333333333",
        authenticator_kind="Password",
        enable_rbac=True,
        system_parameter_configmap_name="parameters",
        balancerd_external_certificate_spec=CertificateSpec(private_key_algorithm="RSA"),
        console_external_certificate_spec=CertificateSpec(dns_names=("console.example.com",)),
        internal_certificate_spec=CertificateSpec(
            dns_names=("environmentd.example.com",),
            issuer_ref=IssuerRef("internal", "Issuer", "cert-manager.io"),
            secret_template=SecretTemplate(annotations={"kept": "yes"}, labels={"tier": "internal"}),
        ),
    )
    return msgspec.structs.replace(environment, running_image="materialize/environmentd:v26.34.0")


def old() -> Environment:
    return an_environment("v0.146.0", service_account_name="existing")


def a_balancer(**spec: Any) -> Balancer:
    """`m` in namespace `e`, in front of the environment of the same name."""
    routing = {"environmentdNamespace": "e", "environmentdServiceName": f"mz{ID}-environmentd"}
    given = {"balancerdImageRef": "materialize/balancerd:v26.0.0", "staticRouting": routing, **spec}
    return Balancer(_meta("uid-b"), msgspec.convert(given, BalancerSpec), CompanionStatus(resource_id=ID))


def a_console(**spec: Any) -> Console:
    balancerd = {"serviceName": f"mz{ID}-balancerd", "namespace": "e", "scheme": "http"}
    given = {"consoleImageRef": "materialize/console:26.0", "balancerd": balancerd, **spec}
    return Console(_meta("uid-c"), msgspec.convert(given, ConsoleSpec), CompanionStatus(resource_id=ID))


def balancer_from(wanted: Wanted | None, namespace: str = "e") -> Balancer:
    """As the API server would hand it out, with its status written."""
    assert wanted is not None
    return Balancer(
        _meta("uid-b", namespace), msgspec.convert(tree(wanted)["spec"], BalancerSpec), CompanionStatus(resource_id=ID)
    )


def console_from(wanted: Wanted | None, namespace: str = "e") -> Console:
    assert wanted is not None
    return Console(
        _meta("uid-c", namespace), msgspec.convert(tree(wanted)["spec"], ConsoleSpec), CompanionStatus(resource_id=ID)
    )


def _meta(uid: str, namespace: str = "e") -> EnvironmentMeta:
    return EnvironmentMeta(name="m", uid=uid, resource_version="1", namespace=namespace)


def tree(wanted: Wanted) -> Tree:
    """The body, decoded."""
    decoded: Tree = msgspec.json.decode(wanted.body)
    return decoded


def trees(wanted: tuple[Wanted, ...]) -> dict[str, Tree]:
    """Bodies by kind and name, in order; each lies where its name says."""
    for each in wanted:
        body = tree(each)
        assert (body["apiVersion"], body["kind"]) == (each.resource.api_version, each.resource.kind)
        assert (body["metadata"]["namespace"], body["metadata"]["name"]) == (each.namespace, each.name)
    return {f"{each.resource.kind}/{each.name}": tree(each) for each in wanted}


def all_objects(environment: Environment, generation: int, settings: Settings) -> tuple[Wanted, ...]:
    """With those of the companions, where these are switched on."""
    objects = (
        *environment_objects(environment, settings),
        *generation_objects(environment, generation, HASH, settings),
        public_service(environment, generation, settings),
    )
    asked = balancer(environment, settings), console(environment, settings)
    if asked[0] is None or asked[1] is None:
        return objects
    front = balancer_from(asked[0], environment.namespace)
    web = console_from(asked[1], environment.namespace)
    return (*objects, asked[0], asked[1], *balancer_objects(front, settings), *console_objects(web, settings))


def the_pod(wanted: Wanted) -> Tree:
    """Spec of the pods of a StatefulSet or Deployment."""
    pod: Tree = tree(wanted)["spec"]["template"]["spec"]
    return pod


def the_container(wanted: Wanted) -> Tree:
    (container,) = the_pod(wanted)["containers"]
    assert isinstance(container, dict)
    return container


def labels(app: str = "environmentd", **more: str) -> Tree:
    """Of an object of the environment."""
    return {
        "app.kubernetes.io/managed-by": "materialize-operator",
        "app.kubernetes.io/part-of": "materialize",
        "app.kubernetes.io/name": app,
        "app": app,
        **identity(),
        **more,
    }


def identity() -> Tree:
    return {
        "materialize.cloud/organization-name": "m",
        "materialize.cloud/organization-namespace": "e",
        "materialize.cloud/mz-resource-id": ID,
    }


def metadata(name: str, **more: Any) -> Tree:
    """Of an object that belongs to the environment."""
    return {
        "name": name,
        "namespace": "e",
        "labels": labels(),
        "ownerReferences": [
            {
                "apiVersion": "materialize.cloud/v1alpha2",
                "kind": "Materialize",
                "name": "m",
                "uid": "uid-m",
                "blockOwnerDeletion": True,
            }
        ],
        **more,
    }


def companion_metadata(name: str, app: str) -> Tree:
    """Of an object that belongs to the Balancer or the Console."""
    kind, uid = {"balancerd": ("Balancer", "uid-b"), "console": ("Console", "uid-c")}[app]
    owner = {
        "apiVersion": "materialize.cloud/v1alpha1",
        "kind": kind,
        "name": "m",
        "uid": uid,
        "blockOwnerDeletion": True,
    }
    marked = labels(app) | {"materialize.cloud/app": app}
    return {"name": name, "namespace": "e", "labels": marked, "ownerReferences": [owner]}


def a_policy(name: str, spec: Tree, owned: Tree | None = None) -> Tree:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": owned or metadata(name),
        "spec": spec,
    }


def of_app(app: str) -> Tree:
    return {"matchLabels": identity() | {"materialize.cloud/app": app}}


def tcp(*ports: int) -> list[Tree]:
    return [{"port": port, "protocol": "TCP"} for port in ports]


def blocks(*cidrs: str) -> list[Tree]:
    return [{"ipBlock": {"cidr": cidr}} for cidr in cidrs]
