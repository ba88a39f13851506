"""The same states, as other clients and older releases tell them: they rest as well."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeloop.objects.apps import STATEFULSETS
from kubesim.copies import Copy
from kubesim.loading import read
from kubesim.store.versions import Tree
from kubesim.virtual import VirtualCluster

FOLDER = Path(__file__).parent / "copies"


def listed(name: str) -> list[Tree]:
    items: list[Tree] = json.loads((FOLDER / f"{name}.json").read_text())["items"]
    return items


def told(path: Path, documents: Any) -> Copy:
    path.write_text(json.dumps(documents))
    return read([path])


def writes(copy: Copy) -> list[str]:
    async def rest(world: VirtualCluster) -> list[str]:
        await asyncio.sleep(90 * 60)
        return [f"{each.user} {each.verb} {each.resource.plural} {each.name}" for each in world.cluster.history]

    return VirtualCluster(copy=copy).play(rest)


def with_nulls(item: Tree) -> Tree:
    """Revisions as releases before 1.35 wrote them, and with other keys first."""
    if item["kind"] != "ControllerRevision" or item["metadata"]["ownerReferences"][0]["kind"] != "StatefulSet":
        return item
    template = item["data"]["spec"]["template"]
    metadata = {"creationTimestamp": None, **template["metadata"]}
    turned = dict(reversed((template | {"metadata": metadata}).items()))
    return item | {"data": {"spec": {"template": turned}}}


def without_managers(item: Tree) -> Tree:
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    return item | {"metadata": metadata}


def of_a_later_release(item: Tree) -> Tree:
    if item["kind"] not in ("Pod", "StatefulSet", "Node"):
        return item
    return item | {"status": item.get("status", {}) | {"fromTheFuture": [{"a": 1}]}}


@pytest.mark.parametrize("change", [with_nulls, without_managers, of_a_later_release])
def test_it_rests(change: Callable[[Tree], Tree], tmp_path: Path) -> None:
    before = listed("at_rest")
    items = [change(each) for each in before]

    copy = told(tmp_path / "lists.json", {"kind": "List", "apiVersion": "v1", "items": items})

    assert items != before
    assert writes(copy) == []


def test_a_set_with_an_old_revision_keeps_it_when_its_pods_are_made_anew(tmp_path: Path) -> None:
    items = [with_nulls(each) for each in listed("at_rest")]
    copy = told(tmp_path / "lists.json", {"kind": "List", "apiVersion": "v1", "items": items})

    async def scenario(world: VirtualCluster) -> set[str]:
        await world.patch(STATEFULSETS, "shop", "ingester-zone-a", {"spec": {"replicas": 5}})
        await asyncio.sleep(60)
        sets = await world.list(STATEFULSETS, "shop")
        [changed] = [each for each in sets if each["metadata"]["name"] == "ingester-zone-a"]
        assert changed["status"]["availableReplicas"] == 5
        return {each.resource.plural for each in world.cluster.history if each.verb == "create"}

    assert "controllerrevisions" not in VirtualCluster(copy=copy).play(scenario)


def test_lists_of_the_api_say_the_same_as_those_of_kubectl(tmp_path: Path) -> None:
    kinds: dict[tuple[str, str], list[Tree]] = {}
    for item in listed("stuck"):
        bare = {key: value for key, value in item.items() if key not in ("kind", "apiVersion")}
        kinds.setdefault((item["apiVersion"], item["kind"]), []).append(bare)
    for number, ((version, kind), items) in enumerate(kinds.items()):
        answer = {"kind": f"{kind}List", "apiVersion": version, "metadata": {"resourceVersion": "900"}, "items": items}
        (tmp_path / f"{number}.json").write_text(json.dumps(answer))

    assert bodies(read([tmp_path])) == bodies(read([FOLDER / "stuck.json"]))


def test_yaml_says_the_same_as_json(tmp_path: Path) -> None:
    (tmp_path / "lists.yaml").write_text(yaml.safe_dump({"kind": "List", "apiVersion": "v1", "items": listed("stuck")}))

    assert bodies(read([tmp_path])) == bodies(read([FOLDER / "stuck.json"]))


def bodies(copy: Copy) -> dict[str, Tree]:
    return {version.head.uid: version.tree() for table in copy.tables.values() for version in table.values()}
