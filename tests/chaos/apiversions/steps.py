"""Programs of writes, commands and trouble: what happens to a kind of several versions, and to those who convert it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

from hypothesis import strategies as st

from kubeloop.request import Request, place_of
from kubesim.faults import Fault
from kubesim.store.versions import Tree
from tests.chaos.apiversions import facts
from tests.chaos.apiversions.backups import back_up, restore
from tests.chaos.apiversions.ends import ended
from tests.chaos.apiversions.kinds import GAUGES, NAME, PLURAL, VERSIONS, a_version, rules
from tests.chaos.apiversions.model import Leaves
from tests.chaos.apiversions.people import leaves_for
from tests.chaos.apiversions.world import HOME, NEW, QUICK, WATCHED, ApiSetting, ApiWorld
from tests.chaos.steps import (
    DELAYS,
    LATER,
    LOSSES,
    MOST_STEPS,
    READ_FAULTS,
    REFUSALS,
    REPLICAS,
    WATCH_FAULTS,
    Compact,
    Cut,
    DieAt,
    EndWatches,
    Freeze,
    Lag,
    Program,
    Restart,
    Step,
    StepIn,
    Stop,
    Thaw,
    Wait,
    in_time,
    one_in_turn,
    replica_of,
)
from tests.chaos.world import World, play

FIX_REFS = ("fix-refs", NAME, "--dependents", "Secret", "--qps", "0", "--progress", "none")


class ApiStep(StepIn[ApiWorld], frozen=True):
    in_world: ClassVar[type[World]] = ApiWorld


# What people write.


class Write(ApiStep, frozen=True):
    """One object in one version that is served, in one of several ways; looked at in all of them afterwards."""

    object: int
    version: int
    how: str
    number: int

    async def play_on(self, world: ApiWorld) -> None:
        people = world.people
        versions = people.served() or ["v2"]
        version = versions[self.version % len(versions)]
        names = people.names
        name = names[self.object % len(names)] if names else "g-0"
        leaves = leaves_for(version, self.number)
        match self.how:
            case "create":
                name = f"g-{self.object}"
                await people.create(name, version, self.number)
            case "replace" | "replace all":
                await people.replace(name, version, self._some(leaves), keeps=self.how == "replace")
            case "put back":
                await people.replace(name, version, {})
            case "patch":
                await people.patch(name, version, self._some(leaves))
            case "apply":
                await people.apply(name, version, leaves)
            case "apply less":
                await people.apply(name, version, self._some(leaves))
            case "status":
                await people.set_phase(name, version, f"Phase{self.number}")
            case "remove":
                await people.remove(name, version)
        if name in people.names:
            await people.look(name)

    def _some(self, leaves: Leaves) -> Leaves:
        """A third of them, others for every number."""
        return {leaf: value for at, (leaf, value) in enumerate(sorted(leaves.items())) if (at + self.number) % 3 == 0}


class Look(ApiStep, frozen=True):
    async def play_on(self, world: ApiWorld) -> None:
        await world.people.look_at_all()


# What people do with commands.


class Command(ApiStep, frozen=True):
    """One command; killed at an effect where `dies` is not 0, and run again. In the background others go on."""

    words: tuple[str, ...]
    dies: int = 0
    before: bool = True
    background: bool = False

    async def play_on(self, world: ApiWorld) -> None:
        run = world.run_command(*self.words)
        if self.dies:
            run.killed_at(self.dies, before=self.before)
        if self.background:
            return
        await world.until(lambda: run.is_over, 600.0)
        world.check_runs()


class RemoveVersion(ApiStep, frozen=True):
    """The whole life of a version to its end, step by step; each may be refused, which is as well."""

    version: str
    dies: int = 0

    async def play_on(self, world: ApiWorld) -> None:
        for words in (
            ("migrate", NAME, *QUICK),
            ("unserve", NAME, self.version, "--yes"),
            FIX_REFS,
            ("unserve", NAME, self.version, "--yes"),
            ("remove-version", NAME, self.version, "--dependents", "Secret"),
        ):
            run = world.run_command(*words)
            if self.dies:
                run.killed_at(self.dies, before=True)
            await world.until(lambda run=run: run.is_over, 600.0)  # type: ignore[misc]
        world.forget(self.version)
        world.check_runs()


class BackUp(ApiStep, frozen=True):
    async def play_on(self, world: ApiWorld) -> None:
        await back_up(world)


class Restore(ApiStep, frozen=True):
    dies: int = 0

    async def play_on(self, world: ApiWorld) -> None:
        await restore(world, self.dies)


class Dry(ApiStep, frozen=True):
    words: tuple[str, ...]

    async def play_on(self, world: ApiWorld) -> None:
        await world.commanded(*self.words, "--dry-run")


# What people do past all guards.


class Overwrite(ApiStep, frozen=True):
    """The conversion of the definition, as a tool would that knows nothing of it."""

    how: str

    async def play_on(self, world: ApiWorld) -> None:
        body: Tree = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        if self.how == "bundle":
            if not world.is_attached():
                return
            body = {"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": world.other_bundle}}}}}
        if self.how == "labels":
            body = {"metadata": {"labels": {"more": "yes"}, "annotations": {"example.test/more": "yes"}}}
        if self.how == "foreign":
            client = {"url": "https://elsewhere.example.test/convert", "service": None, "caBundle": None}
            webhook = {"conversionReviewVersions": ["v1"], "clientConfig": client}
            body = {"spec": {"conversion": {"strategy": "Webhook", "webhook": webhook}}}
        await world.people.change_definition(body)


class Versions(ApiStep, frozen=True):
    """Another storage version by hand, or one that nobody knows."""

    how: str
    version: str

    async def play_on(self, world: ApiWorld) -> None:
        def change(versions: list[Tree]) -> list[Tree]:
            if self.how == "unknown":
                extra = {**a_version("v1", storage=False, served=False), "name": "v0"}
                return [*(each for each in versions if each["name"] != "v0"), extra]
            if self.version not in [each["name"] for each in versions]:
                return versions
            for each in versions:
                each["storage"] = each["name"] == self.version
                each["served"] |= each["storage"]
            return versions

        await world.people.change_versions(change)


class Rules(ApiStep, frozen=True):
    """Other rules, or none."""

    how: str

    async def play_on(self, world: ApiWorld) -> None:
        known = [each for each in facts.versions_of(world.judge.definition or {}) if each in GAUGES]
        match self.how:
            case "gone":
                await world.put_rules(None)
            case "lossy":
                await world.put_rules(rules(*known, lossy=True))
            case _:
                await world.put_rules(rules(*known))


class WebhookDown(ApiStep, frozen=True):
    down: bool

    async def play_on(self, world: ApiWorld) -> None:
        world.judge.is_webhook_up = not self.down


class Upgrade(ApiStep, frozen=True):
    """Processes of a newer version take the place of those that are there, one after the other."""

    pause: float

    async def play_on(self, world: ApiWorld) -> None:
        world.version = NEW
        for replica in list(world.replicas):
            replica.kill()
            await asyncio.sleep(self.pause)


class FailApi(ApiStep, frozen=True):
    """The nth request of a kind from now on fails in some way: of an operator, or of a command that runs."""

    replica: int
    what: str
    nth: int
    fault: Fault
    of_commands: bool = False

    async def play_on(self, world: ApiWorld) -> None:
        if self.of_commands:
            for run in world.runs:
                if not run.is_over:
                    run.wire.plan.fail(MEANS[self.what], self.nth, self.fault)
        elif (process := replica_of(world, self.replica).process) is not None:
            process.wire.plan.fail(MEANS[self.what], self.nth, self.fault)


def _writes(*plurals: str) -> Callable[[Request], bool]:
    return lambda sent: sent.method != "GET" and place_of(sent.path).plural in plurals


MEANS: dict[str, Callable[[Request], bool]] = {
    "definition": _writes("customresourcedefinitions"),
    "object": _writes(PLURAL),
    "secret": _writes("secrets"),
    "map": _writes("configmaps"),
    "pod": _writes("pods"),
    "event": _writes("events"),
    "lease": lambda sent: place_of(sent.path).plural == "leases",
    "read": lambda sent: sent.verb == "get",
    "list": lambda sent: sent.verb == "list",
    "watch": lambda sent: sent.verb == "watch",
}


class ApiProgram(Program, frozen=True):
    """After its steps all trouble ends; then everything is as people asked for, and nothing is left to do."""

    def play(self) -> ApiWorld:
        async def scenario(world: World) -> None:
            assert isinstance(world, ApiWorld)
            await world.begin()
            for step in self.steps:
                await step.play(world)
                world.check_runs()
            await ended(world)

        world = play(self.setting, scenario, steps=MOST_STEPS, of=ApiWorld)
        assert isinstance(world, ApiWorld)
        return world


NUMBERS = st.integers(0, 11)
WAYS = ("create", "replace", "replace all", "put back", "patch", "apply", "apply", "apply less", "status", "remove")
WRITES = one_in_turn(
    st.builds(Write, NUMBERS, NUMBERS, st.sampled_from(WAYS), NUMBERS),
    st.builds(Write, NUMBERS, NUMBERS, st.sampled_from(WAYS), NUMBERS),
    st.just(Look()),
)
DEATHS = st.sampled_from([0, 0, 1, 2, 3, 5, 8, 13])
SOME_VERSION = st.sampled_from(VERSIONS)
MIGRATE = ("migrate", NAME, *QUICK)
COMMANDS = one_in_turn(
    st.builds(
        Command,
        st.sampled_from([MIGRATE, MIGRATE, FIX_REFS]),
        DEATHS,
        st.booleans(),
        st.booleans(),
    ),
    st.builds(Command, SOME_VERSION.map(lambda each: ("set-storage", NAME, each, "--yes")), DEATHS, st.booleans()),
    st.builds(
        Command,
        st.tuples(st.sampled_from(["unserve", "serve", "deprecate"]), st.just(NAME), SOME_VERSION, st.just("--yes")),
        DEATHS,
        st.booleans(),
    ),
    st.builds(RemoveVersion, st.sampled_from(["v1", "v3"]), st.sampled_from([0, 0, 0, 4])),
    st.builds(Command, st.just(("certs", "rotate", "--wait", "no", "-n", HOME))),
    st.builds(Command, st.just(("detach", NAME)), DEATHS, st.booleans()),
    st.builds(
        Dry,
        st.sampled_from([MIGRATE, ("fix-refs", NAME, "--dependents", "Secret"), ("set-storage", NAME, "v1", "--yes")]),
    ),
    st.just(BackUp()),
    st.builds(Restore, DEATHS),
)
MEDDLING = one_in_turn(
    st.builds(Overwrite, st.sampled_from(["none", "none", "bundle", "labels", "foreign"])),
    st.builds(Versions, st.sampled_from(["storage", "storage", "storage", "unknown"]), SOME_VERSION),
    st.builds(Rules, st.sampled_from(["gone", "lossy", "good", "good"])),
)
MEANT = ("definition", "definition", "object", "secret", "map", "pod", "event", "lease")
WRITE_FAULTS = st.one_of(REFUSALS, LOSSES, DELAYS, LATER)
TROUBLE = one_in_turn(
    st.builds(FailApi, REPLICAS, st.sampled_from(MEANT), st.sampled_from([1, 1, 2, 3]), WRITE_FAULTS, st.booleans()),
    st.one_of(
        st.builds(FailApi, REPLICAS, st.sampled_from(["read", "list"]), st.integers(1, 3), READ_FAULTS, st.booleans()),
        st.builds(FailApi, REPLICAS, st.just("watch"), st.integers(1, 3), WATCH_FAULTS),
    ),
    st.one_of(
        st.builds(Freeze, REPLICAS, st.sampled_from(WATCHED)),
        st.builds(Thaw, REPLICAS, st.sampled_from(WATCHED)),
        st.builds(Lag, REPLICAS, st.sampled_from([0.0, 0.2, 2.0])),
        st.builds(EndWatches),
        st.builds(Compact),
    ),
    st.one_of(
        st.builds(Restart, REPLICAS),
        st.builds(Stop, REPLICAS, st.sampled_from([0.5, 5.0, 30.0])),
        st.builds(Cut, REPLICAS, st.sampled_from([0.5, 5.0, 30.0])),
    ),
    st.builds(DieAt, REPLICAS, st.integers(1, 12), st.booleans()),
    st.builds(WebhookDown, st.booleans()),
    st.builds(Upgrade, st.sampled_from([0.0, 5.0, 30.0])),
)
WAITS = st.sampled_from([0.01, 0.3, 1.0, 3.0, 5.0, 12.0, 30.0]).map(Wait)
QUIET = one_in_turn(WRITES, WRITES, WRITES, COMMANDS)
"""Nobody is in the way: what people asked for is judged to the last leaf."""
TROUBLED = one_in_turn(WRITES, WRITES, COMMANDS, TROUBLE, TROUBLE)
EVERYTHING = one_in_turn(WRITES, WRITES, COMMANDS, MEDDLING, TROUBLE)


@st.composite
def api_settings(draw: st.DrawFn) -> ApiSetting:
    return ApiSetting(
        (),
        storage=draw(st.sampled_from(["v2", "v1", "v3"])),
        owned=draw(st.booleans()),
        seed=draw(st.integers(0, 2**32 - 1)),
        latency=draw(st.sampled_from([0.0, 0.02, 0.2])),
        lag=draw(st.sampled_from([0.0, 0.1, 1.0])),
        leased=True,
        operators=draw(st.sampled_from([1, 2])),
    )


def api_programs(what: st.SearchStrategy[Step], most_steps: int = 14) -> st.SearchStrategy[ApiProgram]:
    return st.builds(ApiProgram, api_settings(), in_time(what, most_steps, WAITS))
