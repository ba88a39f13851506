"""Programs: what a run starts with and what happens in it, step by step; made by Hypothesis, played in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar, cast

from hypothesis import strategies as st
from msgspec import Struct

from fairlead.contracts.zones.kinds import GROUP_LABEL, MAX_UNAVAILABLE, PAUSED
from kubeloop.request import Request, place_of
from kubesim.faults import Fault
from kubesim.pods.behaviour import CRASH_AFTER, HOLD, IMAGE_PULL
from tests.chaos.world import Process, Replica, World, play
from tests.chaos.zone_plans import Setting, ZonePlan

W = TypeVar("W", bound=World)

# Each step names things by number; a number counts round those that there are.


class Step(Struct, frozen=True):
    async def play(self, world: World) -> None:
        raise NotImplementedError


class StepIn(Step, Generic[W], frozen=True):
    """A step of programs that are played in worlds of one kind."""

    in_world: ClassVar[type[World]]

    async def play(self, world: World) -> None:
        assert isinstance(world, self.in_world)
        await self.play_on(cast("W", world))

    async def play_on(self, world: W) -> None:
        raise NotImplementedError


class Wait(Step, frozen=True):
    seconds: float

    async def play(self, world: World) -> None:
        await asyncio.sleep(self.seconds)


class Deploy(Step, frozen=True):
    """A new template, or an old one again, for a zone or for its whole group."""

    zone: int
    image: int
    whole_group: bool = True
    broken: str = ""

    async def play(self, world: World) -> None:
        chosen = zone_of(world, self.zone)
        for zone in world.setting.zones:
            if zone == chosen or (self.whole_group and zone.group == chosen.group):
                world.deploy(zone.name, self.image, self.broken)


class KillPod(Step, frozen=True):
    pod: int
    grace: int | None = None

    async def play(self, world: World) -> None:
        if name := pod_of(world, self.pod):
            world.kill_pod(name, grace=self.grace)


class Evict(Step, frozen=True):
    pod: int

    async def play(self, world: World) -> None:
        if name := pod_of(world, self.pod):
            world.evict(name)


class Misbehave(Step, frozen=True):
    """The pod holds, crashes or recovers."""

    pod: int
    behaviour: str | None

    async def play(self, world: World) -> None:
        if name := pod_of(world, self.pod):
            world.misbehave(name, self.behaviour)


class Scale(Step, frozen=True):
    zone: int
    replicas: int

    async def play(self, world: World) -> None:
        world.scale(zone_of(world, self.zone).name, self.replicas)


class Pause(Step, frozen=True):
    zone: int
    value: str | None

    async def play(self, world: World) -> None:
        world.annotate(zone_of(world, self.zone).name, PAUSED, self.value)


class Budget(Step, frozen=True):
    zone: int
    value: str | None

    async def play(self, world: World) -> None:
        world.annotate(zone_of(world, self.zone).name, MAX_UNAVAILABLE, self.value)


class Strategy(Step, frozen=True):
    zone: int
    strategy: str

    async def play(self, world: World) -> None:
        world.set_strategy(zone_of(world, self.zone).name, self.strategy)


class Recreate(Step, frozen=True):
    zone: int
    propagation: str

    async def play(self, world: World) -> None:
        world.recreate(zone_of(world, self.zone), self.propagation)


class Regroup(Step, frozen=True):
    """The zone moves to another group, or out of all of them."""

    zone: int
    group: str | None

    async def play(self, world: World) -> None:
        world.change(zone_of(world, self.zone).name, {"metadata": {"labels": {GROUP_LABEL: self.group}}})


class Freeze(Step, frozen=True):
    """Watches of a resource bring nothing to an operator until they are thawed."""

    replica: int
    plural: str

    async def play(self, world: World) -> None:
        if (process := replica_of(world, self.replica).process) is not None:
            process.wire.faulty.freeze(self.plural)


class Thaw(Step, frozen=True):
    replica: int
    plural: str

    async def play(self, world: World) -> None:
        if (process := replica_of(world, self.replica).process) is not None:
            process.wire.faulty.thaw(self.plural)


class Lag(Step, frozen=True):
    """Watches end; new ones are late by that much."""

    replica: int
    seconds: float

    async def play(self, world: World) -> None:
        if (process := replica_of(world, self.replica).process) is not None:
            process.wire.plan.lag = self.seconds
        world.cluster.disconnect()


class EndWatches(Step, frozen=True):
    async def play(self, world: World) -> None:
        world.cluster.disconnect()


class Compact(Step, frozen=True):
    """Watches end and cannot be resumed."""

    async def play(self, world: World) -> None:
        world.cluster.compact()
        world.cluster.disconnect()


class Fail(Step, frozen=True):
    """The nth request of a kind from now on fails in some way."""

    replica: int
    what: str
    nth: int
    fault: Fault

    async def play(self, world: World) -> None:
        if (process := replica_of(world, self.replica).process) is not None:
            process.wire.plan.fail(MEANS[self.what], self.nth, self.fault)


class Restart(Step, frozen=True):
    replica: int

    async def play(self, world: World) -> None:
        replica_of(world, self.replica).kill()


class Stop(Step, frozen=True):
    """The process stands still for that long, and then goes on as if nothing had happened."""

    replica: int
    seconds: float

    async def play(self, world: World) -> None:
        replica = replica_of(world, self.replica)
        replica.stop()
        await asyncio.sleep(self.seconds)
        replica.go_on()


class Cut(Step, frozen=True):
    """The cluster cannot be reached from one operator for that long."""

    replica: int
    seconds: float

    async def play(self, world: World) -> None:
        replica = replica_of(world, self.replica)
        replica.cut()
        await asyncio.sleep(self.seconds)
        replica.mend()


class DieAt(Step, frozen=True):
    """The process is killed before its nth effect from now on is sent, or after it is carried out."""

    replica: int
    nth: int
    before: bool

    async def play(self, world: World) -> None:
        replica = replica_of(world, self.replica)
        if replica.process is not None:
            killed_at(replica, replica.process, self.nth, before=self.before)


class Program(Struct, frozen=True):
    setting: Setting
    steps: tuple[Step, ...]

    def play(self) -> World:
        """Raises Broken when an invariant does not hold at any moment, or when the rollout does not end."""

        async def scenario(world: World) -> None:
            world.deploy_all(2)
            world.start()
            await asyncio.sleep(SOON)
            for step in self.steps:
                await step.play(world)
                world.check()
            world.heal()
            await asyncio.sleep(SETTLED)
            world.heal_pods()
            await world.finish()

        return play(self.setting, scenario, steps=MOST_STEPS)


SOON = 0.05
"""Seconds after which operators are at work, when the first step is played."""
SETTLED = 5.0
"""Seconds after which no pod is made from a template that was replaced before."""
MOST_STEPS = 3_000_000
"""Callbacks of one run; one that takes more goes round in circles."""

MEANS: dict[str, Callable[[Request], bool]] = {
    "write": lambda request: request.method != "GET" and place_of(request.path).plural in ("pods", "statefulsets"),
    "delete": lambda request: request.method == "DELETE",
    "record": lambda request: request.method == "PUT" and place_of(request.path).plural == "statefulsets",
    "event": lambda request: request.method != "GET" and place_of(request.path).plural == "events",
    "lease": lambda request: place_of(request.path).plural == "leases",
    "read": lambda request: request.verb == "get" and place_of(request.path).plural == "statefulsets",
    "list": lambda request: request.verb == "list",
    "watch": lambda request: request.verb == "watch",
}


def zone_of(world: World, number: int) -> ZonePlan:
    return world.setting.zones[number % len(world.setting.zones)]


def pod_of(world: World, number: int) -> str | None:
    pods = world.pods()
    return pods[number % len(pods)] if pods else None


def replica_of(world: World, number: int) -> Replica:
    """0 is the leader, if there is one."""
    order = sorted(world.replicas, key=lambda replica: replica is not world.leader())
    return order[number % len(order)]


def killed_at(
    replica: Replica,
    process: Process,
    nth: int,
    *,
    before: bool,
    matters: Callable[[str], bool] = lambda _: True,
    struck: Callable[[str], None] = lambda _: None,
) -> None:
    """The process dies at its nth effect of those that matter, before it is sent or after it is carried out."""
    left = nth

    async def strike(what: str, _number: int) -> None:
        nonlocal left
        counts = matters(what)
        left -= counts
        if counts and left == 0:
            struck(what)
            process.wire.is_dead = True
            asyncio.get_running_loop().call_soon(replica.kill)
            await asyncio.Event().wait()

    if before:
        process.wire.at_effect = strike
    else:
        process.wire.after_effect = strike


def one_in_turn(*kinds: st.SearchStrategy[Step]) -> st.SearchStrategy[Step]:
    """Of one of the kinds, all as likely; `one_of` would count every alternative of every kind."""
    return st.integers(0, len(kinds) - 1).flatmap(kinds.__getitem__)


# Hypothesis: simple values first, since examples shrink towards them.

NUMBERS = st.integers(0, 11)
REPLICAS = st.sampled_from([0, 0, 1])
WATCHED = st.sampled_from(["pods", "statefulsets"])
REFUSALS = st.sampled_from([500, 409, 503, 504, 403]).map(lambda status: Fault("status", status=status))
LOSSES = st.sampled_from([Fault("lost-answer"), Fault("drop"), Fault("timeout"), Fault("duplicate")])
DELAYS = st.sampled_from([0.3, 2.0, 3.5]).map(lambda seconds: Fault("delay", seconds))
LATER = st.sampled_from([0.5, 2.0, 10.0]).map(lambda seconds: Fault("status", seconds, 429))
WRITE_FAULTS = st.one_of(REFUSALS, LOSSES, DELAYS, LATER)
READ_FAULTS = st.one_of(
    st.sampled_from([500, 429, 410, 403]).map(lambda status: Fault("status", status=status)),
    st.sampled_from([Fault("lost-answer"), Fault("drop")]),
    st.sampled_from([0.3, 3.0]).map(lambda seconds: Fault("delay", seconds)),
)
WATCH_FAULTS = st.one_of(
    st.sampled_from([500, 410, 403]).map(lambda status: Fault("status", status=status)),
    st.builds(Fault, st.sampled_from(["end", "break", "freeze", "lag"]), st.sampled_from([0.5, 3.0, 20.0])),
)

WAITS = st.sampled_from([0.01, 0.1, 0.3, 0.5, 1.0, 1.3, 2.0, 5.0, 15.0, 30.0]).map(Wait)
DEPLOYMENTS = st.builds(
    Deploy, NUMBERS, st.integers(1, 3), st.booleans(), st.sampled_from(["", "", "", HOLD, IMAGE_PULL, CRASH_AFTER])
)
DISTURBANCES = st.one_of(
    DEPLOYMENTS,
    st.builds(KillPod, NUMBERS, st.sampled_from([None, None, 0])),
    st.builds(Evict, NUMBERS),
    st.builds(Misbehave, NUMBERS, st.sampled_from([HOLD, CRASH_AFTER, None])),
    st.builds(Scale, NUMBERS, st.integers(0, 4)),
    st.builds(Pause, NUMBERS, st.sampled_from(["true", None])),
    st.builds(Budget, NUMBERS, st.sampled_from(["2", "50%", "10", "nonsense", None])),
    st.builds(Strategy, NUMBERS, st.sampled_from(["RollingUpdate", "OnDelete"])),
    st.builds(Recreate, NUMBERS, st.sampled_from(["Background", "Orphan"])),
    st.builds(Regroup, NUMBERS, st.sampled_from(["group-0", "group-1", None])),
)


FAILING = st.sampled_from(["delete", "delete", "delete", "write", "record", "event", "lease"])
TROUBLE = one_in_turn(
    st.builds(Fail, REPLICAS, FAILING, st.sampled_from([1, 1, 2, 3]), WRITE_FAULTS),
    st.builds(Fail, REPLICAS, FAILING, st.sampled_from([1, 1, 2, 3]), WRITE_FAULTS),
    st.one_of(
        st.builds(Fail, REPLICAS, st.sampled_from(["read", "list"]), st.integers(1, 3), READ_FAULTS),
        st.builds(Fail, REPLICAS, st.just("watch"), st.integers(1, 3), WATCH_FAULTS),
    ),
    st.one_of(
        st.builds(Freeze, REPLICAS, WATCHED),
        st.builds(Freeze, REPLICAS, st.just("pods")),
        st.builds(Thaw, REPLICAS, WATCHED),
        st.builds(Lag, REPLICAS, st.sampled_from([0.0, 0.2, 2.0])),
        st.builds(EndWatches),
        st.builds(Compact),
    ),
    st.one_of(
        st.builds(Restart, REPLICAS),
        st.builds(Stop, REPLICAS, st.sampled_from([0.5, 5.0, 20.0])),
        st.builds(Cut, REPLICAS, st.sampled_from([0.5, 5.0, 20.0])),
    ),
)
"""For operators: the network, the watches, the API server and the processes themselves."""


@st.composite
def settings_of_runs(draw: st.DrawFn, *, strict: bool = False) -> Setting:
    """One to three groups of one to three zones of up to four pods."""
    zones = []
    for group in range(draw(st.integers(1, 3))):
        for letter in "abc"[: draw(st.integers(1, 3))]:
            replicas = draw(st.integers(1 if strict else 0, 4))
            budget = draw(st.sampled_from([None, None, "2", "50%"]))
            policy = draw(st.sampled_from(["Parallel", "OrderedReady"]))
            zones.append(ZonePlan(f"group-{group}", f"zone-{group}-{letter}", replicas, budget, policy))
    operators = draw(st.sampled_from([1, 2]))
    return Setting(
        tuple(zones),
        seed=draw(st.integers(0, 2**32 - 1)),
        latency=draw(st.sampled_from([0.0, 0.02, 0.2])),
        lag=draw(st.sampled_from([0.0, 0.1, 1.0])),
        interval=draw(st.sampled_from([None, 0.001, 1.0])),
        leased=operators > 1 or draw(st.booleans()),
        operators=operators,
        strict=strict,
    )


def programs(most_steps: int = 25) -> st.SearchStrategy[Program]:
    """Everything may happen."""
    what = one_in_turn(DEPLOYMENTS, DISTURBANCES, TROUBLE, TROUBLE)
    return st.builds(Program, settings_of_runs(), in_time(what, most_steps))


def quiet_programs(most_steps: int = 25) -> st.SearchStrategy[Program]:
    """One new template for all before operators start, then trouble for the operators but none for the pods."""
    return st.builds(Program, settings_of_runs(strict=True), in_time(TROUBLE, most_steps))


def in_time(
    what: st.SearchStrategy[Step], most: int, waits: st.SearchStrategy[Step] = WAITS
) -> st.SearchStrategy[tuple[Step, ...]]:
    """Steps, each after a while."""
    moments = st.lists(st.tuples(waits, what), min_size=7, max_size=most)
    return moments.map(lambda pairs: tuple(step for pair in pairs for step in pair))
