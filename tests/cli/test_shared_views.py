"""Each resource is listed, and watched, once for all contracts that are looked at."""

from __future__ import annotations

from collections import Counter

import pytest

from fairlead.cli.documents_of import explain_all
from fairlead.cli.live_documents import LiveScopes
from fairlead.contracts import CONTRACTS
from kubeloop.client import Client
from kubesim.time import run
from tests.builders import a_zone, pods_of
from tests.cli.worlds import World

ZONE = a_zone("a")


@pytest.fixture(autouse=True)
def _twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """A second contract reads the very objects of the first."""
    monkeypatch.setitem(CONTRACTS, "twin", CONTRACTS["zones"])


def of_workloads(world: World) -> Counter[tuple[str, str, bool]]:
    """How often StatefulSets and pods of a selection were listed, and watched; operators are looked for apart."""
    asked = [(each.path.rpartition("/")[2], dict(each.query)) for each in world.asked]
    return Counter(
        (plural, query.get("labelSelector", ""), "watch" in query)
        for plural, query in asked
        if plural in ("statefulsets", "pods") and "app.kubernetes.io/name" not in query.get("labelSelector", "")
    )


def test_one_list_serves_all_contracts() -> None:
    world = World(ZONE, pods_of(ZONE, "old"))

    seen = run(explain_all(Client(world), ["test"]))

    assert [one.rollout for one in seen] == ["ingester", "ingester"]
    assert of_workloads(world) == {("statefulsets", "rollout-group", False): 1, ("pods", "", False): 1}


def test_one_informer_serves_all_contracts() -> None:
    world = World(ZONE, pods_of(ZONE, "old"))

    async def follow() -> None:
        live = LiveScopes(Client(world), ["test"])
        async with live.running():
            await live.next(1)

    run(follow())

    watched = {key: count for key, count in of_workloads(world).items() if key[2]}
    assert watched[("statefulsets", "rollout-group", True)] == watched[("pods", "", True)] == 1


def test_what_a_rollout_consists_of_is_listed_where_there_is_one() -> None:
    world = World(ZONE, pods_of(ZONE, "old"))

    seen = run(explain_all(Client(world), ["elsewhere", "test"]))

    assert {one.namespace for one in seen} == {"test"}
    listed = [each.path for each in world.asked if each.path.endswith("/pods") and "elector" not in str(each.query)]
    assert [path.split("/")[4] for path in listed] == ["test"]
