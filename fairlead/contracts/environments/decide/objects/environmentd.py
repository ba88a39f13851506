"""The pod of environmentd.

Its label `materialize.cloud/name` is what the StatefulSet and the Services select by and is never the user's: with
another value the API server would refuse the StatefulSet.
"""

from __future__ import annotations

from fairlead.contracts.environments.decide.images import at_least
from fairlead.contracts.environments.decide.objects.accounts import service_account_name
from fairlead.contracts.environments.decide.objects.args import (
    CERTIFICATE_AT,
    LISTENERS_AT,
    SYSTEM_PARAMETERS_AT,
    arguments,
    environmentd_user,
    has_system_parameters,
)
from fairlead.contracts.environments.decide.objects.environment import internal_certificate, uses_internal_tls
from fairlead.contracts.environments.decide.objects.listeners import reads_listeners
from fairlead.contracts.environments.decide.objects.names import environmentd_name, listeners_name
from fairlead.contracts.environments.decide.objects.owner import ENVIRONMENTD, filled, owner_of_environment, recommended
from fairlead.contracts.environments.decide.objects.pods import (
    PULL_POLICIES,
    configmap_volume,
    container_ports,
    hardened,
    placed,
    resources,
    run_as,
    scraped,
    secret_volume,
)
from fairlead.contracts.environments.decide.objects.wanted import Environment
from fairlead.contracts.environments.kinds import APP, GENERATION, LOGS_IN, NAME, Json, Text
from fairlead.contracts.environments.settings import Placement, Settings

LICENSE_KEY = "license_key"
"""Key of the backend Secret."""
SYSTEM_PASSWORD = "external_login_password_mz_system"  # noqa: S105 - a key's name

_LICENSE_AT = "/license_key"
_METRICS = ("usage", "frontier", "compute", "storage")
_LOST_NODE = ("not-ready", "unreachable")
_LOST_NODE_SECONDS = 30


def template(environment: Environment, generation: int, settings: Settings) -> Json:
    """A pod of the generation."""
    return {
        "metadata": {
            "labels": _labels(environment, generation),
            "annotations": _annotations(environment, generation, settings),
        },
        "spec": _pod(environment, generation, settings),
    }


def _labels(environment: Environment, generation: int) -> Text:
    ours = recommended(ENVIRONMENTD) | owner_of_environment(environment).identity | {APP: ENVIRONMENTD}
    selected = {NAME: environmentd_name(environment.resource_id, generation)}
    return ours | (environment.spec.pod_labels or {}) | selected


def _annotations(environment: Environment, generation: int, settings: Settings) -> Text:
    """Nobody may move a serving database aside; what is scraped is on the internal port."""
    ours = {
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
        "karpenter.sh/do-not-evict": "true",
        "karpenter.sh/do-not-disrupt": "true",
        GENERATION: str(generation),
        **scraped(settings.ports.internal_http, settings),
    }
    if settings.prometheus_scrape_annotations:
        ours |= {f"materialize.prometheus.io/mz_{each}_path": f"/metrics/mz_{each}" for each in _METRICS}
    return ours | (environment.spec.pod_annotations or {})


def _pod(environment: Environment, generation: int, settings: Settings) -> Json:
    image = environment.spec.environmentd_image_ref
    volumes = _volumes(environment, generation, settings)
    container: Json = {
        "name": ENVIRONMENTD,
        "image": image,
        "imagePullPolicy": PULL_POLICIES[settings.image_pull_policy],
        "args": arguments(environment, generation, settings),
        "env": _env(environment, settings),
        "ports": _ports(settings),
        "livenessProbe": _probe(settings),
        "readinessProbe": _probe(settings),
        "resources": resources(environment.spec.environmentd_resource_requirements, settings.environmentd),
        "securityContext": hardened(settings),
        "volumeMounts": filled([mount for _, mount in volumes]),
    }
    return {
        **placed(settings.environmentd, settings),
        "tolerations": _tolerations(settings.environmentd),
        "serviceAccountName": service_account_name(environment),
        "securityContext": run_as(environmentd_user(image)),
        # A pod on a lost node is replaced without waiting for it: the database fences the old process itself.
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        "volumes": filled([volume for volume, _ in volumes]),
    }


