"""Variables of TPU workers: who they are, and where the others are (section 3.7 step 5)."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.leaderworker.decide.pod_admission import admitted
from fairlead.contracts.leaderworker.decide.pod_view import PodRefusal
from fairlead.contracts.leaderworker.decide.tpu import requests_tpus
from fairlead.contracts.leaderworker.kinds import (
    LEADER_REQUESTS_TPUS,
    SUBGROUP_INDEX,
    SUBGROUP_POLICY_TYPE,
    SUBGROUP_SIZE,
)
from tests.contracts.leaderworker.decide.sets import TPU, Tree, a_pod, environment

TAKES_PART = {LEADER_REQUESTS_TPUS: "true"}
VARIABLES = ("TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID", "TPU_NAME", "TPU_PROCESS_ADDRESSES", "TPU_PROCESS_PORT")


def container(name: str = "main", port: str = "") -> Tree:
    env = [{"name": "TPU_PROCESS_PORT", "value": port}] if port else []
    return {"name": name, "env": env, **TPU}


def hosts(*names: str) -> str:
    return ",".join(f"{name}.s" for name in names)


def tpu_pod(name: str, **given: Any) -> Tree:
    return a_pod(name, **{"containers": [container()], "subdomain": "s", **given})


@pytest.mark.parametrize(
    ("name", "notes", "expected_hosts", "identifier"),
    [
        ("a-1", {}, hosts("a-1", "a-1-1", "a-1-2"), "0"),
        ("a-1-2", TAKES_PART, hosts("a-1", "a-1-1", "a-1-2"), "2"),
        ("a-1-2", {}, hosts("a-1-1", "a-1-2"), "1"),
        ("a-1-2", {LEADER_REQUESTS_TPUS: "True"}, hosts("a-1-1", "a-1-2"), "1"),
    ],
)
def test_workers_of_a_group_are_counted_from_whoever_takes_part(
    name: str, notes: Tree, expected_hosts: str, identifier: str
) -> None:
    made = environment(admitted(tpu_pod(name, size=3, notes=notes)))

    addresses = expected_hosts.replace(".s", ".s:8476")
    assert [made[each] for each in VARIABLES] == [expected_hosts, identifier, "a-1", addresses, "8476"]
    assert list(made)[3:] == list(VARIABLES)


def test_a_leader_alone_is_its_only_worker() -> None:
    made = environment(admitted(tpu_pod("a-1", size=1)))

    assert (made["TPU_WORKER_HOSTNAMES"], made["TPU_PROCESS_ADDRESSES"]) == ("a-1.s", "a-1.s:8476")


def test_containers_are_workers_of_their_own() -> None:
    """Those that run before the others come last; one without TPUs gets no variables."""
    containers = [container("one"), {"name": "plain"}, container("two")]

    made = admitted(
        tpu_pod("a-1-1", size=2, notes=TAKES_PART, containers=containers, initContainers=[container("first")])
    )

    one, two, first = environment(made), environment(made, 2), environment(made, 0, "initContainers")
    assert [each["TPU_WORKER_ID"] for each in (one, two, first)] == ["3", "4", "5"]
    assert [each["TPU_PROCESS_PORT"] for each in (one, two, first)] == ["8476", "8477", "8478"]
    assert one["TPU_WORKER_HOSTNAMES"] == hosts(*["a-1"] * 3, *["a-1-1"] * 3)
    assert one["TPU_PROCESS_ADDRESSES"] == ",".join(
        f"{host}.s:{port}" for host in ("a-1", "a-1-1") for port in (8476, 8477, 8478)
    )
    assert two["TPU_PROCESS_ADDRESSES"] == one["TPU_PROCESS_ADDRESSES"]
    assert list(environment(made, 1)) == ["LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"]


def test_ports_of_the_users_own_are_kept() -> None:
    containers = [container("one", "8478"), container("two", "8479")]

    made = admitted(tpu_pod("a-1", size=2, containers=containers))

    assert environment(made)["TPU_PROCESS_ADDRESSES"] == "a-1.s:8478,a-1.s:8479,a-1-1.s:8478,a-1-1.s:8479"
    assert [environment(made, place)["TPU_PROCESS_PORT"] for place in (0, 1)] == ["8478", "8479"]


@pytest.mark.parametrize("name", ["TPU_WORKER_ID", "TPU_WORKER_HOSTNAMES"])
@pytest.mark.parametrize("notes", [{}, {SUBGROUP_SIZE: "1"}])
def test_variables_of_the_users_own_are_left_alone(name: str, notes: Tree) -> None:
    containers = [{**container("one"), "env": [{"name": name, "value": "0"}]}, container("two")]

    made = admitted(tpu_pod("a-1", containers=containers, notes=notes))

    assert set(VARIABLES) & environment(made).keys() == {name}
    assert not set(VARIABLES) & environment(made, 1).keys()


@pytest.mark.parametrize(
    ("name", "size", "subgroup", "notes", "expected_hosts", "identifier"),
    [
        ("a-1", 10, 5, {}, hosts("a-1", "a-1-1", "a-1-2", "a-1-3", "a-1-4"), "0"),
        ("a-1-3", 10, 5, TAKES_PART, hosts("a-1", "a-1-1", "a-1-2", "a-1-3", "a-1-4"), "3"),
        ("a-1-7", 8, 4, TAKES_PART, hosts("a-1-4", "a-1-5", "a-1-6", "a-1-7"), "3"),
        ("a-1-5", 9, 4, {}, hosts("a-1-5", "a-1-6", "a-1-7", "a-1-8"), "0"),
        ("a-1-7", 11, 5, {}, hosts("a-1-6", "a-1-7", "a-1-8", "a-1-9", "a-1-10"), "1"),
        ("a-1-2", 5, 2, {SUBGROUP_POLICY_TYPE: "LeaderExcluded"}, hosts("a-1-1", "a-1-2"), "1"),
        ("a-1-3", 4, 1, TAKES_PART, hosts("a-1-3"), "0"),
        ("a-1-3", 4, 1, {}, hosts("a-1-3"), "0"),
    ],
)
def test_workers_of_a_subgroup_see_that_alone(
    name: str, size: int, subgroup: int, notes: Tree, expected_hosts: str, identifier: str
) -> None:
    pod = tpu_pod(name, size=size, notes={SUBGROUP_SIZE: str(subgroup), **notes}, containers=[container(), container()])

    made = admitted(pod)

    found = environment(made)
    addresses = expected_hosts.replace(".s", ".s:8476")
    assert [found[each] for each in VARIABLES] == [expected_hosts, identifier, "a-1", addresses, "8476"]
    assert not set(VARIABLES) & environment(made, 1).keys(), "the first container alone"


def test_a_port_of_the_users_own_is_kept_in_subgroups() -> None:
    pod = tpu_pod("a-1-1", size=3, notes={SUBGROUP_SIZE: "2"}, containers=[container(port="8478")])

    assert environment(admitted(pod))["TPU_PROCESS_ADDRESSES"] == "a-1-1.s:8478,a-1-2.s:8478"


@pytest.mark.parametrize(
    ("name", "size", "notes", "labels", "because"),
    [
        ("a-1", 5, {SUBGROUP_SIZE: "2", SUBGROUP_POLICY_TYPE: "LeaderExcluded"}, {}, "belongs to no subgroup"),
        ("a-1", 4, {SUBGROUP_SIZE: "x"}, {}, '"x" is not a whole number'),
        ("a-1-1", 4, {SUBGROUP_SIZE: "2"}, {SUBGROUP_INDEX: "one"}, f'label {SUBGROUP_INDEX} of pod a-1-1: "one"'),
        ("a-1", 2**31 - 1, {}, {}, "the names of 2147483647 TPU workers"),
        ("a-1", 2**31 - 1, {SUBGROUP_SIZE: str(2**31 - 1)}, {}, "the names of 2147483647 TPU workers"),
    ],
)
def test_a_pod_without_a_place_among_workers_is_refused(
    name: str, size: int, notes: Tree, labels: Tree, because: str
) -> None:
    """Section 5.18: a leader that is excluded from subgroups cannot request TPUs."""
    with pytest.raises(PodRefusal, match=because):
        admitted(tpu_pod(name, size=size, notes=notes, labels=labels))


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"size": 2, "containers": [container(f"c{number}") for number in range(600)]}, 1200),
        ({"size": 2, "containers": [container(port="8" * 2_000_000)]}, 2),
        ({"size": 9, "notes": {SUBGROUP_SIZE: "3"}, "containers": [container(port="8" * 1_500_000)]}, 3),
    ],
    ids=["many containers", "a long port", "in a subgroup"],
)
def test_no_pod_makes_lists_that_none_can_hold(given: Tree, names: int) -> None:
    """A pod is made up of whatever its author likes when this is asked: every container gets the names of all."""
    with pytest.raises(PodRefusal, match=f"the names of {names} TPU workers, which no pod can hold"):
        admitted(tpu_pod("a-1", **given))


def test_large_slices_have_their_lists() -> None:
    containers = [container(name) for name in "abcd"]

    made = environment(admitted(tpu_pod("a-1-7", size=512, containers=containers, subdomain="a-1")), 3)

    assert made["TPU_WORKER_HOSTNAMES"].count(",") == 511 * 4 - 1


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"limits": {"google.com/tpu": "4"}}, True),
        ({"limits": {"google.com/tpu": 4}}, True),
        ({"requests": {"google.com/tpu": "1"}}, True),
        ({"limits": {"google.com/tpu": "0"}, "requests": {"google.com/tpu": "1k"}}, True),
        ({"limits": {"google.com/tpu": "0"}}, False),
        ({"limits": {"google.com/tpu": "0.0e3"}}, False),
        ({"limits": {"google.com/tpu": None}, "requests": None}, False),
        ({"limits": {"nvidia.com/gpu": "4"}}, False),
        ({"limits": {"google.com/tpu": "many"}}, False),
        ({"limits": {"google.com/tpu": "1e9999999"}}, False),
        ({"limits": ["google.com/tpu"]}, False),
        ("text", False),
        (None, False),
    ],
)
def test_who_requests_tpus(resources: object, expected: bool) -> None:
    assert requests_tpus({"name": "main", "resources": resources}) is expected
