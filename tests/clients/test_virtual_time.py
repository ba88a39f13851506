"""Operators on lightkube, which takes a transport, and on kr8s, which takes none, live twelve hours in virtual time."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any

import httpx
import httpx2
import kr8s
import kr8s.asyncio
import pytest
from kr8s.asyncio.objects import Deployment as Kr8sDeployment
from kr8s.asyncio.objects import Pod as Kr8sPod
from lightkube import ApiError, AsyncClient
from lightkube.config.kubeconfig import KubeConfig
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import Pod
from lightkube.types import OnErrorAction, OnErrorResult

from kubeloop import clock
from kubeloop.request import Transport
from kubesim import VirtualCluster
from kubesim.faults import Faulty
from kubesim.httpx_transport import KUBECONFIG, async_transport, every_client

HOUR = 3600.0
BEDTIME = "example.test/bedtime"
"""Hours after its creation at which a Deployment goes to sleep."""
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "example.test/web:1.0"}]},
}
DEPLOYMENT: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default", "annotations": {BEDTIME: "12"}},
    "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": TEMPLATE},
}


def seconds_left(created: datetime, annotations: dict[str, str]) -> float:
    bedtime = created + timedelta(hours=float(annotations[BEDTIME]))
    return max((bedtime - clock.now()).total_seconds(), 0.0)


async def lightkube_operator(client: AsyncClient) -> None:
    """Puts each Deployment to sleep when its time has come.

    The server ends a watch within the hour; the client opens the next by itself, also after a failure.
    """

    def again(_error: Exception, _times: int) -> OnErrorResult:
        return OnErrorResult(OnErrorAction.RETRY, sleep=1)

    async for event, found in client.watch(Deployment, namespace="default", on_error=again):
        if event != "DELETED" and found.spec.replicas:
            await asyncio.sleep(seconds_left(found.metadata.creationTimestamp, found.metadata.annotations))
            await client.patch(Deployment, found.metadata.name, {"spec": {"replicas": 0}}, namespace="default")


def lightkube_on(transport: Transport) -> AsyncClient:
    return AsyncClient(KubeConfig.from_dict(KUBECONFIG), transport=async_transport(httpx2, transport))


def test_an_operator_on_lightkube_waits_twelve_hours() -> None:
    async def scenario(world: VirtualCluster) -> tuple[list[str], float]:
        client = lightkube_on(world.cluster.transport())
        async with world.beside(lightkube_operator(lightkube_on(world.cluster.transport()))):
            await client.create(Deployment.from_dict(DEPLOYMENT))
            await client.wait(Deployment, "web", for_conditions=["Available"], namespace="default")
            ready = [pod.status.phase async for pod in client.list(Pod, labels={"app": "web"}, namespace="default")]
            async for event, _pod in client.watch(Pod, namespace="default"):
                if event == "DELETED":
                    return ready, clock.monotonic()
        raise AssertionError("a watch goes on until it is left")

    phases, seconds = VirtualCluster().play(scenario)

    assert phases == ["Running"] * 3
    assert seconds == pytest.approx(12 * HOUR, abs=60)


def test_lightkube_sees_refusals_and_faults_as_its_own_errors() -> None:
    async def scenario(world: VirtualCluster) -> None:
        client = lightkube_on(Faulty(world.cluster.transport(), ["create pods #1: 503", "create pods #2: drop"]))
        pod = Pod.from_dict({"metadata": {"name": "one", "namespace": "default"}, "spec": TEMPLATE["spec"]})
        with pytest.raises(ApiError) as refused:
            await client.create(pod)
        assert refused.value.status.code == 503
        with pytest.raises(httpx2.ReadError):
            await client.create(pod)
        await client.create(pod)
        with pytest.raises(ApiError, match='pods "one" already exists'):
            await client.create(pod)
        await client.wait(Pod, "one", for_conditions=["Ready"], namespace="default")
        log = [line async for line in client.log("one", namespace="default", newlines=False)]
        assert log == ["container web of image example.test/web:1.0 started", "ready"]

    VirtualCluster().play(scenario)


async def kr8s_operator(api: kr8s.asyncio.Api) -> None:
    """The same; kr8s leaves it to its users to watch again."""
    while True:
        async for event, found in api.watch("deployments", namespace="default"):
            if event != "DELETED" and found.spec.replicas:
                created = datetime.fromisoformat(found.metadata.creationTimestamp)
                await asyncio.sleep(seconds_left(created, found.annotations))
                await found.patch({"spec": {"replicas": 0}})


@pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning")
def test_an_operator_on_kr8s_waits_twelve_hours() -> None:
    async def scenario(world: VirtualCluster) -> tuple[list[str], float]:
        with every_client(httpx, world.cluster.transport()):
            api = await kr8s.asyncio.api(kubeconfig=KUBECONFIG)
            async with world.beside(kr8s_operator(api)):
                deployment = await Kr8sDeployment(DEPLOYMENT, api=api)
                await deployment.create()
                await deployment.wait("condition=Available")
                ready = [pod.status.phase async for pod in api.get("pods", label_selector={"app": "web"})]
                while True:
                    async for event, _pod in api.watch("pods"):
                        if event == "DELETED":
                            return ready, clock.monotonic()

    phases, seconds = VirtualCluster().play(scenario)

    assert phases == ["Running"] * 3
    assert seconds == pytest.approx(12 * HOUR, abs=60)


@pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning")
def test_kr8s_sees_refusals_and_faults_as_its_own_errors() -> None:
    async def scenario(world: VirtualCluster) -> None:
        wire = Faulty(world.cluster.transport(), ["create pods #1: 503", "create pods #2: drop"])
        with every_client(httpx, wire):
            api = await kr8s.asyncio.api(kubeconfig=KUBECONFIG)
            pod = await Kr8sPod({"metadata": {"name": "one"}, "spec": TEMPLATE["spec"]}, api=api)
            with pytest.raises(kr8s.ServerError):
                await pod.create()
            with pytest.raises(httpx.ReadError):
                await pod.create()
            assert not await pod.exists()
            await pod.create()
            with pytest.raises(kr8s.ServerError, match='pods "one" already exists'):
                await pod.create()
            await pod.wait("condition=Ready")
            log = [line async for line in pod.logs()]
            assert log == ["container web of image example.test/web:1.0 started", "ready"]
            await pod.delete()
            await pod.wait("delete")
            assert not await pod.exists()

    VirtualCluster().play(scenario)
