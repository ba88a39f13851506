"""What users ask for beyond the contract, on clusters whose own controllers act: soak, rotation, exclusion and
minReadySeconds."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from fairlead.contracts.zones.kinds import EXCLUDE, ROTATE, ZONE_SOAK
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.rollouts import FIRST, SECOND, image_of, is_complete, is_ready, pods_of, roll, three_zones
from tests.e2e.zones import PREFIX, begin, change


async def annotate(site: Site, letter: str, key: str, value: str | None) -> None:
    await change(site, STATEFULSETS, f"{PREFIX}{letter}", {"metadata": {"annotations": {key: value}}})


def zone(site: Site, letter: str) -> Tree:
    return site.history.objects(STATEFULSETS)[f"{PREFIX}{letter}"]


def is_rolled(site: Site, letter: str) -> bool:
    status = zone(site, letter)["status"]
    mine = pods_of(zone(site, letter), site.history.objects(PODS))
    done = len(mine) == 3 and all(is_ready(pod) and image_of(pod) == SECOND for pod in mine)
    return done and status["currentRevision"] == status["updateRevision"]


def ready_times(site: Site, letter: str) -> list[datetime]:
    """Since when the pods of the zone have been ready, by their conditions."""
    conditions = [
        condition
        for pod in pods_of(zone(site, letter), site.history.objects(PODS))
        for condition in pod["status"]["conditions"]
        if condition["type"] == "Ready" and condition["status"] == "True"
    ]
    return [datetime.fromisoformat(condition["lastTransitionTime"]) for condition in conditions]


def created(site: Site, letter: str) -> list[datetime]:
    """When the pods of the zone were made."""
    mine = pods_of(zone(site, letter), site.history.objects(PODS))
    return sorted(datetime.fromisoformat(pod["metadata"]["creationTimestamp"]) for pod in mine)


@everywhere(controllers=True, long=True)
async def test_the_next_zone_starts_when_the_one_before_has_soaked(site: Site) -> None:
    await three_zones(site)
    await annotate(site, "a", ZONE_SOAK, "4s")
    play = await begin(site)

    await roll(site)
    await site.until(lambda: is_complete(site, SECOND))

    assert play.deletions == [f"{letter}-{place}" for letter in "abc" for place in range(3)]
    soaked = (created(site, "b")[0] - max(ready_times(site, "a"))).total_seconds()
    assert soaked >= 4
    # Zone b has no soak time, so its successor did not wait.
    assert (created(site, "c")[0] - max(ready_times(site, "b"))).total_seconds() < 4
    assert play.witness.unfinished() == []


@everywhere(controllers=True)
async def test_marked_pods_are_replaced_zone_after_zone(site: Site) -> None:
    await three_zones(site)
    for name in ("a-0", "a-2", "c-1"):
        await change(site, PODS, f"{PREFIX}{name}", {"metadata": {"labels": {ROTATE: "true"}}})

    play = await begin(site)
    await site.until(lambda: len(play.deletions) == 3 and is_complete(site, FIRST))
    await play.operator.at_rest()

    assert play.deletions == ["a-0", "a-2", "c-1"]
    assert play.witness.unfinished() == []


@everywhere(controllers=True, long=True)
async def test_an_excluded_zone_is_left_alone_and_holds_nobody_up(site: Site) -> None:
    await three_zones(site)
    await annotate(site, "a", EXCLUDE, "true")
    play = await begin(site)

    await roll(site)
    await site.until(lambda: is_rolled(site, "b") and is_rolled(site, "c"))
    await play.operator.at_rest()
    assert play.deletions == [f"{letter}-{place}" for letter in "bc" for place in range(3)]
    assert not is_rolled(site, "a")

    await annotate(site, "a", EXCLUDE, None)
    await site.until(lambda: is_complete(site, SECOND))
    assert play.witness.unfinished() == []


@everywhere(controllers=True)
async def test_each_pod_is_ready_for_min_ready_seconds_before_the_next_goes(site: Site) -> None:
    await three_zones(site)
    for letter in "abc":
        await change(site, STATEFULSETS, f"{PREFIX}{letter}", {"spec": {"minReadySeconds": 2}})
    await site.until(lambda: all(zone(site, letter)["status"].get("availableReplicas") == 3 for letter in "abc"))
    play = await begin(site)

    await roll(site)
    await site.until(lambda: is_complete(site, SECOND), within=120)

    assert play.deletions == [f"{letter}-{place}" for letter in "abc" for place in range(3)]
    births = [moment for letter in "abc" for moment in created(site, letter)]
    assert all((later - earlier).total_seconds() >= 2 for earlier, later in pairwise(births))
    assert play.witness.unfinished() == []
