"""Orchard tested as its users run it: a process of its own, on a served cluster, killed and started again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config, watch

from kubesim import ServedCluster

FOLDER = Path(__file__).parent
PLACE = ("example.test", "v1", "default", "orchards")
LABEL = "example.test/orchard=pears"
PATIENCE = 60
"""Seconds; everything here takes one or two."""


@pytest.fixture
def api(kubesim: ServedCluster) -> Iterator[Any]:
    """A client of the test's own; the kind is known and served."""
    with config.new_client_from_config(str(kubesim.kubeconfig)) as api:
        definitions = client.ApiextensionsV1Api(api)
        definitions.create_custom_resource_definition(yaml.safe_load((FOLDER / "definition.yaml").read_text()))
        seen(definitions.list_custom_resource_definition, until=lambda _, found: is_established(found))
        yield api


def test_trees_are_planted_watered_felled_and_harvested(kubesim: ServedCluster, api: Any) -> None:
    orchards = client.CustomObjectsApi(api)
    with operating(kubesim):
        orchards.create_namespaced_custom_object(*PLACE, an_orchard(trees=3))
        seen_orchard(orchards, until=lambda _, found: planted(found) == 3)
        assert trees(api) == ["pears-0", "pears-1", "pears-2"]
        seen_orchard(orchards, until=lambda _, found: found.get("status", {}).get("watered", 0) >= 2)
        seen(client.CoreV1Api(api).list_namespaced_event, "default", until=lambda _, event: tells_of_planting(event))

        orchards.patch_namespaced_custom_object(*PLACE, "pears", {"spec": {"trees": 1}})
        seen_orchard(orchards, until=lambda _, found: planted(found) == 1)
        assert trees(api) == ["pears-0"]

        orchards.delete_namespaced_custom_object(*PLACE, "pears")
        seen_orchard(orchards, until=lambda event, _: event == "DELETED")
        assert harvested(api) == "1"
        trees_are_gone(api)


def test_what_happens_while_it_is_dead_is_done_when_it_is_back(kubesim: ServedCluster, api: Any) -> None:
    orchards = client.CustomObjectsApi(api)
    with operating(kubesim):
        orchards.create_namespaced_custom_object(*PLACE, an_orchard(trees=1))
        seen_orchard(orchards, until=lambda _, found: planted(found) == 1)

    orchards.patch_namespaced_custom_object(*PLACE, "pears", {"spec": {"trees": 4}})
    with operating(kubesim):
        seen_orchard(orchards, until=lambda _, found: planted(found) == 4)
    assert len(trees(api)) == 4

    gone = orchards.delete_namespaced_custom_object(*PLACE, "pears")
    assert gone["metadata"]["finalizers"] == ["example.test/harvest"]
    with operating(kubesim):
        seen_orchard(orchards, until=lambda event, _: event == "DELETED")
    assert harvested(api) == "4"


@contextmanager
def operating(cluster: ServedCluster) -> Iterator[None]:
    """The operator at work, killed in the end."""
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "-A", "--quiet", str(FOLDER / "operator.py")]
    with subprocess.Popen(command, env=cluster.environment) as process:
        try:
            yield
            assert process.poll() is None, "the operator has ended by itself"
        finally:
            process.kill()


def seen(lists: Callable[..., Any], *place: str, until: Callable[[str, Any], bool], **selection: str) -> None:
    """Watches until it is so."""
    opened = watch.Watch()
    for event in opened.stream(lists, *place, timeout_seconds=PATIENCE, **selection):
        if until(event["type"], event["object"]):
            opened.stop()
            return
    raise AssertionError(f"it is not so after {PATIENCE} seconds")


def seen_orchard(orchards: Any, *, until: Callable[[str, Any], bool]) -> None:
    seen(orchards.list_namespaced_custom_object, *PLACE, until=until)


def is_established(definition: Any) -> bool:
    conditions = (definition.status and definition.status.conditions) or ()
    return any(each.type == "Established" and each.status == "True" for each in conditions)


def tells_of_planting(event: Any) -> bool:
    return (event.involved_object.name, event.reason, event.message) == ("pears", "Planted", "there are 3 trees")


def planted(orchard: Any) -> int | None:
    trees: int | None = orchard.get("status", {}).get("trees")
    return trees


def trees(api: Any) -> list[str]:
    found = client.CoreV1Api(api).list_namespaced_config_map("default", label_selector=LABEL)
    return [tree.metadata.name for tree in found.items]


def trees_are_gone(api: Any) -> None:
    """With their owner, by the garbage collector."""
    maps = client.CoreV1Api(api).list_namespaced_config_map
    found = maps("default", label_selector=LABEL)
    left = {tree.metadata.name for tree in found.items}

    def was_the_last(event: str, tree: Any) -> bool:
        left.discard(tree.metadata.name if event == "DELETED" else "")
        return not left

    if left:
        version = found.metadata.resource_version
        seen(maps, "default", until=was_the_last, label_selector=LABEL, resource_version=version)


def harvested(api: Any) -> str:
    return str(client.CoreV1Api(api).read_namespaced_config_map("pears-harvest", "default").data["trees"])


def an_orchard(trees: int) -> dict[str, Any]:
    return {
        "apiVersion": "example.test/v1",
        "kind": "Orchard",
        "metadata": {"name": "pears"},
        "spec": {"trees": trees},
    }
