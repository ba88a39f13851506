"""What is migrated, and when the other versions may be forgotten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from fairlead.engine.decide.migration import (
    Changed,
    Clean,
    MigrationPlan,
    Prune,
    Tree,
    plan_of,
    prune,
)
from kubeloop.objects.meta import Resource


def a_definition(*stored: str, **meta: Any) -> Tree:
    versions = [{"name": "v1", "served": True, "storage": False}, {"name": "v2", "served": True, "storage": True}]
    return {
        "metadata": {"name": "widgets.shop.example.com", "uid": "u", "resourceVersion": "7", **meta},
        "spec": {
            "group": "shop.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets"},
            "versions": versions,
        },
        "status": {"storedVersions": list(stored)},
    }


def a_plan() -> MigrationPlan:
    plan = plan_of(a_definition("v1", "v2"))
    assert isinstance(plan, MigrationPlan)
    return plan


def test_a_kind_is_migrated_in_its_storage_version() -> None:
    assert a_plan().resource == Resource("shop.example.com", "v2", "widgets", "Widget")


def test_objects_of_a_cluster_are_found_without_a_namespace() -> None:
    definition = a_definition("v1")
    definition["spec"]["scope"] = "Cluster"

    plan = plan_of(definition)

    assert isinstance(plan, MigrationPlan)
    assert not plan.resource.namespaced


def test_a_kind_that_is_stored_in_the_storage_version_alone_is_clean() -> None:
    assert plan_of(a_definition("v2")) == Clean()


@pytest.mark.parametrize("stored", [("v1",), ("v1", "v2"), ("v2", "v1"), ("v0", "v2"), ()])
def test_any_other_record_is_not_clean(stored: tuple[str, ...]) -> None:
    assert isinstance(plan_of(a_definition(*stored)), MigrationPlan)


def test_nothing_is_migrated_to_a_version_that_is_not_served() -> None:
    definition = a_definition("v1")
    definition["spec"]["versions"][1]["served"] = False

    assert isinstance(plan_of(definition), Changed)


def test_nothing_is_migrated_while_the_definition_is_being_deleted() -> None:
    assert isinstance(plan_of(a_definition("v1", deletionTimestamp="2030-01-01T00:00:00Z")), Changed)


def test_the_other_versions_are_forgotten_when_all_objects_were_written() -> None:
    found = prune(a_plan(), a_definition("v1", "v2"))

    assert isinstance(found, Prune)
    assert msgspec.json.decode(found.body) == {
        "metadata": {"resourceVersion": "7"},
        "status": {"storedVersions": ["v2"]},
    }


def test_somebody_else_may_have_finished_it() -> None:
    assert prune(a_plan(), a_definition("v2")) == Clean()


def _add_version(tree: Tree) -> None:
    tree["spec"]["versions"].append({"name": "v3", "served": True, "storage": False})


def _store_in_v1(tree: Tree) -> None:
    for version in tree["spec"]["versions"]:
        version["storage"] = version["name"] == "v1"


@pytest.mark.parametrize(
    "edit",
    [
        lambda tree: tree["metadata"].update(uid="another"),
        lambda tree: tree["status"]["storedVersions"].append("v0"),
        lambda tree: tree["spec"]["versions"][0].update(served=False),
        _add_version,
        _store_in_v1,
    ],
)
def test_nothing_is_forgotten_when_the_definition_has_changed(edit: Callable[[Tree], None]) -> None:
    definition = a_definition("v1", "v2")
    edit(definition)

    assert isinstance(prune(a_plan(), definition), Changed)


def test_an_exchanged_bundle_does_not_spoil_a_migration() -> None:
    definition = a_definition("v1", "v2", generation=9)
    definition["spec"]["conversion"] = {"strategy": "Webhook"}

    assert isinstance(prune(a_plan(), definition), Prune)
