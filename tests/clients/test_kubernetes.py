"""The official client of Python, `kubernetes`, works on the served cluster as it is."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client, config, dynamic, stream, utils, watch
from kubernetes.aio import client as aio_client
from kubernetes.aio import config as aio_config
from kubernetes.aio import watch as aio_watch
from kubernetes.client.exceptions import ApiException
from kubernetes.informer import SharedInformer

from tests.clients.objects import (
    GROUP,
    IMAGE,
    NEW_IMAGE,
    PATIENCE,
    PLURAL,
    VERSION,
    a_definition,
    a_deployment,
    a_pod,
    a_widget,
)

NAMESPACE = "default"


@pytest.fixture(scope="module")
def api(kubeconfig: Path) -> Iterator[Any]:
    with config.new_client_from_config(str(kubeconfig)) as found:
        yield found


@pytest.fixture
def core(api: Any) -> Any:
    return client.CoreV1Api(api)


@pytest.fixture
def apps(api: Any) -> Any:
    return client.AppsV1Api(api)


def watched(lists: Callable[..., Any], name: str, met: Callable[[str, Any], bool], *place: str) -> Any:
    """The object once it is as wanted."""
    opened = watch.Watch()
    selector = f"metadata.name={name}"
    for event in opened.stream(lists, *place, field_selector=selector, timeout_seconds=PATIENCE):
        if met(event["type"], event["object"]):
            opened.stop()
            return event["object"]
    raise AssertionError(f"{name} is not as wanted after {PATIENCE} seconds")


def is_ready(_: str, pod: Any) -> bool:
    return any(each.type == "Ready" and each.status == "True" for each in pod.status.conditions or ())


def is_gone(event: str, _: Any) -> bool:
    return event == "DELETED"


def test_a_pod_is_made_runs_says_something_is_labelled_and_goes(core: Any) -> None:
    made = core.create_namespaced_pod(NAMESPACE, a_pod("one"))
    assert made.status.phase == "Pending"

    pod = watched(core.list_namespaced_pod, "one", is_ready, NAMESPACE)
    assert pod.spec.node_name in [node.metadata.name for node in core.list_node().items]
    assert pod.status.start_time.tzinfo is not None
    said = core.read_namespaced_pod_log("one", NAMESPACE)
    assert said.splitlines() == [f"container web of image {IMAGE} started", "ready"]

    core.patch_namespaced_pod("one", NAMESPACE, {"metadata": {"labels": {"colour": "blue"}}})
    (found,) = core.list_namespaced_pod(NAMESPACE, label_selector="colour in (blue, green)").items
    assert found.metadata.name == "one"

    core.delete_namespaced_pod("one", NAMESPACE)
    watched(core.list_namespaced_pod, "one", is_gone, NAMESPACE)


def test_a_deployment_is_made_scaled_rolled_and_deleted_with_its_pods(api: Any, core: Any, apps: Any) -> None:
    utils.create_from_dict(api, a_deployment("web"))

    def is_rolled_out(_: str, found: Any) -> bool:
        status, wanted = found.status, found.spec.replicas
        counts = (status.replicas, status.updated_replicas, status.available_replicas)
        return status.observed_generation == found.metadata.generation and counts == (wanted,) * 3

    watched(apps.list_namespaced_deployment, "web", is_rolled_out, NAMESPACE)
    apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 3}})
    watched(apps.list_namespaced_deployment, "web", is_rolled_out, NAMESPACE)
    assert apps.read_namespaced_deployment_scale("web", NAMESPACE).status.replicas == 3

    found = apps.read_namespaced_deployment("web", NAMESPACE)
    found.spec.template.spec.containers[0].image = NEW_IMAGE
    apps.replace_namespaced_deployment("web", NAMESPACE, found)
    watched(apps.list_namespaced_deployment, "web", is_rolled_out, NAMESPACE)
    pods = core.list_namespaced_pod(NAMESPACE, label_selector="app=web").items
    running = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
    assert [pod.spec.containers[0].image for pod in running] == [NEW_IMAGE] * 3

    apps.delete_namespaced_deployment("web", NAMESPACE, propagation_policy="Foreground")
    watched(apps.list_namespaced_deployment, "web", is_gone, NAMESPACE)
    assert apps.list_namespaced_replica_set(NAMESPACE).items == []


def test_a_kind_of_ones_own_has_objects_with_a_status_and_a_scale(api: Any) -> None:
    definitions, customs = client.ApiextensionsV1Api(api), client.CustomObjectsApi(api)
    definitions.create_custom_resource_definition(a_definition())

    def is_established(_: str, found: Any) -> bool:
        conditions = (found.status and found.status.conditions) or ()
        return any(each.type == "Established" and each.status == "True" for each in conditions)

    watched(definitions.list_custom_resource_definition, f"{PLURAL}.{GROUP}", is_established)
    place = (GROUP, VERSION, NAMESPACE, PLURAL)
    made = customs.create_namespaced_custom_object(*place, a_widget("one", size=3))
    assert made["spec"] == {"size": 3, "colour": "red"}

    customs.patch_namespaced_custom_object_status(*place, "one", {"status": {"size": 3}, "spec": {"size": 9}})
    found = customs.get_namespaced_custom_object(*place, "one")
    assert (found["spec"]["size"], found["status"]) == (3, {"size": 3})
    assert customs.get_namespaced_custom_object_scale(*place, "one")["status"]["replicas"] == 3
    with pytest.raises(ApiException, match="should be greater than or equal to 1") as refused:
        customs.create_namespaced_custom_object(*place, a_widget("none", size=0))
    assert refused.value.status == 422


def test_the_dynamic_client_applies_and_is_told_of_conflicts(api: Any) -> None:
    pods = dynamic.DynamicClient(api).resources.get(api_version="v1", kind="Pod")
    mine = {**a_pod("applied", labels={"owner": "me"})}

    made = pods.server_side_apply(body=mine, field_manager="me")
    assert made.metadata.managedFields[0].manager == "me"

    yours = {**a_pod("applied", labels={"owner": "you"})}
    with pytest.raises(dynamic.exceptions.ConflictError, match='conflict with \\\\"me\\\\"'):
        pods.server_side_apply(body=yours, field_manager="you")
    forced = pods.server_side_apply(body=yours, field_manager="you", force_conflicts=True)
    assert forced.metadata.labels.owner == "you"


def test_refusals_are_the_clients_exceptions(core: Any, apps: Any) -> None:
    with pytest.raises(ApiException, match='pods \\\\"nobody\\\\" not found') as missing:
        core.read_namespaced_pod("nobody", NAMESPACE)
    assert (missing.value.status, missing.value.reason) == (404, "Not Found")

    apps.create_namespaced_deployment(NAMESPACE, a_deployment("twice", replicas=0))
    with pytest.raises(ApiException) as exists:
        apps.create_namespaced_deployment(NAMESPACE, a_deployment("twice"))
    assert exists.value.status == 409
    stale = apps.read_namespaced_deployment("twice", NAMESPACE)
    apps.patch_namespaced_deployment("twice", NAMESPACE, {"metadata": {"labels": {"a": "b"}}})
    stale.metadata.resource_version = "1"
    with pytest.raises(ApiException, match="the object has been modified"):
        apps.replace_namespaced_deployment("twice", NAMESPACE, stale)
    nameless = a_pod("")
    with pytest.raises(ApiException, match="name or generateName is required") as invalid:
        core.create_namespaced_pod(NAMESPACE, nameless)
    assert invalid.value.status == 422


def test_lists_come_in_pages(core: Any) -> None:
    for number in range(5):
        core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": f"page-{number}", "labels": {"book": "1"}}})

    first = core.list_namespaced_config_map(NAMESPACE, label_selector="book=1", limit=3)
    rest = core.list_namespaced_config_map(
        NAMESPACE, label_selector="book=1", limit=3, _continue=first.metadata._continue
    )

    assert (len(first.items), first.metadata.remaining_item_count, len(rest.items)) == (3, None, 2)
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="book=1")
    assert core.list_namespaced_config_map(NAMESPACE, label_selector="book=1").items == []


def test_nobody_can_be_connected_with_a_container_and_that_is_said(core: Any) -> None:
    core.create_namespaced_pod(NAMESPACE, a_pod("mute"))
    watched(core.list_namespaced_pod, "mute", is_ready, NAMESPACE)

    with pytest.raises(ApiException, match="no program runs in pod mute of the embedded cluster"):
        stream.stream(core.connect_get_namespaced_pod_exec, "mute", NAMESPACE, command=["true"], stdout=True)


def test_an_informer_keeps_a_cache(core: Any) -> None:
    seen: list[str] = []
    told = threading.Event()

    def added(pod: Any) -> None:
        seen.append(pod.metadata.name)
        if pod.metadata.name == "informed":
            told.set()

    informer = SharedInformer(core.list_namespaced_pod, namespace=NAMESPACE)
    informer.add_event_handler("ADDED", added)
    informer.start()
    try:
        core.create_namespaced_pod(NAMESPACE, a_pod("informed"))
        assert told.wait(PATIENCE)
    finally:
        informer.stop()
    assert "informed" in seen


def test_its_client_for_asyncio_works_as_well(kubeconfig: Path) -> None:
    async def scenario() -> str:
        settings = aio_client.Configuration()
        await aio_config.load_kube_config(str(kubeconfig), client_configuration=settings)
        async with aio_client.ApiClient(settings) as api, aio_watch.Watch() as opened:
            core = aio_client.CoreV1Api(api)
            await core.create_namespaced_pod(NAMESPACE, a_pod("async"))
            async for event in opened.stream(
                core.list_namespaced_pod, NAMESPACE, field_selector="metadata.name=async", timeout_seconds=PATIENCE
            ):
                if is_ready("", event["object"]):
                    return str(event["object"].status.phase)
        raise AssertionError("the pod does not become ready")

    assert asyncio.run(scenario()) == "Running"
