"""Finds what an installation of a part consists of, live, and removes it in an order that never locks the cluster.

Webhook configurations go first: one that is left without its operator refuses what it was to guard. Everything else
follows the Deployment; the kinds go last, because their objects, in all namespaces, go with them.
A Lease that is still held when its operator should be gone is that of another process, and stays. Those of the operator
are known by their labels or, where somebody else made them, by their name and by the pod that holds them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import timedelta

from msgspec import Struct, structs

from fairlead.cli.cluster_roles import BINDINGS, CLUSTER_ROLES, unlabelled
from fairlead.cli.deletion_marks import unmark
from fairlead.contracts import contract, contracts
from fairlead.core.times import parse_rfc3339
from fairlead.engine.contract import Contract
from fairlead.engine.letting_go import HeldDefinition, LeavingInstallation, LettingGo
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import KubeError, NotFound
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import LEASES, SECRETS, SERVICES
from kubeloop.objects.meta import Meta, Ref, Resource
from kubeloop.request import MERGE_PATCH, delete, patch

NAME_LABEL = "app.kubernetes.io/name"
_ADMISSION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"
_MONITORING = "monitoring.coreos.com"
_CERT_MANAGER = "cert-manager.io"

WEBHOOKS = (
    Resource(_ADMISSION, "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", namespaced=False),
    Resource(_ADMISSION, "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", namespaced=False),
)
INSIDE = (
    DEPLOYMENTS,
    Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    SERVICES,
    Resource("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
    Resource(_MONITORING, "v1", "servicemonitors", "ServiceMonitor"),
    Resource(_MONITORING, "v1", "podmonitors", "PodMonitor"),
    Resource(_MONITORING, "v1", "prometheusrules", "PrometheusRule"),
    Resource(_CERT_MANAGER, "v1", "certificates", "Certificate"),
    Resource(_CERT_MANAGER, "v1", "issuers", "Issuer"),
    Resource("", "v1", "configmaps", "ConfigMap"),
    SECRETS,
    LEASES,
    Resource(_RBAC, "v1", "rolebindings", "RoleBinding"),
    Resource(_RBAC, "v1", "roles", "Role"),
    Resource("", "v1", "serviceaccounts", "ServiceAccount"),
)
ROLES = (BINDINGS, CLUSTER_ROLES)
CUSTOM = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)


GIVEN_BACK_WITHIN = 40.0
"""Seconds in which an operator that was told to end gives its Lease back: it has thirty to end, and a few to go."""
RENEWED_WITHIN = 6.0
"""Seconds in which whoever holds a Lease renews it at least once."""
LOOK_EVERY = 1.0


class Item(Struct, frozen=True):
    """One object to remove."""

    ref: Ref
    manager: str = ""
    """Who says that it manages the object."""
    holds: int = 0
    """Objects, of all namespaces, that go with it."""

    def __str__(self) -> str:
        along = f" with {self.holds} object{'s' * (self.holds != 1)} of all namespaces" if self.holds else ""
        return f"{self.ref.resource.kind}/{self.ref.name}{along}"


class Ended(KubeError):
    """Somebody has ended the command; the first of what is left may be gone."""


class Removal(Struct, frozen=True):
    """How far a removal came; `error` says what stopped it."""

    removed: tuple[Item, ...]
    left: tuple[Item, ...]
    error: KubeError | None = None
    held: tuple[Item, ...] = ()
    """Leases that somebody holds; they stay."""


class _Wire(Struct, frozen=True):
    metadata: Meta


class _Holding(Struct, frozen=True, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None


class _Lease(Struct, frozen=True):
    metadata: Meta
    spec: _Holding = _Holding()


async def find(client: Client, part: str, namespace: str, *, kinds: bool) -> tuple[Item, ...]:
    """What is to go, in the order in which it is to go; `kinds` adds the CustomResourceDefinitions."""
    removed = contract(part)
    named, whose = f"{NAME_LABEL}={removed.chart}", f"{removed.installed_for}={namespace}"
    found: list[Item] = []
    for resource in WEBHOOKS:
        found += await _labelled(client, resource, "", whose)
    for resource in INSIDE:
        if not (removed.holds_data and resource == SECRETS):
            found += await _labelled(client, resource, namespace, named)
        if resource == LEASES:
            found += await _nameless(client, namespace, removed, [each.ref for each in found])
    # Earlier releases gave the Leases of other contracts the same labels.
    others = {(LEASES, each.lease) for each in contracts() if each.name != part}
    found = [item for item in found if (item.ref.resource, item.ref.name) not in others]
    for resource in ROLES:
        found += await _labelled(client, resource, "", f"{named},{whose}")
    deployed = [item.ref.name for item in found if item.ref.resource == DEPLOYMENTS]
    found += [
        _item(ref.resource, meta) for ref, meta in await unlabelled(client, namespace, deployed, removed.installed_for)
    ]
    if kinds:
        for definition in _definitions(removed):
            found += await _kind(client, *definition)
    return tuple(found)


async def leaving(
    client: Client, part: str, namespace: str, items: Sequence[Item] | None, *, union: bool
) -> LeavingInstallation:
    """The installation of the part with these objects; None: it stays, and only lets go of definitions."""
    gone = contract(part)
    own = frozenset(name for name, _ in _definitions(gone)) if gone.registers else frozenset()
    made = LeavingInstallation(
        namespace=namespace, services=None, own=own, attached=gone.letting_go is not None, union=union
    )
    if items is None:
        return made
    services = tuple(each.ref.name for each in items if each.ref.resource == SERVICES)
    there = (await client.list(SERVICES, _Wire, namespace=namespace)).items
    stay = frozenset(each.metadata.name for each in there) - {*services}
    return structs.replace(made, services=services, stay=stay)


async def held_definitions(client: Client, gone: LeavingInstallation) -> tuple[HeldDefinition, ...]:
    """Definitions that name a Service which is to go or is gone, or that the operator of the namespace has written."""
    found: list[HeldDefinition] = []
    if gone.services is None or gone.services or gone.own or gone.attached:
        for room in _letting_go():
            found += await room.find(client, gone)
    return tuple(found)


async def let_go(client: Client, gone: LeavingInstallation, held: Sequence[HeldDefinition]) -> None:
    for room in _letting_go() if held else ():
        await room.release(client, gone, held)


async def stop(client: Client, part: str, namespace: str) -> Removal:
    """Has no operator of the part run in the namespace: one that registers its kinds puts back what is its own."""
    stopped = contract(part)
    deployed = [*await _labelled(client, DEPLOYMENTS, namespace, f"{NAME_LABEL}={stopped.chart}")]
    for item in deployed:
        await client.call(patch(item.ref, MERGE_PATCH, b'{"spec":{"replicas":0}}'))
    lease = Ref(LEASES, namespace, stopped.lease)
    try:
        held = bool(stopped.lease) and await _stays_held(client, lease)
    except NotFound:
        held = False
    return Removal((), (), held=(Item(lease),) if held else ())


async def freed(client: Client, part: str) -> int:
    """Objects that lost what only an operator would have taken from them when they are deleted."""
    mark = contract(part).mark
    return 0 if mark is None else await unmark(client, mark)


def _letting_go() -> Iterator[LettingGo]:
    yield from (each.letting_go.get() for each in contracts() if each.letting_go is not None)


async def remove(client: Client, items: Sequence[Item]) -> Removal:
    """Removes one after the other and stops at the first that does not go: what comes later may need it gone."""
    held: list[Item] = []
    for number, item in enumerate(items):
        try:
            if item.ref.resource == LEASES and await _stays_held(client, item.ref):
                held.append(item)
            else:
                await client.call(delete(item.ref, propagation="Background"))
        except NotFound:
            continue
        except (KubeError, asyncio.CancelledError) as cause:
            error = cause if isinstance(cause, KubeError) else Ended("interrupted")
            removed = tuple(one for one in items[:number] if one not in held)
            return Removal(removed, tuple(items[number:]), error, tuple(held))
    return Removal(tuple(item for item in items if item not in held), (), held=tuple(held))


async def _stays_held(client: Client, ref: Ref) -> bool:
    """Whether somebody goes on to hold the Lease: its operator gets the time to end and to give it back.

    Its clock need not be that of this machine. So a Lease is nobody's when it was not renewed while it was looked at:
    for its own duration, or for a few renewals where its time seems to be over already.
    """
    begun = changed = clock.monotonic()
    last, is_renewed = (await client.read(ref, _Lease)).spec, False
    while last.holder_identity and last.renew_time is not None:
        now, duration = clock.monotonic(), float(last.lease_duration_seconds or 0)
        if now - changed >= (duration if is_renewed or not _is_over(last) else min(duration, RENEWED_WITHIN)):
            return False
        if now - begun >= GIVEN_BACK_WITHIN:
            return True
        await asyncio.sleep(LOOK_EVERY)
        found = (await client.read(ref, _Lease)).spec
        if found != last:
            last, changed, is_renewed = found, clock.monotonic(), True
    return False


def _is_over(holding: _Holding) -> bool:
    """By the clock of this machine."""
    try:
        renewed = parse_rfc3339(holding.renew_time or "")
    except ValueError:
        return True
    return clock.now() >= renewed + timedelta(seconds=holding.lease_duration_seconds or 0)


async def _labelled(client: Client, resource: Resource, namespace: str, labels: str) -> Iterator[Item]:
    try:
        listed = await client.list(resource, _Wire, namespace=namespace, labels=labels)
    except NotFound:  # a kind that this cluster does not have
        return iter(())
    return (_item(resource, one.metadata) for one in sorted(listed.items, key=lambda one: one.metadata.name))


async def _nameless(client: Client, namespace: str, removed: Contract, found: Sequence[Ref]) -> Iterator[Item]:
    """Leases that say nothing of whose they are, and that the operator holds or leads by."""
    pods = tuple(f"{ref.name}-" for ref in found if ref.resource == DEPLOYMENTS)
    listed = (await client.list(LEASES, _Lease, namespace=namespace)).items if pods else ()
    own = (
        each
        for each in sorted(listed, key=lambda one: one.metadata.name)
        if each.metadata.name == removed.lease or (each.spec.holder_identity or "").startswith(pods)
    )
    return (_item(LEASES, each.metadata) for each in own if NAME_LABEL not in each.metadata.labels)


async def _kind(client: Client, name: str, kind: Resource) -> list[Item]:
    try:
        definition = await client.read(Ref(CUSTOM, "", name), _Wire)
    except NotFound:
        return []
    try:
        objects = len((await client.list(kind, _Wire)).items)
    except NotFound:  # not served: not established yet, or another version
        objects = 0
    return [_item(CUSTOM, definition.metadata, objects)]


def _definitions(removed: Contract) -> Iterator[tuple[str, Resource]]:
    for definition in removed.kinds.get()() if removed.kinds is not None else ():
        spec = definition["spec"]
        names, version = spec["names"], spec["versions"][0]["name"]
        yield definition["metadata"]["name"], Resource(spec["group"], version, names["plural"], names["kind"])


def _item(resource: Resource, metadata: Meta, holds: int = 0) -> Item:
    ref = Ref(resource, metadata.namespace, metadata.name, metadata.uid)
    return Item(ref, metadata.labels.get("app.kubernetes.io/managed-by", ""), holds)
