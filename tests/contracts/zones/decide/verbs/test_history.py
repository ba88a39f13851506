"""The history of a group, put together from the revisions of its zones."""

from __future__ import annotations

from fairlead.contracts.zones.decide.verbs.history import history
from fairlead.core.verb import Refused, VerbTable
from tests.contracts.zones.decide.verbs.groups import Scene, a_template, named, three_zones


def table(scene: Scene, name: str = "ingester") -> VerbTable:
    found = scene.asked(history, name)
    assert isinstance(found, VerbTable), found
    return found


def test_a_row_per_revision_says_who_wants_it_who_runs_it_and_what_changed() -> None:
    new, old = table(three_zones()).rows

    assert new == {
        "REVISION": "2",
        "AGE": "0s",
        "WANTED BY": "all zones",
        "CURRENT IN": "-",
        "PODS": "ingester-zone-a 2",
        "CHANGED": "spec.containers[main].image: image:1 -> image:2",
    }
    assert old["REVISION"] == "1"
    assert old["AGE"] == "1h"
    assert (old["WANTED BY"], old["CURRENT IN"]) == ("-", "all zones")
    assert old["PODS"] == "ingester-zone-b 2, ingester-zone-c 2"
    assert old["CHANGED"] == "-"


def test_programs_get_every_change_and_the_revision_of_each_zone() -> None:
    found = table(three_zones())

    assert found.kind == "RolloutHistory"
    assert found.items[0]["zones"][named("b")] == {"revision": 2, "name": f"{named('b')}-r2"}
    assert found.items[0]["changes"][0]["path"] == "spec.containers[main].image"


def test_a_zone_with_numbers_of_its_own_is_still_one_history() -> None:
    scene = three_zones()
    scene.zone("d", a_template("d", "image:2"))
    scene.revision("d", 7, a_template("d", "image:1"))
    scene.revision("d", 8, a_template("d", "image:2"))

    assert [row["REVISION"] for row in table(scene).rows] == [
        "8 (ingester-zone-a 2, ingester-zone-b 2, ingester-zone-c 2)",
        "7 (ingester-zone-a 1, ingester-zone-b 1, ingester-zone-c 1)",
    ]


def test_an_argument_with_the_name_of_the_zone_in_it_is_the_same_in_all() -> None:
    scene = Scene()
    for letter in "ab":
        now = a_template(letter)
        now["spec"]["containers"][0]["args"] = ["-new", f"-zone=zone-{letter}", f"-name={named(letter)}"]
        scene.zone(letter, now)
        scene.revision(letter, 1, a_template(letter))
        scene.revision(letter, 2, now)

    assert [row["REVISION"] for row in table(scene).rows] == ["2", "1"]


def test_many_changes_are_counted() -> None:
    scene = Scene()
    before = a_template("a")
    now = a_template("a", "image:2", env=[{"name": "A", "value": "1"}], tty=True)
    scene.zone("a", now)
    scene.revision("a", 1, before)
    scene.revision("a", 2, now)

    assert table(scene).rows[0]["CHANGED"].endswith(" and 1 more")
    assert len(table(scene).items[0]["changes"]) == 4


def test_one_of_its_zones_names_the_group_too() -> None:
    assert table(three_zones(), named("b")).rollout == "ingester"


def test_a_group_without_revisions_says_who_makes_them() -> None:
    scene = Scene()
    scene.zone("a")

    assert scene.asked(history) == Refused(
        "no revision of ingester is recorded yet: the StatefulSet controller makes them"
    )
