"""Siesta tested in virtual time: twelve hours pass in milliseconds, on a cluster with controllers and nodes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from examples.siesta.operator import AFTER, operate
from kubeloop.client import Client
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import PODS
from kubesim import VirtualCluster
from kubesim.faults import Faulty

HOUR = 3600.0


def test_a_deployment_sleeps_after_twelve_hours(virtual_cluster: VirtualCluster) -> None:
    async def scenario(world: VirtualCluster) -> float:
        async with world.beside(operate(Client(world.cluster.transport()))):
            await deployed(world, after="12h")
            return await slept(world)

    assert virtual_cluster.play(scenario) == pytest.approx(12 * HOUR, abs=5)


def test_a_restart_in_the_middle_loses_no_time(virtual_cluster: VirtualCluster) -> None:
    async def scenario(world: VirtualCluster) -> float:
        async with world.beside(operate(Client(world.cluster.transport()))):
            await deployed(world, after="12h")
            await asyncio.sleep(7 * HOUR)
        async with world.beside(operate(Client(world.cluster.transport()))):
            return await slept(world)

    assert virtual_cluster.play(scenario) == pytest.approx(5 * HOUR, abs=5)


def test_a_refused_patch_is_tried_again(virtual_cluster: VirtualCluster) -> None:
    async def scenario(world: VirtualCluster) -> float:
        wire = Faulty(world.cluster.transport(), "patch deployments #1-3: 500")
        async with world.beside(operate(Client(wire))):
            await deployed(world, after="1h")
            return await slept(world)

    assert virtual_cluster.play(scenario) == pytest.approx(HOUR, abs=10)


def test_without_the_annotation_nothing_sleeps(virtual_cluster: VirtualCluster) -> None:
    async def scenario(world: VirtualCluster) -> int:
        async with world.beside(operate(Client(world.cluster.transport()))):
            await deployed(world, after=None)
            await asyncio.sleep(48 * HOUR)
            return len(await world.list(PODS, "default"))

    assert virtual_cluster.play(scenario) == 3


async def deployed(world: VirtualCluster, after: str | None) -> None:
    """A Deployment of three pods, all ready."""
    await world.create(DEPLOYMENTS, "default", a_deployment(after))

    async def is_ready() -> bool:
        found = await world.get(DEPLOYMENTS, "default", "web")
        return found is not None and found["status"].get("readyReplicas") == 3

    await world.until(is_ready)


async def slept(world: VirtualCluster) -> float:
    """Seconds until no pod is left."""

    async def is_asleep() -> bool:
        return not await world.list(PODS, "default")

    return await world.until(is_asleep, within=24 * HOUR)


def a_deployment(after: str | None) -> dict[str, Any]:
    labels = {"app": "web"}
    container = {"name": "web", "image": "example.test/web:1.0"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "annotations": {} if after is None else {AFTER: after}},
        "spec": {"replicas": 3, "selector": {"matchLabels": labels}, "template": template},
    }
