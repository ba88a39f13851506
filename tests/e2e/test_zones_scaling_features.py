"""Features and corrections of scaling that came after the first release of the zone contract, by their numbers."""

from __future__ import annotations

import asyncio
import random
from datetime import timedelta

import pytest

from fairlead.contracts.zones.kinds import (
    FORCE_REPLICAS,
    GROUP_LABEL,
    LAST_DOWNSCALE,
    MIN_TIME,
    MIRROR_WRITE_BACK,
    UPSCALE_ONLY_WHEN_LEADER_READY,
)
from fairlead.core.times import format_rfc3339
from kubeloop import clock
from kubeloop.objects.apps import STATEFULSETS
from tests.e2e.clusters import SimGround, Site, everywhere
from tests.e2e.lives import Life
from tests.e2e.operators import INTERVAL, Operator
from tests.e2e.roles import SEED_ROLE, grant
from tests.e2e.scaling import (
    TEMPLATES,
    a_template,
    define_templates,
    delayed,
    following,
    looked,
    mirroring,
    shrunk,
    told,
)
from tests.e2e.zones import PREFIX, a_zone, begin, deeds_on

IMPOSSIBLE = "scaling impossible"


@everywhere(controllers=False, long=True)
async def test_b2_follower_grows_only_when_its_leader_is_ready(site: Site) -> None:
    a = await a_zone(site, "a", 4, ready=3, revision="new", current="new", _3="notReady")
    await a_zone(site, "b", annotations=following("a") | {UPSCALE_ONLY_WHEN_LEADER_READY: "true"})
    await a_zone(site, "c", annotations=following("a") | {UPSCALE_ONLY_WHEN_LEADER_READY: "True"})
    play = await begin(site)
    await play.rest()
    assert play.scalings == ["c: 3 to 4"]

    await a.set_pod(3, "ready")
    await a.write_status(readyReplicas=4)
    await play.rest()

    assert play.scalings == ["c: 3 to 4", "b: 3 to 4"]


@everywhere(controllers=False, long=True)
async def test_b2_follower_shrinks_though_its_leader_is_not_ready(site: Site) -> None:
    await a_zone(site, "a", 2, ready=1, _0="notReady")
    await a_zone(site, "b", annotations=following("a") | {UPSCALE_ONLY_WHEN_LEADER_READY: "true"})

    play = await begin(site)
    await play.rest()

    assert play.scalings == ["b: 3 to 2"]


@everywhere(controllers=False, long=True)
@pytest.mark.parametrize(("value", "expected"), [("false", 9), ("nope", 9), ("", 9), ("1", 5), ("True", 5)])
async def test_b3_reference_is_told_only_where_that_is_wanted(site: Site, value: str, expected: int) -> None:
    await define_templates(site)
    await a_template(site, 5, told=9)
    await a_zone(site, "a", 2, annotations=mirroring(**{MIRROR_WRITE_BACK: value}))

    play = await begin(site)
    await play.rest()

    assert play.scalings == ["a: 2 to 5"]
    assert await told(site) == expected


@everywhere(controllers=False, long=True)
@pytest.mark.parametrize("number", ["5", "+5"])
async def test_b9_forced_follower_grows_though_its_leader_is_smaller_and_not_ready(site: Site, number: str) -> None:
    await a_zone(site, "a", 2, ready=1, _0="notReady")
    force = {FORCE_REPLICAS: number, UPSCALE_ONLY_WHEN_LEADER_READY: "true"}
    await a_zone(site, "b", annotations=following("a") | force)

    play = await begin(site)
    await play.rest()

    assert play.scalings == ["b: 3 to 5"]


@everywhere(controllers=False, long=True)
@pytest.mark.parametrize("number", ["-1", "abc", "", "2147483648"])
async def test_b9_forced_number_that_is_none_is_ignored(site: Site, number: str) -> None:
    await a_zone(site, "a", 4, revision="new", current="new")
    b = await a_zone(site, "b", annotations=following("a") | {FORCE_REPLICAS: number})

    play = await begin(site)
    await play.rest()

    assert play.scalings == ["b: 3 to 4"]
    assert all(b.name in record.keys["text"] for record in play.operator.warnings("invalid annotation"))
    assert play.operator.warnings("invalid annotation")


@everywhere(controllers=False, long=True)
async def test_b9_force_means_nothing_to_a_zone_that_neither_follows_nor_mirrors(site: Site) -> None:
    await a_zone(site, "a", annotations={FORCE_REPLICAS: "0"})

    play = await begin(site)
    await play.rest()

    assert play.scalings == []
    assert play.deletions == ["a-0"]


@everywhere(controllers=False, long=True)
async def test_b9_forced_number_goes_before_the_references_and_the_delay_still_holds(site: Site) -> None:
    zone, pods = await delayed(site, wanted=9)
    await zone.annotate(**{FORCE_REPLICAS: "3"})
    play = await begin(site)
    await play.rest()
    assert play.scalings == []
    assert pods.called("POST") == ["a-3", "a-4"]

    pods.age(a_3=60, a_4=60)
    await looked(play, zone)
    assert play.scalings == ["a: 5 to 3"]

    await zone.annotate(**{FORCE_REPLICAS: "6"})
    await play.rest()

    assert play.scalings == ["a: 5 to 3", "a: 3 to 6"]


