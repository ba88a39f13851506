"""Rollouts to look at: what `fairlead up --demo NAME` puts into the embedded cluster and what it then changes."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from collections.abc import Awaitable, Callable

import msgspec

from fairlead.cli.embedded.drain import Drainer
from fairlead.cli.views.worst_seen import Witness
from fairlead.contracts.environments.kinds import MATERIALIZES, NIL
from fairlead.contracts.environments.stand_in.rules import CATCH_UP, PROMOTE_TAKES
from fairlead.contracts.zones.configuration_kinds import ZPDBS
from fairlead.contracts.zones.kinds import GROUP_LABEL, MAX_UNAVAILABLE, NAME_LABEL
from kubeloop import request
from kubeloop.client import Client
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import NAMESPACES, SECRETS
from kubeloop.objects.meta import Ref
from kubesim.kubelet.nodes import ZONE_LABEL
from kubesim.kubelet.nodes import ZONES as NODE_ZONES

Step = Callable[[Client], Awaitable[None]]
Tell = Callable[[str], None]

NAMESPACE = "demo"
GROUP = "ingester"
ZONES = tuple(f"{GROUP}-zone-{letter}" for letter in "abc")
PODS_PER_ZONE = 4
DRAINED = ("sim-node-0", "sim-node-1")
"""One of zone a, one of zone b."""

ENVIRONMENT = "shop"
BACKEND = "shop-backend"
IMAGE = "materialize/environmentd:v26.{minor}.0"
SLOW = {CATCH_UP: "5s", PROMOTE_TAKES: "2s"}


class Demo(msgspec.Struct, frozen=True):
    namespace: str
    rollout: str
    story: str
    create: Step
    change: Callable[[Client, Tell], Awaitable[None]]
    """What is looked at; it may tell what it does."""
    summary: Callable[[Witness], str]
    tries: tuple[str, ...] = ()
    """Commands to try afterwards, besides those that look at the rollout."""


async def _create_namespace(client: Client) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await client.call(request.create(NAMESPACES, "", msgspec.json.encode(namespace)))


async def _create_zones(client: Client) -> None:
    await _create_namespace(client)
    for name in ZONES:
        await client.call(request.create(STATEFULSETS, NAMESPACE, msgspec.json.encode(_zone(name))))


async def _create_guarded_zones(client: Client) -> None:
    """Zones whose pods are on nodes of that zone, and a budget for evictions."""
    await _create_namespace(client)
    for name, zone in zip(ZONES, NODE_ZONES, strict=True):
        pinned = _zone(name, nodeSelector={ZONE_LABEL: zone})
        await client.call(request.create(STATEFULSETS, NAMESPACE, msgspec.json.encode(pinned)))
    budget = {
        "apiVersion": ZPDBS.api_version,
        "kind": ZPDBS.kind,
        "metadata": {"name": GROUP},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {GROUP_LABEL: GROUP}}},
    }
    await client.call(request.create(ZPDBS, NAMESPACE, msgspec.json.encode(budget)))


def _zone(name: str, **placing: object) -> dict[str, object]:
    labels = {NAME_LABEL: name, GROUP_LABEL: GROUP}
    container = {"name": GROUP, "image": "example.test/ingester:1.0"}
    return {
        "apiVersion": STATEFULSETS.api_version,
        "kind": STATEFULSETS.kind,
        "metadata": {"name": name, "labels": labels, "annotations": {MAX_UNAVAILABLE: "2"}},
        "spec": {
            "replicas": PODS_PER_ZONE,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container], **placing}},
        },
    }


async def _change_zones(client: Client, _: Tell) -> None:
    container = {"name": GROUP, "image": "example.test/ingester:2.0"}
    body = msgspec.json.encode({"spec": {"template": {"spec": {"containers": [container]}}}})
    for name in ZONES:
        await client.call(request.patch(Ref(STATEFULSETS, NAMESPACE, name), request.STRATEGIC_MERGE_PATCH, body))


def _zones_summary(witness: Witness) -> str:
    stands = witness.last.stands if witness.last is not None else None
    done = f"{stands.done} of {stands.total} {stands.unit}" if stands is not None else "nothing"
    return (
        f"{done} are new and ready; at the worst moment {witness.cells_out} of them were out,"
        f" in {witness.lanes_out} zone{'s' * (witness.lanes_out != 1)}."
    )


async def _drain_nodes(client: Client, tell: Tell) -> None:
    """Of two zones at the same time, which nobody should do by hand."""
    drainer = Drainer(client, tell)
    await drainer.drain(DRAINED, NAMESPACE)
    await drainer.uncordon(DRAINED)
    tell(f"{drainer.evicted} pods were evicted, {drainer.refused} of them after their eviction was refused at first")


def _drain_summary(witness: Witness) -> str:
    zones = f"{witness.lanes_out} zone{'s' * (witness.lanes_out != 1)}"
    out = f"{witness.cells_out} pod{'s' * (witness.cells_out != 1)}"
    return f"both nodes were drained; at the worst moment {out} of {zones} was out."


async def _create_environment(client: Client) -> None:
    """One whose first generation is up at once; what comes after it takes its time."""
    await _create_namespace(client)
    values = {"metadata_backend_url": "postgres://demo", "persist_backend_url": "s3://demo", "license_key": _license()}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": BACKEND},
        "data": {key: b64encode(value.encode()).decode() for key, value in values.items()},
    }
    await client.call(request.create(SECRETS, NAMESPACE, msgspec.json.encode(secret)))
    environment = {
        "apiVersion": MATERIALIZES.api_version,
        "kind": MATERIALIZES.kind,
        "metadata": {"name": ENVIRONMENT},
        "spec": {
            "environmentdImageRef": IMAGE.format(minor=0),
            "backendSecretName": BACKEND,
            "balancerdReplicas": 1,
            "consoleReplicas": 1,
        },
    }
    await client.call(request.create(MATERIALIZES, NAMESPACE, msgspec.json.encode(environment)))


def _license() -> str:
    """A key for any environment that nobody has signed: the demo's operator knows no authority and believes it."""
    claims = {
        "iss": "Materialize, Inc.",
        "sub": "demo",
        "aud": NIL,
        "jti": "demo",
        "version": 1,
        "nbf": 1_700_000_000,
        "iat": 1_700_000_000,
        "exp": 4_000_000_000,
    }
    parts = (msgspec.json.encode({"typ": "JWT", "alg": "PS256"}), msgspec.json.encode(claims), b"demo")
    return ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


