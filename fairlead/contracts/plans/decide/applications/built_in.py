"""Types of components and of traits that need no definition (section 2.8), as trees that are made of their settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import (
    MANUAL_SCALER,
    MANUAL_SCALER_API,
    DefinitionReference,
    TraitDefinitionSpec,
)
from fairlead.contracts.plans.decide.applications.trees import mapping, texts
from fairlead.contracts.plans.kinds import AUTOSCALERS, CLONE_SETS, COMPONENT, ROLLOUT_TRAITS, ROLLOUTS, Json
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Resource

ROLLOUT, SCALER, HPA, EXPOSE = "rollout", "scaler", "hpa", "expose"
RAW, WEB_SERVICE, WORKER, CLONE_SET_SERVICE = "raw", "webservice", "worker", "clonesetservice"
DEFAULT_PORT = 80

_SCALING = (
    SCALER,
    HPA,
    "*.autoscaling",
    "manualscalertraits.core.oam.dev",
    "labelSelector:trait.oam.dev/scaling=true",
)
TRAITS: dict[str, TraitDefinitionSpec] = {
    ROLLOUT: TraitDefinitionSpec(
        definition_ref=DefinitionReference("rollouttraits.standard.oam.dev"),
        revision_enabled=True,
        workload_ref_path="spec.targetRef",
        conflicts_with=_SCALING,
    ),
    SCALER: TraitDefinitionSpec(definition_ref=DefinitionReference("manualscalertraits.core.oam.dev")),
    HPA: TraitDefinitionSpec(
        definition_ref=DefinitionReference("horizontalpodautoscalers.autoscaling"),
        workload_ref_path="spec.scaleTargetRef",
    ),
    EXPOSE: TraitDefinitionSpec(definition_ref=DefinitionReference("services")),
}
"""The definitions that are always there; one of the cluster under such a name is not read, but for `rollout`."""
REVISION_ROLLOUT = TraitDefinitionSpec(
    definition_ref=DefinitionReference(f"{ROLLOUTS.plural}.{ROLLOUTS.group}"),
    revision_enabled=True,
    conflicts_with=_SCALING,
)
"""What the trait `rollout` is where a definition of the cluster says that it is a Rollout (C-7)."""


class RenderFault(Struct, frozen=True):
    """Why nothing can be made of it, in a sentence that says what to do."""

    text: str


def workload(name: str, kind: str, settings: object) -> Json | RenderFault | None:
    """Of a component of this type; None where the type is not built in."""
    given = mapping(settings)
    match kind:
        case "raw":
            return _raw(name, given)
        case "webservice":
            return _serving(DEPLOYMENTS, name, given, has_port=True)
        case "worker":
            return _serving(DEPLOYMENTS, name, given, has_port=False)
        case "clonesetservice":
            return _serving(CLONE_SETS, name, given, has_port=True)
    return None


def _raw(name: str, settings: Json) -> Json | RenderFault:
    if not isinstance(settings.get("apiVersion"), str) or not isinstance(settings.get("kind"), str):
        return RenderFault(f"the settings of the component {name} are no object: give them apiVersion and kind")
    return settings


def _serving(resource: Resource, name: str, settings: Json, *, has_port: bool) -> Json | RenderFault:
    wrong = next(_wrong_settings(name, settings, has_port=has_port), None)
    if wrong is not None:
        return RenderFault(wrong)
    container: Json = {"name": name, "image": settings["image"]}
    if settings.get("cmd"):
        container["command"] = settings["cmd"]
    if settings.get("env"):
        container["env"] = settings["env"]
    if has_port:
        container["ports"] = [{"containerPort": settings.get("port", DEFAULT_PORT)}]
    if settings.get("cpu"):
        container["resources"] = {each: {"cpu": str(settings["cpu"])} for each in ("limits", "requests")}
    labels = {COMPONENT: name}
    spec: Json = {
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
    }
    if settings.get("replicas") is not None:
        spec["replicas"] = settings["replicas"]
    return {"apiVersion": resource.api_version, "kind": resource.kind, "spec": spec}


def _wrong_settings(name: str, settings: Json, *, has_port: bool) -> Iterator[str]:
    of = f"the component {name}"
    if not isinstance(settings.get("image"), str) or not settings["image"]:
        yield f"{of} has no image: write settings.image"
    for key in ("cmd", "env"):
        if not isinstance(settings.get(key, []), list):
            yield f"{of} has settings.{key} that are no list"
    port = settings.get("port", DEFAULT_PORT)
    if has_port and not _is_number(port, 1, 65535):
        yield f"{of} has settings.port {port!r}: write a number from 1 to 65535"
    if not _is_number(settings.get("replicas", 0), 0, 2**31 - 1):
        yield f"{of} has settings.replicas {settings['replicas']!r}: write a number that is not negative"
    if not isinstance(settings.get("cpu", ""), str | int | float):
        yield f"{of} has settings.cpu that are no quantity"


def trait(
    component: str, name: str, properties: object, rollout: Resource = ROLLOUT_TRAITS
) -> Json | RenderFault | None:
    """Of a trait of this name; None where it is not built in. What it aims at is filled in when it is emitted.

    `rollout` is the kind that the trait of this name has.
    """
    given = mapping(properties)
    match name:
        case "rollout":
            return _rollout(component, given, rollout)
        case "scaler":
            return _scaler(component, given)
        case "hpa":
            return _autoscaler(component, given)
        case "expose":
            return _exposed(component, given)
    return None


def _rollout(component: str, properties: Json, kind: Resource) -> Json:
    """Its properties are a plan, or hold one; those of a Rollout may name its target, as upstream's do."""
    spec: Json = {"rolloutPlan": properties.get("rolloutPlan", properties)}
    if kind == ROLLOUTS and "targetRevision" in properties:
        plan = {key: value for key, value in properties.items() if key != "targetRevision"}
        spec = {"rolloutPlan": properties.get("rolloutPlan", plan), "targetRevisionName": properties["targetRevision"]}
    return _object(kind, component, spec)