@everywhere(controllers=False)
@pytest.mark.parametrize(("label", "annotation", "scaled"), [("1h", "24h", False), ("24h", "1h", True)])
async def test_u2_minimum_as_annotation_goes_before_the_label(
    site: Site, label: str, annotation: str, scaled: bool
) -> None:
    await a_zone(site, "a", 2, revision="new", current="new", annotations=shrunk(hours=13))
    await a_zone(site, "b", annotations=following("a", **{MIN_TIME: annotation}), own_labels={MIN_TIME: label})

    play = await begin(site)
    await play.rest()

    assert play.scalings == (["b: 3 to 2"] if scaled else [])
    assert [record for record in play.operator.warnings() if "deprecated" in str(record)] == []


@everywhere(controllers=False)
async def test_u2_minimum_as_label_is_deprecated_once_per_process(site: Site) -> None:
    await a_zone(site, "a", 2, revision="new", current="new", own_labels={MIN_TIME: "1h"})
    zone = await a_zone(site, "b", 2, revision="new", current="new", own_labels={MIN_TIME: "1h"})

    play = await begin(site)
    await play.rest()
    await looked(play, zone)

    assert len([record for record in play.operator.warnings() if "deprecated" in str(record)]) == 1


@everywhere(controllers=False)
@pytest.mark.parametrize(
    ("last", "minimum", "scaled"),
    [
        pytest.param(None, None, True, id="none ever shrank and no minimum"),
        pytest.param(None, "soon", True, id="none ever shrank and the minimum is no duration"),
        pytest.param("2020-01-01T00:00:00Z", None, False, id="no minimum"),
        pytest.param("2020-01-01T00:00:00Z", "1d", False, id="a minimum that is no duration"),
        pytest.param("yesterday", "1h", False, id="a time that is none"),
        pytest.param("2020-01-01T01:00:00.5+01:00", "1h", True, id="long ago"),
    ],
)
async def test_rule_24_what_cannot_be_read_is_an_error_where_it_is_needed(
    site: Site, last: str | None, minimum: str | None, scaled: bool
) -> None:
    """A time on a third zone counts as well."""
    await a_zone(site, "a", 2, revision="new", current="new")
    await a_zone(site, "b", annotations=following("a") | ({MIN_TIME: minimum} if minimum else {}))
    await a_zone(site, "c", revision="new", current="new", annotations={LAST_DOWNSCALE: last} if last else {})

    play = await begin(site)
    await play.rest()

    assert play.scalings == (["b: 3 to 2"] if scaled else [])
    assert bool(play.operator.warnings(IMPOSSIBLE)) is not scaled
    assert play.operator.failures() == 0


@everywhere(controllers=False, long=True)
async def test_h5_calls_begin_at_the_first_ordinal(site: Site) -> None:
    zone, pods = await delayed(site, wanted=3)
    await zone.change({"spec": {"ordinals": {"start": 10}}})
    pods.serve(zone, 5, first=10)
    pods.age(a_13=70, a_14=70)

    play = await begin(site)
    await play.rest()

    assert pods.called("POST") == ["a-13", "a-14"]
    assert pods.called("DELETE") == ["a-10", "a-11", "a-12"]
    assert play.scalings == ["a: 5 to 3"]


@everywhere(controllers=False, on=("sim",))
async def test_h17_follower_wakes_when_half_a_day_has_passed_and_nothing_else_happens(site: Site) -> None:
    """To the second, and not with the next look at everything that happens to come."""
    began = clock.now().replace(microsecond=0)
    last = {LAST_DOWNSCALE: format_rfc3339(began)}
    await a_zone(site, "a", 2, revision="new", current="new", annotations=last)
    await a_zone(site, "b", revision="new", current="new", annotations=following("a", **{MIN_TIME: "12h2m3s"}))
    over = began + timedelta(hours=12, minutes=2, seconds=3)

    play = await begin(site)
    await asyncio.sleep((over - clock.now()).total_seconds() - 1)
    assert play.scalings == []
    await asyncio.sleep(2)

    assert play.scalings == ["b: 3 to 2"]
    assert len(site.history.of(STATEFULSETS, "MODIFIED")) == 3  # two statuses of the test's, one scaling


@everywhere(controllers=False, on=("sim",))
async def test_h17_delayed_zone_wakes_pod_by_pod(site: Site) -> None:
    _, pods = await delayed(site, wanted=3, delay="30m")
    pods.age(a_4=10, a_3=5)

    play = await begin(site)
    await asyncio.sleep(20 * 60 - 2)
    assert play.scalings == []
    await asyncio.sleep(4)
    assert play.scalings == ["a: 5 to 4"]
    await asyncio.sleep(5 * 60 - 5)
    assert play.scalings == ["a: 5 to 4"]
    await asyncio.sleep(4)

    assert play.scalings == ["a: 5 to 4", "a: 4 to 3"]


