"""Section 3.12: the four objects of a generation, and the public Service that is moved from one to the next (B9)."""

from __future__ import annotations

from fairlead.contracts.environments.decide.objects.environment import uses_internal_tls
from fairlead.contracts.environments.decide.objects.environmentd import template
from fairlead.contracts.environments.decide.objects.listeners import listeners
from fairlead.contracts.environments.decide.objects.names import (
    environmentd_name,
    environmentd_service_name,
    listeners_name,
    pubsub_service_name,
)
from fairlead.contracts.environments.decide.objects.owner import owner_of_environment
from fairlead.contracts.environments.decide.objects.pods import service_ports
from fairlead.contracts.environments.decide.objects.wanted import Environment, Wanted, encoded
from fairlead.contracts.environments.kinds import FORCE, GENERATION, LISTENERS_FILE, NAME, ROLLOUT_HASH, Json
from fairlead.contracts.environments.settings import Settings
from fairlead.core.uuids import parse
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, SERVICES
from kubeloop.objects.meta import Ref


def generation_objects(
    environment: Environment, generation: int, rollout_hash: str, settings: Settings
) -> tuple[Wanted, Wanted, Wanted, Wanted]:
    """Service, pubsub Service, listeners and StatefulSet, in the order in which they are applied."""
    return (
        _service(environment, generation, settings),
        _pubsub(environment, generation, settings),
        _listeners(environment, generation, settings),
        _statefulset(environment, generation, rollout_hash, settings),
    )


def generation_refs(namespace: str, resource_id: str, generation: int) -> tuple[Ref, ...]:
    """The four objects of a generation, in the order in which they are taken down."""
    environmentd = environmentd_name(resource_id, generation)
    return (
        Ref(STATEFULSETS, namespace, environmentd),
        Ref(SERVICES, namespace, pubsub_service_name(resource_id, generation)),
        Ref(SERVICES, namespace, environmentd),
        Ref(CONFIGMAPS, namespace, listeners_name(resource_id, generation)),
    )


def public_service(environment: Environment, generation: int, settings: Settings) -> Wanted:
    """The Service that users and balancerd find the environment by, selecting this generation."""
    name = environmentd_service_name(environment.resource_id)
    spec = _headless(environment, generation, _service_ports(settings))
    return owner_of_environment(environment).wanted(SERVICES, name, {"spec": spec})


def force_mark(environment: Environment) -> str:
    """What was forced when the generation was made."""
    forced = environment.spec.force_rollout
    mark = parse(forced) or forced
    return mark if environment.force_annotation is None else f"{mark}/{environment.force_annotation}"


def _service(environment: Environment, generation: int, settings: Settings) -> Wanted:
    """It has an address of its own: a service mesh routes by addresses and cannot tell headless Services apart."""
    name = environmentd_name(environment.resource_id, generation)
    spec = _selecting(environment, generation, _service_ports(settings))
    return owner_of_environment(environment).wanted(SERVICES, name, {"spec": spec})


def _pubsub(environment: Environment, generation: int, settings: Settings) -> Wanted:
    name = pubsub_service_name(environment.resource_id, generation)
    ports = service_ports(grpc=settings.ports.internal_persist_pubsub)
    spec = _headless(environment, generation, ports)
    return owner_of_environment(environment).wanted(SERVICES, name, {"spec": spec})


def _selecting(environment: Environment, generation: int, ports: list[Json]) -> Json:
    selector = {NAME: environmentd_name(environment.resource_id, generation)}
    return {"type": "ClusterIP", "selector": selector, "ports": ports}


def _headless(environment: Environment, generation: int, ports: list[Json]) -> Json:
    return _selecting(environment, generation, ports) | {"clusterIP": "None"}


def _service_ports(settings: Settings) -> list[Json]:
    ports = settings.ports
    return service_ports(
        sql=ports.sql, https=ports.http, internal_sql=ports.internal_sql, internal_http=ports.internal_http
    )


def _listeners(environment: Environment, generation: int, settings: Settings) -> Wanted:
    spec = environment.spec
    tls = uses_internal_tls(environment, settings)
    told = listeners(spec.environmentd_image_ref, spec.authenticator_kind, settings.ports, tls=tls)
    return owner_of_environment(environment).wanted(
        CONFIGMAPS,
        listeners_name(environment.resource_id, generation),
        {"data": {LISTENERS_FILE: encoded(told).decode()}},
        annotations={GENERATION: str(generation)},
    )


def _statefulset(environment: Environment, generation: int, rollout_hash: str, settings: Settings) -> Wanted:
    name = environmentd_name(environment.resource_id, generation)
    spec: Json = {
        "replicas": 1,
        "serviceName": environmentd_service_name(environment.resource_id),
        "selector": {"matchLabels": {NAME: name}},
        "template": template(environment, generation, settings),
    }
    annotations = {GENERATION: str(generation), ROLLOUT_HASH: rollout_hash, FORCE: force_mark(environment)}
    return owner_of_environment(environment).wanted(STATEFULSETS, name, {"spec": spec}, annotations=annotations)
