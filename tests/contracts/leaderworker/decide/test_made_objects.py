"""What is made for a set: its leaders, the workers of a group, Services and PodGroups."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.budgets import Budget
from fairlead.contracts.leaderworker.decide.leader_set import leader_set
from fairlead.contracts.leaderworker.decide.planner import Plan, Row, Stage
from fairlead.contracts.leaderworker.decide.pod_groups import volcano_pod_group
from fairlead.contracts.leaderworker.decide.pod_requests import pod_requests
from fairlead.contracts.leaderworker.decide.revisions import data_of
from fairlead.contracts.leaderworker.decide.services import group_service, needs_shared_service, shared_service
from fairlead.contracts.leaderworker.decide.set_view import SetView, of_revision, of_spec
from fairlead.contracts.leaderworker.decide.worker_set import Topology, worker_set
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_SCOPE,
    EXCLUSIVE_TOPOLOGY,
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_NAME,
    LEADER_REQUESTS_TPUS,
    NAME,
    OLD_SUBGROUP_SIZE,
    REPLICAS,
    REVISION_KEY,
    SIZE,
    SUBDOMAIN_POLICY,
    SUBGROUP_EXCLUSIVE_TOPOLOGY,
    SUBGROUP_POLICY_TYPE,
    SUBGROUP_SIZE,
    WORKER_INDEX,
    LeaderWorkerSet,
    StatefulSet,
)
from tests.contracts.leaderworker.decide.some import UID, a_leader, a_set, a_template, the_leaders

PLAN = Plan(1, 3, Row.ROLL, Stage.ROLLING)
UNIQUE = {"subdomainPolicy": "UniquePerReplica"}
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def leaders(seen: LeaderWorkerSet, existing: StatefulSet | None = None, key: str = "k") -> dict[str, Any]:
    return leader_set(seen, of_revision(data_of(seen)), key, PLAN, Budget(1, 1), existing)


def marks(body: dict[str, Any]) -> dict[str, str]:
    annotations: dict[str, str] = body["spec"]["template"]["metadata"]["annotations"]
    return annotations


def test_01_the_leader_set_is_as_the_contract_says() -> None:
    found = leaders(a_set())

    assert found == {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "labels": {NAME: "a", REVISION_KEY: "k"},
            "annotations": {REPLICAS: "2"},
            "ownerReferences": [
                {
                    "apiVersion": "leaderworkerset.x-k8s.io/v1",
                    "kind": "LeaderWorkerSet",
                    "name": "a",
                    "uid": UID,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {
            "serviceName": "a",
            "replicas": 3,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {NAME: "a", WORKER_INDEX: "0"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2, "partition": 1}},
            "template": {
                "metadata": {
                    "labels": {NAME: "a", WORKER_INDEX: "0", REVISION_KEY: "k"},
                    "annotations": {SIZE: "2"},
                },
                "spec": {"containers": [{"name": "worker", "image": "nginx:1", "resources": {}}]},
            },
        },
    }


RECORDED = Path(__file__).parent / "recorded"
SPECS = {each["name"]: each["spec"] for each in msgspec.json.decode((RECORDED / "revisions.json").read_bytes())}
SETS = msgspec.json.decode((RECORDED / "sets.json").read_bytes())


@pytest.mark.parametrize("recorded", SETS, ids=lambda each: each["name"])
def test_sets_are_those_of_the_go_program(recorded: dict[str, Any]) -> None:
    """As release 0.9.0 applies and creates them, to the field: a take-over changes no template.

    It sets the owner separately, and tells workers nothing of the type of their subgroups.
    """
    spec = SPECS[recorded["name"]]
    seen = a_set(template=spec["leaderWorkerTemplate"], network_config=spec.get("networkConfig"))
    view = of_revision(data_of(seen))

    made_leaders = leader_set(seen, view, "k", Plan(0, 2, Row.REST, Stage.STEADY), Budget(1, 0), None)
    made_workers = worker_set(seen, view, a_leader().metadata)

    for made in (made_leaders, made_workers):
        made["metadata"].pop("ownerReferences")
    marks(made_workers).pop(SUBGROUP_POLICY_TYPE, None)
    assert made_leaders == recorded["leaders"]
    assert made_workers == recorded["workers"]


def test_leaders_have_their_own_template_where_there_is_one() -> None:
    own = {"metadata": {"labels": {"x": "y", NAME: "stolen"}}, "spec": {"containers": [{"name": "l", "image": "own"}]}}

    template = leaders(a_set(template=a_template(leaderTemplate=own)))["spec"]["template"]

    assert template["spec"]["containers"][0]["image"] == "own"
    assert template["metadata"]["labels"] == {"x": "y", NAME: "a", WORKER_INDEX: "0", REVISION_KEY: "k"}


def test_what_the_set_carries_is_copied_to_metadata_and_never_to_templates() -> None:
    annotations = {"note": "x", LAST_APPLIED: "{}", REPLICAS: "9"}

    found = leaders(a_set(labels={"team": "b", NAME: "other"}, annotations=annotations))

    assert found["metadata"]["labels"] == {"team": "b", NAME: "a", REVISION_KEY: "k"}
    assert found["metadata"]["annotations"] == {"note": "x", REPLICAS: "2"}
    assert "note" not in marks(found)


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({EXCLUSIVE_TOPOLOGY: "rack"}, {EXCLUSIVE_TOPOLOGY: "rack"}),
        ({EXCLUSIVE_TOPOLOGY: ""}, {}),
        ({EXCLUSIVE_SCOPE: "LeaderWorkerSet"}, {}),
        ({EXCLUSIVE_TOPOLOGY: "rack", EXCLUSIVE_SCOPE: "everything"}, {EXCLUSIVE_TOPOLOGY: "rack"}),
        (
            {EXCLUSIVE_TOPOLOGY: "rack", EXCLUSIVE_SCOPE: "LeaderWorkerSet"},
            {EXCLUSIVE_TOPOLOGY: "rack", EXCLUSIVE_SCOPE: "LeaderWorkerSet"},
        ),
        ({SUBGROUP_EXCLUSIVE_TOPOLOGY: "rack"}, {}),
    ],
)
def test_placement_follows_the_live_set(annotations: dict[str, str], expected: dict[str, str]) -> None:
    assert marks(leaders(a_set(annotations=annotations))) == {SIZE: "2", **expected}


def test_subgroups_and_subdomains_are_told_to_the_pods() -> None:
    template = a_template(size=4, subGroupPolicy={"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"})

    found = leaders(a_set(template=template, network_config=UNIQUE, annotations={SUBGROUP_EXCLUSIVE_TOPOLOGY: "rack"}))

    assert marks(found) == {
        SIZE: "4",
        SUBGROUP_SIZE: "2",
        SUBGROUP_POLICY_TYPE: "LeaderExcluded",
        SUBGROUP_EXCLUSIVE_TOPOLOGY: "rack",
        SUBDOMAIN_POLICY: "UniquePerReplica",
    }


def test_while_the_key_stays_the_keys_of_the_template_stay() -> None:
    """An old release wrote fewer and other ones: nothing is added, nothing goes, and values are ours."""
    seen = a_set(template=a_template(size=4, subGroupPolicy={"subGroupSize": 2}), annotations={EXCLUSIVE_TOPOLOGY: "r"})
    existing = leaders(seen)
    existing["spec"]["template"]["metadata"]["annotations"] = {
        SIZE: "9",
        OLD_SUBGROUP_SIZE: "2",
        "leaderworkerset.sigs.k8s.io/later": "x",
        "of.somebody": "else",
        EXCLUSIVE_SCOPE: "LeaderWorkerSet",
    }

    same = marks(leaders(seen, the_leaders(existing)))
    rolled = marks(leaders(seen, the_leaders(existing), key="next"))

    assert same == {
        SIZE: "4",
        OLD_SUBGROUP_SIZE: "2",
        "leaderworkerset.sigs.k8s.io/later": "x",
        EXCLUSIVE_TOPOLOGY: "r",
    }
    assert rolled == {SIZE: "4", SUBGROUP_SIZE: "2", SUBGROUP_POLICY_TYPE: "LeaderWorker", EXCLUSIVE_TOPOLOGY: "r"}


def test_claims_are_copied_in_the_parts_that_sets_take() -> None:
    claim = {
        "metadata": {"name": "data", "labels": {"a": "b"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "",
            "resources": {"requests": {"storage": "1024Mi"}},
            "dataSource": {"kind": "x", "name": "y"},
        },
    }
    retention = {"whenDeleted": "Delete", "whenScaled": ""}
    seen = a_set(template=a_template(volumeClaimTemplates=[claim], persistentVolumeClaimRetentionPolicy=retention))

    for spec in (leaders(seen)["spec"], worker_set(seen, of_spec(seen), a_leader().metadata)["spec"]):
        [made] = spec["volumeClaimTemplates"]
        assert made["metadata"] == {"name": "data", "namespace": "default"}
        assert made["spec"].keys() == {"accessModes", "storageClassName", "resources"}
        assert spec["persistentVolumeClaimRetentionPolicy"] == {"whenDeleted": "Delete"}


def test_the_worker_set_belongs_to_its_leader() -> None:
    seen = a_set(template=a_template(size=4), labels={"team": "b"})

    found = worker_set(seen, of_spec(seen), a_leader(1, "old").metadata)

    labels = {GROUP_INDEX: "1", NAME: "a", GROUP_KEY: "group-1"}
    assert found["metadata"] == {
        "name": "a-1",
        "namespace": "default",
        "labels": {"team": "b", **labels, REVISION_KEY: "old"},
        "ownerReferences": [
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "name": "a-1",
                "uid": "leader-1",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ],
    }
    spec = found["spec"]
    assert spec.keys() == {
        "serviceName", "replicas", "podManagementPolicy", "ordinals", "selector", "template",
    }  # fmt: skip
    assert (spec["replicas"], spec["ordinals"], spec["serviceName"]) == (3, {"start": 1}, "a")
    assert spec["selector"] == {"matchLabels": labels}
    assert spec["template"]["metadata"] == {
        "labels": {**labels, REVISION_KEY: "old"},
        "annotations": {SIZE: "4", LEADER_NAME: "a-1"},
    }


def test_08_a_rebuilt_group_keeps_the_size_and_the_network_of_its_revision() -> None:
    old = a_set(template=a_template("old", size=4), network_config=UNIQUE)
    live = a_set(template=a_template("new", size=2))

    found = worker_set(live, of_revision(data_of(old)), a_leader().metadata)

    assert (found["spec"]["replicas"], found["spec"]["serviceName"]) == (3, "a-0")
    assert found["spec"]["template"]["metadata"]["annotations"][SIZE] == "4"
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] == "old"


def test_19_workers_follow_their_leader_to_its_place() -> None:
    seen = a_set()

    found = worker_set(seen, of_spec(seen), a_leader().metadata, Topology("rack", "r7"))

    assert found["spec"]["template"]["spec"]["nodeSelector"] == {"rack": "r7"}
    assert "nodeSelector" not in seen.spec.leader_worker_template["workerTemplate"]["spec"]


@pytest.mark.parametrize(("amount", "expected"), [("4", "true"), ("0", None)])
def test_workers_are_told_whether_their_leader_takes_tpus(amount: str, expected: str | None) -> None:
    container = {"name": "l", "image": "x", "resources": {"limits": {"google.com/tpu": amount}}}
    seen = a_set(template=a_template(leaderTemplate={"spec": {"containers": [container]}}))

    found = worker_set(seen, of_spec(seen), a_leader().metadata)

    assert found["spec"]["template"]["metadata"]["annotations"].get(LEADER_REQUESTS_TPUS) == expected


def test_17_services_select_the_set_or_one_group() -> None:
    shared, own = shared_service(a_set()), group_service(a_set(), a_leader(3).metadata)

    assert shared["metadata"]["name"] == "a"
    assert shared["spec"] == {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": {NAME: "a"}}
    assert own["metadata"]["name"] == "a-3"
    assert own["metadata"]["ownerReferences"][0]["uid"] == "leader-3"
    assert own["spec"]["selector"] == {NAME: "a", GROUP_INDEX: "3"}
    assert shared["metadata"]["labels"] == own["metadata"]["labels"] == {NAME: "a"}


@pytest.mark.parametrize(
    ("live", "carried", "expected"),
    [(None, [], True), (UNIQUE, [], False), (UNIQUE, [None], True), (UNIQUE, [UNIQUE], False)],
)
def test_the_shared_service_stays_while_a_group_needs_it(live: Any, carried: list[Any], expected: bool) -> None:
    assert needs_shared_service(SetView({}, live), [SetView({}, each) for each in carried]) is expected


def test_a_pod_group_asks_for_the_whole_group() -> None:
    """Section 6.2: leader and three workers, with the queue and the annotations of the set."""
    resources = {"requests": {"cpu": "500m", "memory": "1Gi"}}
    template = a_template(size=4)
    template["workerTemplate"]["spec"]["containers"][0]["resources"] = resources
    template["leaderTemplate"] = {"spec": {"containers": [{"name": "l", "resources": {"requests": {"cpu": 1}}}]}}
    seen = a_set(
        template=template, annotations={"volcano.sh/x": "y", "scheduling.volcano.sh/queue-name": "q", "o": "p"}
    )

    found = volcano_pod_group("a-0-k", seen, of_spec(seen), a_leader().metadata)

    assert found["metadata"]["annotations"] == {"volcano.sh/x": "y"}
    assert found["metadata"]["labels"] == {NAME: "a", GROUP_INDEX: "0", REVISION_KEY: "k"}
    assert found["spec"] == {"minMember": 4, "minResources": {"cpu": "2500m", "memory": "3Gi"}, "queue": "q"}
    ready = replace(seen, spec=replace(seen.spec, startup_policy="LeaderReady"))
    assert volcano_pod_group("a-0-k", ready, of_spec(seen), a_leader().metadata)["spec"]["minMember"] == 1


def asking(amount: str, **more: Any) -> dict[str, Any]:
    return {"resources": {"requests": {"cpu": amount}}, **more}


SIDECAR = asking("1", restartPolicy="Always")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {}),
        ({"containers": [asking("1"), asking("500m")]}, {"cpu": "1500m"}),
        ({"containers": [asking("1")], "initContainers": [asking("3"), asking("2")]}, {"cpu": "3"}),
        (
            {"containers": [asking("1")], "initContainers": [asking("1", restartPolicy="Always"), asking("3")]},
            {"cpu": "4"},
        ),
        (
            {"containers": [asking("5")], "initContainers": [asking("1", restartPolicy="Always"), asking("3")]},
            {"cpu": "6"},
        ),
        ({"containers": [asking("1")], "overhead": {"cpu": "250m"}}, {"cpu": "1250m"}),
        ({"containers": [asking("1")], "resources": {"requests": {"cpu": "7", "x.io/y": "1"}}}, {"cpu": "7"}),
        ({"containers": [asking("much"), "x", {"resources": 7}], "initContainers": 5}, {}),
    ],
)
def test_what_a_pod_asks_for_in_all(spec: dict[str, Any], expected: dict[str, str]) -> None:
    assert pod_requests({"spec": spec}) == expected


@pytest.mark.parametrize("broken", [{}, {"size": "x", "workerTemplate": 7, "subGroupPolicy": [], "restartPolicy": 3}])
def test_a_set_that_nobody_has_checked_is_read_with_defaults(broken: dict[str, Any]) -> None:
    """Section 2.4: without webhooks anything may be missing."""
    view = SetView(broken, {"subdomainPolicy": None})

    assert (view.size, view.restart_policy, view.subdomain_policy) == (1, "RecreateGroupOnPodRestart", "Shared")
    assert (view.subgroup_size, view.worker_template, view.claims, view.claim_retention) == (None, {}, [], {})
    assert SetView({"restartPolicy": "Default"}).restart_policy == "None"
