"""Restarting a group, decided from what is read."""

from __future__ import annotations

import pytest

from fairlead.contracts.zones.decide.verbs.restart import restart
from fairlead.contracts.zones.kinds import PAUSED, ROTATE
from fairlead.core.verb import Nothing, Refused, VerbPlan
from tests.contracts.zones.decide.verbs.groups import named, three_zones


def test_every_pod_is_marked_bound_to_its_incarnation() -> None:
    plan = three_zones().asked(restart)

    assert isinstance(plan, VerbPlan)
    assert [write.ref.name for write in plan.writes] == [f"{named(letter)}-{n}" for letter in "abc" for n in range(2)]
    first = plan.writes[0]
    assert first.patch == {"metadata": {"uid": "uid-ingester-zone-a-0", "labels": {ROTATE: "true"}}}
    assert first.skipped_when_gone
    assert [ref.name for ref in plan.about] == [named(letter) for letter in "abc"]


def test_one_zone_may_be_chosen() -> None:
    plan = three_zones().asked(restart, zone=(named("c"), named("a")))

    assert isinstance(plan, VerbPlan)
    assert {write.ref.name.rpartition("-")[0] for write in plan.writes} == {named("a"), named("c")}
    assert plan.said.startswith("4 pods of ingester-zone-a, ingester-zone-c will be replaced")


def test_a_zone_that_is_none_is_refused_with_those_that_are() -> None:
    assert three_zones().asked(restart, zone="x") == Refused(
        "x is no zone of ingester: its zones are ingester-zone-a, ingester-zone-b, ingester-zone-c"
    )


def test_pods_that_are_marked_or_going_are_left_alone() -> None:
    scene = three_zones()
    scene.pods[0]["metadata"]["labels"][ROTATE] = "true"
    scene.pods[1]["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    scene.pods[2]["metadata"]["ownerReferences"] = []

    plan = scene.asked(restart)

    assert isinstance(plan, VerbPlan)
    assert [write.ref.name for write in plan.writes] == [f"{named('b')}-1", f"{named('c')}-0", f"{named('c')}-1"]


def test_where_all_are_marked_nothing_is_done() -> None:
    scene = three_zones()
    for pod in scene.pods:
        pod["metadata"]["labels"][ROTATE] = "true"

    assert isinstance(scene.asked(restart), Nothing)


def test_a_paused_zone_says_that_it_waits() -> None:
    scene = three_zones()
    scene.zones["b"]["metadata"]["annotations"][PAUSED] = "true"

    plan = scene.asked(restart)

    assert isinstance(plan, VerbPlan)
    assert plan.said.endswith("but not before `fairlead resume ingester -n test`: ingester-zone-b paused")


@pytest.mark.parametrize("trouble", ["strategy", "template"])
def test_a_mark_that_would_do_nothing_is_refused(trouble: str) -> None:
    scene = three_zones()
    spec = scene.zones["b"]["spec"]
    if trouble == "strategy":
        spec["updateStrategy"] = {"type": "RollingUpdate"}
    else:
        spec["template"]["metadata"]["labels"][ROTATE] = "true"

    refused = scene.asked(restart)

    assert isinstance(refused, Refused)
    assert "ingester-zone-b" in refused.sentence
