"""Facts for the environment contract: which objects a decision may need, and which rollouts a change concerns.

It over-collects by index and chooses nothing. What belongs to an environment carries its resource id as a label.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from msgspec import Struct

from fairlead.contracts.environments.decide.seen import Applied, C, Children, CompanionSnapshot, Snapshot
from fairlead.contracts.environments.kinds import (
    BALANCERS,
    CONSOLES,
    MATERIALIZES,
    NIL,
    RESOURCE_ID,
    Balancer,
    Child,
    Console,
    GenerationSet,
    Materialize,
)
from fairlead.contracts.environments.settings import Settings
from fairlead.core.ask import Answers
from fairlead.core.uuids import parse
from fairlead.engine.controller import RolloutKey
from fairlead.engine.decide.guard import GuardedObject, subject_of
from kubeloop.objects.apps import Deployment
from kubeloop.objects.meta import Resource
from kubeloop.store import Named, Readable

_ID, _TWINS = "resource id", "environment id"
Companion = Balancer | Console


def _in(namespace: str, value: str) -> str:
    return f"{namespace}/{value}"


def _by_label(item: Named) -> Iterator[str]:
    if (found := item.metadata.labels.get(RESOURCE_ID)) is not None:
        yield _in(item.metadata.namespace, found)


def _by_status(item: Materialize | Companion) -> Iterator[str]:
    if item.status is not None:
        yield _in(item.metadata.namespace, item.status.resource_id)


def _by_environment_id(item: Materialize) -> Iterator[str]:
    found = parse(item.spec.get("environmentId"))
    if found is not None and found != NIL:
        yield found


ENVIRONMENT_INDEXES = {_ID: _by_status, _TWINS: _by_environment_id}
COMPANION_INDEXES = {_ID: _by_status}
CHILD_INDEXES = {_ID: _by_label}


class Stores(Struct, frozen=True):
    """All that is cached, with the indexes above."""

    environments: Readable[Materialize]
    balancers: Readable[Balancer]
    consoles: Readable[Console]
    statefulsets: Readable[GenerationSet]
    deployments: Readable[Deployment]
    children: Mapping[Resource, Readable[Child]]
    """By kind; certificates are among them where they are served."""
    has_certificates: bool = True
    may_list_certificates: bool = True
    may_be_old: bool = False
    """Whether environments may be stored in another version than the storage version."""


def snapshot(
    key: RolloutKey,
    stores: Stores,
    settings: Settings,
    answers: Answers,
    applied: Applied | None,
    since: Mapping[str, datetime] = {},
) -> Snapshot | None:
    """Everything a decision about this environment may read; None when there is none of this name."""
    environment = stores.environments.get(*key)
    if environment is None:
        return None
    place = next(_by_status(environment), "")
    return Snapshot(
        environment=environment,
        twins=tuple(twins_of(environment, stores.environments)),
        statefulsets=stores.statefulsets.by(_ID, place),
        children=_children(place, stores),
        balancer=stores.balancers.get(*key),
        console=stores.consoles.get(*key),
        has_certificates=stores.has_certificates,
        may_list_certificates=stores.may_list_certificates,
        applied=applied,
        settings=settings,
        answers=answers,
        since=since,
        may_be_old=stores.may_be_old,
    )


def companion_snapshot(
    own: C | None, app: str, stores: Stores, settings: Settings, answers: Answers, applied: Applied | None
) -> CompanionSnapshot[C] | None:
    """Everything a decision about this Balancer or Console, which runs `app`, may read; None when there is none."""
    if own is None:
        return None
    return CompanionSnapshot(
        own=own,
        deployment=_deployment(own, app, stores),
        children=_children(next(_by_status(own), ""), stores),
        has_certificates=stores.has_certificates,
        may_list_certificates=stores.may_list_certificates,
        applied=applied,
        settings=settings,
        answers=answers,
    )


def _deployment(companion: Companion, app: str, stores: Stores) -> Deployment | None:
    if companion.status is None:
        return None
    return stores.deployments.get(companion.metadata.namespace, f"mz{companion.status.resource_id}-{app}")


def _children(place: str, stores: Stores) -> Children:
    return {
        (resource, child.metadata.name): child
        for resource, store in stores.children.items()
        for child in store.by(_ID, place)
    }


def twins_of(environment: Materialize, environments: Readable[Materialize]) -> Iterator[Materialize]:
    """Other environments, anywhere, with the same environment id."""
    for value in _by_environment_id(environment):
        for each in environments.by(_TWINS, value):
            if each.metadata.uid != environment.metadata.uid:
                yield each


def subject(seen: Snapshot) -> GuardedObject:
    meta = seen.environment.metadata
    made = (*(each.metadata for each in seen.statefulsets), *(each.metadata for each in seen.children.values()))
    return subject_of(MATERIALIZES, meta, meta.annotations, made, seen.answers)


def companion_subject(seen: CompanionSnapshot[Balancer] | CompanionSnapshot[Console]) -> GuardedObject:
    meta = seen.own.metadata
    deployment = () if seen.deployment is None else (seen.deployment.metadata,)
    made = (*deployment, *(each.metadata for each in seen.children.values()))
    resource = BALANCERS if isinstance(seen.own, Balancer) else CONSOLES
    # It is made for an environment, which has the stamp.
    return subject_of(resource, meta, meta.annotations, made, seen.answers, may_be_stamped=False)


def versions(seen: Snapshot) -> Iterator[str]:
    """Names every object of the Snapshot, and the version in which it shows it."""
    shown: tuple[Named | None, ...] = (
        seen.environment,
        *seen.twins,
        *seen.statefulsets,
        *seen.children.values(),
        seen.balancer,
        seen.console,
    )
    return _versions(shown)


def observed(seen: Snapshot) -> dict[str, int]:
    """The generation of the environment."""
    return generation_of(seen.environment)


def generation_of(environment: Materialize) -> dict[str, int]:
    return {f"materialize/{environment.metadata.name}": environment.metadata.generation}


def companion_versions(seen: CompanionSnapshot[Balancer] | CompanionSnapshot[Console]) -> Iterator[str]:
    return _versions((seen.own, seen.deployment, *seen.children.values()))


def _versions(shown: Iterable[Named | None]) -> Iterator[str]:
    return (f"{item.metadata.uid}@{item.metadata.resource_version}" for item in shown if item is not None)


def key_of(item: Named) -> RolloutKey:
    return RolloutKey((item.metadata.namespace, item.metadata.name))


def owners_of(child: Named, store: Readable[Materialize] | Readable[Balancer] | Readable[Console]) -> list[RolloutKey]:
    """The environments, balancers or consoles with the resource id of this object."""
    return [key_of(owner) for place in _by_label(child) for owner in store.by(_ID, place)]
