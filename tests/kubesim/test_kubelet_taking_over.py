"""A kubelet that comes to pods and nodes that were there before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kubeloop.client import Client
from kubesim.cluster import Cluster
from kubesim.kinds.registry import NODES, PODS
from kubesim.kubelet import Kubelet
from kubesim.pods.behaviour import READY_AFTER
from kubesim.time import run

NODE = {"metadata": {"name": "worker"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "10"}}}


@asynccontextmanager
async def kubelet(cluster: Cluster, **settings: Any) -> AsyncIterator[None]:
    task = asyncio.create_task(Kubelet(Client(cluster.transport()), **settings).run())
    try:
        yield
        assert not task.done(), task.exception()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def make(cluster: Cluster, **annotations: str) -> None:
    metadata = {"name": "pod", "annotations": annotations}
    tree = {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    cluster.verbs.create(PODS, "default", tree, user="tester")


@pytest.mark.parametrize("ready_after", [1.0, 1000.0])
def test_a_ready_pod_stays_ready_when_a_kubelet_is_started_anew(ready_after: float) -> None:
    """However long this kubelet would have taken."""

    async def scenario() -> None:
        cluster = Cluster()
        async with kubelet(cluster, ready_after=1.0):
            make(cluster)
            await asyncio.sleep(3)
        before = cluster.store.revision
        async with kubelet(cluster, ready_after=ready_after):
            await asyncio.sleep(5000)
        assert cluster.store.revision == before

    run(scenario())


def test_the_time_of_a_starting_pod_counts_from_the_start_of_its_containers() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        make(cluster, **{READY_AFTER: "60s"})
        async with kubelet(cluster):
            await asyncio.sleep(40)
        async with kubelet(cluster):
            await asyncio.sleep(15)
            assert not is_ready(cluster)
            await asyncio.sleep(10)
            assert is_ready(cluster)

    run(scenario())


def is_ready(cluster: Cluster) -> bool:
    conditions = cluster.get(PODS, "default", "pod")["status"]["conditions"]
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def test_nodes_that_are_named_are_taken_over_as_they_are() -> None:
    async def scenario() -> None:
        cluster = Cluster()
        cluster.verbs.create(NODES, "", NODE, user="tester")
        # The taint of a new node, which its own kubelet would take away.
        cluster.verbs.update(NODES, "", "worker", cluster.get(NODES, "", "worker") | {"spec": {}}, user="tester")
        before = cluster.get(NODES, "", "worker")
        async with kubelet(cluster, nodes=["worker"]):
            make(cluster)
            await asyncio.sleep(3)
        assert cluster.get(PODS, "default", "pod")["spec"]["nodeName"] == "worker"
        assert is_ready(cluster)
        assert cluster.verbs.list(NODES) == [before]

    run(scenario())
