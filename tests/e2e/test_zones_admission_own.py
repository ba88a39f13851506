"""The operator's own downscales pass through its own webhooks, on both clusters: rules 26 and 39 of the contract."""

from __future__ import annotations

from datetime import timedelta

from fairlead.contracts.zones.kinds import MIN_TIME, NO_DOWNSCALE
from fairlead.core.times import parse_rfc3339
from kubeloop import clock
from tests.e2e.clusters import Site, everywhere
from tests.e2e.downscaling import a_prepared_zone, last_downscale, prepared
from tests.e2e.endpoints import Answer, endpoints
from tests.e2e.scaling import following, replicas, shrunk, tried_again
from tests.e2e.zones import PREFIX, a_zone


@everywhere(controllers=False)
async def test_followers_pods_are_prepared_and_the_next_follower_waits(site: Site) -> None:
    """Rule 26: the webhook calls the pods and writes the time, from which the next zone counts."""
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 2, pods=pods, min_time="12h", annotations=shrunk(hours=13))
    for letter in "bc":
        await a_prepared_zone(site, letter, 3, pods=pods, min_time="12h", annotations=following("a"))

    play = await prepared(site)
    await play.rest()

    assert play.scalings == ["b: 3 to 2"]
    assert set(pods.calls()) == {"POST b-2"}
    stamp = await last_downscale(site, "b")
    assert stamp is not None
    assert clock.now() - parse_rfc3339(stamp) < timedelta(minutes=2)
    assert (await last_downscale(site, "c"), await replicas(site, "c")) == (None, 3)
    assert play.operator.failures() == 0
    assert [record.message for record in play.operator.warnings()] == ["deprecated label"]


@everywhere(controllers=False)
async def test_follower_that_may_not_be_made_smaller_stays_and_its_pods_roll(site: Site) -> None:
    await a_prepared_zone(site, "a", 2)
    b = await a_zone(site, "b", annotations=following("a"), own_labels={NO_DOWNSCALE: "true"})

    play = await prepared(site)
    await play.rest()

    assert (play.scalings, await replicas(site, "b")) == ([], 3)
    assert play.deletions == ["b-0"]
    assert play.operator.failures() == 0
    warnings = play.operator.records("warn", "scaling impossible")
    assert warnings
    assert all(f"{NO_DOWNSCALE}=true" in record.keys["text"] for record in warnings)

    await b.change({"metadata": {"labels": {NO_DOWNSCALE: None}}})
    await b.make_pod(0)
    await tried_again(play, b)

    assert play.scalings == ["b: 3 to 2"]


@everywhere(controllers=False)
async def test_follower_whose_pod_does_not_prepare_stays_and_follows_when_it_does(site: Site) -> None:
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 2, pods=pods)
    b = await a_prepared_zone(site, "b", 3, pods=pods, annotations=following("a"))
    pods.answer("b-2", "POST", Answer(503))

    play = await prepared(site)
    await play.rest()

    assert play.scalings == []
    assert pods.called("DELETE") == ["b-2"]
    assert await last_downscale(site, "b") is None

    pods.answer("b-2", "POST", None)
    await tried_again(play, b)

    assert play.scalings == ["b: 3 to 2"]


@everywhere(controllers=False)
async def test_time_of_the_other_zone_is_the_webhooks_to_enforce(site: Site) -> None:
    """Rule 39: the follower's own time is over, that of the zone before it is not."""
    pods = await endpoints(site)
    a = await a_prepared_zone(site, "a", 2, pods=pods, min_time="24h", annotations=shrunk(hours=13))
    await a_prepared_zone(site, "b", 3, pods=pods, min_time="12h", annotations=following("a"))

    play = await prepared(site)
    await play.rest()

    assert (play.scalings, pods.heard) == ([], [])
    warnings = play.operator.records("warn", "scaling impossible")
    assert warnings
    assert all(f"{PREFIX}a was downscaled at" in record.keys["text"] for record in warnings)
    assert play.operator.failures() == 0

    await a.annotate(**shrunk(hours=25))
    await tried_again(play, a)

    assert play.scalings == ["b: 3 to 2"]


@everywhere(controllers=False)
async def test_time_of_the_follower_is_the_controllers_to_enforce(site: Site) -> None:
    """Rule 39 the other way round: the webhook would let it pass and is not even asked."""
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 2, pods=pods, min_time="12h", annotations=shrunk(hours=13))
    b = await a_prepared_zone(site, "b", 3, pods=pods, min_time="24h", annotations=following("a"))

    play = await prepared(site)
    await play.rest()

    assert (play.scalings, pods.heard) == ([], [])
    assert play.operator.records("debug", "admission review") == []

    await b.change({"metadata": {"labels": {MIN_TIME: "12h"}}})
    await play.rest()

    assert play.scalings == ["b: 3 to 2"]


@everywhere(controllers=False)
async def test_without_the_preparing_webhook_nobody_writes_the_time_and_followers_follow_at_once(site: Site) -> None:
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 2, pods=pods, min_time="12h")
    for letter in "bc":
        await a_prepared_zone(site, letter, 3, pods=pods, min_time="12h", annotations=following("a"))

    play = await prepared(site, "no-downscale")
    await play.rest()

    assert play.scalings == ["b: 3 to 2", "c: 3 to 2"]
    assert pods.heard == []
    assert [await last_downscale(site, letter) for letter in "abc"] == [None] * 3
