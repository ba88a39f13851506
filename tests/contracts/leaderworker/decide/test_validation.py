"""Refusals of LeaderWorkerSets in upstream's words, all at once, and warnings (section 2.5)."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from fairlead.contracts.leaderworker.decide.validation import refusals, warnings
from fairlead.contracts.leaderworker.kinds import EXCLUSIVE_SCOPE, EXCLUSIVE_TOPOLOGY, SUBGROUP_EXCLUSIVE_TOPOLOGY
from tests.contracts.leaderworker.decide.sets import Tree, a_set

UPDATE = "spec.rolloutStrategy.rollingUpdateConfiguration"
SUBGROUP = "spec.leaderWorkerTemplate.SubGroupPolicy.subGroupSize"
NO_LABEL = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
NO_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
TOO_MANY = "the product of replicas and worker replicas must not exceed 2147483647"
BOTH_ZERO = f"{UPDATE}.maxUnavailable: Invalid value: {{}}: must not be 0 when `maxSurge` is 0"


def subgroups(size: object = 4, group: object = 2, kind: str = "LeaderWorker") -> Tree:
    return {"size": size, "subGroupPolicy": {"subGroupSize": group, "subGroupPolicyType": kind}}


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (a_set("2cube"), [f'metadata.name: Invalid value: "2cube": {NO_LABEL}']),
        (a_set("a" * 64), [f'metadata.name: Invalid value: "{"a" * 64}": must be no more than 63 characters']),
        (a_set("a.b\n"), [f'metadata.name: Invalid value: "a.b\\n": {NO_LABEL}']),
        (a_set(""), ["metadata.name: Required value: name or generateName is required"]),
        (a_set(replicas=-1), ["spec.replicas: Invalid value: -1: replicas must be equal or greater than 0"]),
        (
            a_set(replicas=1_000_001),
            ["spec.replicas: Invalid value: 1000001: replicas must be equal or less than 1000000"],
        ),
        (
            a_set(template={"size": 0}),
            ["spec.leaderWorkerTemplate.size: Invalid value: 0: size must be equal or greater than 1"],
        ),
        (
            a_set(replicas=100_000, template={"size": 1_000_000}),
            [f"spec.replicas: Invalid value: 100000: {TOO_MANY}"],
        ),
        (
            a_set(update={"maxUnavailable": "200%"}),
            [f'{UPDATE}.maxUnavailable: Invalid value: "200%": must not be greater than 100%'],
        ),
        (
            a_set(update={"maxSurge": "200%"}),
            [f'{UPDATE}.maxSurge: Invalid value: "200%": must not be greater than 100%'],
        ),
        (
            a_set(update={"maxUnavailable": -1}),
            [f"{UPDATE}.maxUnavailable: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            a_set(update={"maxSurge": -1}),
            [f"{UPDATE}.maxSurge: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            a_set(update={"maxSurge": "3"}),
            [
                f'{UPDATE}.maxSurge: Invalid value: "3": {NO_PERCENT}',
                f'{UPDATE}.maxSurge: Invalid value: "3": invalid value',
            ],
        ),
        (
            a_set(update={"maxSurge": "<5>"}),
            [
                rf'{UPDATE}.maxSurge: Invalid value: "\u003c5\u003e": {NO_PERCENT}',
                rf'{UPDATE}.maxSurge: Invalid value: "\u003c5\u003e": invalid value',
            ],
        ),
        (a_set(update={"maxUnavailable": "-1%"}), [f'{UPDATE}.maxUnavailable: Invalid value: "-1%": {NO_PERCENT}']),
        (
            a_set(update={"maxUnavailable": "9" * 30 + "%"}),
            [
                f'{UPDATE}.maxUnavailable: Invalid value: "{"9" * 30}%": must not be greater than 100%',
                f'{UPDATE}.maxUnavailable: Invalid value: "{"9" * 30}%": invalid value',
                BOTH_ZERO.format(f'"{"9" * 30}%"'),
            ],
        ),
        (a_set(update={"maxUnavailable": 0}), [BOTH_ZERO.format(0)]),
        (a_set(update={"maxUnavailable": "25%"}), [BOTH_ZERO.format('"25%"')]),
        (
            a_set(update={"partition": -1}),
            [f"{UPDATE}.partition: Invalid value: -1: must be greater than or equal to 0"],
        ),
        (
            a_set(template=subgroups(2, 3)),
            [
                f"{SUBGROUP}: Invalid value: 3: size or size - 1 must be divisible by subGroupSize",
                f"{SUBGROUP}: Invalid value: 3: subGroupSize cannot be larger than size",
            ],
        ),
        (
            a_set(template=subgroups(4, 0)),
            [f"{SUBGROUP}: Invalid value: 0: subGroupSize must be equal or greater than 1"],
        ),
        (
            a_set(template=subgroups(4, -1)),
            [f"{SUBGROUP}: Invalid value: -1: subGroupSize must be equal or greater than 1"],
        ),
        (
            a_set(template=subgroups(4, 2, "LeaderExcluded")),
            [f"{SUBGROUP}: Invalid value: 2: size-1 must be divisible by subGroupSize when using LeaderExcluded"],
        ),
        (
            a_set(template={"subGroupPolicy": {}}),
            [f"{SUBGROUP}: Required value: subGroupPolicy says nothing without it"],
        ),
    ],
)
def test_03_what_is_refused_is_refused_in_upstreams_words(tree: Tree, expected: list[str]) -> None:
    assert list(refusals(tree)) == expected


@pytest.mark.parametrize(
    "tree",
    [
        a_set(),
        a_set(replicas=5, update={"partition": 10}),
        a_set(update={"maxUnavailable": 10}),
        a_set(update={"maxSurge": 10}),
        a_set(update={"maxUnavailable": 0, "maxSurge": 1}),
        a_set(update={"maxUnavailable": 0, "maxSurge": "1%"}),
        a_set(update={"maxUnavailable": "100%"}),
        a_set(replicas=0, update={"maxUnavailable": "25%", "maxSurge": "25%"}),
        a_set(template=subgroups(4, 2)),
        a_set(template=subgroups(5, 2)),
        a_set(template=subgroups(5, 2, "LeaderExcluded")),
        a_set(replicas=1_000_000),
    ],
)
def test_03_what_is_allowed_passes(tree: Tree) -> None:
    assert list(refusals(tree)) == []
    assert list(refusals(tree, tree)) == []


A_ROLE = {"apiVersion": "disaggregatedset.x-k8s.io/v1", "kind": "DisaggregatedSet", "name": "ds", "uid": "u"}


@pytest.mark.parametrize(
    ("owners", "expected"),
    [
        ([{**A_ROLE, "controller": True}], []),
        ([{**A_ROLE, "controller": False}], [BOTH_ZERO.format('"25%"')]),
        ([{**A_ROLE, "controller": True, "apiVersion": "example.test/v1"}], [BOTH_ZERO.format('"25%"')]),
        ([None], [BOTH_ZERO.format('"25%"')]),
        ({}, [BOTH_ZERO.format('"25%"')]),
    ],
)
def test_a_part_of_a_role_may_have_a_budget_that_is_none_of_it(owners: object, expected: list[str]) -> None:
    """A DisaggregatedSet scales it through every number, and the budget is that of the role."""
    tree = a_set(replicas=1, update={"maxUnavailable": "25%"})
    tree["metadata"]["ownerReferences"] = owners

    assert list(refusals(tree)) == expected
    assert list(refusals(tree, tree)) == expected


def test_a_name_that_was_generated_is_held_to_its_beginning_too() -> None:
    tree = a_set("9x-7k2p")
    tree["metadata"]["generateName"] = "9x-"

    assert list(refusals(tree)) == [
        f'metadata.generateName: Invalid value: "9x-": {NO_LABEL}',
        f'metadata.name: Invalid value: "9x-7k2p": {NO_LABEL}',
    ]


def test_the_beginning_of_a_generated_name_may_end_with_a_dash() -> None:
    tree = a_set("web-7k2p")
    tree["metadata"]["generateName"] = "web-"

    assert list(refusals(tree)) == []


def test_all_refusals_come_at_once_in_upstreams_order() -> None:
    tree = a_set(
        "2cube",
        replicas=-1,
        template=subgroups(0, 3),
        update={"maxUnavailable": "x", "maxSurge": -1, "partition": -2},
    )

    assert [each.partition(": Invalid value: ")[0] for each in refusals(tree)] == [
        "metadata.name",
        "spec.replicas",
        "spec.leaderWorkerTemplate.size",
        f"{UPDATE}.maxUnavailable",
        f"{UPDATE}.maxSurge",
        f"{UPDATE}.partition",
        f"{UPDATE}.maxUnavailable",
        SUBGROUP,
    ]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (subgroups(4, 1), subgroups(4, 2), [f"{SUBGROUP}: Invalid value: 2: field is immutable"]),
        (
            {},
            subgroups(4, 2),
            [f"{SUBGROUP}: Invalid value: 2: cannot enable subGroupSize after the lws is already created"],
        ),
        (subgroups(4, 2), {}, [f"{SUBGROUP}: Invalid value: 2: cannot remove subGroupSize after enabled"]),
        (subgroups(4, 2), subgroups(6, 2, "LeaderWorker"), []),
        (subgroups(5, 2), subgroups(5, 2, "LeaderExcluded"), []),
        ({"size": 2}, {"size": 3}, []),
    ],
)
def test_03_subgroups_stay_as_they_were_made(old: Tree, new: Tree, expected: list[str]) -> None:
    assert list(refusals(a_set(template=new), a_set(template=old))) == expected


def test_a_network_policy_cannot_be_taken_away() -> None:
    old, new = a_set(), a_set(networkConfig={"subdomainPolicy": None})

    assert list(refusals(new)) == []
    assert list(refusals(new, old)) == [
        'spec.networkConfig.subdomainPolicy: Invalid value: "Shared": cannot set subdomainPolicy as null'
    ]
    assert list(refusals(new, {})) == [
        "spec.networkConfig.subdomainPolicy: Invalid value: null: cannot set subdomainPolicy as null"
    ]


def test_placement_of_subgroups_needs_subgroups() -> None:
    tree = noted(a_set(), {SUBGROUP_EXCLUSIVE_TOPOLOGY: "rack"})

    detail = "cannot have subgroup-exclusive-topology without subGroupSize set"
    assert list(refusals(tree)) == [
        f'metadata.annotations.{SUBGROUP_EXCLUSIVE_TOPOLOGY}: Invalid value: "rack": {detail}'
    ]
    assert list(refusals(noted(a_set(template=subgroups()), {SUBGROUP_EXCLUSIVE_TOPOLOGY: "rack"}))) == []


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (a_set(replicas="many"), ['spec.replicas: Invalid value: "many": must be an integer']),
        (a_set(replicas=True), ["spec.replicas: Invalid value: true: must be an integer"]),
        (a_set(template={"size": [2]}), ["spec.leaderWorkerTemplate.size: Invalid value: [2]: must be an integer"]),
        (a_set(update={"partition": {}}), [f"{UPDATE}.partition: Invalid value: {{}}: must be an integer"]),
        (
            a_set(update={"maxSurge": 1.5}),
            [
                f"{UPDATE}.maxSurge: Invalid value: 1.5: must be an integer or percentage (e.g '5%%')",
                f"{UPDATE}.maxSurge: Invalid value: 1.5: invalid value",
            ],
        ),
        (a_set(template=subgroups(4, "2")), [f'{SUBGROUP}: Invalid value: "2": must be an integer']),
        (
            a_set(template={"workerTemplate": None}),
            ["spec.leaderWorkerTemplate.workerTemplate: Required value: workers are made from it"],
        ),
        (
            {"metadata": {"name": "a"}, "spec": "text"},
            ["spec.leaderWorkerTemplate.workerTemplate: Required value: workers are made from it"],
        ),
    ],
)
def test_what_came_past_the_schema_is_refused_by_name(tree: Tree, expected: list[str]) -> None:
    assert list(refusals(tree)) == expected


@pytest.mark.parametrize(
    ("length", "replicas", "surge", "longest"),
    [
        (50, 10, 0, 0),
        (51, 1, 0, 50),
        (50, 11, 0, 49),
        (50, 10, 1, 49),
        (50, 10, "1%", 49),
        (50, 6, 10, 49),
        (51, 0, 0, 50),
    ],
)
def test_a_name_that_leaves_no_room_for_hashes_is_warned_of(
    length: int, replicas: int, surge: object, longest: int
) -> None:
    """Room for 51 characters is left to name and index: 50 and one digit fit."""
    told = list(warnings(a_set("a" * length, replicas=replicas, update={"maxSurge": surge})))

    assert [f"use a name of at most {longest} characters" in each for each in told] == [True] * bool(longest)


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ({}, {EXCLUSIVE_TOPOLOGY: "rack"}, [EXCLUSIVE_TOPOLOGY]),
        ({EXCLUSIVE_TOPOLOGY: "rack"}, {}, [EXCLUSIVE_TOPOLOGY]),
        ({EXCLUSIVE_TOPOLOGY: "rack"}, {EXCLUSIVE_TOPOLOGY: "zone"}, [EXCLUSIVE_TOPOLOGY]),
        ({}, {EXCLUSIVE_TOPOLOGY: ""}, []),
        ({}, {SUBGROUP_EXCLUSIVE_TOPOLOGY: "rack"}, [SUBGROUP_EXCLUSIVE_TOPOLOGY]),
        ({}, {EXCLUSIVE_SCOPE: "LeaderWorkerSet"}, []),
        (
            {EXCLUSIVE_TOPOLOGY: "rack"},
            {EXCLUSIVE_TOPOLOGY: "rack", EXCLUSIVE_SCOPE: "LeaderWorkerSet"},
            [EXCLUSIVE_SCOPE],
        ),
        ({EXCLUSIVE_TOPOLOGY: "rack"}, {EXCLUSIVE_TOPOLOGY: "rack", EXCLUSIVE_SCOPE: "Namespace"}, []),
        ({EXCLUSIVE_TOPOLOGY: "rack"}, {EXCLUSIVE_TOPOLOGY: "rack", "other": "note"}, []),
    ],
)
def test_a_change_of_placement_is_warned_of(before: Tree, after: Tree, told: list[str]) -> None:
    tree = a_set(template=subgroups())

    found = list(warnings(noted(tree, after), noted(tree, before)))

    assert [each.partition(" a change of ")[2].partition(" replaces")[0] for each in found] == told
    assert not list(warnings(noted(tree, after))), "a new set has no leaders"


def noted(tree: Tree, annotations: dict[str, Any]) -> Tree:
    made = deepcopy(tree)
    made["metadata"]["annotations"] = annotations
    return made
