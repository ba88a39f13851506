"""An apply that would change nothing is not sent: judged by the embedded API server."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.contracts.leaderworker.decide.budgets import Budget
from fairlead.contracts.leaderworker.decide.leader_set import leader_set
from fairlead.contracts.leaderworker.decide.planner import Plan, Row, Stage
from fairlead.contracts.leaderworker.decide.revisions import data_of
from fairlead.contracts.leaderworker.decide.set_view import of_revision
from fairlead.contracts.leaderworker.decide.unchanged import is_unchanged
from fairlead.contracts.leaderworker.kinds import MANAGER, REPLICAS, StatefulSet
from tests.contracts.leaderworker.decide.some import a_set, a_template
from tests.contracts.leaderworker.decide.templates import everything
from tests.kubesim.desk import Desk, Tree, decoded, played

RECORDED = msgspec.json.decode((Path(__file__).parent / "recorded" / "revisions.json").read_bytes())
PATH = "/apis/apps/v1/namespaces/default/statefulsets/a"


def the_body(template: Tree, network: Any = None, **changes: Any) -> Tree:
    seen = a_set(template=template, network_config=network, **changes)
    return leader_set(seen, of_revision(data_of(seen)), "k", Plan(0, 2, Row.REST, Stage.STEADY), Budget(1, 0), None)


async def applied(desk: Desk, body: Tree) -> StatefulSet:
    answer = await desk.apply(body, MANAGER, PATH, force="true")
    assert answer.status < 300, answer.body
    return msgspec.convert(decoded(answer), StatefulSet)


def judged(first: Tree, second: Tree, by_others: Tree | None = None) -> tuple[bool, bool]:
    """Whether the second body is said to change nothing once the first is there, and whether it does change nothing."""

    async def script(desk: Desk) -> tuple[bool, bool]:
        live = await applied(desk, first)
        if by_others is not None:
            await desk.merge(by_others, path=PATH)
            live = msgspec.convert(await desk.read(PATH), StatefulSet)
        said = is_unchanged(second, live)
        after = await applied(desk, second)
        return said, after.metadata.resource_version == live.metadata.resource_version

    found: tuple[bool, bool] = played(script)
    return found


REFUSED = ("large numbers", "claims", "probes", "quantities", "affinity", "texts", "many volumes")
"""Recorded to learn how Go writes them; no API server takes them."""
VALID = [each for each in RECORDED if each["name"] not in REFUSED]


@pytest.mark.parametrize("recorded", VALID, ids=lambda each: each["name"])
def test_what_was_applied_is_not_sent_again(recorded: Tree) -> None:
    template = deepcopy(recorded["spec"]["leaderWorkerTemplate"])
    body = the_body(template, recorded["spec"].get("networkConfig"))

    assert judged(body, body) == (True, True)


def test_a_template_with_a_bit_of_everything_is_not_sent_again() -> None:
    body = the_body(everything())

    assert judged(body, body) == (True, True)


CONTAINER = {"name": "worker", "image": "nginx:1"}


def with_container(**fields: Any) -> Tree:
    return the_body(a_template(workerTemplate={"spec": {"containers": [{**CONTAINER, **fields}]}}))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (with_container(env=[{"name": "a", "value": "1"}]), with_container()),
        (with_container(), with_container(env=[{"name": "a", "value": "1"}])),
        (with_container(env=[{"name": "a", "value": "1"}]), with_container(env=[{"name": "a", "value": "2"}])),
        (with_container(command=["a", "b"]), with_container(command=["a"])),
        (with_container(resources={"limits": {"cpu": "1"}}), with_container(resources={"limits": {"cpu": "2"}})),
        (with_container(ports=[{"containerPort": 1}]), with_container(ports=[{"containerPort": 2}])),
        (with_container(image="x"), with_container()),
        (with_container(), the_body(a_template(), labels={"team": "b"})),
        (the_body(a_template(), labels={"team": "b"}), the_body(a_template())),
        (the_body(a_template(), annotations={"note": "b"}), the_body(a_template())),
        (the_body(a_template()), the_body(a_template(), replicas=5)),
    ],
)
def test_a_change_is_sent(first: Tree, second: Tree) -> None:
    assert judged(first, second) == (False, False)


@pytest.mark.parametrize(
    "by_others",
    [
        {"metadata": {"labels": {"theirs": "x"}, "annotations": {"theirs": "y"}}},
        {"spec": {"template": {"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "now"}}}}},
        {"spec": {"minReadySeconds": 3, "revisionHistoryLimit": 4}},
    ],
)
def test_what_others_own_is_left_to_them(by_others: Tree) -> None:
    body = with_container(env=[{"name": "a", "value": "1"}])

    assert judged(body, body, by_others) == (True, True)


@pytest.mark.parametrize(
    "by_hand",
    [
        {"spec": {"replicas": 9}},
        {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 1}}}},
        {"metadata": {"annotations": {REPLICAS: "7"}}},
        {"metadata": {"ownerReferences": []}},
        {"spec": {"template": {"metadata": {"labels": {"leaderworkerset.sigs.k8s.io/template-revision-hash": "x"}}}}},
    ],
)
def test_edits_by_hand_are_forced_back(by_hand: Tree) -> None:
    body = the_body(a_template())

    assert judged(body, body, by_hand) == (False, False)


def test_a_set_that_somebody_else_made_is_applied() -> None:
    body = the_body(a_template())

    async def script(desk: Desk) -> bool:
        answer = await desk.send("POST", PATH.rpartition("/")[0], body, fieldManager="somebody")
        return is_unchanged(body, msgspec.convert(decoded(answer), StatefulSet))

    assert played(script) is False


def test_servers_that_drop_a_field_are_not_asked_for_it_again() -> None:
    body = the_body(a_template())

    async def script(desk: Desk) -> bool:
        live = await applied(desk, body)
        live.spec["updateStrategy"]["rollingUpdate"].pop("maxUnavailable", None)
        return is_unchanged(body, live)

    assert played(script) is True


AMOUNTS = st.sampled_from(["1", "500m", "1Gi", "100u"])
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "image": st.sampled_from(["a", "b"]),
        "command": st.lists(st.sampled_from(["x", ""]), max_size=2),
        "env": st.lists(st.sampled_from("abc"), unique=True, max_size=3).map(
            lambda names: [{"name": each, "value": "" if each == "a" else each} for each in names]
        ),
        "ports": st.lists(st.integers(1, 3), unique=True, max_size=2).map(
            lambda ports: [{"containerPort": each} for each in ports]
        ),
        "resources": st.fixed_dictionaries({}, optional={"limits": st.fixed_dictionaries({"memory": AMOUNTS})}),
        "tty": st.booleans(),
        "securityContext": st.fixed_dictionaries({}, optional={"privileged": st.booleans()}),
    },
)


@given(FIELDS, FIELDS)
@settings(max_examples=60, deadline=None)
def test_nothing_is_withheld_that_would_change_something(first: Tree, second: Tree) -> None:
    """And what is there already is never sent, whatever it is."""
    one, other = with_container(**first), with_container(**second)

    said, is_so = judged(one, other)
    assert is_so or not said
    assert judged(other, other) == (True, True)
