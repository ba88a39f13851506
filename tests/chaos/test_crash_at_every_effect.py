"""A crash at every write, every call to a pod and every record of scaling, also alone, delayed scaling and evicting.

Whatever was lost, no invariant is broken and who goes on asking gets what they asked for.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable

import pytest

from kubeloop.calls import NoReply
from kubeloop.errors import TransportError
from tests.chaos.machine import SOAKS, soaked
from tests.chaos.scaled import ALONE, GroupPlan, Scaled, ScaledWorld
from tests.chaos.world import LEASE, Process, World, play
from tests.chaos.zone_plans import ZonePlan

ZONES = tuple(ZonePlan("g", f"zone-{letter}", 2) for letter in "ab")
LONER = ZonePlan(ALONE, "loner", 2)
INSISTING = 900.0
"""Seconds for which somebody goes on asking."""

Story = Callable[[ScaledWorld], Awaitable[None]]
Fate = Callable[[World, Process, str], Awaitable[None]]


async def until_done(asking: Callable[[], Awaitable[bool]], every: float = 5.0) -> None:
    async with asyncio.timeout(INSISTING):
        while not await asking():  # noqa: ASYNC110  virtual time jumps from look to look
            await asyncio.sleep(every)


async def scaling(world: ScaledWorld) -> None:
    """The leader is scaled by hand, the other zone follows."""

    async def asking() -> bool:
        await world.scaled_by("patch", "zone-a", 1)
        return world.replicas_of("zone-a") == 1

    await until_done(asking)
    await world.finish()
    assert [zone for _, zone, _, _ in world.referee.downscales] == ["zone-a", "zone-b"]


async def scaling_alone(world: ScaledWorld) -> None:
    """A StatefulSet of no group is scaled by hand; a pod fails at first, and hears then that it stays."""
    world.pods_called.manners["loner-1"] = "failing"
    await world.scaled_by("patch", "loner", 0)
    world.pods_called.manners.clear()

    async def asking() -> bool:
        await world.scaled_by("patch", "loner", 0)
        return world.replicas_of("loner") == 0

    await until_done(asking)
    await world.finish()
    assert [zone for _, zone, _, _ in world.referee.downscales] == ["loner"]


async def delayed_scaling(world: ScaledWorld) -> None:
    await world.refer("g", 1)
    await world.finish()
    assert sorted(zone for _, zone, _, _ in world.referee.downscales) == ["zone-a", "zone-b"]


async def evicting(world: ScaledWorld) -> None:
    """A node of each zone is drained at the same time."""

    async def drained(pod: str) -> None:
        uid = world.uid_of(pod)

        async def asking() -> bool:
            if world.uid_of(pod) != uid:
                return True
            return await world.evicted(pod) == 201

        await until_done(asking)

    await asyncio.gather(drained("zone-a-0"), drained("zone-b-0"))
    await world.finish()
    assert sorted(world.referee.evictions) == ["zone-a-0", "zone-b-0"]


async def killed(world: World, process: Process, _what: str) -> None:
    (replica,) = [each for each in world.replicas if each.process is process]
    process.wire.is_dead = True
    asyncio.get_running_loop().call_soon(replica.kill)
    await asyncio.Event().wait()


async def answer_lost(_world: World, _process: Process, what: str) -> None:
    raise NoReply("the answer was lost") if "http://" in what else TransportError("the answer was lost")


def setting(story: str, leased: bool, seed: int = 0) -> Scaled:
    group = STORIES[story][1]
    if story == "scaling alone":
        return Scaled(ZONES[:1], seed=seed, leased=leased, groups=(group,), loners=(LONER,))
    return Scaled(ZONES, seed=seed, leased=leased, groups=(group,))


STORIES: dict[str, tuple[Story, GroupPlan]] = {
    "scaling": (scaling, GroupPlan("g", "led", least="2m")),
    "scaling alone": (scaling_alone, GroupPlan("g", prepares=False)),
    "delayed scaling": (delayed_scaling, GroupPlan("g", "mirrored", delay="20s")),
    "evicting": (evicting, GroupPlan("g", budget="zone", prepares=False)),
}


@soaked
@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize(
    ("fate", "before", "leased", "first"),
    [
        pytest.param(killed, True, False, 1, id="killed before it is sent"),
        pytest.param(killed, False, False, 2, id="killed after it is carried out"),
        pytest.param(answer_lost, False, True, 3, id="answer lost, with a lease"),
        pytest.param(killed, False, True, 4, id="killed after it is carried out, with a lease"),
    ],
)
def test_a_crash_at_any_effect_changes_nothing_of_the_end(
    story: str, fate: Fate, before: bool, leased: bool, first: int
) -> None:
    """Usually every fourth effect, and the others by the other fates; each by each with `--soak`."""
    tell, _ = STORIES[story]
    seen: set[str] = set()

    for number in itertools.count(1) if SOAKS else itertools.count(first, 4):
        struck = play_with(tell, setting(story, leased, seed=number), fate, number, before, seen)
        if not struck:
            break

    assert number > len(LEAST[story]), seen
    assert all(any(effect in each for each in seen) for effect in LEAST[story]), seen


LEAST = {
    "scaling": ("POST http://", "patch statefulsets/zone-a", "patch statefulsets/zone-b"),
    "scaling alone": ("POST http://loner", "DELETE http://loner", "patch statefulsets/loner", "patch pods/loner"),
    "delayed scaling": ("POST http://", "DELETE http://", "patch statefulsets/zone-b", "replicatemplates/g"),
    "evicting": ("patch pods/",),
}
"""Effects that the stories must have."""


def play_with(tell: Story, setting: Scaled, fate: Fate, number: int, before: bool, seen: set[str]) -> bool:
    """The story with something happening to the first operator at its effect of that number, should there be one."""
    is_struck = False

    async def scenario(world: World) -> None:
        assert isinstance(world, ScaledWorld)

        def first_only(process: Process) -> None:
            counted = 0

            async def at(what: str, _number: int) -> None:
                nonlocal counted, is_struck
                if matters(what):
                    seen.add(what)
                    counted += 1
                    if counted == number:
                        is_struck = True
                        await fate(world, process, what)

            if len(world.processes) == 1 and before:
                process.wire.at_effect = at
            elif len(world.processes) == 1:
                process.wire.after_effect = at

        world.each_process = first_only
        world.start()
        await asyncio.sleep(1)
        await tell(world)

    play(setting, scenario, of=ScaledWorld)
    return is_struck


def matters(what: str) -> bool:
    """Not what is said in Events, and not the renewal of leadership."""
    return "events/" not in what and not what.endswith(" events") and f"leases/{LEASE} " not in what
