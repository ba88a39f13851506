"""A cluster in a process of its own, for one test."""

from __future__ import annotations

import asyncio
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kubeloop.client import Client
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import load
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Resource
from kubesim.kinds.registry import NAMESPACES
from kubesim.served import NotServed, ServedCluster


def listed(cluster: ServedCluster, resource: Resource) -> list[str]:
    """UIDs by the kubeconfig."""

    async def uids() -> list[str]:
        client = Client(HttpTransport(load([cluster.kubeconfig])))
        try:
            return [each["metadata"]["uid"] for each in (await client.list(resource, dict)).items]
        finally:
            await client.close()

    return asyncio.run(uids())


def test_it_is_up_within_and_leaves_nothing() -> None:
    with ServedCluster() as cluster:
        config, url = cluster.kubeconfig, cluster.url
        assert cluster.environment["KUBECONFIG"] == str(config)
        assert url in config.read_text()
        assert listed(cluster, PODS) == []

    assert not config.parent.exists()
    with pytest.raises(RuntimeError, match="enter it first"):
        cluster.kubeconfig  # noqa: B018


def test_the_same_seed_gives_the_same_uids() -> None:
    def born(seed: int) -> list[str]:
        with ServedCluster(seed) as cluster:
            return listed(cluster, NAMESPACES)

    assert born(3) == born(3)
    assert born(3) != born(4)


def test_one_that_cannot_start_says_why() -> None:
    with (
        pytest.raises(NotServed, match="it must be a number above 0 and at most 100, not 1000"),
        ServedCluster(speed=1000),
    ):
        pass


def test_one_that_ends_before_its_time_is_a_failure() -> None:
    cluster = ServedCluster()

    def killed() -> None:
        with cluster:
            assert cluster._process is not None
            cluster._process.kill()

    with pytest.raises(NotServed, match="ended with code -9"):
        killed()


def test_it_does_not_outlive_a_test_process_that_is_killed() -> None:
    program = (
        "import time\n"
        "from kubesim import ServedCluster\n"
        "with ServedCluster() as cluster:\n"
        "    print(cluster._process.pid, cluster.kubeconfig, flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]) as tests:
        assert tests.stdout is not None
        pid, config = tests.stdout.readline().split()
        process = os.pidfd_open(int(pid))
        tests.send_signal(signal.SIGKILL)

    try:
        assert select.select([process], [], [], 30) == ([process], [], [])
    finally:
        os.close(process)
        shutil.rmtree(Path(config).parent)
