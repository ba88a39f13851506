"""lightkube works on the served cluster as it is, both its clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lightkube import ApiError, AsyncClient, Client, KubeConfig, codecs
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.autoscaling_v1 import ScaleSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap, Node, Pod
from lightkube.types import CascadeType, PatchType

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

Widget = create_namespaced_resource(GROUP, VERSION, "Widget", PLURAL)


@pytest.fixture(scope="module")
def client(kubeconfig: Path) -> Iterator[Any]:
    with Client(config=KubeConfig.from_file(kubeconfig)) as found:
        yield found


def watched(client: Any, kind: Any, name: str, met: Callable[[str, Any], bool]) -> Any:
    """The object once it is as wanted; the server ends the watch, which raises then, if it never is."""
    for event, found in client.watch(kind, fields={"metadata.name": name}):
        if met(event, found):
            return found
    raise AssertionError("a watch goes on until it is left")


def is_gone(event: str, _: Any) -> bool:
    return event == "DELETED"


def test_a_pod_is_made_runs_says_something_is_labelled_and_goes(client: Any) -> None:
    client.create(Pod.from_dict(a_pod("one")))

    pod = client.wait(Pod, "one", for_conditions=["Ready"])
    assert pod.spec.nodeName in [node.metadata.name for node in client.list(Node)]
    said = list(client.log("one", newlines=False))
    assert said == [f"container web of image {IMAGE} started", "ready"]
    followed = client.log("one", follow=True, newlines=False)
    assert next(followed) == said[0]
    followed.close()

    client.patch(Pod, "one", {"metadata": {"labels": {"colour": "blue"}}}, patch_type=PatchType.MERGE)
    (found,) = client.list(Pod, labels={"colour": ("blue", "green")})
    assert found.metadata.name == "one"

    client.delete(Pod, "one")
    watched(client, Pod, "one", is_gone)


def test_a_deployment_is_applied_scaled_rolled_and_deleted(client: Any) -> None:
    (deployment,) = codecs.load_all_yaml(codecs.dump_all_yaml([Deployment.from_dict(a_deployment("web"))]))
    client.apply(deployment, field_manager="me")

    def is_rolled_out(_: str, found: Any) -> bool:
        status, wanted = found.status, found.spec.replicas
        counts = (status.replicas, status.updatedReplicas, status.availableReplicas)
        return status.observedGeneration == found.metadata.generation and counts == (wanted,) * 3

    client.wait(Deployment, "web", for_conditions=["Available"])
    scale = Deployment.Scale(metadata=ObjectMeta(name="web", namespace="default"), spec=ScaleSpec(replicas=3))
    client.replace(scale, "web")
    watched(client, Deployment, "web", is_rolled_out)
    assert client.get(Deployment.Scale, "web").status.replicas == 3

    found = client.get(Deployment, "web")
    found.spec.template.spec.containers[0].image = NEW_IMAGE
    client.replace(found)
    watched(client, Deployment, "web", is_rolled_out)
    running = [pod for pod in client.list(Pod, labels={"app": "web"}) if pod.metadata.deletionTimestamp is None]
    assert [pod.spec.containers[0].image for pod in running] == [NEW_IMAGE] * 3

    client.delete(Deployment, "web", cascade=CascadeType.FOREGROUND)
    watched(client, Deployment, "web", is_gone)
    assert list(client.list(Pod, labels={"app": "web"})) == []


def test_a_kind_of_ones_own_has_objects_with_a_status(client: Any) -> None:
    client.create(CustomResourceDefinition.from_dict(a_definition()))
    client.wait(CustomResourceDefinition, f"{PLURAL}.{GROUP}", for_conditions=["Established"])

    made = client.create(Widget(a_widget("one", size=3)))
    assert made.spec == {"size": 3, "colour": "red"}
    client.patch(Widget.Status, "one", {"status": {"size": 3}, "spec": {"size": 9}}, patch_type=PatchType.MERGE)
    found = client.get(Widget, "one")
    assert (found.spec["size"], found.status) == (3, {"size": 3})
    with pytest.raises(ApiError, match="should be greater than or equal to 1") as refused:
        client.create(Widget(a_widget("none", size=0)))
    assert (refused.value.status.code, refused.value.status.reason) == (422, "Invalid")


def test_refusals_are_the_clients_exceptions(client: Any) -> None:
    with pytest.raises(ApiError, match='pods "nobody" not found') as missing:
        client.get(Pod, "nobody")
    assert missing.value.status.reason == "NotFound"

    client.apply(Pod.from_dict(a_pod("applied", labels={"owner": "me"})), field_manager="me")
    yours = Pod.from_dict(a_pod("applied", labels={"owner": "you"}))
    with pytest.raises(ApiError, match='conflict with "me"') as conflict:
        client.apply(yours, field_manager="you")
    assert conflict.value.status.code == 409
    assert client.apply(yours, field_manager="you", force=True).metadata.labels == {"owner": "you"}


def test_lists_come_in_pages(client: Any) -> None:
    for number in range(5):
        client.create(ConfigMap(metadata=ObjectMeta(name=f"page-{number}", labels={"book": "1"})))

    assert len(list(client.list(ConfigMap, labels={"book": "1"}, chunk_size=2))) == 5

    client.deletecollection(ConfigMap)
    assert list(client.list(ConfigMap, labels={"book": "1"})) == []


def test_its_client_for_asyncio_works_as_well(kubeconfig: Path) -> None:
    async def scenario() -> list[str]:
        client = AsyncClient(config=KubeConfig.from_file(kubeconfig))
        events = []

        async def watch() -> None:
            async for event, _pod in client.watch(Pod, fields={"metadata.name": "async"}):
                events.append(event)
                if event == "DELETED":
                    return

        async with asyncio.timeout(60), asyncio.TaskGroup() as tasks:
            tasks.create_task(watch())
            await client.create(Pod.from_dict(a_pod("async")))
            await client.wait(Pod, "async", for_conditions=["Ready"])
            await client.delete(Pod, "async")
        await client.close()
        return events

    events = asyncio.run(scenario())

    assert (events[0], events[-1]) == ("ADDED", "DELETED")
