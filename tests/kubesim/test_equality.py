"""True is not 1: a change of one into the other is a change, in everything that anything may stand in."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.request import JSON_PATCH
from kubesim.bodies.equality import alike, identical, same
from tests.kubesim.desk import Desk, decoded, played
from tests.kubesim.free_values import FREE, ONE, define, free

REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
CHANGES = [(1, True), (0, False), (True, 1), ([1], [True]), ({"y": 0}, {"y": False})]


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_one_and_true_are_two_values(before: Any, after: Any) -> None:
    assert not identical({"x": before}, {"x": after})
    assert not same(before, after)
    assert not alike(before, after)


def test_values_are_identical_in_any_order() -> None:
    assert identical({"a": 1, "b": [True, None]}, {"b": [True, None], "a": 1})


def test_whether_one_with_a_fraction_is_one_depends_on_who_asks() -> None:
    assert alike([1], [1.0])
    assert not identical([1], [1.0])


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_a_patch_that_makes_true_of_one_is_stored_and_counted(before: Any, after: Any) -> None:
    async def script(desk: Desk) -> Any:
        await define(desk)
        await desk.send("POST", FREE, free(x=before))
        answer = decoded(await desk.merge({"spec": {"x": after}}, path=ONE))
        return answer["spec"]["x"], await desk.read(ONE)

    answered, found = played(script)

    assert same(answered, after)
    assert same(found["spec"]["x"], after)
    assert found["metadata"]["generation"] == 2


def test_applying_true_over_one_is_stored_and_owned() -> None:
    async def script(desk: Desk) -> Any:
        await define(desk)
        await desk.apply(free(x=1), path=ONE)
        await desk.apply(free(x=True), path=ONE)
        conflict = await desk.apply(free(x=1), "two", path=ONE)
        return (await desk.read(ONE))["spec"]["x"], conflict.status, decoded(conflict)["message"]

    found, status, message = played(script)

    assert found is True
    assert (status, message) == (409, 'Apply failed with 1 conflict: conflict with "one": .spec.x')


def test_the_data_of_a_revision_does_not_become_true() -> None:
    async def script(desk: Desk) -> Any:
        await desk.send("POST", REVISIONS, {"metadata": {"name": "r"}, "revision": 1, "data": {"a": 1}})
        return await desk.merge({"data": {"a": True}}, path=f"{REVISIONS}/r")

    answer = played(script)

    assert answer.status == 422
    assert "data: Invalid value" in decoded(answer)["message"]
    assert "field is immutable" in decoded(answer)["message"]


@pytest.mark.parametrize(("value", "status"), [(1, 200), (True, 422), (1.0, 422)])
def test_a_test_in_a_patch_compares_what_is_written(value: Any, status: int) -> None:
    async def script(desk: Desk) -> int:
        await define(desk)
        await desk.send("POST", FREE, free(x=1))
        step = {"op": "test", "path": "/spec/x", "value": value}
        return (await desk.send("PATCH", ONE, [step], JSON_PATCH)).status

    assert played(script) == status