@everywhere(controllers=False, long=True)
async def test_s15_zones_of_other_groups_are_not_scaled_along(site: Site) -> None:
    """Each group has its own scaling, and an error in one stops none of the others."""
    await a_zone(site, "a", 4, group="one", revision="new", current="new")
    await a_zone(site, "b", group="one", annotations=following("a"))
    await a_zone(site, "c", 4, group="two", revision="new", current="new")
    d = await a_zone(site, "d", group="two", annotations=following("nope"))

    play = await begin(site)
    for group in ("one", "two"):
        await play.operator.at_rest(group=group)

    assert play.scalings == ["b: 3 to 4"]
    assert play.operator.warnings(IMPOSSIBLE)[0].keys["object"] == f"statefulset/{d.name}"
    assert play.operator.failures("two") == 0
    assert GROUP_LABEL in (await d.read())["metadata"]["labels"]


@everywhere(controllers=False)
async def test_h6_rights_that_do_not_suffice_for_scaling_suffice_for_rolling(site: Site) -> None:
    """Without the right to patch, or to read the scale of a reference, it is said what failed, and pods roll."""
    await define_templates(site)
    await a_template(site, 5)
    await a_zone(site, "a", 4)
    await a_zone(site, "b", annotations=following("a"))
    await a_zone(site, "c", group="store", annotations=mirroring())
    user = await grant(site, SEED_ROLE)

    play = await begin(site, Operator(site, through=user.limits), user=user.name)
    for group in ("ingester", "store"):
        await play.operator.at_rest(group=group)

    assert play.scalings == []
    assert sorted(play.deletions) == ["a-0", "c-0"]
    assert {"patch statefulsets", "get replicatemplates"} <= set(user.refused)
    assert {record.keys["reason"] for record in play.operator.warnings(IMPOSSIBLE)} == {
        "ScalingRefused",
        "ReferenceUnreadable",
    }
    assert [play.operator.failures(group) for group in ("ingester", "store")] == [0, 0]


@everywhere(controllers=False)
async def test_rule_31_reference_that_cannot_be_told_is_mirrored_all_the_same(site: Site) -> None:
    await define_templates(site)
    await a_template(site, 5)
    await a_zone(site, "a", annotations=mirroring())
    rights = {
        **SEED_ROLE,
        ("apps", "statefulsets"): ("list", "get", "watch", "patch"),
        (TEMPLATES.group, f"{TEMPLATES.plural}/scale"): ("get",),
    }
    user = await grant(site, rights)

    play = await begin(site, Operator(site, through=user.limits), user=user.name)
    await play.rest()

    assert play.scalings == ["a: 3 to 5"]
    assert await told(site) is None
    assert "patch replicatemplates" in user.refused
    assert play.operator.failures() == 0


@everywhere(controllers=False, seeds=tuple(range(10)))
async def test_42_scaling_survives_operators_that_are_killed(site: Site) -> None:
    """At random calls, before or after they are carried out: every zone gets where it should, by one change each."""
    lots = random.Random(site.ground.cluster.seed if isinstance(site.ground, SimGround) else 42)
    zone, pods = await delayed(site, wanted=3)
    pods.age(a_3=61, a_4=61)
    await a_zone(site, "b", annotations=following("a") | shrunk(hours=13), own_labels={MIN_TIME: "12h"})
    await a_zone(site, "c", 2, annotations=following("b"), own_labels={MIN_TIME: "12h"})
    wanted = {zone.name: 3, f"{PREFIX}b": 3, f"{PREFIX}c": 3}
    deeds = await deeds_on(site)

    def done() -> bool:
        zones = site.history.objects(STATEFULSETS)
        return {name: tree["spec"]["replicas"] for name, tree in zones.items()} == wanted

    killed = 0
    for _ in range(8):
        life = Life(lots.randint(4, 24), after=lots.random() < 0.5)
        killed += await life.live(site, until=done, interval=INTERVAL)
    site.start_operator(Operator(site))
    await site.until(done)

    assert killed >= 2
    assert set(deeds.scalings) <= {"a: 5 to 3", "b: 3 to 5", "b: 5 to 3", "c: 2 to 5", "c: 5 to 3"}
    assert courses(site) == {zone.name: [5, 3], f"{PREFIX}b": [3, 5, 3], f"{PREFIX}c": [2, 5, 3]}


def courses(site: Site) -> dict[str, list[int]]:
    """The replicas that each zone had, one after the other, whoever knows of having changed them."""
    found: dict[str, list[int]] = {}
    for event in site.history.of(STATEFULSETS):
        course = found.setdefault(event.name, [])
        if course[-1:] != [event.object["spec"]["replicas"]]:
            course.append(event.object["spec"]["replicas"])
    return found
