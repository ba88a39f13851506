"""Pods that are made in numbers: each is what it would have been if it had been the first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from kubeloop.request import JSON, MERGE_PATCH, Request
from kubesim.auth.rbac import insider, user_of
from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.kinds.registry import LIMIT_RANGES, MUTATING_WEBHOOKS, NAMESPACES, PODS, SERVICE_ACCOUNTS
from kubesim.time import run
from tests.kubesim.hooks import a_hook, a_rule
from tests.kubesim.trees import Tree, a_pod

OWNER = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "1234", "controller": True}


def a_member(number: int, **spec: Any) -> Tree:
    name = f"web-{number}"
    tree = a_pod(name, labels={"app": "web", "pod": name}, hostname=name, subdomain="web", **spec)
    tree["metadata"] |= {"namespace": "default", "ownerReferences": [OWNER]}
    return tree


TESTER = user_of("tester")


async def make(cluster: Cluster, number: int, **spec: Any) -> Tree:
    name = f"web-{number}"
    births = cluster.verbs.births
    place, labels = ("default", name), {"pod": name}
    revision = await births.create("web", place, labels, lambda: a_member(number, **spec), TESTER)
    assert str(revision) == cluster.get(PODS, "default", name)["metadata"]["resourceVersion"]
    return cluster.get(PODS, "default", name)


def an_account(cluster: Cluster) -> None:
    account = {"metadata": {"name": "default"}}
    cluster.verbs.create(SERVICE_ACCOUNTS, "default", account, user="tester")


def on_a_cluster(script: Callable[[Cluster], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        return await script(Cluster(seed=1))

    return run(main())


@pytest.mark.parametrize("with_account", [False, True], ids=["without tokens", "with tokens"])
def test_a_pod_like_others_is_what_it_would_be_alone(with_account: bool) -> None:
    """The same draws make the same pod, UID and name of the volume with its token included."""

    async def alike(cluster: Cluster) -> list[Tree]:
        if with_account:
            an_account(cluster)
        return [await make(cluster, number) for number in range(3)]

    async def alone(cluster: Cluster) -> list[Tree]:
        if with_account:
            an_account(cluster)
        for number in range(3):
            cluster.verbs.create(PODS, "default", a_member(number), user="tester")
        return [cluster.get(PODS, "default", f"web-{number}") for number in range(3)]

    assert on_a_cluster(alike) == on_a_cluster(alone)


@pytest.mark.parametrize("resources", ["", "configmaps", "pods/status"])
def test_only_the_first_takes_the_long_way(resources: str) -> None:
    """Also with a webhook about something else."""

    async def script(cluster: Cluster) -> list[int]:
        if resources:
            hook = a_hook("other", a_rule("*", resources))
            configuration = {"metadata": {"name": "other"}, "webhooks": [hook]}
            cluster.verbs.create(MUTATING_WEBHOOKS, "", configuration, user="tester")
        made: list[int] = []

        def tree(number: int) -> Callable[[], Tree]:
            return lambda: made.append(number) or a_member(number)  # type: ignore[func-returns-value]

        for number in range(3):
            place, labels = ("default", f"web-{number}"), {"pod": f"web-{number}"}
            await cluster.verbs.births.create("web", place, labels, tree(number), TESTER)
        return made

    assert on_a_cluster(script) == [0]


def test_limits_that_come_later_hold_for_the_next_pod() -> None:
    async def script(cluster: Cluster) -> list[Any]:
        first = await make(cluster, 0)
        limit = {"type": "Container", "default": {"memory": "1Gi"}}
        limits = {"metadata": {"name": "limits"}, "spec": {"limits": [limit]}}
        cluster.verbs.create(LIMIT_RANGES, "default", limits, user="tester")
        return [each["spec"]["containers"][0]["resources"].get("limits") for each in (first, await make(cluster, 1))]

    assert on_a_cluster(script) == [None, {"memory": "1Gi"}]


def test_a_name_that_is_taken_is_refused() -> None:
    async def script(cluster: Cluster) -> str:
        await make(cluster, 0)
        await make(cluster, 1)
        with pytest.raises(StatusError) as refusal:
            await make(cluster, 1)
        return refusal.value.reason

    assert on_a_cluster(script) == "AlreadyExists"


def test_a_namespace_that_goes_takes_no_more_pods() -> None:
    async def script(cluster: Cluster) -> str:
        cluster.verbs.create(NAMESPACES, "", {"metadata": {"name": "short"}}, user="tester")

        def member(number: int) -> Callable[[], Tree]:
            tree = a_member(number)
            tree["metadata"]["namespace"] = "short"
            return lambda: tree

        await cluster.verbs.births.create("short", ("short", "web-0"), {"pod": "web-0"}, member(0), TESTER)
        cluster.verbs.delete(NAMESPACES, "", "short", user="tester")
        with pytest.raises(StatusError) as refusal:
            await cluster.verbs.births.create("short", ("short", "web-1"), {"pod": "web-1"}, member(1), TESTER)
        return refusal.value.reason

    assert on_a_cluster(script) == "Forbidden"


def test_a_pod_whose_labels_get_into_its_spec_is_no_pattern() -> None:
    """A spread constraint by the pod's own label says something else in every pod."""
    selector = {"matchLabels": {"app": "web"}}
    spread = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": selector,
        "matchLabelKeys": ["pod"],
    }

    async def script(cluster: Cluster) -> list[Any]:
        made = [await make(cluster, number, topologySpreadConstraints=[spread]) for number in range(2)]
        constraints = [each["spec"]["topologySpreadConstraints"][0] for each in made]
        return [each["labelSelector"]["matchExpressions"][0]["values"] for each in constraints]

    assert on_a_cluster(script) == [["web-0"], ["web-1"]]


