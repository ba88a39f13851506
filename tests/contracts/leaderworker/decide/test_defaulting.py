"""Defaults of LeaderWorkerSets: what lacks is given, what is there or makes no sense stays (section 2.4)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from fairlead.contracts.leaderworker.decide.defaulting import defaulted
from tests.contracts.leaderworker.decide.sets import Tree, a_set

TRIPLE = {"maxUnavailable": 1, "maxSurge": 0, "partition": 0}
POLICY = ("leaderWorkerTemplate", "restartPolicy")
STRATEGY, NETWORK = ("rolloutStrategy",), ("networkConfig",)


@pytest.mark.parametrize(
    ("place", "given", "becomes"),
    [
        (POLICY, None, "RecreateGroupOnPodRestart"),
        (POLICY, "", "RecreateGroupOnPodRestart"),
        (POLICY, "Default", "None"),
        (POLICY, "None", "None"),
        (POLICY, "RecreateGroupAfterStart", "RecreateGroupAfterStart"),
        (STRATEGY, None, {"type": "RollingUpdate", "rollingUpdateConfiguration": TRIPLE}),
        (STRATEGY, {}, {"type": "RollingUpdate", "rollingUpdateConfiguration": TRIPLE}),
        (STRATEGY, {"type": ""}, {"type": "RollingUpdate", "rollingUpdateConfiguration": TRIPLE}),
        (STRATEGY, {"type": "Other"}, {"type": "Other"}),
        (
            STRATEGY,
            {"rollingUpdateConfiguration": {"maxSurge": 2}},
            {"type": "RollingUpdate", "rollingUpdateConfiguration": {"maxSurge": 2}},
        ),
        (NETWORK, None, {"subdomainPolicy": "Shared"}),
        (NETWORK, {}, {"subdomainPolicy": "Shared"}),
        (NETWORK, {"subdomainPolicy": None}, {"subdomainPolicy": "Shared"}),
        (NETWORK, {"subdomainPolicy": "UniquePerReplica"}, {"subdomainPolicy": "UniquePerReplica"}),
    ],
)
def test_what_lacks_is_given_and_what_is_there_stays(place: tuple[str, ...], given: Any, becomes: Any) -> None:
    tree = a_set()
    put(tree, place, given)
    expected = deepcopy(tree)
    put(expected, place, becomes)

    assert defaulted(tree) == expected


def test_a_set_that_lacks_nothing_is_the_very_same() -> None:
    tree = a_set()

    assert defaulted(tree) is tree


def test_a_set_without_a_spec_gets_one_that_the_schema_refuses_by_name() -> None:
    assert defaulted({"metadata": {"name": "a"}, "spec": None}) == {
        "metadata": {"name": "a"},
        "spec": {
            "leaderWorkerTemplate": {"restartPolicy": "RecreateGroupOnPodRestart"},
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": TRIPLE},
            "networkConfig": {"subdomainPolicy": "Shared"},
        },
    }


@pytest.mark.parametrize("wrong", [[], "text", 7, True])
@pytest.mark.parametrize("place", [STRATEGY, NETWORK, ("leaderWorkerTemplate",)])
def test_what_is_of_another_kind_is_left_to_the_schema(place: tuple[str, ...], wrong: object) -> None:
    tree = a_set()
    put(tree, place, wrong)

    assert defaulted(tree) == tree
    assert defaulted({"spec": wrong}) == {"spec": wrong}


def test_templates_are_not_touched() -> None:
    tree = a_set(template={"leaderTemplate": {"metadata": None, "spec": {"containers": [{"resources": None}]}}})

    assert defaulted(tree) is tree


def put(tree: Tree, place: tuple[str, ...], value: Any) -> None:
    """None takes the field away."""
    *path, last = ("spec", *place)
    for each in path:
        tree = tree[each]
    tree.pop(last, None)
    if value is not None:
        tree[last] = value
