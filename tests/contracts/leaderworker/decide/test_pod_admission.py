"""Pods of a set: their labels, placement and variables, and refusals (sections 2.7 and 2.9 and 3.6 and 3.7)."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import pytest

from fairlead.contracts.leaderworker.decide.identity import group_key, parent_and_ordinal, subgroup_key
from fairlead.contracts.leaderworker.decide.pod_admission import admitted
from fairlead.contracts.leaderworker.decide.pod_view import PodRefusal
from fairlead.contracts.leaderworker.decide.subgroups import worker_subgroup
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_SCOPE,
    EXCLUSIVE_TOPOLOGY,
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_NAME,
    NAME,
    OLD_SUBGROUP_SIZE,
    REVISION_KEY,
    SIZE,
    SUBDOMAIN_POLICY,
    SUBGROUP_EXCLUSIVE_TOPOLOGY,
    SUBGROUP_INDEX,
    SUBGROUP_KEY,
    SUBGROUP_POLICY_TYPE,
    SUBGROUP_SIZE,
    WORKER_INDEX,
)
from tests.contracts.leaderworker.decide.sets import NAMESPACE, Tree, a_pod, environment

BOTH = {EXCLUSIVE_TOPOLOGY: "zone", SUBGROUP_EXCLUSIVE_TOPOLOGY: "rack", SUBGROUP_SIZE: "4"}
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def labels(pod: Tree) -> dict[str, str]:
    found: dict[str, str] = pod["metadata"]["labels"]
    return found


def terms(pod: Tree, kind: str) -> list[tuple[str, list[Tree]]]:
    """Topologies and expressions of the required terms."""
    found = pod["spec"].get("affinity", {}).get(kind, {}).get(REQUIRED, [])
    return [(each["topologyKey"], each.get("labelSelector", {}).get("matchExpressions", [])) for each in found]


@pytest.mark.parametrize(
    "given",
    [
        {"subdomain": "s" * 100_000},
        {"labels": {NAME: "a" * 100_000}},
        {"labels": {GROUP_INDEX: "0" * 100_000}},
        {"size": "0" * 4_000 + "2"},
    ],
    ids=["subdomain", "name", "index", "size"],
)
def test_what_no_name_can_be_is_not_put_into_every_container(given: Tree) -> None:
    """Nobody has checked names yet when this is asked: a long one in a pod of many containers would be gigabytes."""
    with pytest.raises(PodRefusal, match="longer than names and numbers can be"):
        admitted(a_pod("a-1", containers=[{"name": "main"}] * 3, **given))


@pytest.mark.parametrize(
    ("namespace", "leader", "key"),
    [
        ("default", "test-sample", "95e88034e460983f51a9952fe128729fbc0663b5"),
        ("default", "podName", "390b34ab671d29e9997d7d4252b8bbf8da02f5b7"),
        ("leaderworkerset", "test-sample", "39f5d7e9122b9d94d3932e3720b43fd3b56347e8"),
    ],
)
def test_keys_of_groups_are_upstreams(namespace: str, leader: str, key: str) -> None:
    assert group_key(namespace, leader) == key


def test_keys_of_subgroups_are_upstreams() -> None:
    assert subgroup_key("lws-0", "1") == "9a04e952f5fa14ba00dc528e168e7eca4cbfa81d"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a-0", ("a", 0)),
        ("a-0-12", ("a-0", 12)),
        ("a-007", ("a", 7)),
        ("a", ("", None)),
        ("a-", ("", None)),
        ("a-1x", ("", None)),
        ("", ("", None)),
        ("a-2147483647", ("a", 2147483647)),
        ("a-2147483648", ("a", None)),
        (f"a-{'9' * 5000}", ("a", None)),
        ("a-\u0663", ("", None)),
    ],
)
def test_a_name_tells_parent_and_ordinal(name: str, expected: tuple[str, int | None]) -> None:
    assert parent_and_ordinal(name) == expected


def test_19_a_leader_learns_its_group() -> None:
    made = admitted(a_pod("a-1"))

    assert labels(made) == {
        NAME: "a",
        REVISION_KEY: "key",
        WORKER_INDEX: "0",
        GROUP_INDEX: "1",
        GROUP_KEY: group_key(NAMESPACE, "a-1"),
    }
    assert list(environment(made).items()) == [
        ("LWS_LEADER_ADDRESS", "a-1.a.test"),
        ("LWS_GROUP_SIZE", "2"),
        ("LWS_WORKER_INDEX", "0"),
    ]


def test_19_a_worker_learns_its_place() -> None:
    made = admitted(a_pod("a-1-3", size=4))

    assert labels(made) == {NAME: "a", REVISION_KEY: "key", GROUP_INDEX: "1", WORKER_INDEX: "3"}
    assert environment(made) == {"LWS_LEADER_ADDRESS": "a-1.a.test", "LWS_GROUP_SIZE": "4", "LWS_WORKER_INDEX": "3"}


def test_labels_that_are_there_stay() -> None:
    made = admitted(a_pod("odd", labels={NAME: "a", GROUP_INDEX: "7", GROUP_KEY: "mine", WORKER_INDEX: "0"}))

    assert labels(made)[GROUP_INDEX] == "7"
    assert labels(made)[GROUP_KEY] == "mine"
    assert environment(made)["LWS_LEADER_ADDRESS"].startswith("a-7.")


def test_19_a_pod_of_no_set_is_left_alone() -> None:
    pod = a_pod("a-1")
    del labels(pod)[NAME], pod["metadata"]["annotations"]

    assert admitted(pod) is pod


def test_the_pod_that_is_given_is_not_changed() -> None:
    pod = a_pod("a-1", notes=BOTH, size=8)
    before = deepcopy(pod)

    admitted(pod)

    assert pod == before


def test_a_leader_with_a_subdomain_of_its_own_gets_its_name() -> None:
    made = admitted(a_pod("a-1", notes={SUBDOMAIN_POLICY: "UniquePerReplica"}))

    assert made["spec"]["subdomain"] == "a-1"
    assert environment(made)["LWS_LEADER_ADDRESS"] == "a-1.a-1.test"
    assert admitted(a_pod("a-1", notes={SUBDOMAIN_POLICY: "Shared"}))["spec"]["subdomain"] == "a"


@pytest.mark.parametrize(
    ("size", "subgroup", "expected"),
    [
        (4, 2, [0, 1, 1]),
        (5, 2, [0, 0, 1, 1]),
        (8, 4, [0, 0, 0, 1, 1, 1, 1]),
        (9, 4, [0, 0, 0, 0, 1, 1, 1, 1]),
        (4, 1, [1, 2, 3]),
        (5, 5, [0, 0, 0, 0]),
    ],
)
def test_workers_are_parted_into_subgroups(size: int, subgroup: int, expected: list[int]) -> None:
    assert [worker_subgroup(size, subgroup, worker) for worker in range(1, size)] == expected


@pytest.mark.parametrize("key", [SUBGROUP_SIZE, OLD_SUBGROUP_SIZE])
def test_a_pod_learns_its_subgroup(key: str) -> None:
    """Releases before 0.6 wrote the size under another name."""
    leader = admitted(a_pod("a-1", size=4, notes={key: "2"}))
    worker = admitted(a_pod("a-1-3", size=4, notes={key: "2"}))

    assert [labels(leader)[each] for each in (SUBGROUP_INDEX, SUBGROUP_KEY)] == ["0", subgroup_key("a-1", "0")]
    assert [labels(worker)[each] for each in (SUBGROUP_INDEX, SUBGROUP_KEY)] == ["1", subgroup_key("a-1", "1")]


def test_the_newer_name_of_the_size_of_subgroups_counts() -> None:
    pod = a_pod("a-1-3", size=4, notes={SUBGROUP_SIZE: "4", OLD_SUBGROUP_SIZE: "2"})

    assert labels(admitted(pod))[SUBGROUP_INDEX] == "0"


def test_the_name_of_the_leader_comes_from_its_annotation_or_from_the_pods_own_name() -> None:
    pod = a_pod("a-1-3", size=4, notes={SUBGROUP_SIZE: "2", LEADER_NAME: "b-9"})
    nameless = deepcopy(pod)
    del nameless["metadata"]["annotations"][LEADER_NAME]

    assert labels(admitted(pod))[SUBGROUP_KEY] == subgroup_key("b-9", "1")
    assert labels(admitted(nameless))[SUBGROUP_KEY] == subgroup_key("a-1", "1")


def test_a_leader_that_is_excluded_has_no_subgroup() -> None:
    notes = {SUBGROUP_SIZE: "2", SUBGROUP_POLICY_TYPE: "LeaderExcluded", SUBGROUP_EXCLUSIVE_TOPOLOGY: "rack"}

    leader, worker = (admitted(a_pod(name, size=5, notes=notes)) for name in ("a-1", "a-1-2"))

    assert SUBGROUP_INDEX not in labels(leader)
    assert "affinity" not in leader["spec"]
    assert labels(worker)[SUBGROUP_INDEX] == "0"


def test_a_subgroup_that_is_there_is_left_alone() -> None:
    pod = a_pod("a-1-3", size=4, labels={SUBGROUP_INDEX: "9"}, notes={**BOTH, SUBGROUP_SIZE: "2"})

    made = admitted(pod)

    assert labels(made)[SUBGROUP_INDEX] == "9"
    assert SUBGROUP_KEY not in labels(made)
    assert "affinity" not in made["spec"]


def test_19_leaders_are_placed_by_group_and_subgroup_workers_by_subgroup() -> None:
    leader, worker = (admitted(a_pod(name, size=8, notes=BOTH)) for name in ("a-1", "a-1-5"))

    group, subgroup = labels(leader)[GROUP_KEY], labels(leader)[SUBGROUP_KEY]
    assert terms(leader, "podAffinity") == [
        ("zone", [{"key": GROUP_KEY, "operator": "In", "values": [group]}]),
        ("rack", [{"key": SUBGROUP_KEY, "operator": "In", "values": [subgroup]}]),
    ]
    assert terms(leader, "podAntiAffinity") == [
        (
            "zone",
            [{"key": GROUP_KEY, "operator": "Exists"}, {"key": GROUP_KEY, "operator": "NotIn", "values": [group]}],
        ),
        (
            "rack",
            [
                {"key": SUBGROUP_KEY, "operator": "Exists"},
                {"key": SUBGROUP_KEY, "operator": "NotIn", "values": [subgroup]},
            ],
        ),
    ]
    own = labels(worker)[SUBGROUP_KEY]
    assert own != subgroup
    assert terms(worker, "podAffinity") == [("rack", [{"key": SUBGROUP_KEY, "operator": "In", "values": [own]}])]
    assert [topology for topology, _ in terms(worker, "podAntiAffinity")] == ["rack"]


def test_one_topology_for_groups_and_subgroups_is_asked_for_once() -> None:
    made = admitted(a_pod("a-1", size=8, notes={**BOTH, SUBGROUP_EXCLUSIVE_TOPOLOGY: "zone"}))

    assert [len(terms(made, kind)) for kind in ("podAffinity", "podAntiAffinity")] == [1, 1]


@pytest.mark.parametrize(
    ("together", "apart", "expected"),
    [
        (["zone"], ["zone"], (1, 1)),
        (["zone"], [], (2, 1)),
        ([], ["zone"], (1, 2)),
        (["rack"], ["zone"], (2, 2)),
        (["rack"], ["rack"], (2, 2)),
    ],
)
def test_placement_of_the_users_own_stays(together: list[str], apart: list[str], expected: tuple[int, int]) -> None:
    """Nothing is added where terms of the topology are there both ways."""
    preferred: Tree = {"preferredDuringSchedulingIgnoredDuringExecution": []}
    affinity = {
        "nodeAffinity": {"mine": True},
        "podAffinity": {REQUIRED: [{"topologyKey": each} for each in together], **preferred},
        "podAntiAffinity": {REQUIRED: [{"topologyKey": each} for each in apart]},
    }

    made = admitted(a_pod("a-1", notes={EXCLUSIVE_TOPOLOGY: "zone"}, affinity=affinity))

    assert (len(terms(made, "podAffinity")), len(terms(made, "podAntiAffinity"))) == expected
    assert made["spec"]["affinity"]["nodeAffinity"] == {"mine": True}
    assert "preferredDuringSchedulingIgnoredDuringExecution" in made["spec"]["affinity"]["podAffinity"]


def test_an_empty_topology_counts_as_none() -> None:
    """Section 5.16."""
    made = admitted(a_pod("a-1", notes={EXCLUSIVE_TOPOLOGY: "", SUBGROUP_EXCLUSIVE_TOPOLOGY: "", SUBGROUP_SIZE: "2"}))

    assert "affinity" not in made["spec"]


def test_by_opt_in_only_the_own_set_is_kept_out() -> None:
    """Section 6.8."""
    made = admitted(a_pod("a-1", size=8, notes={**BOTH, EXCLUSIVE_SCOPE: "LeaderWorkerSet"}))

    for topology, expressions in terms(made, "podAntiAffinity"):
        assert expressions[2:] == [{"key": NAME, "operator": "In", "values": ["a"]}], topology
    other = admitted(a_pod("a-1", size=8, notes={**BOTH, EXCLUSIVE_SCOPE: "Namespace"}))
    assert [len(expressions) for _, expressions in terms(other, "podAntiAffinity")] == [2, 2]


def test_a_gang_scheduler_reads_the_group_on_every_pod() -> None:
    """Section 6.2."""
    leader, worker = (admitted(a_pod(name), gang_scheduler="volcano") for name in ("a-1", "a-1-1"))

    marks = [each["metadata"]["annotations"]["scheduling.k8s.io/group-name"] for each in (leader, worker)]
    assert marks == ["a-1-key", "a-1-key"]
    assert "scheduling.k8s.io/group-name" not in admitted(a_pod("a-1"))["metadata"]["annotations"]


def test_variables_of_the_set_come_first_and_no_name_twice() -> None:
    env: list[Tree] = [
        {"name": "MINE", "value": "$(LWS_LEADER_ADDRESS)"},
        {"name": "LWS_GROUP_SIZE", "value": "99"},
        {"name": "SECRET", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "MINE", "value": "again"},
    ]
    containers = [{"name": "main", "env": env}, {"name": "other", "env": None}]

    made = admitted(a_pod("a-1", containers=containers, initContainers=[{"name": "first"}]))

    main = made["spec"]["containers"][0]["env"]
    assert [each["name"] for each in main] == [
        "LWS_LEADER_ADDRESS",
        "LWS_GROUP_SIZE",
        "LWS_WORKER_INDEX",
        "MINE",
        "SECRET",
    ]
    assert main[1]["value"] == "2"
    assert main[3:] == [env[0], env[2]]
    assert list(environment(made, 1)) == ["LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"]
    assert environment(made, 0, "initContainers") == environment(made, 1)


@pytest.mark.parametrize(
    ("pod", "because"),
    [
        (a_pod("a-1", notes={SIZE: "two"}), f'annotation {SIZE} of pod a-1: "two" is not a whole number'),
        (a_pod("a-1", notes={SIZE: ""}), f'annotation {SIZE} of pod a-1: "" is not a whole number'),
        (a_pod("a-1", notes={SIZE: "9" * 30}), "is too large"),
        (a_pod("a-1", notes={SIZE: "1_0"}), "is not a whole number"),
        (a_pod("odd", labels={WORKER_INDEX: "0"}), "parsing pod ordinal for pod odd"),
        (a_pod("odd", labels={WORKER_INDEX: "1"}), "parsing pod ordinal for pod odd"),
        (a_pod("a-1", labels={WORKER_INDEX: "1"}), "no group index label found for pod test/a-1"),
        (a_pod("a-1-1", notes={SUBGROUP_SIZE: "x"}), f'annotation {SUBGROUP_SIZE} of pod a-1-1: "x" is not a whole'),
        (a_pod("a-1-1", notes={SUBGROUP_SIZE: "0"}), f"annotation {SUBGROUP_SIZE} of pod a-1-1: 0 is no size"),
        (a_pod("a-1-1", notes={SUBGROUP_SIZE: "-2"}), "at least 1 is needed"),
    ],
)
def test_a_pod_without_a_place_is_refused(pod: Tree, because: str) -> None:
    with pytest.raises(PodRefusal, match=re.escape(because)):
        admitted(pod)


def test_19_a_pod_without_the_size_of_its_group_is_refused() -> None:
    pod = a_pod("a-1")
    del pod["metadata"]["annotations"]

    with pytest.raises(PodRefusal, match=r"^size annotation is unexpectedly missing for pod a-1$"):
        admitted(pod)


@pytest.mark.parametrize(
    "changes",
    [
        {"metadata": []},
        {"metadata": {"labels": ["x"]}},
        {"metadata": {"labels": {NAME: 7}}},
        {"spec": "text"},
        {"spec": {"containers": {"a": 1}}},
        {"spec": {"containers": [None]}},
        {"spec": {"containers": [{"env": [["a"]]}]}},
        {"spec": {"containers": [{"resources": {"limits": []}}]}},
        {"spec": {"affinity": []}},
        {"spec": {"affinity": {"podAffinity": {REQUIRED: ["x"]}}}},
        {"spec": {"subdomain": {}}},
    ],
)
def test_what_has_no_shape_of_a_pod_is_refused(changes: Tree) -> None:
    with pytest.raises(PodRefusal, match=r"^the object is no pod that can be read: "):
        admitted({**a_pod("a-1"), **changes})


@pytest.mark.parametrize(
    "spec", [None, {"containers": None, "initContainers": None, "affinity": None, "subdomain": None}]
)
def test_nulls_count_as_absent(spec: Any) -> None:
    made = admitted({**a_pod("a-1", notes={EXCLUSIVE_TOPOLOGY: "zone"}), "spec": spec})

    assert terms(made, "podAffinity")
    assert labels(made)[GROUP_INDEX] == "1"
