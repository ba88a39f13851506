"""Empties nodes as `kubectl drain` does: cordons them, evicts their pods, asks again where an eviction is refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import NotFound, Throttled
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Meta, Ref, Resource
from kubeloop.request import JSON, MERGE_PATCH, Request

NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
ASK_AGAIN = 1.0
"""Seconds; kubectl takes five."""
LOOK_AGAIN = 0.1
_WHY = "denied the request: "


class _Named(Struct, frozen=True):
    metadata: Meta


class Drainer:
    """Drains nodes side by side, and tells every step."""

    def __init__(self, client: Client, tell: Callable[[str], None]) -> None:
        self._client = client
        self._tell = tell
        self.evicted = 0
        self.refused = 0
        """Pods whose eviction was refused at first."""

    async def drain(self, nodes: Sequence[str], namespace: str) -> None:
        """Returns when no pod of the namespace is left on any of them."""
        async with asyncio.TaskGroup() as tasks:
            for node in nodes:
                tasks.create_task(self._drain(node, namespace))

    async def uncordon(self, nodes: Sequence[str]) -> None:
        """They take pods again."""
        for node in nodes:
            await self._cordon(node, None)
        self._tell(f"{' and '.join(nodes)} are uncordoned")

    async def _drain(self, node: str, namespace: str) -> None:
        await self._cordon(node, True)
        listed = await self._client.list(PODS, _Named, namespace=namespace, fields=f"spec.nodeName={node}")
        count = len(listed.items)
        self._tell(f"{node} is cordoned; {count} pod{'s are' if count != 1 else ' is'} to be evicted")
        async with asyncio.TaskGroup() as tasks:
            for pod in listed.items:
                tasks.create_task(self._evict(node, pod.metadata))
        self._tell(f"{node} is drained")

    async def _cordon(self, node: str, unschedulable: bool | None) -> None:
        body = msgspec.json.encode({"spec": {"unschedulable": unschedulable}})
        await self._client.call(request.patch(Ref(NODES, "", node), MERGE_PATCH, body))

    async def _evict(self, node: str, pod: Meta) -> None:
        ref, told = Ref(PODS, pod.namespace, pod.name), ""
        while why := await self._refusal(ref):
            self.refused += not told
            if why != told:
                self._tell(f"{node}: {pod.name} stays for now: {why}")
            told = why
            await asyncio.sleep(ASK_AGAIN)
        self.evicted += 1
        self._tell(f"{node}: {pod.name} is evicted")
        await self._gone(ref, pod.uid)

    async def _refusal(self, ref: Ref) -> str:
        """Why the pod may not be evicted yet; empty when it is, or was gone before."""
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": ref.name, "namespace": ref.namespace},
        }
        body = msgspec.json.encode(eviction)
        asking = Request(
            "POST", request.path_to(ref, "eviction"), body=body, content_type=JSON, retry_when_throttled=False
        )
        try:
            await self._client.call(asking)
        except NotFound:
            return ""
        except Throttled as refused:
            return refused.message.rpartition(_WHY)[2]
        return ""

    async def _gone(self, ref: Ref, uid: str) -> None:
        """Another pod may have the name by then."""
        with suppress(NotFound):
            while (await self._client.read(ref, _Named)).metadata.uid == uid:  # noqa: ASYNC110  the cluster's fact
                await asyncio.sleep(LOOK_AGAIN)
