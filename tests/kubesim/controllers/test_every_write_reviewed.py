"""No controller and no kubelet writes anything past the webhooks: what is stored under its name was asked about."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

from kubeloop.calls import Call, Reply
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.meta import Resource
from kubesim.controllers.base import ACCOUNTS
from kubesim.kinds.registry import (
    CLUSTER_ROLES,
    CONFIG_MAPS,
    DAEMON_SETS,
    DISRUPTION_BUDGETS,
    NAMESPACES,
    PODS,
    SERVICE_ACCOUNTS,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
)
from kubesim.kubelet import Kubelet
from kubesim.store.versions import Tree
from tests.kubesim.controllers.test_daemonset import a_node
from tests.kubesim.controllers.test_judged import a_workload
from tests.kubesim.controllers.world import NAMESPACE, World, play
from tests.kubesim.hooks import HOST, a_hook, a_rule, answering, configure

OPERATIONS = {"create": "CREATE", "update": "UPDATE", "patch": "UPDATE", "delete": "DELETE"}
CONTROLLERS = {
    "clusterrole-aggregation-controller",
    "daemon-set-controller",
    "deployment-controller",
    "disruption-controller",
    "endpoint-controller",
    "endpointslice-controller",
    "generic-garbage-collector",
    "namespace-controller",
    "persistent-volume-binder",
    "replicaset-controller",
    "root-ca-cert-publisher",
    "service-account-controller",
    "statefulset-controller",
}

Write = tuple[str, str, str, str]
"""Controller, operation, resource, subresource."""


def named(name: str, **content: Any) -> Tree:
    return {"metadata": {"name": name}, **content}


def with_labels(resource: Resource, name: str) -> Tree:
    """A workload apart from those of other kinds."""
    tree, labels = a_workload(resource), {"app": name}
    tree["metadata"]["name"] = name
    tree["spec"]["selector"] = {"matchLabels": labels}
    tree["spec"]["template"]["metadata"]["labels"] = labels
    return tree


async def busy(world: World) -> None:
    """Something for every controller to do."""
    a_node(world, "node-0")
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "c"}
    ordered, daemons = with_labels(STATEFUL_SETS, "st"), with_labels(DAEMON_SETS, "da")
    ordered["spec"]["volumeClaimTemplates"] = [named("data", spec=claim)]
    del daemons["spec"]["replicas"]
    selected = {"matchLabels": {"collected": "yes"}}
    world.create(STORAGE_CLASSES, named("c", provisioner="fairlead.dev/sim"))
    world.create(SERVICES, named("web", spec={"selector": {"app": "st"}, "ports": [{"port": 80}]}))
    world.create(DISRUPTION_BUDGETS, named("pb", spec={"minAvailable": 1, "selector": {"matchLabels": {"app": "st"}}}))
    world.create(CLUSTER_ROLES, named("all", aggregationRule={"clusterRoleSelectors": [selected]}))
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    world.create(CLUSTER_ROLES, {"metadata": {"name": "one", "labels": {"collected": "yes"}}, "rules": [rule]})
    world.create(STATEFUL_SETS, ordered)
    world.create(DEPLOYMENTS, with_labels(DEPLOYMENTS, "de"))
    world.create(DAEMON_SETS, daemons)
    world.create(NAMESPACES, named("short"))
    world.verbs.delete(SERVICE_ACCOUNTS, NAMESPACE, "default", user="tester")
    world.verbs.delete(CONFIG_MAPS, NAMESPACE, "kube-root-ca.crt", user="tester")
    await world.settle(20)
    world.make_ready(*world.pods())
    world.patch(STATEFUL_SETS, "st", {"spec": {"replicas": 1}})
    world.patch(DEPLOYMENTS, "de", {"spec": {"replicas": 1}})
    await world.settle(20)
    world.delete(STATEFUL_SETS, "st", "Orphan")
    world.delete(DEPLOYMENTS, "de", "Foreground")
    world.delete(DAEMON_SETS, "da", "Background")
    world.delete(SERVICES, "web")
    world.verbs.delete(NAMESPACES, "", "short", user="tester")
    await world.settle(60)


class Reviews:
    """Lets everything pass and remembers what it was asked about."""

    def __init__(self) -> None:
        self.asked: Counter[Write] = Counter()

    async def __call__(self, call: Call) -> Reply:
        request = json.loads(call.body)["request"]
        user = request["userInfo"]["username"].removeprefix(ACCOUNTS)
        self.asked[user, request["operation"], request["resource"]["resource"], request.get("subResource", "")] += 1
        return await answering(lambda _request: {})(call)

    async def begin(self, world: World) -> None:
        """From now on it is asked about everything."""
        await world.settle(2)
        world.cluster.network.serve(HOST, self)
        await configure(world.cluster, "validating", "all", a_hook("all", a_rule("*", "*/*")))
        world.writes.clear()


def stored_by(world: World, *users: str) -> Counter[Write]:
    """What was written under names that begin like these."""
    stored: Counter[Write] = Counter()
    for resource, event, author in world.writes:
        is_first_step = author.verb == "delete" and event.type == "MODIFIED"
        if author.user.startswith(users) and not is_first_step:
            name = author.user.removeprefix(ACCOUNTS)
            stored[name, OPERATIONS[author.verb], resource.plural, author.subresource] += 1
    return stored


def test_everything_that_controllers_store_was_asked_about() -> None:
    reviews = Reviews()

    async def script(world: World) -> None:
        await reviews.begin(world)
        await busy(world)

    stored = stored_by(play(script), ACCOUNTS)

    assert {write[0] for write in stored} == CONTROLLERS
    assert stored - reviews.asked == Counter()
    assert stored["statefulset-controller", "CREATE", PODS.plural, ""] == 2


def test_everything_that_the_kubelet_stores_was_asked_about() -> None:
    reviews = Reviews()

    async def script(world: World) -> None:
        await reviews.begin(world)
        async with asyncio.TaskGroup() as tasks:
            kubelet = tasks.create_task(Kubelet(world.cluster.inside("kubelet"), events=True).run())
            world.create(STATEFUL_SETS, with_labels(STATEFUL_SETS, "st"))
            await world.settle(30)
            world.patch(STATEFUL_SETS, "st", {"spec": {"replicas": 1}})
            await world.settle(60)
            kubelet.cancel()

    world = play(script)

    stored = stored_by(world, "kubelet")
    assert stored - reviews.asked == Counter()
    assert {(operation, part) for _, operation, plural, part in stored if plural == PODS.plural} == {
        ("CREATE", "binding"),
        ("UPDATE", "status"),
        ("DELETE", ""),
    }
    assert world.status("st")["readyReplicas"] == 1
