"""LeaderWorkerSets and their pods through an API server: schema, defaults, refusals, what pods get (section 2.10)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec

from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_TOPOLOGY,
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_WORKER_SETS,
    NAME,
    SIZE,
    SUBGROUP_SIZE,
    WORKER_INDEX,
)
from kubeloop.errors import ApiError
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request, apply, path_of
from tests.contracts.leaderworker.decide.sets import a_pod, a_set, environment
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.leaderworkers import admit, define_sets, with_sets

POD: Tree = {"spec": {"containers": [{"name": "main", "image": "example.test/main:1"}]}}


def here(site: Site, tree: Tree) -> Tree:
    made = deepcopy(tree)
    made["metadata"]["namespace"] = site.namespace
    return made


async def created(site: Site, tree: Tree) -> Tree:
    return await site.create(LEADER_WORKER_SETS, here(site, tree))


async def refused(site: Site, tree: Tree) -> str:
    """Why the API server does not take the set."""
    try:
        await created(site, tree)
    except ApiError as error:
        return str(error)
    raise AssertionError("it was taken")


async def changed(site: Site, name: str, changes: Tree, subresource: str = "") -> Tree:
    path = path_of(LEADER_WORKER_SETS, site.namespace, name, subresource)
    body = msgspec.json.encode(changes)
    answer = await site.client.call(Request("PATCH", path, body=body, content_type=MERGE_PATCH))
    found: Tree = msgspec.json.decode(answer.body)
    return found


async def refused_change(site: Site, name: str, spec: Tree) -> str:
    try:
        await changed(site, name, {"spec": spec})
    except ApiError as error:
        return str(error)
    raise AssertionError("it was taken")


@with_sets(controllers=False)
async def test_03_defaults_come_from_the_schema_and_from_the_webhook(site: Site) -> None:
    await define_sets(site)
    await admit(site)
    ports = [{"containerPort": 8080}]
    template = {"spec": {"containers": [{"name": "main", "image": "x", "ports": ports}]}}

    least = await created(site, {"metadata": {"name": "a"}, "spec": {"leaderWorkerTemplate": {"workerTemplate": POD}}})
    named = await created(site, a_set("b", template={"restartPolicy": "Default", "workerTemplate": template}))

    assert least["spec"] == {
        "replicas": 1,
        "startupPolicy": "LeaderCreated",
        "networkConfig": {"subdomainPolicy": "Shared"},
        "rolloutStrategy": {
            "type": "RollingUpdate",
            "rollingUpdateConfiguration": {"maxUnavailable": 1, "maxSurge": 0, "partition": 0},
        },
        "leaderWorkerTemplate": {"size": 1, "restartPolicy": "RecreateGroupOnPodRestart", "workerTemplate": POD},
    }
    stored = named["spec"]["leaderWorkerTemplate"]
    assert stored["restartPolicy"] == "None"
    assert stored["workerTemplate"]["spec"]["containers"][0]["ports"] == [{"containerPort": 8080, "protocol": "TCP"}]


@with_sets(controllers=False)
async def test_03_refusals_come_through_the_api_server(site: Site) -> None:
    await define_sets(site)
    await admit(site)
    denied = 'admission webhook "vleaderworkerset.kb.io" denied the request: '
    subgroups = {"size": 4, "subGroupPolicy": {"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}}
    update = "spec.rolloutStrategy.rollingUpdateConfiguration"

    name = await refused(site, a_set("2cube"))
    both = await refused(site, a_set("a", update={"maxUnavailable": "200%", "partition": -1}))
    excluded = await refused(site, a_set("a", template=subgroups))
    low, high = await refused(site, a_set("a", replicas=-1)), await refused(site, a_set("a", replicas=1_000_001))
    enum = await refused(site, a_set("a", startupPolicy="Never"))
    nothing = await refused(site, {"metadata": {"name": "a"}})

    assert f'{denied}metadata.name: Invalid value: "2cube": a DNS-1035 label' in name
    assert (
        f'{denied}[{update}.maxUnavailable: Invalid value: "200%": must not be greater than 100%, '
        f"{update}.partition: Invalid value: -1: must be greater than or equal to 0]"
    ) in both
    assert "size-1 must be divisible by subGroupSize when using LeaderExcluded" in excluded
    assert "spec.replicas in body should be greater than or equal to 0" in low
    assert "spec.replicas in body should be less than or equal to 1000000" in high
    assert 'spec.startupPolicy: Unsupported value: "Never"' in enum
    assert "spec.leaderWorkerTemplate.workerTemplate: Required value" in nothing


@with_sets(controllers=False)
async def test_03_what_may_change_and_what_may_not(site: Site) -> None:
    await define_sets(site)
    await admit(site)
    await created(site, a_set("a", template={"size": 4, "subGroupPolicy": {"subGroupSize": 2}}))
    await created(site, a_set("b"))

    def policy(value: Any) -> Tree:
        return {"leaderWorkerTemplate": {"subGroupPolicy": value}}

    assert "Invalid value: 4: field is immutable" in await refused_change(site, "a", policy({"subGroupSize": 4}))
    assert "cannot remove subGroupSize after enabled" in await refused_change(site, "a", policy(None))
    assert "cannot enable subGroupSize" in await refused_change(site, "b", policy({"subGroupSize": 2}))
    assert (await changed(site, "b", {"spec": {"leaderWorkerTemplate": {"size": 3}}}))["metadata"]["generation"] == 2
    assert (await changed(site, "b", {"spec": {"networkConfig": None}}))["spec"]["networkConfig"] == {
        "subdomainPolicy": "Shared"
    }


@with_sets(controllers=False)
async def test_templates_are_merged_entry_by_entry(site: Site) -> None:
    """Lists of templates have the keys of their types, so that two managers can share one."""
    await define_sets(site)
    await admit(site)
    ref = Ref(LEADER_WORKER_SETS, site.namespace, "a")
    env = {"name": "main", "env": [{"name": "MINE", "value": "1"}]}

    for manager, container in (("one", {"name": "main", "image": "x"}), ("two", env), ("two", {"name": "side"})):
        spec = {"leaderWorkerTemplate": {"workerTemplate": {"spec": {"containers": [container]}}}}
        tree = {
            "apiVersion": LEADER_WORKER_SETS.api_version,
            "kind": LEADER_WORKER_SETS.kind,
            "metadata": {"name": "a"},
            "spec": spec,
        }
        await site.client.call(apply(ref, msgspec.json.encode(tree), manager))

    found = await site.get(LEADER_WORKER_SETS, "a")
    assert found is not None
    assert found["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"] == [
        {"name": "main", "image": "x"},
        {"name": "side"},
    ]


@with_sets(controllers=False)
async def test_a_set_that_scaling_made_invalid_can_still_be_deleted(site: Site) -> None:
    """Scaling passes no webhook: 25 % of 3 groups are none, and the last finalizer must go all the same."""
    await define_sets(site)
    await admit(site)
    await created(site, a_set("a", replicas=4, update={"maxUnavailable": "25%"}))
    await changed(site, "a", {"metadata": {"finalizers": ["example.test/held"]}})
    await changed(site, "a", {"spec": {"replicas": 3}}, "scale")

    await site.client.call(Request("DELETE", path_of(LEADER_WORKER_SETS, site.namespace, "a")))
    await changed(site, "a", {"metadata": {"finalizers": None}})

    assert await site.get(LEADER_WORKER_SETS, "a") is None


@with_sets(controllers=False)
async def test_19_pods_get_their_place_when_they_are_created(site: Site) -> None:
    await admit(site, gang_scheduler="volcano")
    containers = [{"name": "main", "image": "x", "env": [{"name": "MINE", "value": "$(LWS_LEADER_ADDRESS)"}]}]
    notes = {EXCLUSIVE_TOPOLOGY: "zone", SUBGROUP_SIZE: "4"}

    leader = await site.create(PODS, here(site, a_pod("a-1", size=8, notes=notes, containers=containers)))
    worker = await site.create(PODS, here(site, a_pod("a-1-5", size=8, notes=notes, containers=containers)))
    foreign = here(site, a_pod("b-1", containers=containers))
    del foreign["metadata"]["labels"][NAME]
    other = await site.create(PODS, foreign)
    sizeless = here(site, a_pod("c-1", containers=containers))
    del sizeless["metadata"]["annotations"][SIZE]
    try:
        await site.create(PODS, sizeless)
    except ApiError as error:
        denial = str(error)

    assert leader["metadata"]["labels"][GROUP_INDEX] == "1"
    assert worker["metadata"]["labels"][WORKER_INDEX] == "5"
    assert leader["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == "a-1-key"
    assert list(environment(worker).items()) == [
        ("LWS_LEADER_ADDRESS", f"a-1.a.{site.namespace}"),
        ("LWS_GROUP_SIZE", "8"),
        ("LWS_WORKER_INDEX", "5"),
        ("MINE", "$(LWS_LEADER_ADDRESS)"),
    ]
    assert set(leader["spec"]["affinity"]) == {"podAffinity", "podAntiAffinity"}
    assert "affinity" not in worker["spec"]
    assert GROUP_INDEX not in other["metadata"]["labels"]
    assert denial.endswith("size annotation is unexpectedly missing for pod c-1")


@with_sets()
async def test_pods_that_a_controller_creates_are_admitted_too(site: Site) -> None:
    await admit(site)
    labels = {NAME: "a", WORKER_INDEX: "0"}
    leaders = {
        "metadata": {"name": "a"},
        "spec": {
            "replicas": 2,
            "serviceName": "a",
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": {SIZE: "1"}}, **POD},
        },
    }

    await site.create(STATEFULSETS, leaders)
    await site.until(lambda: len(site.history.objects(PODS)) == 2)

    pods = site.history.objects(PODS)
    assert {name: pod["metadata"]["labels"][GROUP_INDEX] for name, pod in pods.items()} == {"a-0": "0", "a-1": "1"}
    assert len({pod["metadata"]["labels"][GROUP_KEY] for pod in pods.values()}) == 2
    assert environment(pods["a-1"])["LWS_LEADER_ADDRESS"] == f"a-1.a.{site.namespace}"
