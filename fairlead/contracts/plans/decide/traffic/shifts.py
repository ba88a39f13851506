"""When traffic moves in the course of an attempt (R-32): after the pods are ready, and before the others go.

A pass that has to change a route writes nothing else, and the pass after it reads back what became of it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide import conditions
from fairlead.contracts.plans.decide.notes import TRAFFIC_FAILED, Note
from fairlead.contracts.plans.decide.traffic.routes import ALL, RouteFault
from fairlead.contracts.plans.decide.traffic.routing import (
    LiveRoute,
    MissingRoute,
    Routing,
    misplaced,
    planned,
    route_of,
    routing_of,
    unready,
)
from fairlead.contracts.plans.decide.traffic.split import Share, new_route, weights_of, with_split, without_copies
from fairlead.contracts.plans.decide.turns import Pass, Turn, waits
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads import reverts
from fairlead.contracts.plans.decide.workloads.answers import Done, Fail, Retry, Step, Writes
from fairlead.contracts.plans.decide.workloads.live import Style
from fairlead.contracts.plans.kinds import Json, RolloutStatus
from fairlead.core.act import AnyWrite, Create, Does, Patch, PatchKind
from fairlead.core.ask import Bad, Need
from fairlead.core.json_patch import json_patch
from kubeloop.objects.meta import Resource

SOON = timedelta(seconds=0.2)
"""After a write it is read back so soon; a wait is looked at again so soon at first, and then ever more slowly."""
LATE = timedelta(seconds=5)
_SLOWER = 0.25
"""Of the time that a wait has lasted."""


class Blocked(Struct, frozen=True):
    """What keeps traffic from moving."""

    text: str
    is_missing: bool = False
    """Whether there is no route at all."""
    is_wait: bool = False
    """Whether it passes by itself."""


Wanted: TypeAlias = Callable[[Routing, Json], Share | None]
"""What the target should get of a route that is like this; None: what it has, and nothing for headers."""
Shifted: TypeAlias = Need | AnyWrite | Blocked | None


def probed(given: Pass) -> Turn | Need | RolloutStatus | Fail:
    """The status with what the plan routes, where the route is there and can be shared; nothing is claimed before."""
    planned_routing = planned(given)
    if isinstance(planned_routing, RouteFault):
        return Fail(Why.SPEC_INVALID, planned_routing.text)
    status = replace(given.status, traffic_routing=planned_routing)
    routing = routing_of(replace(given, status=status))
    if routing is None:
        return status
    wrong = misplaced(given, routing.services)
    if isinstance(wrong, RouteFault):
        return Fail(Why.SPEC_INVALID, wrong.text)
    found = route_of(given, routing) if wrong is None else wrong
    match found:
        case Need():
            return found
        case LiveRoute(_, tree):
            weights = weights_of(routing.dialect, tree, routing.services)
            text = f"the {routing.shown} cannot be shared: {weights.text}" if isinstance(weights, RouteFault) else ""
        case MissingRoute(resource) if resource is not None and routing.is_created:
            text = ""
        case MissingRoute(_, text) | RouteFault(text):
            pass
    return _blocked(given, given.status, Blocked(text)) if text else status


def ensured(given: Pass, status: RolloutStatus) -> Turn | Need | None:
    """None once the route gives the target what the batch says, as it was read back."""
    return _turn(given, status, _moved(given, _of_batch(given)))


def weighed(given: Pass, status: RolloutStatus) -> RolloutStatus:
    """With the weight that is known to be in place."""
    return status if routing_of(given) is None else replace(status, traffic_weight=_weight(given))


def before_pods_go(given: Pass, step: Step) -> Turn | Need | None:
    """What comes before the writes of a batch that take pods from the sources.

    Those of a target that grows first give way only once it has its share. Elsewhere the new pods come later, so the
    target gets everything before the last old pods go, if it has pods by then.
    """
    if routing_of(given) is None or not isinstance(step, Writes) or step.left is None:
        return None
    attempt = given.found.attempt
    if given.found.kind.style is Style.PAIR and not attempt.plan.is_decrease_first:
        most = ALL * (attempt.size - step.left) // attempt.size if attempt.interval else ALL
        return _turn(given, given.status, _moved(given, _of_batch(given, most)))
    if step.left:
        return None
    moved = _moved(given, lambda routing, tree: replace(_of_batch(given)(routing, tree), weight=ALL))
    return None if isinstance(moved, Blocked) and moved.is_wait else _turn(given, given.status, moved)


def settled(given: Pass) -> Turn | Need | None:
    """After a success the target is the only backend."""
    return _turn(given, given.status, _moved(given, lambda _routing, _tree: Share(ALL, is_final=True)))


def returned(given: Pass, terms: reverts.Terms, step: Done | Writes) -> Turn | Need | reverts.Incomplete | None:
    """The route is as before the first attempt: before pods go, and in the end in any case.

    Where pods of the sources are not waited for, their Service gets its share as soon as it has some.
    """
    weight = reverts.target_share(given.found.attempt, given.found.kind.style)
    takes = isinstance(step, Writes) and step.takes
    if weight is None or not (takes or isinstance(step, Done)):
        return None
    moved = _moved(given, lambda _routing, _tree: Share(weight), is_back=True)
    if not isinstance(moved, Blocked):
        return _turn(given, given.status, moved)
    is_patient = not terms.decreases and given.found.kind.style is Style.PAIR
    if moved.is_missing or (takes and not is_patient):
        return None
    if given.now >= terms.since + reverts.PATIENCE:
        return reverts.Incomplete(f"incomplete: {moved.text}")
    return _turn(given, given.status, moved)


def cleared(given: Pass) -> Turn | Need | None:
    """Nothing is left of what was added for headers; whatever keeps that from being done keeps nothing else."""
    moved = _moved(given, lambda _routing, _tree: None)
    return None if isinstance(moved, Blocked) else _turn(given, given.status, moved)


def weighed_back(given: Pass) -> RolloutStatus:
    """With the weight that the route has again."""
    weight = reverts.target_share(given.found.attempt, given.found.kind.style)
    is_known = routing_of(given) is not None and weight is not None
    return replace(given.status, traffic_weight=weight) if is_known else given.status


def _of_batch(given: Pass, most: int = ALL) -> Callable[[Routing, Json], Share]:
    """After an attempt that did not succeed, no share falls below what the target had then."""
    batch = given.spec.rollout_plan.batch(given.status.current_batch)

    def wanted(routing: Routing, tree: Json) -> Share:
        weights = weights_of(routing.dialect, tree, routing.services)
        is_kept = given.status.carried is not None and batch.traffic_weight is None
        least = max(weights) if is_kept and not isinstance(weights, RouteFault) else 0
        return Share(max(least, min(_weight(given), most)), batch.traffic_match)

    return wanted


def _weight(given: Pass) -> int:
    """The share of the batch: what it names, else that of its pods, rounded down; the last one has everything, and so
    has each where the sources had no pods to begin with."""
    named = given.spec.rollout_plan.batch(given.status.current_batch).traffic_weight
    if given.is_last or _has_empty_sources(given):
        return ALL
    attempt = given.found.attempt
    return ALL * attempt.goal // attempt.size if named is None else min(ALL, max(0, named))


def _has_empty_sources(given: Pass) -> bool:
    """Whether requests that are left to the sources would reach nobody."""
    sizes = [each.original_replicas for each in given.status.sources]
    return given.found.kind.style is Style.PAIR and bool(sizes) and not any(sizes)


def _moved(given: Pass, wanted: Wanted, *, is_back: bool = False) -> Shifted:
    """The write that makes the route what it should be; None where it is that.

    Whoever gets more must have an endpoint that is ready (R-32).
    """
    routing = routing_of(given)
    if routing is None:
        return None
    route = route_of(given, routing)
    match route:
        case Need():
            return route
        case RouteFault(text):
            return Blocked(text)
        case MissingRoute(resource, text) if resource is None or not routing.is_created:
            return Blocked(text, is_missing=True)
        case MissingRoute(Resource() as resource):
            share = wanted(routing, {})
            if share is None or not share.weight or is_back:
                return None
            write: AnyWrite = _create(given, routing, resource, share.weight)
        case LiveRoute(_, tree):
            share = wanted(routing, tree)
            after = _changed(routing, tree, share)
            if isinstance(after, RouteFault):
                return Blocked(f"the {routing.shown} cannot be shared: {after.text}")
            if not (operations := json_patch(tree, after)):
                return None
            write = _patch(given, routing, route, after, operations)
    refusal = given.seen.answers.known.get(write)
    if isinstance(refusal, Bad):
        return Blocked(f"the {routing.shown} was not changed: {refusal.text or refusal.kind}")
    problem = unready(given, routing.services.namespace, _needed(routing, share, is_back=is_back))
    return Blocked(problem.text, is_wait=True) if isinstance(problem, RouteFault) else problem or write


def _changed(routing: Routing, tree: Json, share: Share | None) -> Json | RouteFault:
    if share is None:
        return without_copies(routing.dialect, tree, routing.services)
    return with_split(routing.dialect, tree, routing.services, share)


def _needed(routing: Routing, share: Share | None, *, is_back: bool) -> tuple[str, ...]:
    """The Services that requests are sent to from now on."""
    if share is None:
        return ()
    source = (routing.services.source,) if is_back and share.weight < ALL else ()
    return (*source, *((routing.services.target,) if share.weight or share.matches else ()))


def _create(given: Pass, routing: Routing, resource: Resource, weight: int) -> Create:
    body = new_route(routing.dialect, routing.name, routing.services, weight)
    return Create(
        resource=resource,
        namespace=routing.namespace,
        name=routing.name,
        body=msgspec.json.encode({"apiVersion": resource.api_version, **body}),
        does=Does.ROUTE_TRAFFIC,
        scope=given.seen.rollout.metadata.uid,
        change_to=f"{routing.services.target} {weight} of {ALL}",
        contested=True,
        refusable=True,
    )


def _patch(given: Pass, routing: Routing, route: LiveRoute, after: Json, operations: list[Json]) -> Patch:
    metadata = route.tree.get("metadata") or {}
    return Patch(
        ref=replace(route.ref, uid=str(metadata.get("uid", ""))),
        kind=PatchKind.JSON,
        body=msgspec.json.encode(operations, order="sorted"),
        resource_version=str(metadata.get("resourceVersion", "")),
        does=Does.ROUTE_TRAFFIC,
        scope=given.seen.rollout.metadata.uid,
        change_from=_said(routing, route.tree),
        change_to=_said(routing, after),
        contested=True,
        refusable=True,
    )


def _said(routing: Routing, tree: Json) -> str:
    weights = weights_of(routing.dialect, tree, routing.services)
    shown = "unknown" if isinstance(weights, RouteFault) else " and ".join(map(str, sorted(set(weights))))
    return f"{routing.services.target} {shown} of {ALL}"


def _turn(given: Pass, status: RolloutStatus, moved: Shifted) -> Turn | Need | None:
    match moved:
        case None | Need():
            return moved
        case Blocked():
            return _blocked(given, status, moved)
    return Turn(status=status, routed=(moved,), until=given.now + SOON)


def _blocked(given: Pass, status: RolloutStatus, blocked: Blocked) -> Turn:
    told = () if blocked.is_wait else (Note(TRAFFIC_FAILED, blocked.text, warning=True),)
    retry = Retry(Why.TRAFFIC_PENDING, blocked.text, _later(given, status, blocked.text))
    return waits(given, retry, status, told)


def _later(given: Pass, status: RolloutStatus, text: str) -> datetime:
    """Nothing wakes a rollout that waits for a route or an endpoint."""
    kind = conditions.condition_type(status)
    since = conditions.said_since(status, kind) if conditions.message_of(status, kind) == text else None
    lasted = timedelta(0) if since is None else given.now - since
    return given.now + min(LATE, max(SOON, lasted * _SLOWER))
