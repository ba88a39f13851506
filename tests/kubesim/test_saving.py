"""A cluster goes on from what was saved."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from kubeloop.objects.meta import Resource
from kubeloop.request import Request, path_of
from kubesim.auth.rbac import ADMIN, user_of
from kubesim.cluster import Cluster
from kubesim.copies import Unusable
from kubesim.kinds.registry import CONFIG_MAPS, DEFINITIONS
from kubesim.saving import FILE, read, save
from kubesim.store.versions import Tree
from kubesim.time import run

WIDGETS = Resource("example.com", "v1", "widgets", "Widget")


def a_definition() -> Tree:
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    return {
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    }


def in_time(work: Callable[[], Awaitable[None]]) -> None:
    async def main() -> None:
        await work()

    run(main())


def test_objects_versions_and_definitions_are_there_again(tmp_path: Path) -> None:
    async def first() -> None:
        cluster = Cluster()
        cluster.verbs.create(CONFIG_MAPS, "default", {"metadata": {"name": "a"}, "data": {"k": "v"}}, user="tester")
        cluster.verbs.create(DEFINITIONS, "", a_definition(), user="tester")
        await asyncio.sleep(1)  # until it is established
        cluster.verbs.create(WIDGETS, "default", {"metadata": {"name": "w"}, "spec": {"size": 3}}, user="tester")
        save(cluster, tmp_path)
        before.update(_everything(cluster), revision=cluster.store.revision)

    async def second() -> None:
        cluster = Cluster(seed=7)
        cluster.hold(read(tmp_path))
        assert _everything(cluster) | {"revision": cluster.store.revision} == before
        widget = cluster.verbs.read(WIDGETS, "default", "w")
        assert widget["spec"] == {"size": 3}
        made = cluster.verbs.create(WIDGETS, "default", {"metadata": {"name": "x"}}, user="tester")
        assert int(made["metadata"]["resourceVersion"]) > int(widget["metadata"]["resourceVersion"])

    before: dict[str, object] = {}
    in_time(first)
    in_time(second)


def test_a_watch_from_before_has_to_list_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        cluster = Cluster()
        made = cluster.verbs.create(CONFIG_MAPS, "default", {"metadata": {"name": "a"}}, user="tester")
        cluster.verbs.delete(CONFIG_MAPS, "default", "a", user="tester")
        save(cluster, tmp_path)
        again = Cluster()
        again.hold(read(tmp_path))
        version = made["metadata"]["resourceVersion"]
        query = (("watch", "true"), ("resourceVersion", version), ("timeoutSeconds", "1"))
        watch = again.handler.watch(Request("GET", path_of(CONFIG_MAPS), query=query), user_of(ADMIN))
        assert watch is not None
        first = msgspec.json.decode(await anext(watch.lines()))
        assert (first["type"], first["object"]["code"]) == ("ERROR", 410)

    in_time(scenario)


A_LINE = b'{"resource":{"group":"","version":"v1","plural":"pods","kind":"Pod","namespaced":true},"object":{"a":1}}\n'


def a_heading(objects: int) -> bytes:
    text = f'{{"format":"fairlead-cluster/1","revision":1,"now":"2030-01-01T00:00:00Z","objects":{objects}}}'
    return text.encode() + b"\n"


def test_objects_that_no_cluster_has_stored_are_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(a_heading(1) + A_LINE)

    with pytest.raises(Unusable, match="holds what no cluster has stored"):
        read(tmp_path)


def test_only_its_owner_reads_the_file(tmp_path: Path) -> None:
    async def scenario() -> None:
        save(Cluster(), tmp_path)

    in_time(scenario)

    assert (tmp_path / FILE).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "there is no"),
        (b"", "holds no saved cluster"),
        (b"hello", "holds no saved cluster"),
        (b'{"format":"fairlead-cluster/0","revision":1,"now":"2030-01-01T00:00:00Z"}\n', "another release"),
        (b'{"format":"fairlead-cluster/1","revision":1,"now":"2030-01-01T00:00:00Z"}\n', "holds no saved cluster"),
        (a_heading(1) + b'{"resource":1}', "holds no saved cluster"),
        (a_heading(0).replace(b"00Z", b"00"), "holds no saved cluster"),
        (a_heading(2) + A_LINE, "has 1 of the 2 objects"),
    ],
)
def test_what_holds_no_state_is_told(tmp_path: Path, content: bytes | None, why: str) -> None:
    if content is not None:
        (tmp_path / FILE).write_bytes(content)

    with pytest.raises(Unusable, match=why):
        read(tmp_path)


def _everything(cluster: Cluster) -> dict[str, object]:
    return {
        f"{resource.plural} {version.key}": (version.revision, version.body)
        for resource, version in cluster.store.everything()
    }
