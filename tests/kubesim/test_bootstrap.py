"""What a cluster is born with, and the roles that collect the rules of others."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubeloop.request import Request
from kubesim.auth.rbac import user_of
from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.kinds.registry import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, PODS, PRIORITY_CLASSES, ROLE_BINDINGS, ROLES
from kubesim.time import run
from tests.kubesim.trees import Tree, a_binding, a_role, a_rule, a_user

COUNTS = {CLUSTER_ROLES: 69, CLUSTER_ROLE_BINDINGS: 50, ROLES: 7, ROLE_BINDINGS: 7, PRIORITY_CLASSES: 2}
"""Of a real server of the release whose data these are."""
TO_VIEW = "rbac.authorization.k8s.io/aggregate-to-view"


def on_a_cluster(script: Callable[[Cluster], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        cluster = Cluster()
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(cluster.run())
            answer = await script(cluster)
            running.cancel()
        return answer

    return run(main())


async def may_list(cluster: Cluster, user: str, plural: str, namespace: str = "default") -> int:
    path = f"/api/v1/namespaces/{namespace}/{plural}"
    return (await cluster.transport(user_of(user)).send(Request("GET", path))).status


def rules_of(cluster: Cluster, name: str) -> list[Tree]:
    rules: list[Tree] = cluster.get(CLUSTER_ROLES, "", name)["rules"]
    return rules


def labelled(role: Tree, *keys: str) -> Tree:
    role["metadata"]["labels"] = dict.fromkeys(keys, "true")
    return role


def collecting(name: str, *keys: str) -> Tree:
    selectors = [{"matchLabels": {key: "true"}} for key in keys]
    return a_role(name=name) | {"aggregationRule": {"clusterRoleSelectors": selectors}}


def test_a_cluster_has_what_a_real_one_is_born_with() -> None:
    cluster = Cluster()

    assert {resource: len(cluster.verbs.list(resource)) for resource in COUNTS} == COUNTS
    assert len({version.head.uid for _, version in cluster.store.everything()}) == sum(COUNTS.values()) + 4


def test_objects_read_as_on_a_real_cluster() -> None:
    role = Cluster().get(ROLES, "kube-system", "system:controller:token-cleaner")

    assert role["metadata"].pop("uid")
    assert role["metadata"].pop("resourceVersion")
    assert role["metadata"].pop("creationTimestamp")
    assert role == {
        "kind": "Role",
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "metadata": {
            "name": "system:controller:token-cleaner",
            "namespace": "kube-system",
            "labels": {"kubernetes.io/bootstrapping": "rbac-defaults"},
            "annotations": {"rbac.authorization.kubernetes.io/autoupdate": "true"},
        },
        "rules": [
            {"verbs": ["delete", "get", "list", "watch"], "apiGroups": [""], "resources": ["secrets"]},
            {"verbs": ["create", "patch", "update"], "apiGroups": ["", "events.k8s.io"], "resources": ["events"]},
        ],
    }


def test_clusters_share_no_uid_unless_they_share_a_seed() -> None:
    first, same, other = (
        {version.head.uid for _, version in Cluster(seed=seed).store.everything()} for seed in (1, 1, 2)
    )

    assert first == same
    assert not first & other


def test_namespaces_that_are_not_there_hold_no_roles() -> None:
    cluster = Cluster(namespaces=("default", "kube-public"))

    assert [tree["metadata"]["namespace"] for tree in cluster.verbs.list(ROLES)] == ["kube-public"]
    uid = Cluster().get(ROLE_BINDINGS, "kube-public", "system:controller:bootstrap-signer")["metadata"]["uid"]
    assert cluster.get(ROLE_BINDINGS, "kube-public", "system:controller:bootstrap-signer")["metadata"]["uid"] == uid


def test_whoever_is_bound_to_view_may_look() -> None:
    async def script(cluster: Cluster) -> list[int]:
        before = await may_list(cluster, "bob", "pods")
        binding = a_binding(a_user("bob"), role="view", kind="ClusterRole")
        cluster.verbs.create(ROLE_BINDINGS, "default", binding, user="admin")
        asked = (("pods", "default"), ("secrets", "default"), ("pods", "kube-system"))
        return [before, *[await may_list(cluster, "bob", plural, namespace) for plural, namespace in asked]]

    assert on_a_cluster(script) == [403, 200, 403, 403]


def test_the_roles_that_collect_are_born_with_what_they_collect() -> None:
    async def script(cluster: Cluster) -> list[int]:
        await asyncio.sleep(10)
        return [len(cluster.history.of(CLUSTER_ROLES)), *(len(rules_of(cluster, name)) for name in ("view", "edit"))]

    writes, view, edit = on_a_cluster(script)

    assert writes == 0
    assert 0 < view < edit


def test_a_role_with_the_label_is_collected_by_all_that_collect_each_other() -> None:
    async def script(cluster: Cluster) -> list[list[bool]]:
        mine = a_rule("get", "cabins", group="example.com")
        names = ("view", "edit", "admin")
        held = [[mine in rules_of(cluster, name) for name in names]]
        role = labelled(a_role(mine, name="cabins"), TO_VIEW)
        cluster.verbs.create(CLUSTER_ROLES, "", role, user="admin")
        await asyncio.sleep(1)
        held.append([mine in rules_of(cluster, name) for name in names])
        cluster.verbs.delete(CLUSTER_ROLES, "", "cabins", user="admin")
        await asyncio.sleep(1)
        return [*held, [mine in rules_of(cluster, name) for name in names]]

    assert on_a_cluster(script) == [[False] * 3, [True] * 3, [False] * 3]


def test_rules_are_collected_by_selector_then_by_name_and_once() -> None:
    one, two, three = (a_rule("get", plural) for plural in ("ones", "twos", "threes"))

    async def script(cluster: Cluster) -> tuple[list[Tree], Any]:
        for role in (
            labelled(a_role(three, one, name="a"), "late"),
            labelled(a_role(two, name="z"), "early"),
            labelled(a_role(one, name="b"), "early"),
            collecting("all", "early", "late") | {"rules": [a_rule("get", "others")]},
        ):
            cluster.verbs.create(CLUSTER_ROLES, "", role, user="admin")
        await asyncio.sleep(1)
        collected = rules_of(cluster, "all")
        for name in ("a", "b", "z"):
            cluster.verbs.delete(CLUSTER_ROLES, "", name, user="admin")
        await asyncio.sleep(1)
        return collected, cluster.get(CLUSTER_ROLES, "", "all").get("rules")

    assert on_a_cluster(script) == ([one, two, three], None)


def test_the_classes_of_the_system_cannot_be_deleted() -> None:
    async def script(cluster: Cluster) -> str:
        with pytest.raises(StatusError) as refused:
            cluster.verbs.delete(PRIORITY_CLASSES, "", "system-node-critical", user="admin")
        return str(refused.value.message)

    assert on_a_cluster(script) == (
        'priorityclasses.scheduling.k8s.io "system-node-critical" is forbidden: '
        "this is a system priority class and cannot be deleted"
    )


def test_pods_may_be_of_the_classes_of_the_system() -> None:
    async def script(cluster: Cluster) -> int:
        await asyncio.sleep(1)
        container = {"name": "app", "image": "app:1"}
        spec = {"priorityClassName": "system-cluster-critical", "containers": [container]}
        pod = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "vital"}, "spec": spec}
        made: int = cluster.verbs.create(PODS, "kube-system", pod, user="admin")["spec"]["priority"]
        return made

    assert on_a_cluster(script) == 2_000_000_000
