"""A kind that goes from one version to another without a webhook, while people write and whoever does it is killed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
from hypothesis import strategies as st

from tests.chaos.apiversions import facts
from tests.chaos.apiversions.commands import KILLED, CommandRun
from tests.chaos.apiversions.kinds import NAME, a_definition, rules
from tests.chaos.apiversions.referee import MIGRATION
from tests.chaos.apiversions.steps import ApiStep, Look, Write
from tests.chaos.apiversions.world import HOME, ApiSetting, ApiWorld
from tests.chaos.loop import running
from tests.chaos.steps import MOST_STEPS, Program, Step, Wait, in_time, one_in_turn
from tests.chaos.world import World, play

PACE = ("--settle", "0s", "--qps", "0", "--progress", "none", "--journal", HOME, "--dependents", "Secret")
LEASE_ENDS = 20.0
"""Seconds after which the Lease of a run that was killed counts no more."""
KEEPER = "keeper"
"""Who upgrades, and is the only one who may write meanwhile."""


class OfflineWorld(ApiWorld):
    """Nobody converts; an upgrade is begun, gone on with and undone by commands."""

    @property
    def place(self) -> Path:
        return Path(self.folder) / "backup"

    async def begin(self) -> None:
        await self.define()
        for number in range(self.setting.count):
            await self.people.create(f"g-{number}", "v1", number)

    def is_calm(self) -> bool:
        return self.judge.is_converted() and running().time() - self.judge.changed_at > 2.0

    async def upgrade(self, *words: str, dies: int = 0, before: bool = True) -> CommandRun:
        """Begun where there is no backup yet, else gone on with as the words say."""
        named = ("offline-upgrade", NAME, "--backup", str(self.place), *PACE, *self._more(words))
        run = self.run_command(*named, user=KEEPER)
        if dies:
            run.killed_at(dies, before=before)
        if not await self.until(lambda: run.is_over, 600.0):
            self.judge.broken("I15", f"{' '.join(run.words)} does not end: {run.text}")
        self.check_runs()
        if run.code == KILLED:
            await asyncio.sleep(LEASE_ENDS)
        return run

    def _more(self, words: tuple[str, ...]) -> tuple[str, ...]:
        if self.place.exists():
            return words or ("--resume",)
        definition, how = Path(self.folder) / "crd.json", Path(self.folder) / "rules.json"
        definition.write_bytes(msgspec.json.encode(a_definition("v2", ("v1", "v2"))))
        how.write_bytes(msgspec.json.encode(rules("v1")))
        return ("-f", str(definition), "--rules", str(how), "--freeze")

    async def finish(self, seconds: float = 0.0) -> None:
        """I7: whatever was begun is gone on with, and ends where one that nobody disturbed does."""
        run = await self.upgrade("--resume")
        for _ in range(3):
            if run.code == 0:
                break
            run = await self.upgrade("--resume")
        if run.code != 0:
            self.judge.broken("I7", f"an upgrade does not end: {run.code} {run.text}")
        await asyncio.sleep(3)
        self._check_end()
        await self.people.look_at_all()
        self.check()

    def _check_end(self) -> None:
        judge = self.judge
        definition = judge.definition
        assert definition is not None
        storage = facts.storage_of(definition)
        if facts.served_of(definition) != [storage]:
            judge.broken("I7", f"{facts.served_of(definition)} are served at the end")
        if facts.stored_of(definition) != [storage]:
            judge.broken("I7", f"storedVersions is {facts.stored_of(definition)} at the end")
        if judge.policies:
            judge.broken("3.7", f"{sorted(judge.policies)} are left")
        if judge.leases.get(MIGRATION):
            judge.broken("I7", f"the Lease {MIGRATION} is still held")


class Move(ApiStep, frozen=True):
    """Begins the upgrade, goes on with it or undoes it; killed at an effect where `dies` is not 0."""

    words: tuple[str, ...]
    dies: int = 0
    before: bool = True

    async def play_on(self, world: ApiWorld) -> None:
        assert isinstance(world, OfflineWorld)
        await world.upgrade(*self.words, dies=self.dies, before=self.before)


class Meanwhile(ApiStep, frozen=True):
    """The same, and somebody writes while it goes on."""

    words: tuple[str, ...]
    after: float
    write: Write

    async def play_on(self, world: ApiWorld) -> None:
        assert isinstance(world, OfflineWorld)
        moving = asyncio.create_task(world.upgrade(*self.words))
        await asyncio.sleep(self.after)
        await self.write.play_on(world)
        await moving


class OfflineProgram(Program, frozen=True):
    def play(self) -> OfflineWorld:
        async def scenario(world: World) -> None:
            assert isinstance(world, OfflineWorld)
            await world.begin()
            for step in self.steps:
                await step.play(world)
                world.check_runs()
            await world.finish()

        world = play(self.setting, scenario, steps=MOST_STEPS, of=OfflineWorld)
        assert isinstance(world, OfflineWorld)
        return world


NUMBERS = st.integers(0, 11)
WRITES = st.builds(
    Write,
    NUMBERS,
    NUMBERS,
    st.sampled_from(["create", "replace", "replace all", "put back", "patch", "apply", "status", "remove"]),
    NUMBERS,
)
WAYS = st.sampled_from([("--resume",), ("--resume",), ("--rollback",)])
MOVES = st.builds(Move, WAYS, st.sampled_from([0, *range(1, 45)]), st.booleans())
MEANWHILE = st.builds(Meanwhile, WAYS, st.sampled_from([0.01, 0.1, 0.5, 2.0, 8.0]), WRITES)
HAPPENS = one_in_turn(WRITES, MOVES, MOVES, MEANWHILE, st.just(Look()))
WAITS = st.sampled_from([0.01, 1.0, 5.0]).map(Wait)


@st.composite
def offline_settings(draw: st.DrawFn) -> ApiSetting:
    return ApiSetting(
        (),
        storage="v1",
        versions=("v1",),
        seed=draw(st.integers(0, 2**32 - 1)),
        latency=draw(st.sampled_from([0.0, 0.02, 0.2])),
        leased=True,
        operators=0,
    )


def offline_programs(what: st.SearchStrategy[Step] = HAPPENS, most_steps: int = 8) -> st.SearchStrategy[OfflineProgram]:
    return st.builds(OfflineProgram, offline_settings(), in_time(what, most_steps, WAITS))