def _ports(settings: Settings) -> list[Json]:
    ports = settings.ports
    return container_ports(
        sql=ports.sql,
        internal_sql=ports.internal_sql,
        http=ports.http,
        internal_http=ports.internal_http,
        persist_pubsub=ports.internal_persist_pubsub,
    )


def _probe(settings: Settings) -> Json:
    return {"tcpSocket": {"port": settings.ports.sql}, "initialDelaySeconds": 1, "failureThreshold": 12}


def _tolerations(placement: Placement) -> list[Json]:
    """A pod leaves a lost node after half a minute instead of the usual five."""
    lost: list[Json] = [
        {
            "key": f"node.kubernetes.io/{state}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": _LOST_NODE_SECONDS,
        }
        for state in _LOST_NODE
    ]
    return [*lost, *placement.tolerations]


def _env(environment: Environment, settings: Settings) -> list[Json]:
    """Secrets by reference only: a value in here is readable for everybody who may look at pods."""
    spec = environment.spec
    env: list[Json] = [
        _from_backend(environment, "MZ_METADATA_BACKEND_URL", "metadata_backend_url"),
        _from_backend(environment, "MZ_PERSIST_BLOB_URL", "persist_backend_url"),
        {"name": "AWS_REGION", "value": settings.region},
        *(spec.environmentd_extra_env or ()),
    ]
    if _has_license(environment, settings):
        env.append({"name": "MZ_LICENSE_KEY", "value": f"{_LICENSE_AT}/{LICENSE_KEY}"})
    if spec.authenticator_kind in LOGS_IN:
        env.append(_from_backend(environment, "MZ_EXTERNAL_LOGIN_PASSWORD_MZ_SYSTEM", SYSTEM_PASSWORD))
    return _last_of_each(env)


def _from_backend(environment: Environment, name: str, key: str) -> Json:
    reference = {"name": environment.spec.backend_secret_name, "key": key, "optional": False}
    return {"name": name, "valueFrom": {"secretKeyRef": reference}}


def _last_of_each(env: list[Json]) -> list[Json]:
    """Of several with one name the last one, which is what a container would see; applied, they would be refused."""
    last = {each.get("name"): index for index, each in enumerate(env)}
    return [each for index, each in enumerate(env) if last[each.get("name")] == index]


def _has_license(environment: Environment, settings: Settings) -> bool:
    image = environment.spec.environmentd_image_ref
    checked = at_least(image, "0.140.0-dev.0") and not settings.disable_license_key_checks
    return checked or at_least(image, "0.153.0")


def _volumes(environment: Environment, generation: int, settings: Settings) -> list[tuple[Json, Json]]:
    """Each with the place where it is mounted."""
    spec = environment.spec
    chosen: list[tuple[Json, Json]] = []
    if uses_internal_tls(environment, settings):
        secret = internal_certificate(environment, settings).secret_in(owner_of_environment(environment))
        chosen.append((secret_volume("certificate", secret), _mount("certificate", CERTIFICATE_AT, read_only=True)))
    if has_system_parameters(environment):
        volume = configmap_volume("system-params", spec.system_parameter_configmap_name or "", optional=True)
        chosen.append((volume, _mount("system-params", SYSTEM_PARAMETERS_AT, read_only=True)))
    if _has_license(environment, settings):
        volume = secret_volume("license-key", spec.backend_secret_name, LICENSE_KEY)
        chosen.append((volume, _mount("license-key", _LICENSE_AT)))
    if reads_listeners(spec.environmentd_image_ref):
        volume = configmap_volume("listeners-configmap", listeners_name(environment.resource_id, generation))
        chosen.append((volume, _mount("listeners-configmap", LISTENERS_AT)))
    return chosen


def _mount(name: str, path: str, *, read_only: bool | None = None) -> Json:
    return {"name": name, "mountPath": path, "readOnly": read_only}
