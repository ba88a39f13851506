"""Pods of controllers pass webhooks on every cluster: in virtual time, over HTTPS, and on the real control plane.

Groups of pods get what they are by a webhook: labels, variables, and a gate that holds them until somebody opens it.
"""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from kubeloop.objects.apps import DEPLOYMENTS, STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, patch
from kubesim.kinds.registry import CORE_EVENTS
from kubesim.standins.cloneset import CloneSets
from kubesim.standins.cloneset_definition import install as define_clone_sets
from kubesim.standins.cloneset_plan import CLONESETS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.webhooks import MUTATING, VALIDATING, answering, install, patching, rule, serve

pytestmark = pytest.mark.fidelity

GROUP, INDEX, GATE = "example.test/group", "example.test/index", "example.test/all-there"
EVERYWHERE = ("sim", "served", "real")
ACCOUNTS = "system:serviceaccount:kube-system:"


def a_workload(resource: Resource, replicas: int = 2, name: str = "web", **spec: Any) -> Tree:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "image"}]}}
    whole = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    if resource == STATEFULSETS:
        whole |= {"serviceName": name, "podManagementPolicy": "Parallel"}
    return {"metadata": {"name": name}, "spec": whole | spec}


def joining(request: Tree) -> Tree:
    """What makes a pod one of a group."""
    index = request["object"]["metadata"].get("name", "-").rpartition("-")[2]
    slash = "~1"
    return patching(
        {"op": "add", "path": f"/metadata/labels/{GROUP.replace('/', slash)}", "value": "first"},
        {"op": "add", "path": f"/metadata/labels/{INDEX.replace('/', slash)}", "value": index},
        {"op": "add", "path": "/spec/containers/0/env", "value": [{"name": "GROUP_INDEX", "value": index}]},
        {"op": "add", "path": "/spec/schedulingGates", "value": [{"name": GATE}]},
    )


async def review(site: Site, decide: Any, kind: Resource = MUTATING, **more: Any) -> None:
    """Has a webhook asked about new pods."""
    hook = {"clientConfig": await serve(site, answering(decide)), "rules": [rule("CREATE", "pods", "", "v1")]}
    await install(site, kind, f"review-{site.namespace}", hook | more)


def pods(site: Site) -> list[Tree]:
    return list(site.history.objects(PODS).values())


def are_ready(site: Site, count: int) -> bool:
    conditions = [each for pod in pods(site) for each in pod.get("status", {}).get("conditions", [])]
    ready = [each for each in conditions if (each["type"], each["status"]) == ("Ready", "True")]
    return len(ready) == count


@everywhere(on=EVERYWHERE)
async def test_a_group_of_pods_is_made_by_a_webhook(site: Site) -> None:
    site.start_kubelet(ready_after=0.0)
    await review(site, joining)

    await site.create(STATEFULSETS, a_workload(STATEFULSETS, 3))
    await site.until(lambda: len(pods(site)) == 3)

    labels = [pod["metadata"]["labels"] for pod in pods(site)]
    assert [(each[GROUP], each[INDEX], each["app"]) for each in labels] == [("first", str(n), "web") for n in range(3)]
    environments = [pod["spec"]["containers"][0]["env"] for pod in pods(site)]
    assert environments == [[{"name": "GROUP_INDEX", "value": str(number)}] for number in range(3)]
    assert not any("nodeName" in pod["spec"] for pod in pods(site)), "gates hold them"

    for pod in pods(site):
        ref, opened = Ref(PODS, site.namespace, pod["metadata"]["name"]), {"spec": {"schedulingGates": None}}
        await site.client.call(patch(ref, MERGE_PATCH, msgspec.json.encode(opened)))
    await site.until(lambda: are_ready(site, 3))


@pytest.mark.parametrize("resource", [STATEFULSETS, DEPLOYMENTS, CLONESETS], ids=lambda resource: resource.kind)
@everywhere(on=EVERYWHERE)
async def test_every_controller_of_pods_is_asked_for_by_its_name(site: Site, resource: Resource) -> None:
    asked: list[Tree] = []
    await review(site, lambda request: asked.append(request) or {}, VALIDATING)  # type: ignore[func-returns-value]
    if resource == CLONESETS:
        await define_clone_sets(site.client)
        site.start(CloneSets(site.client_as("admin"), namespace=site.namespace).run())

    await site.create(resource, a_workload(resource))
    await site.until(lambda: len(pods(site)) == 2)

    accounts = {STATEFULSETS: "statefulset-controller", DEPLOYMENTS: "replicaset-controller"}
    users = {request["userInfo"]["username"] for request in asked}
    assert {request["name"] for request in asked} == {pod["metadata"]["name"] for pod in pods(site)}
    assert {request["dryRun"] for request in asked} == {False}
    if resource in accounts and site.real:
        assert users == {"kube-controller-manager"}, "which has one account for all, unless it is told otherwise"
    elif resource in accounts:
        assert users == {ACCOUNTS + accounts[resource]}
        groups = ["system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"]
        assert asked[0]["userInfo"]["groups"] == groups


@everywhere(on=EVERYWHERE)
async def test_a_controller_that_waits_for_a_webhook_holds_up_nobody_else(site: Site) -> None:
    answered = asyncio.Event()

    async def wait(request: Tree) -> Tree:
        if request["object"]["metadata"]["labels"]["app"] == "slow":
            await answered.wait()
        return {}

    await review(site, wait, timeoutSeconds=30)
    await site.create(STATEFULSETS, a_workload(STATEFULSETS, 1, "slow"))
    await site.create(STATEFULSETS, a_workload(STATEFULSETS, 2))
    await site.create(DEPLOYMENTS, a_workload(DEPLOYMENTS, 2))

    await site.until(lambda: len(pods(site)) == 4)
    assert "slow-0" not in site.history.objects(PODS)

    answered.set()
    await site.until(lambda: "slow-0" in site.history.objects(PODS))


@everywhere(on=EVERYWHERE)
async def test_what_is_refused_is_told_and_tried_again(site: Site) -> None:
    is_open = False

    def refuse(_request: Tree) -> Tree:
        return {"allowed": is_open, "status": {"message": "the group is full"}}

    await review(site, refuse, VALIDATING)
    await site.create(STATEFULSETS, a_workload(STATEFULSETS, 1))

    def is_told() -> bool:
        events = site.history.objects(CORE_EVENTS).values()
        return any(each["reason"] == "FailedCreate" and "the group is full" in each["message"] for each in events)

    await site.until(is_told, following=[CORE_EVENTS])
    assert pods(site) == []

    is_open = True
    await site.until(lambda: len(pods(site)) == 1)
