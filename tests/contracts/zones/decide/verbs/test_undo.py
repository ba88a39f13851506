"""Going back to an earlier revision, decided from what is read."""

from __future__ import annotations

import pytest

from fairlead.contracts.zones.decide.verbs.undo import undo
from fairlead.contracts.zones.kinds import PAUSED
from fairlead.core.verb import Nothing, Refused, VerbPlan
from tests.contracts.zones.decide.verbs.groups import Scene, a_template, named, three_zones


def plan_of(scene: Scene, **options: str) -> VerbPlan:
    plan = scene.asked(undo, **options)
    assert isinstance(plan, VerbPlan), plan
    return plan


def sentence(scene: Scene, **options: str) -> str:
    refused = scene.asked(undo, **options)
    assert isinstance(refused, Refused), refused
    return refused.sentence


def test_all_templates_go_back_to_the_revision_before_each_to_its_own() -> None:
    plan = plan_of(three_zones())

    assert [write.ref.name for write in plan.writes] == [named(letter) for letter in "abc"]
    for letter, write in zip("abc", plan.writes, strict=True):
        (container,) = write.patch["spec"]["template"]["spec"]["containers"]
        assert (container["image"], container["args"]) == ("image:1", [f"-zone=zone-{letter}"])
        assert write.patch["metadata"] == {"uid": f"uid-{letter}", "resourceVersion": f"1{ord(letter)}"}
        assert write.shown == ("spec.containers[main].image: image:2 -> image:1",)
    assert plan.before.startswith("The pod templates of ingester go back to revision 1:")
    assert plan.before.count("image:2 -> image:1") == 1
    assert (plan.event, plan.did) == (
        "RolloutUndone",
        "took the templates of the group ingester back to revision 1",
    )


def test_what_is_taken_away_and_what_is_added_goes_back_too() -> None:
    scene = Scene()
    for letter in "ab":
        now = a_template(letter, env=[{"name": "A", "value": "1"}])
        now["spec"]["priorityClassName"] = "high"
        before = a_template(letter, resources={"limits": {"cpu": "1"}})
        before["spec"]["hostNetwork"] = True
        scene.zone(letter, now)
        scene.revision(letter, 1, before)
        scene.revision(letter, 2, now)

    (first, _) = plan_of(scene).writes

    spec = first.patch["spec"]["template"]["spec"]
    assert spec["priorityClassName"] is None
    assert spec["hostNetwork"] is True
    assert "env" not in spec["containers"][0]
    assert first.shown == (
        "spec.containers[main].env[A].name: A removed",
        "spec.containers[main].env[A].value: 1 removed",
        "spec.containers[main].resources.limits.cpu: 1 added",
        "spec.hostNetwork: True added",
        "spec.priorityClassName: high removed",
    )


def test_a_revision_may_be_chosen_by_number_and_by_name() -> None:
    scene = three_zones()
    for letter in "abc":
        scene.revision(letter, 3, a_template(letter, "image:3"))
        scene.zones[letter]["spec"]["template"] = a_template(letter, "image:3")

    assert plan_of(scene).said.startswith("ingester goes back to revision 2:")
    assert plan_of(scene, to_revision="1").said.startswith("ingester goes back to revision 1:")
    assert plan_of(scene, to_revision=f"{named('b')}-r1").said.startswith("ingester goes back to revision 1:")
    assert sentence(scene, to_revision="7") == "ingester has no revision 7: there are 3, 2, 1"


def test_going_back_is_finished_where_only_some_zones_went() -> None:
    """Zone a has gone back: its old revision has a new number there."""
    scene = three_zones()
    scene.zones["a"]["spec"]["template"] = a_template("a", "image:1")
    scene.revisions = [each for each in scene.revisions if each["metadata"]["name"] != f"{named('a')}-r1"]
    back = scene.revision("a", 3, a_template("a", "image:1"))

    assert "do not have the same template" in sentence(scene)
    assert f"{named('a')} at revision 3; {named('b')}, {named('c')} at revision 2" in sentence(scene)
    for word in ("3", "1", back):
        plan = plan_of(scene, to_revision=word)
        assert [write.ref.name for write in plan.writes] == [named("b"), named("c")]


def test_a_zone_whose_name_is_in_the_image_has_the_template_of_the_others() -> None:
    """What all zones have alike tells no zone from another."""
    scene = three_zones("registry/db:1", "registry/db:2")
    for letter, name in zip("abc", ("db", "db-2", "db-3"), strict=True):
        scene.zones[letter]["metadata"]["name"] = name

    assert [write.ref.name for write in plan_of(scene).writes] == ["db", "db-2", "db-3"]


def test_what_was_begun_is_finished_by_a_name_that_stays() -> None:
    plan = plan_of(three_zones())

    assert plan.unfinished == f"finish it with `fairlead undo ingester -n test --to-revision {named('a')}-r1`"
    assert plan.pinned == {"--to-revision": (f"{named('a')}-r1",)}


