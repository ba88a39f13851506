"""Rollouts to look at: what `fairlead up --demo NAME` puts into the embedded cluster and what it then changes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from fairlead.api.apps import STATEFULSETS
from fairlead.api.core import NAMESPACES
from fairlead.api.meta import Ref
from fairlead.api.zones import GROUP_LABEL, MAX_UNAVAILABLE, NAME_LABEL
from fairlead.kube import request
from fairlead.kube.client import Client

Step = Callable[[Client], Awaitable[None]]

NAMESPACE = "demo"
GROUP = "ingester"
ZONES = tuple(f"{GROUP}-zone-{letter}" for letter in "abc")
PODS_PER_ZONE = 4


class Demo(msgspec.Struct, frozen=True):
    namespace: str
    rollout: str
    story: str
    create: Step
    change: Step


async def _create_zones(client: Client) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await client.call(request.create(NAMESPACES, "", msgspec.json.encode(namespace)))
    for name in ZONES:
        await client.call(request.create(STATEFULSETS, NAMESPACE, msgspec.json.encode(_zone(name))))


def _zone(name: str) -> dict[str, object]:
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
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


async def _change_zones(client: Client) -> None:
    container = {"name": GROUP, "image": "example.test/ingester:2.0"}
    body = msgspec.json.encode({"spec": {"template": {"spec": {"containers": [container]}}}})
    for name in ZONES:
        await client.call(request.patch(Ref(STATEFULSETS, NAMESPACE, name), request.STRATEGIC_MERGE_PATCH, body))


DEMOS = {
    "zones": Demo(
        NAMESPACE,
        GROUP,
        f"Three zones of {PODS_PER_ZONE} pods get a new image; two pods of one zone may be out at once.",
        _create_zones,
        _change_zones,
    )
}
