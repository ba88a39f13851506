"""The nodes of the kubelet: what they say of themselves, and how they are registered."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import msgspec

from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import AlreadyExists, ServerError, Throttled, TransportError
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, create, patch
from kubesim.discovery.groups import RELEASE
from kubesim.pods.scheduling import Node

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
ZONE_LABEL = "topology.kubernetes.io/zone"
ZONES = ("zone-a", "zone-b", "zone-c")
"""Where the nodes are, in turn."""
ROOM = {"cpu": "64", "memory": "256Gi", "pods": "10k"}
"""Of each node."""
NOT_READY = "node.kubernetes.io/not-ready"
RETRY_NODES = 1.0
"""Seconds between attempts to register a node."""


async def register(client: Client, name: str, zone: str) -> None:
    """The node is there afterwards, and ready for pods."""
    body = msgspec.json.encode(_node(name, zone, clock.seconds(clock.now())))
    while True:
        try:
            with suppress(AlreadyExists):
                await client.call(create(NODES, "", body))
            await _open_up(client, Ref(NODES, "", name))
        except (TransportError, ServerError, Throttled):
            await asyncio.sleep(RETRY_NODES)
        else:
            return


async def _open_up(client: Client, ref: Ref) -> None:
    """Takes the taint away that a server gives to new nodes until they are ready."""
    taints = (await client.read(ref, Node)).spec.taints
    left = [msgspec.to_builtins(each) for each in taints if each.key != NOT_READY]
    if len(left) != len(taints):
        await client.call(patch(ref, MERGE_PATCH, msgspec.json.encode({"spec": {"taints": left or None}})))


_SYSTEM = {
    "kubeletVersion": f"{RELEASE}+fairlead",
    "kubeProxyVersion": "",
    "containerRuntimeVersion": "sim://1",
    "operatingSystem": "linux",
    "architecture": "amd64",
    "osImage": "simulated",
    "kernelVersion": "none",
    "machineID": "",
    "systemUUID": "",
    "bootID": "",
}


def _node(name: str, zone: str, now: str) -> dict[str, object]:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "simulated",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", ZONE_LABEL: zone}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {
            "capacity": ROOM,
            "allocatable": ROOM,
            "conditions": [ready],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}, {"type": "Hostname", "address": name}],
            "nodeInfo": _SYSTEM,
        },
    }
