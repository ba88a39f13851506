"""kr8s works on the served cluster as it is, both its clients."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kr8s
import kr8s.asyncio
import pytest
from kr8s._async_utils import as_sync_func
from kr8s.asyncio.objects import Pod as AsyncPod
from kr8s.objects import APIObject, ConfigMap, CustomResourceDefinition, Deployment, Pod, new_class

from tests.clients.objects import (
    GROUP,
    IMAGE,
    NEW_IMAGE,
    PLURAL,
    VERSION,
    a_definition,
    a_deployment,
    a_pod,
    a_widget,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Kubernetes version:UserWarning"),
    # It leaves watches that were left before their end to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
PATIENCE = 60
"""Seconds; what is waited for takes one or two."""


@pytest.fixture(scope="module")
def api(kubeconfig: Path) -> Iterator[Any]:
    api = kr8s.api(kubeconfig=str(kubeconfig))
    yield api
    # Nothing of it is left to the tests of others, which would be blamed.
    as_sync_func(api._session.aclose)()
    gc.collect()


def test_a_pod_is_made_runs_says_something_is_labelled_and_goes(api: Any) -> None:
    pod = Pod(a_pod("one"), api=api)
    pod.create()

    pod.wait("condition=Ready", timeout=PATIENCE)
    assert pod.ready()
    assert pod.spec.nodeName in [node.name for node in api.get("nodes")]
    assert list(pod.logs()) == [f"container web of image {IMAGE} started", "ready"]

    pod.label(colour="blue")
    (found,) = api.get("pods", label_selector="colour in (blue, green)")
    assert found.name == "one"

    pod.delete()
    pod.wait("delete", timeout=PATIENCE)
    assert not pod.exists()


def test_a_deployment_is_made_scaled_rolled_and_deleted(api: Any) -> None:
    deployment = Deployment(a_deployment("web"), api=api)
    deployment.create()

    deployment.wait("condition=Available", timeout=PATIENCE)
    deployment.scale(3)
    deployment.wait("jsonpath='{.status.readyReplicas}'=3", timeout=PATIENCE)
    deployment.patch({"spec": {"template": {"spec": {"containers": [{"name": "web", "image": NEW_IMAGE}]}}}})
    for _ in deployment.watch():
        if deployment.status.observedGeneration == 3 and counted(deployment.status) == (3, 3, 3):
            break
    images = {pod.spec.containers[0].image for pod in deployment.pods() if not pod.metadata.get("deletionTimestamp")}
    assert images == {NEW_IMAGE}

    deployment.delete(propagation_policy="Foreground")
    deployment.wait("delete", timeout=PATIENCE)
    assert list(api.get("replicasets", label_selector="app=web")) == []


def counted(status: Any) -> tuple[int, ...]:
    return tuple(status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas"))


def test_a_kind_of_ones_own_has_objects_with_a_status(api: Any) -> None:
    definition = CustomResourceDefinition(a_definition(), api=api)
    definition.create()
    # Its own wait cannot read the status of a definition that has no conditions yet.
    conditions = (found.raw["status"].get("conditions") or () for _, found in api.watch(CustomResourceDefinition))
    assert any(each["type"] == "Established" and each["status"] == "True" for all_ in conditions for each in all_)
    widget_class: type[APIObject] = new_class("Widget", f"{GROUP}/{VERSION}", plural=PLURAL, asyncio=False)

    widget = widget_class(a_widget("one", size=3), api=api)
    widget.create()
    assert widget.spec == {"size": 3, "colour": "red"}
    widget.patch({"status": {"size": 3}, "spec": {"size": 9}}, subresource="status")
    widget.refresh()
    assert (widget.spec.size, widget.status.size) == (3, 3)
    (found,) = api.get(f"{PLURAL}.{GROUP}")
    assert found.name == "one"
    with pytest.raises(kr8s.ServerError, match="should be greater than or equal to 1") as refused:
        widget_class(a_widget("none", size=0), api=api).create()
    assert refused.value.response.status_code == 422


def test_refusals_are_the_clients_exceptions(api: Any) -> None:
    with pytest.raises(kr8s.NotFoundError):
        Pod.get("nobody", api=api, timeout=1)
    pod = Pod(a_pod("twice"), api=api)
    pod.create()
    with pytest.raises(kr8s.ServerError, match='pods "twice" already exists'):
        pod.create()
    with pytest.raises(kr8s.ServerError, match="pod updates may not change fields other than"):
        pod.patch({"spec": {"nodeName": "another"}})


def test_lists_come_in_pages(api: Any) -> None:
    for number in range(5):
        metadata = {"name": f"page-{number}", "namespace": "default", "labels": {"book": "1"}}
        ConfigMap({"metadata": metadata}, api=api).create()

    assert len(list(api.get("configmaps", label_selector="book=1"))) == 5


def test_its_client_for_asyncio_watches(kubeconfig: Path) -> None:
    async def scenario() -> list[str]:
        api = await kr8s.asyncio.api(kubeconfig=str(kubeconfig))
        events = []

        async def watch() -> None:
            async for event, _pod in api.watch("pods", field_selector="metadata.name=async"):
                events.append(event)
                if event == "DELETED":
                    return

        async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
            tasks.create_task(watch())
            pod = await AsyncPod(a_pod("async"), api=api)
            await pod.create()
            await pod.wait("condition=Ready")
            await pod.delete()
        await api._session.aclose()
        return events

    events = asyncio.run(scenario())

    assert (events[0], events[-1]) == ("ADDED", "DELETED")
