"""Objects and changes of built-in kinds are completed and refused as a real server was heard to do it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubesim.cluster import Cluster
from kubesim.time import run
from tests.e2e.builtin_answers import NAMESPACE, RECORD, make_namespace, of_changes, of_objects

RECORDED: dict[str, dict[str, Any]] = json.loads(RECORD.read_text())


@pytest.fixture(scope="module")
def objects() -> dict[str, Any]:
    """What the embedded cluster answers to new objects, where accounts are looked at."""

    async def main() -> dict[str, Any]:
        transport = Cluster().transport()
        await make_namespace(transport, NAMESPACE, account=True)
        return await of_objects(transport, NAMESPACE)

    answers: dict[str, Any] = run(main())
    return answers


@pytest.fixture(scope="module")
def changes() -> dict[str, Any]:
    """What it answers to changes, where nobody keeps accounts."""

    async def main() -> dict[str, Any]:
        transport = Cluster().transport()
        await make_namespace(transport, NAMESPACE, account=False)
        return await of_changes(transport, NAMESPACE)

    answers: dict[str, Any] = run(main())
    return answers


@pytest.mark.parametrize("name", RECORDED["objects"])
def test_an_object_is_taken_as_by_the_real_server(objects: dict[str, Any], name: str) -> None:
    assert objects[name] == RECORDED["objects"][name]


@pytest.mark.parametrize("name", RECORDED["changes"])
def test_a_change_is_taken_as_by_the_real_server(changes: dict[str, Any], name: str) -> None:
    assert changes[name] == RECORDED["changes"][name]
