"""Pace and rest in virtual time: how soon the operator acts, how often it looks, and that at rest it writes nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from datetime import datetime
from itertools import pairwise
from typing import Any

import pytest

from fairlead.core.pod_trouble import DEFAULT_DEADLINE
from kubeloop import clock
from kubeloop.objects.core import PODS
from kubeloop.request import Transport
from kubesim.faults import Faulty
from tests.e2e.clusters import SimGround, Site, everywhere
from tests.e2e.meddling import Losing
from tests.e2e.operators import LOOK_EVERY, Operator
from tests.e2e.rollouts import SECOND, is_complete, roll, three_zones
from tests.e2e.zones import Play, a_zone, begin, change

MINUTE, HOUR = 60.0, 3600.0
RESYNC = 300.0


@everywhere(controllers=True, on=("sim",))
async def test_complete_rollout_rests_without_a_write(site: Site) -> None:
    """For an hour not one resource version changes, although the operator looks every five minutes."""
    await three_zones(site)
    play = await begin(site)
    await roll(site)
    await site.until(lambda: is_complete(site, SECOND))

    await rests(site, play)


async def blocked(site: Site) -> None:
    await a_zone(site, "a", ready=2, _0="notReady")
    await a_zone(site, "b", _0="terminating")


async def held_by_a_pause(site: Site) -> None:
    await a_zone(site, "a", paused="true", _0="notReady")
    await a_zone(site, "b")


async def out_of_budget(site: Site) -> None:
    await a_zone(site, "a", ready=2, max_unavailable="abc", _0="pending new")


async def failing(site: Site) -> None:
    await a_zone(site, "a", strategy="RollingUpdate", max_unavailable="-1")


@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize("state", [blocked, held_by_a_pause, out_of_budget, failing], ids=lambda state: state.__name__)
async def test_waiting_rollout_rests_without_a_write(
    site: Site, state: Callable[[Site], Coroutine[Any, Any, None]]
) -> None:
    """What it has to say is said once."""
    await state(site)

    play = await begin(site)

    await rests(site, play)
    assert play.deletions == []


@everywhere(controllers=True, on=("sim",))
async def test_with_an_interval_passes_of_a_group_are_at_least_that_apart(site: Site) -> None:
    await three_zones(site)
    operator = Operator(site, interval=30.0)
    play = await begin(site, operator)
    moments: list[float] = []
    site.start(note_passes(operator, moments))

    await roll(site)
    await site.until(lambda: is_complete(site, SECOND), within=HOUR)

    assert len(moments) > 9
    assert min(gaps(moments)) > 29.0
    assert min(gaps(deletion_times(site))) >= 30.0
    assert len(play.deletions) == 9


@everywhere(controllers=True, on=("sim",))
async def test_without_an_interval_the_next_pod_goes_as_soon_as_one_is_back(site: Site) -> None:
    """Nine pods, each back a few hundredths of a second after it went."""
    await three_zones(site)
    play = await begin(site, Operator(site, interval=None))
    await play.operator.at_rest()

    await roll(site)
    await site.until(lambda: is_complete(site, SECOND), within=HOUR)

    assert len(play.deletions) == 9
    assert max(gaps(deletion_times(site))) < 0.5


@everywhere(controllers=False, on=("sim",), seeds=tuple(range(5)))
async def test_watch_that_falls_silent_is_made_up_for_within_five_minutes(site: Site) -> None:
    """L2: the connection stays open, and nothing comes through any more."""
    wire = Wire()
    zone = await a_zone(site, "a")
    play = await begin(site, Operator(site, through=wire.begin))
    await play.operator.at_rest()
    assert play.deletions == ["a-0"]

    wire.faulty.freeze("pods")
    await zone.make_pod(0)
    await site.until(lambda: play.deletions == ["a-0", "a-1"], within=RESYNC + 10)


@everywhere(controllers=False, on=("sim",), seeds=tuple(range(3)))
async def test_event_that_is_lost_is_made_up_for_within_five_minutes(site: Site) -> None:
    """L2: later events of the watch come through, so that its version shows nothing of the loss."""
    wire = Wire()
    zone = await a_zone(site, "a")
    play = await begin(site, Operator(site, through=wire.begin))
    await play.operator.at_rest()

    wire.losing.loses = True
    await zone.make_pod(0)
    await site.until(lambda: wire.losing.lost == 2, every=LOOK_EVERY)
    wire.losing.loses = False
    await change(site, PODS, f"{zone.name}-2", {"metadata": {"annotations": {"seen": "later"}}})

    await site.until(lambda: play.deletions == ["a-0", "a-1"], within=RESYNC + 10)


class Wire:
    """The operator's way to the cluster, for faults in the middle of its life."""

    faulty: Faulty
    losing: Losing

    def begin(self, transport: Transport) -> Transport:
        self.losing = Losing(transport)
        self.faulty = Faulty(self.losing)
        return self.faulty


async def rests(site: Site, play: Play) -> None:
    """Holds when, after what there is to say has been said, an hour passes without a write while passes go on."""
    assert isinstance(site.ground, SimGround)
    # A pod that is terminating counts as stuck so long after its grace period, which is ten minutes as well.
    await asyncio.sleep(2 * DEFAULT_DEADLINE.total_seconds() + MINUTE)
    version, passes = site.ground.cluster.store.revision, play.operator.passes()

    await asyncio.sleep(HOUR)

    written = [str(entry.event.new.key) for entry in site.ground.cluster.history if entry.event.revision > version]
    assert written == []
    assert site.ground.cluster.store.revision == version
    assert play.operator.passes() >= passes + HOUR // RESYNC - 1


async def note_passes(operator: Operator, moments: list[float]) -> None:
    """Notes when the group's passes began, to the tenth of a second."""
    known = operator.passes()
    while True:
        await asyncio.sleep(0.1)
        moments += [clock.monotonic()] * (operator.passes() - known)
        known = operator.passes()


def deletion_times(site: Site) -> list[float]:
    """When pods were marked for deletion."""
    assert isinstance(site.ground, SimGround)
    found: list[datetime] = []
    for entry in site.ground.cluster.history.of(PODS):
        before = entry.old
        if (
            before is not None
            and "deletionTimestamp" not in before["metadata"]
            and "deletionTimestamp" in entry.new["metadata"]
        ):
            found.append(entry.at)
    return [moment.timestamp() for moment in found]


def gaps(moments: list[float]) -> list[float]:
    return [later - earlier for earlier, later in pairwise(moments)]
