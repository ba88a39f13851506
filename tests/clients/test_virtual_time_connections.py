"""kopf and the official client for asyncio, which bring connections of their own, live twelve hours in virtual time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import kopf
import pytest
from kubernetes.aio import client as aio_client
from kubernetes.aio import config as aio_config
from kubernetes.aio import watch as aio_watch
from kubernetes.aio.client.exceptions import ApiException

from kubeloop import clock, request
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubesim import VirtualCluster
from kubesim.connections import KUBECONFIG
from tests.clients.objects import a_pod

HOUR = 3600.0
CARD = {"metadata": {"name": "card", "labels": {"greet": "world"}}}
GREETED: dict[str, Any] = {"labels": {"greet": kopf.PRESENT}}


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As users of an operator have one."""
    file = tmp_path / "kubeconfig"
    file.write_text(json.dumps(KUBECONFIG))
    monkeypatch.setenv("KUBECONFIG", str(file))


def an_operator(done: list[str]) -> kopf.OperatorRegistry:
    registry = kopf.OperatorRegistry()
    kopf.on.login(registry=registry)(kopf.login_with_kubeconfig)

    @kopf.on.create("v1", "configmaps", registry=registry, **GREETED)
    def greet(labels: kopf.Labels, patch: kopf.Patch, **_: Any) -> None:
        patch.setdefault("data", {})["greeting"] = f"Hello, {labels['greet']}!"

    @kopf.timer("v1", "configmaps", registry=registry, interval=HOUR, **GREETED)
    async def count(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
        hours = int(body.get("data", {}).get("hours", "0")) + 1
        patch.setdefault("data", {})["hours"] = str(hours)

    @kopf.on.delete("v1", "configmaps", registry=registry, **GREETED)
    async def farewell(**_: Any) -> None:
        await asyncio.sleep(2 * HOUR)
        done.append("farewell")

    return registry


def operating(done: list[str]) -> Coroutine[Any, Any, None]:
    settings = kopf.OperatorSettings()
    # Otherwise a process whose operator was cancelled is killed ten minutes later, which is at once.
    settings.process.ultimate_exiting_timeout = None
    return kopf.operator(registry=an_operator(done), settings=settings, standalone=True, clusterwide=True)


async def until_gone(world: VirtualCluster) -> float:
    async def is_gone() -> bool:
        return await world.get(CONFIGMAPS, "default", "card") is None

    return await world.until(is_gone, within=24 * HOUR)


@pytest.mark.usefixtures("kubeconfig")
def test_an_operator_on_kopf_lives_twelve_hours_and_a_restart() -> None:
    done: list[str] = []

    async def scenario(world: VirtualCluster) -> tuple[dict[str, str], list[str], float]:
        async with world.served():
            async with world.beside(operating(done)):
                await world.create(CONFIGMAPS, "default", CARD)
                await asyncio.sleep(12.5 * HOUR)
            card = await world.get(CONFIGMAPS, "default", "card")
            assert card is not None
            await world.client.call(request.delete(Ref(CONFIGMAPS, "default", "card")))
            await asyncio.sleep(HOUR)
            assert not done
            async with world.beside(operating(done)):
                took = await until_gone(world)
            return card["data"], card["metadata"]["finalizers"], took

    data, finalizers, took = VirtualCluster().play(scenario)

    assert data == {"greeting": "Hello, world!", "hours": "13"}
    assert finalizers == ["kopf.zalando.org/KopfFinalizerMarker"]
    assert done == ["farewell"]
    assert took == pytest.approx(2 * HOUR, abs=60)


def test_the_official_client_for_asyncio_lives_twelve_hours() -> None:
    async def scenario(world: VirtualCluster) -> float:
        settings = aio_client.Configuration()
        await aio_config.load_kube_config_from_dict(KUBECONFIG, client_configuration=settings)
        async with world.served(), aio_client.ApiClient(settings) as api, aio_watch.Watch() as opened:
            core = aio_client.CoreV1Api(api)
            with pytest.raises(ApiException, match="not found"):
                await core.read_namespaced_pod("one", "default")
            await core.create_namespaced_pod("default", a_pod("one"))
            await asyncio.sleep(12 * HOUR)
            async for event in opened.stream(core.list_namespaced_pod, "default"):
                assert event["object"].status.phase == "Running"
                return clock.monotonic()
        raise AssertionError("a watch tells first what is there")

    assert VirtualCluster().play(scenario) == pytest.approx(12 * HOUR, abs=5)
