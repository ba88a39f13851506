"""Revisions of a Component (T-1)."""

from __future__ import annotations

import pytest

from fairlead.contracts.plans.kinds import COMPONENTS, CONFIGURATIONS, Json
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.decision import Hold
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from tests.contracts.plans.decide.applications.world import Died, World


def workload(image: str) -> Json:
    return {"workload": {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"image": image}}}


def test_the_first_spec_is_revision_one_and_holds_the_component() -> None:
    world = World()
    world.apply(COMPONENTS, "web", workload("a"))

    world.play()

    revision = world.get(CONTROLLER_REVISIONS, "web-v1")
    assert revision["revision"] == 1
    assert revision["metadata"]["labels"] == {"controller.oam.dev/component": "web"}
    assert world.controller(CONTROLLER_REVISIONS, "web-v1") == "web"
    assert revision["data"]["kind"] == "Component"
    assert revision["data"]["spec"] == workload("a")
    assert world.status(COMPONENTS, "web") == {
        "observedGeneration": 1,
        "latestRevision": {"name": "web-v1", "revision": 1},
    }


def test_another_spec_is_another_revision_and_the_same_one_is_none() -> None:
    world = World()
    world.apply(COMPONENTS, "web", workload("a"))
    world.play()
    world.apply(COMPONENTS, "web", workload("a"), labels={"touched": "yes"})
    world.play()
    assert world.names(CONTROLLER_REVISIONS) == ["web-v1"]

    for image in ("b", "a"):
        world.apply(COMPONENTS, "web", workload(image))
        world.play()

    assert world.names(CONTROLLER_REVISIONS) == ["web-v1", "web-v2", "web-v3"]
    assert world.status(COMPONENTS, "web")["latestRevision"] == {"name": "web-v3", "revision": 3}


def test_a_crash_between_revision_and_status_makes_no_second_revision() -> None:
    world = World()
    world.apply(COMPONENTS, "web", workload("a"))
    world.writes_left = 1
    with pytest.raises(Died):
        world.round()
    world.writes_left = None
    assert world.names(CONTROLLER_REVISIONS) == ["web-v1"]
    assert "latestRevision" not in world.status(COMPONENTS, "web")

    world.play()

    assert world.names(CONTROLLER_REVISIONS) == ["web-v1"]
    assert world.status(COMPONENTS, "web")["latestRevision"]["name"] == "web-v1"


def test_a_name_that_somebody_else_has_is_left_to_them() -> None:
    world = World()
    world.apply(CONTROLLER_REVISIONS, "web-v1")
    world.apply(COMPONENTS, "web", workload("a"))

    world.play()

    assert world.status(COMPONENTS, "web")["latestRevision"] == {"name": "web-v2", "revision": 2}
    assert "data" not in world.get(CONTROLLER_REVISIONS, "web-v1")


def test_a_revision_of_a_component_that_is_gone_is_left_to_the_garbage_collector() -> None:
    """As where objects come back from a backup, with a status and with owners of before."""
    world = World()
    world.apply(COMPONENTS, "web", workload("a"))
    world.play()
    world.get(CONTROLLER_REVISIONS, "web-v1")["metadata"]["ownerReferences"][0]["uid"] = "another"

    world.play()

    assert world.names(CONTROLLER_REVISIONS) == ["web-v1", "web-v2"]
    assert world.status(COMPONENTS, "web")["latestRevision"] == {"name": "web-v2", "revision": 2}


def test_no_other_revision_is_recorded_beside_one_that_has_lost_its_owner() -> None:
    world = World()
    world.apply(COMPONENTS, "web", workload("a"))
    world.play()
    del world.get(CONTROLLER_REVISIONS, "web-v1")["metadata"]["ownerReferences"]

    world.play()
    assert world.names(CONTROLLER_REVISIONS) == ["web-v1"]

    world.apply(COMPONENTS, "web", workload("b"))
    world.play()
    assert world.names(CONTROLLER_REVISIONS) == ["web-v1", "web-v2"]


def test_the_oldest_that_nobody_names_go_above_the_limit() -> None:
    world = World(PlanSettings(revision_limit=2))
    world.apply(CONFIGURATIONS, "by-hand", {"components": [{"revisionName": "web-v1"}]})
    for image in ("a", "b", "c", "d"):
        world.apply(COMPONENTS, "web", workload(image))
        world.play()

    assert world.names(CONTROLLER_REVISIONS) == ["web-v1", "web-v4"]


def test_a_component_without_a_workload_is_told_so() -> None:
    world = World()
    world.apply(COMPONENTS, "web", {"workload": {"kind": "Deployment"}})

    verdict = world.run(COMPONENTS, "web").verdict

    assert isinstance(verdict, Hold)
    assert verdict.details[0][1] == "the Component web has no spec.workload with apiVersion and kind"
