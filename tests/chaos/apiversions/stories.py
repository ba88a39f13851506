"""What happens to versions of an API while a safety of theirs is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kubesim.faults import Fault
from tests.chaos.apiversions.backups import back_up, restore
from tests.chaos.apiversions.ends import ended
from tests.chaos.apiversions.handled import STAMP, HandledWorld
from tests.chaos.apiversions.handled_steps import Ask
from tests.chaos.apiversions.kinds import NAME, rules
from tests.chaos.apiversions.offline import OfflineWorld
from tests.chaos.apiversions.steps import FIX_REFS, MEANS, Overwrite, RemoveVersion, Versions
from tests.chaos.apiversions.world import HOME, NEW, OLD, QUICK, ApiWorld
from tests.chaos.world import Process, World

Story = Callable[[World], Awaitable[None]]


def of_apis(story: Callable[[ApiWorld], Awaitable[None]]) -> Story:
    async def told(world: World) -> None:
        assert isinstance(world, ApiWorld)
        await story(world)

    return told


def of_upgrades(story: Callable[[OfflineWorld], Awaitable[None]]) -> Story:
    async def told(world: World) -> None:
        assert isinstance(world, OfflineWorld)
        await story(world)

    return told


def of_handled(story: Callable[[HandledWorld], Awaitable[None]]) -> Story:
    async def told(world: World) -> None:
        assert isinstance(world, HandledWorld)
        await story(world)

    return told


@of_apis
async def read_in_one_version_and_put_back(world: ApiWorld) -> None:
    for version in world.people.served():
        for name in world.people.names:
            await world.people.replace(name, version, {})
    await world.people.look_at_all()


@of_apis
async def edited_in_every_version(world: ApiWorld) -> None:
    """A carried leaf, and what it was derived from."""
    people = world.people
    await people.replace("g-1", "v1", {"wait": "0m45s"})
    await people.look("g-1")
    await people.replace("g-1", "v2", {"wait": "30s"})
    await people.look("g-1")
    await people.replace("g-1", "v1", {"colour": "pink", "legacy": True})
    await people.look("g-1")
    await people.replace("g-1", "v2", {"colour": "grey", "finish": "rough"})
    await people.look("g-1")
    await people.replace("g-1", "v3", {"colour": "pink", "note": "mine"})
    await people.look("g-1")


@of_apis
async def a_list_that_is_shortened(world: ApiWorld) -> None:
    people = world.people
    await people.apply("g-2", "v2", {"part a": 1, "part b": 2, "finish": "matt"})
    await people.replace("g-2", "v1", {"size": 9})
    await people.apply("g-2", "v2", {"part a": 1})
    await people.look("g-2")


@of_apis
async def other_rules(world: ApiWorld) -> None:
    """Rules that lose something take the place of good ones."""
    await world.put_rules(rules(*world.setting.versions, lossy=True))
    await asyncio.sleep(10)
    await world.people.replace("g-1", "v1", {"size": 4})
    await world.people.look_at_all()


@of_apis
async def a_migration(world: ApiWorld) -> None:
    await world.commanded("set-storage", NAME, "v1", "--yes")
    await world.commanded("migrate", NAME, *QUICK)
    await world.people.look_at_all()


@of_apis
async def a_migration_that_is_refused(world: ApiWorld) -> None:
    """One object cannot be written for a while."""
    await world.commanded("set-storage", NAME, "v1", "--yes")
    run = world.run_command("migrate", NAME, *QUICK)
    for nth in range(1, 30):
        run.wire.plan.fail(lambda sent: MEANS["object"](sent) and "g-1" in sent.path, nth, Fault("status", status=403))
    await world.until(lambda: run.is_over, 600.0)
    await world.people.look_at_all()


@of_apis
async def a_storage_version_that_comes_back(world: ApiWorld) -> None:
    """While objects are gone through it is another one for a while, in which one of them is written."""
    await world.commanded("set-storage", NAME, "v1", "--yes")
    run = world.run_command("migrate", NAME, *QUICK)
    run.wire.plan.fail(MEANS["map"], 8, Fault("delay", 20.0))
    await asyncio.sleep(3)
    await Versions("storage", "v2").play(world)
    await asyncio.sleep(3)
    await world.people.replace("g-0", "v2", {"size": 77})
    await Versions("storage", "v1").play(world)
    await world.until(lambda: run.is_over, 600.0)


@of_apis
async def a_trial(world: ApiWorld) -> None:
    await world.commanded("set-storage", NAME, "v1", "--yes")
    await world.people.replace("g-1", "v3", {"size": 4})
    await world.commanded(*FIX_REFS, "--dry-run")


@of_apis
async def references_fixed(world: ApiWorld) -> None:
    await world.commanded("set-storage", NAME, "v1", "--yes")
    await world.commanded(*FIX_REFS)


@of_apis
async def a_rotation(world: ApiWorld) -> None:
    """Objects are read all the time."""
    run = world.run_command("certs", "rotate", "--wait", "done", "-n", HOME)
    for _ in range(600):
        if run.is_over:
            break
        await world.people.look("g-1")
        await asyncio.sleep(0.5)
    assert run.code == 0, run.text


@of_apis
async def a_version_removed(world: ApiWorld) -> None:
    await world.people.replace("g-1", "v3", {"size": 4})
    await world.commanded("remove-version", NAME, "v3", "--dependents", "Secret")
    await RemoveVersion("v3").play(world)


@of_apis
async def detached(world: ApiWorld) -> None:
    await world.commanded("detach", NAME, "--operator-namespace", HOME)
    await world.people.look_at_all()


@of_apis
async def rules_deleted(world: ApiWorld) -> None:
    await world.put_rules(None)
    await asyncio.sleep(30)
    await world.people.look_at_all()


@of_apis
async def somebody_elses_conversion(world: ApiWorld) -> None:
    await Overwrite("foreign").play(world)
    await asyncio.sleep(60)


@of_apis
async def restored_after_edits(world: ApiWorld) -> None:
    await back_up(world)
    await world.people.replace("g-1", "v1", {"size": 40})
    await world.people.remove("g-2", "v2")
    await restore(world)
    await world.people.look_at_all()


@of_apis
async def left_at_rest(world: ApiWorld) -> None:
    await ended(world)


@of_apis
async def a_leader_that_stands_still(world: ApiWorld) -> None:
    """In the middle of a write, for longer than its Lease counts; another one leads meanwhile."""
    leader = world.leader()
    assert leader is not None
    process = leader.process
    assert process is not None
    waiting = asyncio.Event()

    async def stand_still(what: str, _number: int) -> None:
        if "customresourcedefinitions" in what and not waiting.is_set():
            waiting.set()
            leader.stop()
            await asyncio.sleep(0)

    process.wire.at_effect = stand_still
    await Overwrite("none").play(world)
    await world.until(waiting.is_set, 30.0)
    await asyncio.sleep(30)
    await Overwrite("none").play(world)
    leader.go_on()
    await asyncio.sleep(30)


@of_apis
async def a_replica_that_hears_nothing(world: ApiWorld) -> None:
    """It is ready, and knows of no rules when the definition is to be attached."""
    for name in world.people.names:
        await world.people.remove(name, "v2")
    await serve_alone(world, "v2")
    await world.put_rules(None)
    await world.until(lambda: not world.is_attached(), 60.0)
    follower = next(each for each in world.replicas if each is not world.leader())

    def deafened(process: Process) -> None:
        process.wire.plan.usual = lambda sent: Fault("status", status=500) if "configmaps" in sent.path else None

    world.each_process = deafened
    follower.kill()
    await asyncio.sleep(20)
    await world.people.change_versions(lambda found: [{**each, "served": True} for each in found])
    await world.put_rules(rules("v1", "v2", "v3"))
    await asyncio.sleep(30)
    if world.is_attached():
        await world.people.create("g-9", "v2", 3)
        for _ in range(5):
            await world.people.look("g-9")
    assert follower.process is not None
    follower.process.wire.plan.clear()
    await world.until(world.is_attached, 300.0)


async def serve_alone(world: ApiWorld, version: str) -> None:
    await world.people.change_versions(lambda found: [{**each, "served": each["name"] == version} for each in found])
    await asyncio.sleep(3)


@of_upgrades
async def written_while_it_is_upgraded(world: OfflineWorld) -> None:
    moving = asyncio.create_task(world.upgrade())
    for number in range(400):
        if moving.done():
            break
        await world.people.patch("g-1", "v1", {"size": number})
        await asyncio.sleep(0.02)
    await moving
    await world.finish()


@of_handled
async def fields_that_contradict(world: HandledWorld) -> None:
    await Ask(0, "both", "blue", 3).play(world)
    await asyncio.sleep(30)


@of_handled
async def handled_by_others(world: HandledWorld) -> None:
    await world.change("w-0", {"metadata": {"annotations": {STAMP: "1.9.0"}}})
    await asyncio.sleep(5)
    await world.change("w-0", {"spec": {"paint": {"colour": "blue"}}})
    await asyncio.sleep(30)


@of_handled
async def an_upgrade(world: HandledWorld) -> None:
    world.version = NEW
    for replica in world.replicas:
        replica.kill()
    await asyncio.sleep(60)


@of_handled
async def an_older_version_comes_back(world: HandledWorld) -> None:
    world.version = NEW
    for replica in world.replicas:
        replica.kill()
    await asyncio.sleep(60)
    await world.change("w-0", {"spec": {"paint": {"colour": "blue"}}})
    await asyncio.sleep(10)
    world.version = OLD
    for replica in world.replicas:
        replica.kill()
    await asyncio.sleep(60)
    await world.put("w-9", {"paint": {"colour": "blue"}})
    await asyncio.sleep(30)


@of_handled
async def a_leader_that_goes_on_late(world: HandledWorld) -> None:
    leader = world.leader()
    assert leader is not None
    process = leader.process
    assert process is not None
    leader.stop()
    await asyncio.sleep(30)
    await world.change("w-0", {"spec": {"paint": {"colour": "blue"}}})
    leader.go_on()
    await asyncio.sleep(30)
