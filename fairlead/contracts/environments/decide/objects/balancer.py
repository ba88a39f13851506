"""Balancers: what an environment asks for, and the objects that a Balancer has.

`balancer_trouble` says what of a Balancer cannot be built; building what it has passed does not fail.
"""

from __future__ import annotations

import msgspec

from fairlead.contracts.environments.decide.images import companion
from fairlead.contracts.environments.decide.objects.certificates import (
    Certificate,
    certificate_trouble,
    effective,
    external_certificate,
)
from fairlead.contracts.environments.decide.objects.companions import Probe, deployment, service
from fairlead.contracts.environments.decide.objects.names import environmentd_service_name
from fairlead.contracts.environments.decide.objects.owner import (
    BALANCERD,
    filled,
    owner_of_balancer,
    owner_of_environment,
    recommended,
)
from fairlead.contracts.environments.decide.objects.pods import (
    PULL_POLICIES,
    container_ports,
    hardened,
    placed,
    resources,
    run_as,
    scraped,
    secret_volume,
    service_ports,
    user_of,
)
from fairlead.contracts.environments.decide.objects.wanted import Environment, Serving, Wanted
from fairlead.contracts.environments.kinds import BALANCERS, Balancer, BalancerSpec, Json, StaticRouting
from fairlead.contracts.environments.settings import Settings

UNPRIVILEGED_FROM = "26.18.0"

_CERTIFICATE_AT = "/etc/external_tls"
_STARTUP = Probe("/api/readyz", delay=3, period=3, failures=20, timeout=1)
_READINESS = Probe("/api/readyz", period=10, failures=3, timeout=1)
_LIVENESS = Probe("/api/livez", delay=8, period=10, failures=3, timeout=1)
_ALL_AT_ONCE: Json = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "100%"}}
"""A connection that comes during a rollout should not land on a pod that is about to go."""


def balancer(environment: Environment, settings: Settings) -> Wanted | None:
    """The Balancer in front of the environment; None when balancers are switched off."""
    if not settings.create_balancers:
        return None
    spec = environment.spec
    wish = BalancerSpec(
        balancerd_image_ref=companion(environment.running_image, BALANCERD),
        resource_requirements=spec.balancerd_resource_requirements,
        replicas=spec.balancerd_replicas,
        external_certificate_spec=spec.balancerd_external_certificate_spec,
        internal_certificate_spec=spec.internal_certificate_spec,
        pod_annotations=filled(spec.pod_annotations),
        pod_labels=filled(spec.pod_labels),
        static_routing=StaticRouting(environment.namespace, environmentd_service_name(environment.resource_id)),
        resource_id=environment.resource_id,
    )
    owner = owner_of_environment(environment)
    labels = owner.labels | recommended(BALANCERD)
    return owner.wanted(BALANCERS, environment.name, {"spec": msgspec.to_builtins(wish)}, labels=labels)


def balancer_trouble(balancer: Balancer, settings: Settings) -> str:
    """Why the objects of this Balancer cannot be built, in one sentence; empty when they can."""
    spec = balancer.spec
    if spec.static_routing is not None and spec.frontegg_routing is not None:
        return "The Balancer has two routings: keep staticRouting and remove fronteggRouting."
    if spec.frontegg_routing is not None:
        return "The Balancer's fronteggRouting is not implemented: use staticRouting."
    if spec.static_routing is None:
        return "The Balancer has no routing: set staticRouting to the environment's namespace and Service."
    return certificate_trouble(_certificate(balancer, settings))


def balancer_objects(balancer: Balancer, settings: Settings, serving: Serving | None = None) -> tuple[Wanted, ...]:
    """Section 3.13 point 3: certificate, Service and, last, the Deployment."""
    owner = owner_of_balancer(balancer)
    ports = settings.ports
    annotations = scraped(ports.balancerd_internal_http, settings)
    return (
        *_certificate(balancer, settings).wanted(owner),
        service(owner, service_ports(http=ports.balancerd_http, pgwire=ports.balancerd_sql)),
        deployment(owner, balancer, _pod(balancer, settings, serving), annotations=annotations, strategy=_ALL_AT_ONCE),
    )


def _certificate(balancer: Balancer, settings: Settings) -> Certificate:
    own, default = balancer.spec.external_certificate_spec, settings.default_certificates.balancerd_external
    return external_certificate(BALANCERD, own, default)


def _pod(balancer: Balancer, settings: Settings, serving: Serving | None) -> Json:
    certificate = _certificate(balancer, settings)
    secret = certificate.secret_in(owner_of_balancer(balancer))
    mount = {"name": "external-certificate", "mountPath": _CERTIFICATE_AT, "readOnly": True}
    user = user_of(balancer.spec.balancerd_image_ref, unprivileged_from=UNPRIVILEGED_FROM)
    return {
        **placed(settings.balancerd, settings),
        "securityContext": run_as(user),
        "containers": [
            _container(balancer, settings, serving) | {"volumeMounts": [mount] if certificate.is_wanted else None}
        ],
        "volumes": [secret_volume("external-certificate", secret)] if certificate.is_wanted else None,
    }


def _container(balancer: Balancer, settings: Settings, serving: Serving | None) -> Json:
    ports = settings.ports
    return {
        "name": BALANCERD,
        "image": balancer.spec.balancerd_image_ref,
        "imagePullPolicy": PULL_POLICIES[settings.image_pull_policy],
        "args": _arguments(balancer, settings, serving),
        "ports": container_ports(
            pgwire=ports.balancerd_sql, http=ports.balancerd_http, internal_http=ports.balancerd_internal_http
        ),
        "startupProbe": _STARTUP.on(ports.balancerd_internal_http),
        "readinessProbe": _READINESS.on(ports.balancerd_internal_http),
        "livenessProbe": _LIVENESS.on(ports.balancerd_internal_http),
        "resources": resources(balancer.spec.resource_requirements, settings.balancerd),
        "securityContext": hardened(settings),
    }


def _arguments(balancer: Balancer, settings: Settings, serving: Serving | None) -> list[str]:
    routing, ports = balancer.spec.static_routing, settings.ports
    if routing is None:
        raise ValueError("this routing cannot be built: balancer_trouble says why")
    host = f"{routing.environmentd_service_name}.{routing.environmentd_namespace}.svc.cluster.local"
    http, sql = (ports.http, ports.sql) if serving is None else (serving.http_port, serving.sql_port)
    args = [
        "service",
        f"--pgwire-listen-addr=0.0.0.0:{ports.balancerd_sql}",
        f"--https-listen-addr=0.0.0.0:{ports.balancerd_http}",
        f"--internal-http-listen-addr=0.0.0.0:{ports.balancerd_internal_http}",
        f"--https-resolver-template={host}:{http}",
        f"--static-resolver-addr={host}:{sql}",
    ]
    if _speaks_tls(balancer, settings, serving):
        args.append("--internal-tls")
    if not _certificate(balancer, settings).is_wanted:
        return [*args, "--tls-mode=disable"]
    keys = (f"--tls-cert={_CERTIFICATE_AT}/tls.crt", f"--tls-key={_CERTIFICATE_AT}/tls.key")
    return [*args, "--tls-mode=require", *keys]


def _speaks_tls(balancer: Balancer, settings: Settings, serving: Serving | None) -> bool:
    """To environmentd, which keeps the listeners that it was started with whatever is wanted since."""
    if serving is not None:
        return serving.tls
    internal = effective(balancer.spec.internal_certificate_spec, settings.default_certificates.internal)
    return internal.issuer_ref is not None
