"""Siesta, an operator of one rule: a Deployment sleeps so long after its creation as its annotation says.

`python -m examples.siesta.operator` runs it on the cluster of the kubeconfig; `test_operator.py` tests it without one.
"""

from __future__ import annotations

import asyncio
from datetime import datetime

from msgspec import Struct

from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.durations import parse_go
from kubeloop.http_transport import HttpTransport
from kubeloop.informer import Change, Informer
from kubeloop.kubeconfig import load
from kubeloop.objects.apps import DEPLOYMENTS, DeploymentSpec
from kubeloop.objects.meta import Meta, Ref
from kubeloop.queue import Queue
from kubeloop.worker import work

AFTER = "siesta.example.dev/after"
SLEEP = b'{"spec": {"replicas": 0}}'


class DeploymentMeta(Meta, frozen=True, rename="camel", kw_only=True):
    creation_timestamp: datetime
    annotations: dict[str, str] = {}


class Deployment(Struct, frozen=True):
    metadata: DeploymentMeta
    spec: DeploymentSpec = DeploymentSpec()


def seconds_left(deployment: Deployment, now: datetime) -> float | None:
    """Until it must sleep, 0 when it must now; None when it need not, or sleeps already."""
    after = deployment.metadata.annotations.get(AFTER)
    if after is None or deployment.spec.replicas == 0:
        return None
    age = (now - deployment.metadata.creation_timestamp).total_seconds()
    return max(parse_go(after) - age, 0.0)


async def operate(client: Client) -> None:
    """Until cancelled."""
    deployments = Informer(client, DEPLOYMENTS, Deployment)
    queue: Queue[tuple[str, str]] = Queue()

    def changed(change: Change[Deployment]) -> None:
        if change.new is not None:
            queue.add((change.new.metadata.namespace, change.new.metadata.name))

    async def reconcile(key: tuple[str, str]) -> float | None:
        deployment = deployments.store.get(*key)
        left = None if deployment is None else seconds_left(deployment, clock.now())
        if left == 0.0:
            await client.call(request.patch(Ref(DEPLOYMENTS, *key), "application/merge-patch+json", SLEEP))
        return left or None

    deployments.subscribe(changed)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(deployments.run())
        tasks.create_task(work(queue, reconcile, workers=2, failed=lambda key, error: print(*key, error)))


if __name__ == "__main__":
    asyncio.run(operate(Client(HttpTransport(load(None)))))
