"""Feature gates that are off by default, turned on: what the server keeps of an object, and what controllers do."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.request import MERGE_PATCH
from kubesim.cluster import Cluster
from kubesim.kinds.features import MAX_UNAVAILABLE
from kubesim.time import run
from tests.kubesim.desk import Desk, Tree, a_deployment, decoded

SETS = "/apis/apps/v1/namespaces/default/statefulsets"


def a_set(**rolling: Any) -> Tree:
    spec = a_deployment()["spec"] | {"serviceName": "web"}
    if rolling:
        spec["updateStrategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": spec}


def rolling_update(tree: Tree) -> object:
    return tree["spec"]["updateStrategy"]["rollingUpdate"]


def sent(tree: Tree, *gates: str) -> Tree:
    """What the server answers a creation with."""

    async def scenario() -> Tree:
        return decoded(await Desk(Cluster(feature_gates=gates)).send("POST", SETS, tree))

    return run(scenario())


def test_what_may_be_unavailable_is_kept_with_its_gate_and_vanishes_without() -> None:
    assert rolling_update(sent(a_set(maxUnavailable=2), MAX_UNAVAILABLE)) == {"partition": 0, "maxUnavailable": 2}
    assert rolling_update(sent(a_set(maxUnavailable=2))) == {"partition": 0}


def test_with_its_gate_one_pod_may_be_unavailable_where_nothing_is_said() -> None:
    assert rolling_update(sent(a_set(), MAX_UNAVAILABLE)) == {"partition": 0, "maxUnavailable": 1}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (0, "cannot be 0"),
        ("0%", "cannot be 0"),
        (-1, "must be greater than or equal to 0"),
        ("200%", "must not be greater than 100%"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(wrong: object, said: str) -> None:
    answer = sent(a_set(maxUnavailable=wrong), MAX_UNAVAILABLE)

    assert answer["code"] == 422
    assert "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: " in answer["message"]
    assert said in answer["message"]


def test_a_change_keeps_it_too() -> None:
    async def scenario() -> Tree:
        desk = Desk(Cluster(feature_gates=(MAX_UNAVAILABLE,)))
        await desk.send("POST", SETS, a_set(maxUnavailable="50%"))
        changed = {"spec": {"replicas": 4}}
        return decoded(await desk.send("PATCH", f"{SETS}/web", changed, MERGE_PATCH))

    assert rolling_update(run(scenario())) == {"partition": 0, "maxUnavailable": "50%"}


def test_a_gate_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown feature gate Typo: choose from MaxUnavailableStatefulSet"):
        Cluster(feature_gates=("Typo",))
