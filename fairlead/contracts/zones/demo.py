"""Zones to look at: a rollout, and two nodes that are drained at once; and how `fairlead up` serves zones."""

from __future__ import annotations

import msgspec

from fairlead.contracts.zones.configuration_kinds import ZPDBS
from fairlead.contracts.zones.drain import Drainer
from fairlead.contracts.zones.install import access
from fairlead.contracts.zones.install.values import Values
from fairlead.contracts.zones.kinds import GROUP_LABEL, MAX_UNAVAILABLE, NAME_LABEL
from fairlead.contracts.zones.settings import Settings
from fairlead.engine.demo import NAMESPACE, Demo, Hosted, Tell, WorstSeen, create_namespace
from kubeloop import request
from kubeloop.client import Client
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Ref
from kubesim.kubelet.nodes import ZONE_LABEL
from kubesim.kubelet.nodes import ZONES as NODE_ZONES

GROUP = "ingester"
ZONES = tuple(f"{GROUP}-zone-{letter}" for letter in "abc")
PODS_PER_ZONE = 4
DRAINED = ("sim-node-0", "sim-node-1")
"""One of zone a, one of zone b."""


async def _create_zones(client: Client) -> None:
    await create_namespace(client)
    for name in ZONES:
        await client.call(request.create(STATEFULSETS, NAMESPACE, msgspec.json.encode(_zone(name))))


async def _create_guarded_zones(client: Client) -> None:
    """Zones whose pods are on nodes of that zone, and a budget for evictions."""
    await create_namespace(client)
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


def _zones_summary(worst: WorstSeen) -> str:
    stands = worst.last.stands if worst.last is not None else None
    done = f"{stands.done} of {stands.total} {stands.unit}" if stands is not None else "nothing"
    return (
        f"{done} are new and ready; at the worst moment {worst.cells_out} of them were out,"
        f" in {worst.lanes_out} zone{'s' * (worst.lanes_out != 1)}."
    )


async def _drain_nodes(client: Client, tell: Tell) -> None:
    """Of two zones at the same time, which nobody should do by hand."""
    drainer = Drainer(client, tell)
    await drainer.drain(DRAINED, NAMESPACE)
    await drainer.uncordon(DRAINED)
    tell(f"{drainer.evicted} pods were evicted, {drainer.refused} of them after their eviction was refused at first")


def _drain_summary(worst: WorstSeen) -> str:
    zones = f"{worst.lanes_out} zone{'s' * (worst.lanes_out != 1)}"
    out = f"{worst.cells_out} pod{'s' * (worst.cells_out != 1)}"
    return f"both nodes were drained; at the worst moment {out} of {zones} was out."


def _installed(namespace: str) -> Values:
    return Values(namespace=namespace, webhooks=True)


ROLLOUT = Demo(
    NAMESPACE,
    GROUP,
    f"Three zones of {PODS_PER_ZONE} pods get a new image; two pods of one zone may be out at once.",
    _create_zones,
    _change_zones,
    _zones_summary,
)
DRAIN = Demo(
    NAMESPACE,
    GROUP,
    f"Nodes of two zones are drained at once; a budget lets one of {PODS_PER_ZONE} pods be out, of one zone only.",
    _create_guarded_zones,
    _drain_nodes,
    _drain_summary,
    tries=("kubectl drain sim-node-2",),
)
HOSTED = Hosted(
    settings=Settings(),
    webhooks=lambda namespace: access.webhooks(_installed(namespace)),
    host=lambda namespace: _installed(namespace).host,
)