def test_the_templates_that_are_there_already_need_nothing() -> None:
    assert three_zones().asked(undo, to_revision="2") == Nothing("ingester has the templates of revision 2 already")


def test_without_an_earlier_revision_there_is_nothing_to_go_back_to() -> None:
    scene = Scene()
    for letter in "ab":
        scene.zone(letter)
        scene.revision(letter, 1, a_template(letter))

    assert sentence(scene).startswith("ingester has no earlier revision")


def test_a_zone_that_never_had_the_template_is_named() -> None:
    scene = three_zones()
    scene.zone("d", a_template("d", "image:2"))
    scene.revision("d", 1, a_template("d", "image:2"))

    assert "ingester-zone-d never had its template" in sentence(scene)


def test_the_same_number_for_different_templates_is_asked_about() -> None:
    scene = Scene()
    for letter, images in (("a", ("image:1", "image:2")), ("b", ("image:2", "image:1"))):
        scene.zone(letter, a_template(letter, images[1]))
        for number, image in enumerate(images, 1):
            scene.revision(letter, number, a_template(letter, image))

    assert "different templates as revision 1: choose" in sentence(scene, to_revision="1")


def test_a_template_that_is_not_recorded_yet_is_waited_for() -> None:
    scene = three_zones()
    scene.zones["b"]["spec"]["template"] = a_template("b", "image:9")

    assert "not recorded the newest template of ingester-zone-b yet: try again" in sentence(scene)


def test_a_template_that_was_put_back_and_is_not_recorded_yet_is_waited_for() -> None:
    """Its revision is an old one until the StatefulSet controller has given it a new number."""
    scene = three_zones()
    for letter in "abc":
        scene.zones[letter]["spec"]["template"] = a_template(letter, "image:1")

    assert "not recorded the newest template of ingester-zone-a, ingester-zone-b, ingester-zone-c yet" in sentence(
        scene
    )


def reordered() -> Scene:
    """Zones whose variables changed places, and nothing else."""
    scene = Scene()
    variables = [{"name": "HOST", "value": "a"}, {"name": "URL", "value": "http://$(HOST)"}]
    for letter in "ab":
        scene.zone(letter, a_template(letter, env=variables))
        scene.revision(letter, 1, a_template(letter, env=variables[::-1]))
        scene.revision(letter, 2, a_template(letter, env=variables))
    return scene


def test_entries_that_changed_places_go_back_too() -> None:
    plan = plan_of(reordered())

    for write in plan.writes:
        (container,) = write.patch["spec"]["template"]["spec"]["containers"]
        assert [each["name"] for each in container["env"]] == ["URL", "HOST"]
        assert write.shown == ("spec.containers[main].env: HOST, URL -> URL, HOST",)
    assert len(plan.writes) == 2


@pytest.mark.parametrize("data", [None, {}, "text", []])
def test_what_is_stored_and_is_no_template_is_refused(data: object) -> None:
    scene = three_zones()
    scene.revision("b", 3, data)

    assert "revision 3 of ingester-zone-b (ingester-zone-b-r3) holds no pod template" in sentence(scene)
    assert plan_of(scene, to_revision="1")


@pytest.mark.parametrize(
    ("mark", "who"),
    [
        ({"labels": {"argocd.argoproj.io/instance": "mimir"}}, "Argo CD"),
        ({"annotations": {"meta.helm.sh/release-name": "mimir"}}, "Helm"),
        (
            {
                "managedFields": [
                    {
                        "manager": "kustomize-controller",
                        "operation": "Apply",
                        "fieldsV1": {"f:spec": {"f:template": {"f:spec": {}}}},
                    }
                ]
            },
            "kustomize-controller",
        ),
    ],
)
def test_whoever_manages_the_template_by_a_manifest_is_warned_of(mark: dict[str, object], who: str) -> None:
    scene = three_zones()
    for key, value in mark.items():
        held = scene.zones["b"]["metadata"].setdefault(key, value)
        if isinstance(held, dict) and isinstance(value, dict):
            held |= value

    plan = plan_of(scene)

    (warning,) = plan.warnings
    assert warning.startswith(f"the pod templates are managed by {who}, which puts its own back")
    assert "take the change out of your manifest" not in plan.said


def test_an_edit_that_touches_no_template_is_no_manifest_of_it() -> None:
    scene = three_zones()
    fields: dict[str, object] = {"f:spec": {"f:replicas": {}}}
    scene.zones["a"]["metadata"]["managedFields"] = [{"manager": "scaler", "operation": "Apply", "fieldsV1": fields}]

    assert plan_of(scene).warnings == ()


def test_a_paused_group_says_that_it_waits() -> None:
    scene = three_zones()
    scene.zones["a"]["metadata"]["annotations"][PAUSED] = "true"

    assert "paused zones do not move before `fairlead resume ingester -n test`" in plan_of(scene).said
