"""Admission policies about what controllers write: they are judged as anybody is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kubeloop.objects.apps import DEPLOYMENTS, REPLICASETS
from kubeloop.objects.meta import Resource
from kubesim.kinds.registry import ADMISSION_POLICIES, ADMISSION_POLICY_BINDINGS, STATEFUL_SETS
from kubesim.store.versions import Tree
from tests.kubesim.controllers.world import NAMESPACE, World, play


def forbid(world: World, operation: str, resource: str, expression: str, **more: Any) -> None:
    group = "apps" if "/" in resource else ""
    rule = {"apiGroups": [group], "apiVersions": ["v1"], "operations": [operation], "resources": [resource]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": "not here"}],
        **more,
    }
    world.create(ADMISSION_POLICIES, {"metadata": {"name": "p"}, "spec": spec})
    bound = {"policyName": "p", "validationActions": ["Deny"]}
    world.create(ADMISSION_POLICY_BINDINGS, {"metadata": {"name": "b"}, "spec": bound})


def a_workload(resource: Resource, replicas: int = 2) -> Tree:
    labels = {"app": "web"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    if resource == STATEFUL_SETS:
        spec |= {"serviceName": "web", "podManagementPolicy": "Parallel"}
    return {"metadata": {"name": "web"}, "spec": spec}


def settled(*steps: Callable[[World], object]) -> World:
    """The world after these steps, each with time for what follows from it."""

    async def script(world: World) -> None:
        for step in steps:
            step(world)
            await world.settle(5)

    return play(script)


@pytest.mark.parametrize("resource", [DEPLOYMENTS, STATEFUL_SETS])
def test_a_denied_pod_is_not_made_and_told_of(resource: Resource) -> None:
    world = settled(
        lambda world: forbid(world, "CREATE", "pods", "false"),
        lambda world: world.create(resource, a_workload(resource)),
    )

    denied = "is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: not here"
    told = [text for text in world.events() if text.startswith("FailedCreate")]
    assert world.made() == []
    assert told != []
    assert all(denied in text for text in told)


def test_a_deployment_says_that_its_pods_are_denied() -> None:
    world = settled(
        lambda world: forbid(world, "CREATE", "pods", "false"),
        lambda world: world.create(DEPLOYMENTS, a_workload(DEPLOYMENTS)),
    )

    found = (*world.verbs.list(DEPLOYMENTS, NAMESPACE), *world.verbs.list(REPLICASETS, NAMESPACE))
    failures = [each for tree in found for each in tree["status"]["conditions"] if each["type"] == "ReplicaFailure"]
    assert [(each["status"], each["reason"]) for each in failures] == [("True", "FailedCreate")] * 2


def test_pods_of_one_template_are_judged_one_by_one() -> None:
    """The short way for pods that are alike is not taken past a policy."""
    world = settled(
        lambda world: world.create(STATEFUL_SETS, a_workload(STATEFUL_SETS)),
        lambda world: forbid(world, "CREATE", "pods", "object.metadata.name != 'web-3'"),
        lambda world: world.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 5}}),
    )

    assert "web-2" in world.pods()
    assert "web-3" not in world.pods()


def test_a_policy_sees_which_controller_writes() -> None:
    account = "system:serviceaccount:kube-system:replicaset-controller"
    groups = "['system:serviceaccounts', 'system:serviceaccounts:kube-system', 'system:authenticated']"
    is_it = f"request.userInfo.username == '{account}' && request.userInfo.groups == {groups}"

    world = settled(
        lambda world: forbid(world, "CREATE", "pods", is_it),
        lambda world: world.create(DEPLOYMENTS, a_workload(DEPLOYMENTS)),
        lambda world: world.create(STATEFUL_SETS, a_workload(STATEFUL_SETS)),
    )

    assert [pod["metadata"]["ownerReferences"][0]["kind"] for pod in world.pods().values()] == ["ReplicaSet"] * 2


def test_a_status_that_is_denied_is_not_written() -> None:
    """Statuses have a short way of their own."""
    world = settled(
        lambda world: world.create(STATEFUL_SETS, a_workload(STATEFUL_SETS)),
        lambda world: forbid(world, "UPDATE", "statefulsets/status", "false"),
        lambda world: world.patch(STATEFUL_SETS, "web", {"spec": {"replicas": 5}}),
    )

    assert world.status()["replicas"] == 2


def test_a_policy_whose_parameters_cannot_be_found_denies_controllers_too() -> None:
    world = settled(
        lambda world: forbid(
            world, "CREATE", "pods", "false", paramKind={"apiVersion": "example.com/v1", "kind": "Nothing"}
        ),
        lambda world: world.create(DEPLOYMENTS, a_workload(DEPLOYMENTS)),
    )

    told = [text for text in world.events() if text.startswith("FailedCreate")]
    assert world.made() == []
    assert all("failed to find resource referenced by paramKind" in text for text in told)
    assert told != []