def _scaler(component: str, properties: Json) -> Json | RenderFault:
    size = properties.get("replicas")
    if not _is_number(size, 0, 2**31 - 1):
        return RenderFault(f"the trait scaler of the component {component} needs a number of replicas")
    return {
        "apiVersion": MANUAL_SCALER_API,
        "kind": MANUAL_SCALER,
        "metadata": {"name": component},
        "spec": {"replicaCount": size},
    }


def _autoscaler(component: str, properties: Json) -> Json | RenderFault:
    least, most = properties.get("min", 1), properties.get("max", 10)
    cpu = properties.get("cpuUtil", 50)
    if not _is_number(least, 0, 2**31 - 1) or not _is_number(most, 1, 2**31 - 1) or least > most:
        return RenderFault(
            f"the trait hpa of the component {component} needs numbers min and max, min being the smaller"
        )
    if not _is_number(cpu, 1, 10_000):
        return RenderFault(f"the trait hpa of the component {component} needs a percentage cpuUtil above 0")
    target = {"type": "Utilization", "averageUtilization": cpu}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    return _object(AUTOSCALERS, component, {"minReplicas": least, "maxReplicas": most, "metrics": metrics})


def _exposed(component: str, properties: Json) -> Json | RenderFault:
    found = properties.get("port")
    ports = found if isinstance(found, list) else [found]
    if not ports or not all(_is_number(each, 1, 65535) for each in ports):
        return RenderFault(
            f"the trait expose of the component {component} needs a list port of numbers from 1 to 65535"
        )
    selector = texts(properties.get("selector")) or {COMPONENT: component}
    listed = [{"name": f"port-{each}", "port": each, "targetPort": each} for each in ports]
    return _object(SERVICES, component, {"selector": selector, "ports": listed})


def _object(resource: Resource, name: str, spec: Json) -> Json:
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}


def _is_number(found: Any, least: int, most: int) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and least <= found <= most
