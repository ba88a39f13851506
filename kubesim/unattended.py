"""Kinds that nobody acts on here: an Event on each object says so, and what to use instead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from msgspec import Struct

from kubeloop.client import Client
from kubeloop.events import Recorder
from kubeloop.informer import Change, Informer
from kubeloop.objects.meta import Meta, Ref, Resource

REASON = "NoController"
INSTEAD = {
    Resource("batch", "v1", "jobs", "Job"): "create a Pod or a Deployment instead",
    Resource("batch", "v1", "cronjobs", "CronJob"): "create a Pod or a Deployment instead",
    Resource("", "v1", "replicationcontrollers", "ReplicationController"): "create a Deployment instead",
    Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"): "scale by hand",
    Resource("networking.k8s.io", "v1", "ingresses", "Ingress"): "nothing listens for it",
}


class _Object(Struct, frozen=True):
    metadata: Meta


async def tell(client: Client) -> None:
    """Until cancelled."""
    recorder = Recorder(client, "kubesim", "kubesim")
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(recorder.run())
        for resource, instead in INSTEAD.items():
            informer = Informer(client, resource, _Object)
            informer.subscribe(_telling(recorder, resource, instead))
            tasks.create_task(informer.run())


def _telling(recorder: Recorder, resource: Resource, instead: str) -> Callable[[Change[_Object]], None]:
    def heard(change: Change[_Object]) -> None:
        if change.old is None and change.new is not None and not change.initial:
            meta = change.new.metadata
            about = Ref(resource, meta.namespace, meta.name, meta.uid)
            recorder.tell(about, True, REASON, f"nobody runs a {resource.kind} in this cluster: {instead}")

    return heard
