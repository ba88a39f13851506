"""Addresses of pods, which decide whether controllers of a real control plane may name them as endpoints."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop.client import Client
from kubesim.auth.rbac import insider
from kubesim.cluster import Cluster
from kubesim.kinds.registry import PODS
from kubesim.kubelet import Kubelet
from kubesim.time import run


@pytest.mark.parametrize(
    ("network", "expected"),
    [(None, ["127.2.1.1", "127.2.1.2"]), (10, ["10.2.1.1", "10.2.1.2"])],
    ids=["the loopback interface, where they can be served", "a network of which nobody knows"],
)
def test_pods_get_addresses_of_the_network(network: int | None, expected: list[str]) -> None:
    async def addresses() -> list[str]:
        cluster = Cluster()
        for name in ("one", "two"):
            tree = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            cluster.verbs.create(PODS, "default", tree, user="tester")
        client = Client(cluster.transport(insider("kubelet")))
        kubelet = Kubelet(client) if network is None else Kubelet(client, network=network)
        task = asyncio.create_task(kubelet.run())
        await asyncio.sleep(10)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return sorted(pod["status"]["podIP"] for pod in cluster.verbs.list(PODS, "default"))

    found = run(addresses())

    assert found == expected
