"""What is refused of a DisaggregatedSet (section 6.7): all at once, in upstream's words."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
import pytest

from fairlead.contracts.leaderworker.decide.disaggregated.validation import refusals, warnings
from fairlead.contracts.leaderworker.decide.reviews import ReviewSnapshot, validate_disaggregated
from fairlead.contracts.leaderworker.kinds import EXCLUSIVE_TOPOLOGY, SUBGROUP_EXCLUSIVE_TOPOLOGY
from tests.builders import NOW
from tests.contracts.leaderworker.decide.disaggregated.world import Tree, a_role
from tests.contracts.leaderworker.decide.sets import a_review

UPDATE = "spec.roles[0].spec.rolloutStrategy.rollingUpdateConfiguration"
EXTERNAL = {"mode": "External"}


def a_set(*roles: Tree, name: str = "ds", **spec: Any) -> Tree:
    return {"metadata": {"name": name}, "spec": {"roles": list(roles or (a_role("prefill"), a_role("decode"))), **spec}}


def with_update(replicas: int = 2, **update: Any) -> Tree:
    return a_set(a_role("prefill", replicas, update=update), a_role("decode"))


def annotated(key: str, *path: str) -> Tree:
    role = a_role("prefill")
    place = role
    for each in path:
        place = place.setdefault(each, {})
    place.setdefault("metadata", {})["annotations"] = {key: "rack"}
    return a_set(role, a_role("decode"), placementPolicy={"type": "ExclusiveSlice", "topology": "rack"})


def of_type(kind: str) -> Tree:
    tree = a_set()
    tree["spec"]["roles"][0]["spec"]["rolloutStrategy"]["type"] = kind
    return tree


PLACED = 'the "{}" annotation must not be combined with a non-None spec.placementPolicy.type (ExclusiveSlice)'


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        pytest.param(a_set(), [], id="nothing"),
        pytest.param(
            of_type("Recreate"),
            [
                (
                    'spec.roles[0].spec.rolloutStrategy.type: Unsupported value: "Recreate": '
                    'supported values: "RollingUpdate", ""'
                )
            ],
            id="another strategy",
        ),
        pytest.param(of_type(""), [], id="no strategy"),
        pytest.param(
            with_update(partition=1, maxSurge=1),
            [
                (
                    f"{UPDATE}.partition: Forbidden: partition is not supported by DisaggregatedSet; "
                    "rolling updates are managed across roles by the DisaggregatedSet controller"
                )
            ],
            id="a partition",
        ),
        pytest.param(with_update(partition=0, maxSurge=1), [], id="no partition"),
        pytest.param(
            with_update(maxSurge=0, maxUnavailable=0),
            [f"{UPDATE}.maxUnavailable: Invalid value: 0: must not be 0 when `maxSurge` is 0"],
            id="no budget",
        ),
        pytest.param(with_update(0, maxSurge=0, maxUnavailable=0), [], id="no budget and no replicas"),
        pytest.param(
            with_update(maxSurge="0%", maxUnavailable="25%"),
            [f'{UPDATE}.maxUnavailable: Invalid value: "25%": must not be 0 when `maxSurge` is 0'],
            id="a percentage that rounds to nothing",
        ),
        pytest.param(
            with_update(maxSurge=-1, maxUnavailable="200%"),
            [
                f'{UPDATE}.maxUnavailable: Invalid value: "200%": must not be greater than 100%',
                f"{UPDATE}.maxSurge: Invalid value: -1: must be greater than or equal to 0",
            ],
            id="budgets that are none",
        ),
        pytest.param(
            a_set(a_role("p", scaling=EXTERNAL), a_role("decode"), slices=2),
            [
                (
                    "spec.slices: Forbidden: spec.slices > 1 is not supported while any role has scaling.mode: "
                    "External (alpha restriction)"
                )
            ],
            id="slices of what is scaled from outside",
        ),
        pytest.param(a_set(a_role("p", scaling=EXTERNAL), a_role("decode"), slices=1), [], id="one such slice"),
        pytest.param(
            a_set(a_role("p" * 20), a_role("decode"), name="d" * 28),
            [
                (
                    f'spec.roles[0].name: Invalid value: "{"p" * 20}": the generated Service name (64 chars) would '
                    "exceed the DNS-1035 limit of 63 characters; reduce the DisaggregatedSet name and/or role name "
                    "(combined limit: 47 characters)"
                )
            ],
            id="a name that is too long",
        ),
        pytest.param(a_set(a_role("p" * 19), a_role("decode"), name="d" * 28), [], id="a name that just fits"),
        pytest.param(
            a_set(placementPolicy={"type": "ExclusiveTopology"}),
            ["spec.placementPolicy.topology: Required value: topology is required when type is not None"],
            id="a placement nowhere",
        ),
        pytest.param(a_set(placementPolicy={"type": "None"}), [], id="no placement"),
        pytest.param(
            annotated(EXCLUSIVE_TOPOLOGY),
            [f"spec.roles[0]: Forbidden: {PLACED.format(EXCLUSIVE_TOPOLOGY)}"],
            id="placement of groups beside that of slices",
        ),
        pytest.param(
            annotated(SUBGROUP_EXCLUSIVE_TOPOLOGY, "spec", "leaderWorkerTemplate", "leaderTemplate"),
            [f"spec.roles[0]: Forbidden: {PLACED.format(SUBGROUP_EXCLUSIVE_TOPOLOGY)}"],
            id="the same in a template",
        ),
    ],
)
def test_refusals(tree: Tree, expected: list[str]) -> None:
    assert [*refusals(tree)] == expected


def test_the_name_of_a_scaler_has_its_own_limit() -> None:
    tree = a_set(a_role("p" * 63, scaling=EXTERNAL), a_role("decode"), name="d" * 200)

    assert any("exceeding 253 characters" in each for each in refusals(tree))


@pytest.mark.parametrize("role", [None, 7, [], {"spec": []}, {"name": 3, "spec": {"replicas": "two"}}])
def test_what_is_no_role_is_left_to_the_schema(role: object) -> None:
    tree = a_set()
    tree["spec"]["roles"] = [role, deepcopy(tree["spec"]["roles"][1])]

    assert [*refusals(tree)] == []
    assert [*warnings(tree)] == []


def test_warnings() -> None:
    tree = a_set(a_role("prefill", 3, scaling=EXTERNAL), a_role("decode-of-a-long-name"), name="a-name-of-21-characte")

    ignored, long = warnings(tree)

    assert ignored == (
        'role "prefill" sets scaling.mode: External and spec.replicas: 3 — spec.replicas is ignored; '
        'drive replicas via DisaggregatedSetRoleScaler "a-name-of-21-characte-prefill" instead'
    )
    assert "at most 38 characters together" in long


def answered(tree: object, operation: str = "CREATE") -> tuple[bool, int, str]:
    admit = validate_disaggregated(ReviewSnapshot(a_review(tree, operation=operation)), NOW)
    return admit.allowed, admit.code, admit.message


def test_a_review_tells_all_at_once() -> None:
    tree = with_update(partition=2, maxSurge=0, maxUnavailable=0)

    allowed, code, message = answered(tree)

    assert (allowed, code) == (False, 403)
    assert message == f"[{', '.join(refusals(tree))}]"
    assert answered(a_set()) == (True, 0, "")


def test_what_is_being_deleted_may_lose_its_finalizers() -> None:
    tree = with_update(partition=2)
    tree["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"

    assert answered(tree, "UPDATE")[0]


def test_a_review_without_an_object_is_refused_in_one_sentence() -> None:
    assert answered(None) == (False, 400, "the review lacks an object to look at")
    assert answered(msgspec.Raw(b"null"), "DELETE")[0]