def test_pods_that_are_alike_share_a_spec_and_keep_what_is_their_own() -> None:
    """However often they are written; memory and short ways rest on it."""

    async def scenario() -> tuple[list[Any], list[Tree]]:
        cluster = Cluster(seed=1)
        an_account(cluster)
        for number in range(3):
            await make(cluster, number)
        cluster.handler._writing = None  # type: ignore[assignment]  # the long way leads nowhere
        transport = cluster.transport(insider("kubelet"))
        for number in (1, 2):
            place = f"/api/v1/namespaces/default/pods/web-{number}"
            target = {"metadata": {"name": f"web-{number}"}, "target": {"kind": "Node", "name": f"node-{number}"}}
            bound = Request("POST", f"{place}/binding", body=msgspec.json.encode(target), content_type=JSON)
            runs = Request("PATCH", f"{place}/status", body=b'{"status":{"phase":"Running"}}', content_type=MERGE_PATCH)
            assert [(await transport.send(each)).status for each in (bound, runs)] == [201, 200]
        live = cluster.store.table(PODS).live
        kept = [live["default", f"web-{number}"].kept for number in (1, 2)]
        return kept, [cluster.get(PODS, "default", f"web-{number}") for number in (1, 2)]

    kept, pods = run(scenario())
    assert kept[0].spec is kept[1].spec
    assert [pod["spec"]["nodeName"] for pod in pods] == ["node-1", "node-2"]
    assert [pod["spec"]["hostname"] for pod in pods] == ["web-1", "web-2"]
    assert [pod["status"]["phase"] for pod in pods] == ["Running", "Running"]
    tokens = [pod["spec"]["volumes"][0]["name"] for pod in pods]
    mounts = [pod["spec"]["containers"][0]["volumeMounts"][0]["name"] for pod in pods]
    assert tokens == mounts
    assert tokens[0] != tokens[1]
    assert all(b"Running" in body.status for body in kept)
    assert not any(b"DisruptionTarget" in body.status for body in kept)
