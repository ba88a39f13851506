"""Edge cases of scaling, by their numbers in the zone contract."""

from __future__ import annotations

import pytest

from fairlead.contracts.zones.kinds import MIN_TIME, MIRROR_API_VERSION, NO_DOWNSCALE
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, delete, path_of
from tests.e2e.clusters import Site, everywhere
from tests.e2e.operators import Operator
from tests.e2e.scaling import (
    a_template,
    ask_for,
    define_templates,
    delayed,
    following,
    looked,
    mirroring,
    replicas,
    shrunk,
    told,
)
from tests.e2e.webhooks import VALIDATING, register
from tests.e2e.zones import a_zone, begin

IMPOSSIBLE = "scaling impossible"


@everywhere(controllers=False)
async def test_e13_downscale_that_admission_denies_stops_no_rollout(site: Site) -> None:
    """The denial is said in its own words, and the pods roll."""
    await a_zone(site, "a", 2)
    await a_zone(site, "b", annotations=following("a"), own_labels={NO_DOWNSCALE: "true"})
    operator = Operator(site)
    await register(site, operator, "no-downscale")

    play = await begin(site, operator)
    await play.rest()

    assert await replicas(site, "b") == 3
    assert play.deletions == ["a-0"]
    assert operator.failures() == 0
    denials = [record.keys["text"] for record in operator.warnings(IMPOSSIBLE)]
    assert denials
    assert all("from 3 to 2 replicas" in text and NO_DOWNSCALE in text for text in denials)


@everywhere(controllers=False, on=("sim",))
async def test_e13_denied_downscale_is_made_once_nothing_denies_it_any_more(site: Site) -> None:
    await a_zone(site, "a", 2)
    b = await a_zone(site, "b", annotations=following("a"), own_labels={NO_DOWNSCALE: "true"})
    operator = Operator(site)
    await register(site, operator, "no-downscale")
    play = await begin(site, operator)
    await play.rest()

    await b.change({"metadata": {"labels": {NO_DOWNSCALE: None}}})

    await site.until(lambda: play.scalings == ["b: 3 to 2"], within=90)


@everywhere(controllers=False, on=("sim",))
async def test_e13_denied_downscale_is_tried_again_though_nothing_tells_that_it_may_succeed(site: Site) -> None:
    await a_zone(site, "a", 2)
    await a_zone(site, "b", annotations=following("a"), own_labels={NO_DOWNSCALE: "true"})
    operator = Operator(site)
    await register(site, operator, "no-downscale")
    play = await begin(site, operator)
    await play.rest()

    await site.client.call(Request("DELETE", path_of(VALIDATING, name=f"no-downscale-{site.namespace}")))

    await site.until(lambda: play.scalings == ["b: 3 to 2"], within=5 * 60)


@everywhere(controllers=False, long=True)
async def test_e14_leader_of_another_group_is_none(site: Site) -> None:
    await a_zone(site, "a", 5, group="store", revision="new", current="new")
    await a_zone(site, "b", annotations=following("a"))
    await a_zone(site, "c", 4, annotations=following("b"))

    play = await begin(site)
    await play.rest()

    assert play.scalings == []
    assert play.deletions == ["b-0"]
    assert play.operator.failures() == 0
    assert play.operator.warnings(IMPOSSIBLE)


@everywhere(controllers=False, long=True)
async def test_e14_leader_that_is_deleted_ends_scaling_until_another_is_named(site: Site) -> None:
    a = await a_zone(site, "a", revision="new", current="new")
    b = await a_zone(site, "b", annotations=following("a"))
    c = await a_zone(site, "c", 4, annotations=following("b"))
    play = await begin(site)
    await site.until(lambda: play.scalings == ["c: 4 to 3"])

    await site.client.call(delete(Ref(STATEFULSETS, site.namespace, a.name, a.uid)))
    await play.rest()
    await c.change({"spec": {"replicas": 5}})
    await play.rest()
    assert play.operator.warnings(IMPOSSIBLE)
    assert play.scalings == ["c: 4 to 3"]

    await b.annotate(**following("c"))
    await play.rest()

    assert play.scalings == ["c: 4 to 3", "b: 3 to 5"]


@everywhere(controllers=False, long=True)
async def test_e15_chain_with_a_cycle_comes_to_an_end(site: Site) -> None:
    """Every pass brings one zone to its leader; the witness objects to two in one."""
    await a_zone(site, "a", 3, annotations=following("b"))
    await a_zone(site, "b", 4, annotations=following("c"))
    await a_zone(site, "c", 5, annotations=following("a"))

    play = await begin(site)
    await play.rest()

    assert play.scalings == ["a: 3 to 4", "b: 4 to 5", "a: 4 to 5"]


@everywhere(controllers=False, long=True)
async def test_e15_zone_that_follows_itself_stays_as_it_is(site: Site) -> None:
    await a_zone(site, "a", annotations=following("a"))

    play = await begin(site)
    await play.rest()

    assert play.scalings == []
    assert play.deletions == ["a-0"]
    assert play.operator.warnings() == []


