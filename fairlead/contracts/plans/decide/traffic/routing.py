"""Which route a plan means and which Services it shares requests between; and what is read of them, live.

The route and the EndpointSlices of a Service are asked for past the cache: only a rollout that is routed reads them.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide.traffic.dialects import DIALECTS
from fairlead.contracts.plans.decide.traffic.routes import Dialect, RouteFault, Services
from fairlead.contracts.plans.decide.turns import Pass
from fairlead.contracts.plans.decide.workloads.live import Style, Workload, at
from fairlead.contracts.plans.kinds import COMPONENT_REVISION, NO_PROVIDER, Json, NamedReference, TrafficRouting
from fairlead.core.ask import Ask, Bad, Discover, Listing, Need, Question, Read
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Ref, Resource, ServedVersion

ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
SERVICE_NAME = "kubernetes.io/service-name"
"""The label of an EndpointSlice that says whose it is."""


class Routing(Struct, frozen=True):
    dialect: Dialect
    services: Services
    name: str
    namespace: str

    @property
    def shown(self) -> str:
        return f"{self.dialect.kind} {self.namespace}/{self.name}"

    @property
    def is_created(self) -> bool:
        """Whether one that is missing is made: never where whoever wrote the rollout may have no rights."""
        return self.dialect.is_created and self.namespace == self.services.namespace


class LiveRoute(Struct, frozen=True):
    ref: Ref
    tree: Json


class MissingRoute(Struct, frozen=True):
    """There is none of this name, or nobody serves its kind: then `resource` is None."""

    resource: Resource | None
    text: str


def planned(given: Pass) -> TrafficRouting | RouteFault | None:
    """What the plan says, with the Services that it means; None where it routes nothing.

    Where the one workload there is grows or shrinks, there is nothing to share.
    """
    routing = given.spec.rollout_plan.traffic_routing
    if routing is None or routing.provider in ("", NO_PROVIDER) or given.found.is_scale:
        return None
    dialect = DIALECTS.get(routing.provider)
    if dialect is None:
        known = ", ".join((*DIALECTS, NO_PROVIDER))
        return RouteFault(f"trafficRouting.provider is {routing.provider}: write one of {known}")
    reference = routing.ingress_ref
    if reference is None or not reference.name:
        return RouteFault(f"trafficRouting.ingressRef.name is missing: name the {dialect.kind}")
    attempt = given.found.attempt
    old = attempt.live_sources[-1] if attempt.live_sources else None
    source = routing.source_service or component_revision(old)
    target = routing.target_service or component_revision(attempt.target)
    for field, found in (("sourceService", source), ("targetService", target)):
        if not found:
            return RouteFault(
                f"trafficRouting.{field} is missing, and no component revision tells it: name the Service"
            )
    if source == target:
        return RouteFault(f"sourceService and targetService are both {source}: name the Service of each side")
    own = given.seen.rollout.metadata.namespace
    namespace = reference.namespace or own
    if namespace != own and not dialect.crosses:
        return RouteFault(
            f"trafficRouting.ingressRef.namespace is {namespace}: "
            f"a {dialect.kind} must be in that of its Services, {own}"
        )
    found_reference = NamedReference(reference.name, namespace)
    return replace(routing, ingress_ref=found_reference, source_service=source, target_service=target)


def routing_of(given: Pass) -> Routing | None:
    """Of an attempt that was verified, as it was then; None where it routes nothing."""
    routing = given.status.traffic_routing
    dialect = None if routing is None else DIALECTS.get(routing.provider)
    if routing is None or dialect is None or routing.ingress_ref is None:
        return None
    namespace, route = given.seen.rollout.metadata.namespace, routing.ingress_ref
    services = Services(namespace, routing.source_service, routing.target_service, routing.port)
    return Routing(dialect, services, route.name, route.namespace or namespace)


def component_revision(workload: Workload | None) -> str:
    """The component revision that it is of; its Service has the same name. Of several sources the last one counts."""
    labels = None if workload is None else at(workload.tree, "metadata.labels")
    found = labels.get(COMPONENT_REVISION) if isinstance(labels, dict) else None
    return found if isinstance(found, str) else ""


def route_of(given: Pass, routing: Routing) -> Need | LiveRoute | MissingRoute | RouteFault:
    dialect, answers = routing.dialect, given.seen.answers
    kind = Ask(Discover(dialect.group, dialect.kind))
    if lacking := answers.lacking((kind,)):
        return Need(lacking)
    found = answers[kind]
    if isinstance(found, Bad):
        return RouteFault(f"cannot find out how {dialect.kind} is served: {found.text or found.kind}")
    served = {each.resource.version: each.resource for each in msgspec.json.decode(found.value, type=_SERVED)}
    resource = next((served[each] for each in dialect.versions if each in served), None)
    if resource is None:
        versions = " or ".join(dialect.versions)
        return MissingRoute(
            None, f"the cluster does not serve {dialect.kind} of {dialect.group}/{versions}: install it"
        )
    ref = Ref(resource, routing.namespace, routing.name)
    read = Ask(Read(ref))
    if lacking := answers.lacking((read,)):
        return Need(lacking)
    answer = answers[read]
    if not isinstance(answer, Bad):
        return LiveRoute(ref, _tree(answer.value))
    if answer.kind == "absent":
        return MissingRoute(resource, f"the {routing.shown} is not there: create it")
    return RouteFault(f"the {routing.shown} cannot be read: {answer.text or answer.kind}")


_SERVED = tuple[ServedVersion, ...]


def misplaced(given: Pass, services: Services) -> Need | RouteFault | MissingRoute | None:
    """A Service that is not there, or that selects other pods than those of its side; None where both are right.

    Of one workload that is updated in place the labels of old and new pods are not known beforehand.
    """
    attempt = given.found.attempt
    if given.found.kind.style is not Style.PAIR or attempt.target is None or not attempt.live_sources:
        return None
    sides = {services.source: attempt.live_sources[-1], services.target: attempt.target}
    asks: dict[str, Question] = {each: Ask(Read(Ref(SERVICES, services.namespace, each))) for each in sides}
    if lacking := given.seen.answers.lacking(tuple(asks.values())):
        return Need(lacking)
    for service, workload in sides.items():
        answer = given.seen.answers[asks[service]]
        if isinstance(answer, Bad):
            said = "is not there: create it" if answer.kind == "absent" else f"cannot be read: {answer.text}"
            return MissingRoute(None, f"the Service {service} {said}")
        selector = at(_tree(answer.value), "spec.selector")
        labels = at(workload.tree, f"{workload.kind.paths.template}.metadata.labels")
        if isinstance(selector, dict) and isinstance(labels, dict) and not selector.items() <= labels.items():
            others = f"does not select the pods of the {workload.shown}"
            return RouteFault(f"the Service {service} {others}: name one that does")
    return None


def unready(given: Pass, namespace: str, services: tuple[str, ...]) -> Need | RouteFault | None:
    """What keeps requests from these Services; None where each has an address that is ready (R-32)."""
    asks: dict[str, Question] = {
        each: Ask(Listing(ENDPOINT_SLICES, namespace, f"{SERVICE_NAME}={each}")) for each in services
    }
    if lacking := given.seen.answers.lacking(tuple(asks.values())):
        return Need(lacking)
    for service, ask in asks.items():
        answer = given.seen.answers[ask]
        if isinstance(answer, Bad):
            return RouteFault(f"the endpoints of the Service {service} cannot be listed: {answer.text or answer.kind}")
        if not any(map(_is_ready, _endpoints(_tree(answer.value)))):
            return RouteFault(f"waiting for an endpoint of the Service {service} to become ready")
    return None


def _endpoints(found: Json) -> list[Any]:
    slices = found.get("items")
    listed = [each.get("endpoints") for each in slices if isinstance(each, dict)] if isinstance(slices, list) else []
    return [endpoint for each in listed if isinstance(each, list) for endpoint in each]


def _is_ready(endpoint: object) -> bool:
    """One that says nothing of it is ready, as EndpointSlices have it."""
    if not isinstance(endpoint, dict) or not endpoint.get("addresses"):
        return False
    return at(endpoint, "conditions.ready") is not False and at(endpoint, "conditions.terminating") is not True


def _tree(value: bytes) -> Json:
    found = msgspec.json.decode(value)
    return found if isinstance(found, dict) else {}
