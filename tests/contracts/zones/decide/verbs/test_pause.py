"""Pausing a group and letting it go on, decided from what is read."""

from __future__ import annotations

from fairlead.contracts.zones.decide.verbs.pause import pause, resume
from fairlead.contracts.zones.kinds import EXCLUDE, PAUSED
from fairlead.core.verb import Absent, Nothing, Refused, VerbPlan
from tests.contracts.zones.decide.verbs.groups import Scene, named, three_zones


def paused(*letters: str) -> Scene:
    scene = three_zones()
    for letter in letters:
        scene.zones[letter]["metadata"]["annotations"][PAUSED] = "true"
    return scene


def test_every_zone_is_paused_each_bound_to_the_version_that_was_read() -> None:
    plan = three_zones().asked(pause)

    assert isinstance(plan, VerbPlan)
    assert [write.ref.name for write in plan.writes] == [named(letter) for letter in "abc"]
    assert plan.writes[0].patch == {
        "metadata": {"uid": "uid-a", "resourceVersion": "197", "annotations": {PAUSED: "true"}}
    }
    assert (plan.did, plan.event) == ("paused the group ingester", "RolloutPaused")
    assert "until `fairlead resume ingester -n test`" in plan.said


def test_a_zone_that_is_paused_already_is_left_alone() -> None:
    plan = paused("b").asked(pause)

    assert isinstance(plan, VerbPlan)
    assert [write.ref.name for write in plan.writes] == [named("a"), named("c")]


def test_a_value_that_pauses_nothing_is_corrected() -> None:
    scene = three_zones()
    scene.zones["a"]["metadata"]["annotations"][PAUSED] = "yes"

    plan = scene.asked(pause)

    assert isinstance(plan, VerbPlan)
    assert plan.writes[0].shown == (f"{PAUSED}: yes -> true",)


def test_a_group_that_is_paused_needs_nothing() -> None:
    assert isinstance(paused("a", "b", "c").asked(pause), Nothing)
    assert isinstance(three_zones().asked(resume), Nothing)


def test_resuming_takes_the_annotation_away_where_it_is() -> None:
    plan = paused("a", "c").asked(resume)

    assert isinstance(plan, VerbPlan)
    assert [write.ref.name for write in plan.writes] == [named("a"), named("c")]
    assert all(write.patch["metadata"]["annotations"] == {PAUSED: None} for write in plan.writes)
    assert plan.warnings == ()


def test_a_pause_that_a_manifest_has_comes_back() -> None:
    scene = paused("a", "b", "c")
    fields: dict[str, object] = {"f:metadata": {"f:annotations": {f"f:{PAUSED}": {}}}}
    scene.zones["b"]["metadata"]["managedFields"] = [
        {"manager": "argocd-controller", "operation": "Apply", "fieldsV1": fields}
    ]

    plan = scene.asked(resume)

    assert isinstance(plan, VerbPlan)
    assert plan.warnings == (
        "the pause is in the manifest of argocd-controller, which puts it back: take it out there as well",
    )


def test_whoever_names_one_zone_is_told_that_all_are_meant() -> None:
    assert three_zones().asked(pause, named("b")) == Refused(
        "ingester-zone-b is a zone of the group ingester: name the group"
    )


def test_what_is_no_group_is_absent() -> None:
    assert three_zones().asked(pause, "else") == Absent()


def test_the_group_without_a_name_has_one_for_people() -> None:
    scene = Scene()
    scene.zone("a", group="")

    plan = scene.asked(pause, "")

    assert isinstance(plan, VerbPlan)
    assert plan.said.startswith('"" is paused (-zone-a)')


def test_zones_that_are_excluded_or_being_deleted_are_left_alone() -> None:
    scene = three_zones()
    scene.zones["a"]["metadata"]["annotations"][EXCLUDE] = "true"
    scene.zones["b"]["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"

    plan = scene.asked(pause)

    assert isinstance(plan, VerbPlan)
    assert [write.ref.name for write in plan.writes] == [named("c")]


def test_a_group_that_is_being_deleted_is_refused() -> None:
    scene = three_zones()
    for letter in "abc":
        scene.zones[letter]["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"

    assert scene.asked(pause) == Refused("all zones of ingester are being deleted")
