"""The end of a program: all trouble is over, everything is as people asked for, and nothing is left to do."""

from __future__ import annotations

import asyncio

import msgspec

from kubesim.store.versions import Tree
from tests.chaos.apiversions import facts
from tests.chaos.apiversions.kinds import GAUGES, NAME, rules
from tests.chaos.apiversions.referee import MIGRATION
from tests.chaos.apiversions.world import QUICK, WATCHED, ApiWorld

ATTACHED_WITHIN = 700.0
"""Virtual seconds: the longest distance between two repairs, the longest wait after errors, and a resync."""
MIGRATED_WITHIN = 120.0
MOST_TURNS, PRECONDITION = 3, 6
ROTATED_WITHIN = 600.0
AT_REST = 90.0


async def ended(world: ApiWorld) -> None:
    """I7, I12 and I15, and that nothing is lost."""
    heal(world)
    await over(world)
    await put_right(world)
    if not await world.until(world.is_calm, ATTACHED_WITHIN, every=1.0):
        world.judge.broken("I7", f"after {ATTACHED_WITHIN:g} s {left(world)}")
    await world.people.look_at_all()
    await rotated(world)
    await migrated(world)
    await world.people.look_at_all()
    await at_rest(world)
    await world.people.look_at_all()


def heal(world: ApiWorld) -> None:
    world.judge.is_webhook_up = True
    if world.judge.highest:
        world.version = max(world.version, world.judge.highest)
    for replica in world.replicas:
        replica.go_on()
        replica.mend()
        process = replica.process
        if process is not None:
            wire = process.wire
            wire.plan.clear()
            wire.at_effect = wire.after_effect = None
            for plural in WATCHED:
                wire.faulty.thaw(plural)
            if world.judge.operators[process.name] < world.version:
                replica.kill()  # a version that has been left cannot lead
    for run in world.runs:
        run.wire.plan.clear()


async def over(world: ApiWorld) -> None:
    """Every command that still runs comes to its end."""
    if not await world.until(lambda: all(run.is_over for run in world.runs), 900.0, every=1.0):
        left = [run for run in world.runs if not run.is_over]
        world.judge.broken("I15", f"{' '.join(left[0].words)} does not end: {left[0].text}")
    world.check_runs()


async def put_right(world: ApiWorld) -> None:
    """What people did past all guards is undone by people: the operator need not guess."""
    judge, people = world.judge, world.people

    def known(versions: list[Tree]) -> list[Tree]:
        found = [each for each in versions if each["name"] in GAUGES]
        for each in found:
            each["served"] = True
        return found

    if await people.change_versions(known) >= 300:
        judge.broken("I7", "the versions of the definition cannot be put right")
    for name in sorted(judge.tainted):
        for version in people.served():
            if name in judge.stored:
                await people.remove(name, version)
    definition = judge.definition
    assert definition is not None
    if "elsewhere" in facts.service_of(definition):
        await people.change_definition({"spec": {"conversion": {"strategy": "None", "webhook": None}}})
    await world.put_rules(rules(*facts.versions_of(definition)), anyway=True)


def left(world: ApiWorld) -> str:
    definition = world.judge.definition
    ready = {name: each.manager.obstacle for name, each in world.serving.items() if each.is_alive}
    conversion = {} if definition is None else facts.conversion_of(definition)
    return f"conversion is {str(conversion)[:200]}, holder {world.judge.holder}, ready {ready}"


async def rotated(world: ApiWorld) -> None:
    """A rotation that was begun has ended: what is kept is one pair."""
    if not await world.until(lambda: not world.next_entries(), ROTATED_WITHIN, every=1.0):
        world.judge.broken("I9", f"a rotation does not end: {world.next_entries()}")
        world.check()


async def migrated(world: ApiWorld) -> None:
    """I7 and I15: whatever was begun before, a migration ends where an undisturbed one does."""
    judge = world.judge
    run = await world.commanded("migrate", NAME, *QUICK, seconds=MIGRATED_WITHIN)
    for _ in range(MOST_TURNS):
        if run.code != PRECONDITION:
            break
        await asyncio.sleep(MIGRATED_WITHIN)  # the operator may be at it itself, and they exclude each other
        run = await world.commanded("migrate", NAME, *QUICK, seconds=MIGRATED_WITHIN)
    definition = judge.definition
    assert definition is not None
    storage = facts.storage_of(definition)
    if run.code != 0:
        judge.broken("I15", f"a migration ends with {run.code}: {run.text}")
    if facts.stored_of(definition) != [storage]:
        judge.broken("I7", f"storedVersions is {facts.stored_of(definition)}")
    if wrong := [name for name, tree in judge.stored.items() if facts.version_in(tree) != storage]:
        judge.broken("I7", f"{wrong} are not stored in {storage}")
    if judge.leases.get(MIGRATION):
        judge.broken("I7", f"the Lease {MIGRATION} is held by {judge.leases[MIGRATION]}")
    journal = judge.journals.get(MIGRATION)
    phase = None if journal is None else msgspec.json.decode(journal["data"]["journal"]).get("phase")
    if phase not in (None, "Clean"):
        judge.broken("I7", f"the journal of migrations says {phase}")
    world.check()


async def at_rest(world: ApiWorld) -> None:
    """I12: operators that start with nothing to do write neither definition nor objects; I16: one leads soon."""
    await asyncio.sleep(15)
    for replica in world.replicas:
        replica.kill()
    await asyncio.sleep(8)
    if not await world.until(lambda: world.leader() is not None, 25.0):
        world.judge.broken("I16", "nobody leads 25 s after operators were started again")
    writes = len(world.judge.own_writes)
    await asyncio.sleep(AT_REST)
    if done := [each for each in world.judge.own_writes[writes:] if "secrets" not in each]:
        world.judge.broken("I12", f"operators that had nothing to do wrote {done[:5]}")
    world.check()