async def _change_environment(client: Client, _: Tell) -> None:
    body = msgspec.json.encode({"spec": {"environmentdImageRef": IMAGE.format(minor=1), "podAnnotations": SLOW}})
    await client.call(request.patch(Ref(MATERIALIZES, NAMESPACE, ENVIRONMENT), request.MERGE_PATCH, body))


def _environment_summary(witness: Witness) -> str:
    lanes = witness.last.stands.lanes if witness.last is not None else ()
    serving = lanes[0].name if lanes else "no generation"
    ready = "one was ready at every moment" if witness.fewest_ready else "at some moment none was ready"
    return f"{serving} serves; {witness.most_lanes} generations were there at most, and {ready}."


DEMOS = {
    "zones": Demo(
        NAMESPACE,
        GROUP,
        f"Three zones of {PODS_PER_ZONE} pods get a new image; two pods of one zone may be out at once.",
        _create_zones,
        _change_zones,
        _zones_summary,
    ),
    "drain": Demo(
        NAMESPACE,
        GROUP,
        f"Nodes of two zones are drained at once; a budget lets one of {PODS_PER_ZONE} pods be out, of one zone only.",
        _create_guarded_zones,
        _drain_nodes,
        _drain_summary,
        tries=("kubectl drain sim-node-2",),
    ),
    "environments": Demo(
        NAMESPACE,
        ENVIRONMENT,
        "An environment gets a new image: a second generation starts, catches up and takes over.",
        _create_environment,
        _change_environment,
        _environment_summary,
    ),
}
