"""Consoles: what an environment asks for, and the objects that a Console has.

`console_trouble` says what of a Console cannot be built; building what it has passed does not fail.
"""

from __future__ import annotations

import msgspec

from fairlead.contracts.environments.decide.images import companion, tag_of
from fairlead.contracts.environments.decide.objects.certificates import (
    Certificate,
    certificate_trouble,
    effective,
    external_certificate,
)
from fairlead.contracts.environments.decide.objects.companions import Probe, deployment, service
from fairlead.contracts.environments.decide.objects.names import balancerd_name
from fairlead.contracts.environments.decide.objects.owner import (
    CONSOLE,
    Owner,
    filled,
    owner_of_console,
    owner_of_environment,
    recommended,
    without_nulls,
)
from fairlead.contracts.environments.decide.objects.pods import (
    PULL_POLICIES,
    configmap_volume,
    container_ports,
    hardened,
    placed,
    resources,
    secret_volume,
    service_ports,
)
from fairlead.contracts.environments.decide.objects.policies import console_policies
from fairlead.contracts.environments.decide.objects.wanted import Environment, Serving, Wanted, encoded
from fairlead.contracts.environments.kinds import CONSOLES, BalancerdAddress, Console, ConsoleSpec, Json
from fairlead.contracts.environments.settings import Settings
from kubeloop.objects.core import CONFIGMAPS

APP_CONFIG = "app-config.json"

_APP_CONFIG_AT = "/usr/share/nginx/html/app-config"
_CERTIFICATE_AT = "/nginx/tls"
_NGINX_GROUP = 101
_STARTUP = Probe("/", period=1, failures=10)
_READINESS = Probe("/", period=30, failures=1)
_LIVENESS = Probe("/", period=30)


def console(environment: Environment, settings: Settings) -> Wanted | None:
    """The Console beside the environment's Balancer; None when consoles are switched off."""
    if not settings.create_console:
        return None
    spec = environment.spec
    running = environment.running_image
    tag = settings.console_image_tags.get(tag_of(running) or "") or settings.console_image_tag_default
    wish = ConsoleSpec(
        console_image_ref=companion(running, CONSOLE, tag),
        resource_requirements=spec.console_resource_requirements,
        replicas=spec.console_replicas,
        external_certificate_spec=spec.console_external_certificate_spec,
        pod_annotations=filled(spec.pod_annotations),
        pod_labels=filled(spec.pod_labels),
        balancerd=_balancerd(environment, settings),
        authenticator_kind=spec.authenticator_kind,
        resource_id=environment.resource_id,
    )
    owner = owner_of_environment(environment)
    labels = owner.labels | recommended(CONSOLE)
    # Said even where it is the default, so that nobody else's value stays.
    content: Json = msgspec.to_builtins(wish) | {"authenticatorKind": spec.authenticator_kind}
    return owner.wanted(CONSOLES, environment.name, {"spec": content}, labels=labels)


def console_trouble(console: Console, settings: Settings) -> str:
    """Why the objects of this Console cannot be built, in one sentence; empty when they can."""
    return certificate_trouble(_certificate(console, settings))


def console_objects(console: Console, settings: Settings, serving: Serving | None = None) -> tuple[Wanted, ...]:
    """Section 3.13 point 4: network policy, configuration, certificate, Service and, last, the Deployment."""
    owner = owner_of_console(console)
    return (
        *console_policies(owner, settings),
        _app_config(console, owner, serving),
        *_certificate(console, settings).wanted(owner),
        service(owner, service_ports(http=settings.ports.console_http)),
        deployment(owner, console, _pod(console, owner, settings), annotations={}),
    )


def _balancerd(environment: Environment, settings: Settings) -> BalancerdAddress:
    """Where the Console finds balancerd, and under which names users do (B11)."""
    own = environment.spec.balancerd_external_certificate_spec
    external = effective(own, settings.default_certificates.balancerd_external)
    return BalancerdAddress(
        service_name=balancerd_name(environment.resource_id),
        namespace=environment.namespace,
        scheme="http" if external.issuer_ref is None else "https",
        dns_names=filled(external.dns_names),
    )


def _certificate(console: Console, settings: Settings) -> Certificate:
    own, default = console.spec.external_certificate_spec, settings.default_certificates.console_external
    return external_certificate(CONSOLE, own, default)


def _app_config(console: Console, owner: Owner, serving: Serving | None) -> Wanted:
    """Users sign in as environmentd lets them now."""
    told: Json = {
        "version": tag_of(console.spec.console_image_ref) or "latest",
        "auth": {"mode": console.spec.authenticator_kind if serving is None else serving.authenticator_kind},
        "balancerd_dns_names": filled(console.spec.balancerd.dns_names),
    }
    data = {APP_CONFIG: encoded(without_nulls(told)).decode()}
    return owner.wanted(CONFIGMAPS, owner.prefixed(CONSOLE), {"data": data})


def _pod(console: Console, owner: Owner, settings: Settings) -> Json:
    volumes = [configmap_volume("app-config", owner.prefixed(CONSOLE))]
    mounts: list[Json] = [{"name": "app-config", "mountPath": _APP_CONFIG_AT}]
    certificate = _certificate(console, settings)
    if certificate.is_wanted:
        volumes.append(secret_volume("external-certificate", certificate.secret_in(owner)))
        mounts.append({"name": "external-certificate", "mountPath": _CERTIFICATE_AT, "readOnly": True})
    return {
        **placed(settings.console, settings),
        "securityContext": {"fsGroup": _NGINX_GROUP},
        "containers": [_container(console, settings) | {"volumeMounts": mounts}],
        "volumes": volumes,
    }


def _container(console: Console, settings: Settings) -> Json:
    port = settings.ports.console_http
    scheme = "HTTPS" if _certificate(console, settings).is_wanted else "HTTP"
    return {
        "name": CONSOLE,
        "image": console.spec.console_image_ref,
        "imagePullPolicy": PULL_POLICIES[settings.image_pull_policy],
        "env": _env(console, settings),
        "ports": container_ports(http=port),
        "startupProbe": _STARTUP.on(port, scheme),
        "readinessProbe": _READINESS.on(port, scheme),
        "livenessProbe": _LIVENESS.on(port, scheme),
        "resources": resources(console.spec.resource_requirements, settings.console),
        "securityContext": hardened(settings),
    }


def _env(console: Console, settings: Settings) -> list[Json]:
    balancerd, port = console.spec.balancerd, settings.ports.console_http
    host = f"{balancerd.service_name}.{balancerd.namespace}.svc.cluster.local"
    lines = [f"listen {port};"]
    if _certificate(console, settings).is_wanted:
        lines = [
            f"listen {port} ssl;",
            f"ssl_certificate {_CERTIFICATE_AT}/tls.crt;",
            f"ssl_certificate_key {_CERTIFICATE_AT}/tls.key;",
        ]
    return [
        {"name": "MZ_ENDPOINT", "value": f"{balancerd.scheme}://{host}:{settings.ports.balancerd_http}"},
        {"name": "MZ_NGINX_LISTENER_CONFIG", "value": "\n".join(lines)},
    ]