@everywhere(controllers=False, long=True)
async def test_e16_leader_goes_before_reference(site: Site) -> None:
    """The reference counts once following has nothing to change; that it waits to shrink is no change."""
    await define_templates(site)
    await a_template(site, 6)
    await a_zone(site, "a", 4, revision="new", current="new", annotations=shrunk(minutes=1))
    await a_zone(site, "b", annotations=following("a") | mirroring(), own_labels={MIN_TIME: "12h"})

    play = await begin(site)
    await play.rest()

    assert play.scalings == ["b: 3 to 4", "b: 4 to 6"]


@everywhere(controllers=False, long=True)
@pytest.mark.parametrize(
    ("defined", "annotations", "why"),
    [
        pytest.param(True, mirroring("other"), "not found", id="the object is missing"),
        pytest.param(False, mirroring(), 'no kind "ReplicaTemplate"', id="the definition is missing"),
        pytest.param(
            True, mirroring("kube-root-ca.crt", "ConfigMap", **{MIRROR_API_VERSION: "v1"}), "no scale", id="no scale"
        ),
        pytest.param(True, mirroring(**{MIRROR_API_VERSION: "a/b/c"}), "group/version", id="no API version"),
    ],
)
async def test_e17_reference_that_cannot_be_read_stops_no_rollout(
    site: Site, defined: bool, annotations: dict[str, str], why: str
) -> None:
    if defined:
        await define_templates(site)
        await a_template(site, 5)
    await a_zone(site, "a", annotations=annotations)

    play = await begin(site)
    await play.rest()

    assert play.scalings == []
    assert play.deletions == ["a-0"]
    assert play.operator.failures() == 0
    assert all(why in record.keys["text"] for record in play.operator.warnings(IMPOSSIBLE))
    assert play.operator.warnings(IMPOSSIBLE)


@everywhere(controllers=False, long=True)
async def test_e18_two_zones_that_mirror_one_object_are_compared_separately(site: Site) -> None:
    await define_templates(site)
    await a_template(site, 5)
    await a_zone(site, "a", 2, annotations=mirroring())
    await a_zone(site, "b", 6, annotations=mirroring())

    play = await begin(site)
    await play.rest()

    assert play.scalings == ["a: 2 to 5", "b: 6 to 5"]
    assert await told(site) == 5


@everywhere(controllers=False, long=True)
async def test_e19_downscale_in_the_future_has_not_passed(site: Site) -> None:
    await a_zone(site, "a", 2, revision="new", current="new", annotations=shrunk(hours=-1))
    await a_zone(site, "b", annotations=following("a"), own_labels={MIN_TIME: "1s"})

    play = await begin(site)
    await play.rest()

    assert play.scalings == []
    assert play.deletions == ["b-0"]


@everywhere(controllers=False, long=True)
async def test_e19_pod_that_is_prepared_in_the_future_is_waited_for(site: Site) -> None:
    _, pods = await delayed(site, wanted=3)
    pods.age(a_3=70, a_4=-120)

    play = await begin(site)
    await play.rest()

    assert play.scalings == []
    assert pods.called("POST") == ["a-3", "a-4"]


@everywhere(controllers=False, long=True)
async def test_e20_pod_that_is_prepared_anew_is_waited_for_anew(site: Site) -> None:
    zone, pods = await delayed(site, wanted=3)
    pods.age(a_3=50, a_4=50)
    play = await begin(site)
    await play.rest()

    pods.age(a_3=70, a_4=1)
    await looked(play, zone)
    assert play.scalings == []

    pods.age(a_4=61)
    await looked(play, zone)

    assert play.scalings == ["a: 5 to 3"]


@everywhere(controllers=False)
async def test_e21_restart_loses_no_time_of_a_delay(site: Site) -> None:
    """The next operator asks again and hears the same times, because only pods remember them."""
    zone, pods = await delayed(site, wanted=3)
    pods.age(a_3=58, a_4=58)
    first = await begin(site)
    await first.operator.at_rest()
    before = {pod: pods[pod].since for pod in ("a-3", "a-4")}
    await site.stop(first.task)

    since = pods.now
    second = await begin(site)
    await second.operator.at_rest()
    assert pods.called("POST", since) == ["a-3", "a-4"]
    assert {pod: pods[pod].since for pod in before} == before
    assert second.scalings == []

    pods.age(a_3=60, a_4=60)
    await looked(second, zone)

    assert second.scalings == ["a: 5 to 3"]


@everywhere(controllers=False, long=True)
async def test_e22_reference_that_goes_up_during_the_delay_is_followed_at_once(site: Site) -> None:
    zone, pods = await delayed(site, wanted=3)
    play = await begin(site)
    await play.rest()

    since = pods.now
    await ask_for(site, 7)
    await looked(play, zone)

    assert play.scalings == ["a: 5 to 7"]
    assert await told(site) == 7
    assert sorted(pods.calls(since)[:5]) == [f"DELETE a-{ordinal}" for ordinal in range(5)]
    assert pods.called("POST", since) == []
    assert pods["a-4"].since is None


@everywhere(controllers=False)
async def test_definition_that_is_installed_after_the_start_is_noticed(site: Site) -> None:
    """Nothing but the operator's own looks tells it."""
    await a_zone(site, "a", annotations=mirroring())
    play = await begin(site)
    await play.rest()
    assert play.operator.warnings(IMPOSSIBLE)

    await define_templates(site)
    await a_template(site, 5)

    await site.until(lambda: play.scalings == ["a: 3 to 5"], within=45)
