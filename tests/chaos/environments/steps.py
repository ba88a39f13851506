"""Programs of edits and trouble: what happens to an environment, its pods, its objects and its operators."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import strategies as st
from msgspec import structs

from fairlead.contracts.environments.settings import Settings
from fairlead.contracts.environments.stand_in.rules import BOOT, CATCH_UP, FAIL, PROMOTE_TAKES
from kubeloop.request import Request, place_of
from kubesim.faults import Fault
from kubesim.pods.behaviour import CRASH_AFTER, FLAP, HOLD, IMAGE_PULL
from tests.chaos.environments.facts import FORCE_ROLLOUT, IMAGES, IMMEDIATELY, MANUALLY
from tests.chaos.environments.world import ACCOUNT, OPS, WATCHED, EnvironmentSetting, EnvironmentWorld
from tests.chaos.steps import (
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

STRATEGIES = ("WaitUntilReady", MANUALLY, IMMEDIATELY)
HEALED = 30.0
"""Seconds between the end of all trouble and a second look at pods that were made meanwhile."""


class EnvironmentStep(StepIn[EnvironmentWorld], frozen=True):
    in_world: ClassVar[type[World]] = EnvironmentWorld


class Edit(EnvironmentStep, frozen=True):
    """Fields of the spec are given other values, through one of the versions."""

    changes: dict[str, Any]
    version: str = "v1alpha2"

    async def play_on(self, world: EnvironmentWorld) -> None:
        await world.edit(dict(self.changes), self.version)


class Annotate(EnvironmentStep, frozen=True):
    value: str | None
    version: str = "v1alpha2"

    async def play_on(self, world: EnvironmentWorld) -> None:
        await world.edit({}, self.version, annotation={FORCE_ROLLOUT: self.value})


class Revert(EnvironmentStep, frozen=True):
    """Back to what serves, or to what served once."""

    back: int = 0
    version: str = "v1alpha2"

    async def play_on(self, world: EnvironmentWorld) -> None:
        fact = world.fact
        past = [each for each in world.judge.facts.get(fact.uid, ()) if each.hash == each.completed]
        specs = [each.spec for each in past[::-1]]
        distinct = [spec for number, spec in enumerate(specs) if spec not in specs[:number]]
        if distinct:
            wanted = distinct[self.back % len(distinct)]
            gone = dict.fromkeys(key for key in fact.spec if key not in wanted and key != "environmentId")
            await world.edit(gone | wanted, self.version)


class Approve(EnvironmentStep, frozen=True):
    """forcePromote: of the rollout under way by its hash or by its request, of another one, or of none."""

    what: str
    version: str = "v1alpha2"

    async def play_on(self, world: EnvironmentWorld) -> None:
        fact = world.fact
        values = {
            "requested": fact.requested,
            "request": str(uuid.uuid5(uuid.NAMESPACE_OID, fact.requested or "")),
            "wanted": fact.hash,
            "completed": fact.completed,
            "wrong": "0" * 64,
            "none": None,
        }
        await world.edit({"forcePromote": values[self.what]}, self.version)


class Reapply(EnvironmentStep, frozen=True):
    version: str = "v1alpha2"

    async def play_on(self, world: EnvironmentWorld) -> None:
        await world.reapply(self.version)


class Bend(EnvironmentStep, frozen=True):
    """The pod of the serving generation (0) or of the next one (1) behaves differently."""

    which: int
    key: str
    value: str | None

    async def play_on(self, world: EnvironmentWorld) -> None:
        world.bend(world.fact.active + self.which, {self.key: self.value})


class KillEnvironmentd(EnvironmentStep, frozen=True):
    which: int

    async def play_on(self, world: EnvironmentWorld) -> None:
        world.kill_pod(world.pod_of(world.fact.active + self.which), grace=0)


class DeleteChild(EnvironmentStep, frozen=True):
    which: int
    what: str
    propagation: str = "Background"

    async def play_on(self, world: EnvironmentWorld) -> None:
        world.delete_child(world.fact.active + self.which, self.what, self.propagation)


class Webhook(EnvironmentStep, frozen=True):
    up: bool

    async def play_on(self, world: EnvironmentWorld) -> None:
        world.is_webhook_up = self.up


class OverwriteDefinition(EnvironmentStep, frozen=True):
    async def play_on(self, world: EnvironmentWorld) -> None:
        await world.overwrite_definition()


class Twin(EnvironmentStep, frozen=True):
    """A second environment with the same id comes, or goes."""

    comes: bool

    async def play_on(self, world: EnvironmentWorld) -> None:
        if self.comes:
            await world.create_twin()
        else:
            await world.remove_environment(OPS, "twin")


class Recreate(EnvironmentStep, frozen=True):
    """The environment is deleted, and made again under its name."""

    after: float

    async def play_on(self, world: EnvironmentWorld) -> None:
        await world.remove_environment()
        await asyncio.sleep(self.after)
        await world.create_environment(world.setting.spec)


class OtherFlags(EnvironmentStep, frozen=True):
    """All operators are started again with other flags."""

    number: int

    async def play_on(self, world: EnvironmentWorld) -> None:
        world.flags = FLAGS[self.number % len(FLAGS)](world.flags)
        for replica in world.replicas:
            replica.kill()


class FailEnvironment(EnvironmentStep, frozen=True):
    """The nth request of a kind from now on fails in some way."""

    replica: int
    what: str
    nth: int
    fault: Fault

    async def play_on(self, world: EnvironmentWorld) -> None:
        if (process := replica_of(world, self.replica).process) is not None:
            process.wire.plan.fail(MEANS[self.what], self.nth, self.fault)


def _writes(*plurals: str) -> Callable[[Request], bool]:
    return lambda sent: sent.method != "GET" and place_of(sent.path).plural in plurals


MEANS: dict[str, Callable[[Request], bool]] = {
    "status": lambda sent: sent.method == "PUT" and place_of(sent.path).subresource == "status",
    "delete": lambda sent: sent.method == "DELETE",
    "child": _writes("statefulsets", "services", "configmaps"),
    "environment": _writes("materializes"),
    "companion": _writes("balancers", "consoles", "deployments"),
    "definition": _writes("customresourcedefinitions"),
    "lease": lambda sent: place_of(sent.path).plural == "leases",
    "read": lambda sent: sent.verb == "get",
    "list": lambda sent: sent.verb == "list",
    "watch": lambda sent: sent.verb == "watch",
}

FLAGS: tuple[Callable[[Settings], Settings], ...] = (
    lambda flags: structs.replace(flags, region="elsewhere"),
    lambda flags: structs.replace(flags, collect_pod_metrics=not flags.collect_pod_metrics),
    lambda flags: structs.replace(flags, security_context=not flags.security_context, scheduler_name="other"),
    lambda flags: structs.replace(flags, prometheus_scrape_annotations=not flags.prometheus_scrape_annotations),
)


class EnvironmentProgram(Program, frozen=True):
    """After its steps all trouble ends; then the environment comes to where its spec wants it, and stays there.

    At last everything is wanted that can be had, so that every program ends with a rollout.
    """

    rests: bool = False

    def play(self) -> EnvironmentWorld:
        async def scenario(world: World) -> None:
            assert isinstance(world, EnvironmentWorld)
            await world.begin_with_an_environment()
            for step in self.steps:
                await step.play(world)
                world.check()
            await self._end(world)

        world = play(self.setting, scenario, steps=MOST_STEPS, of=EnvironmentWorld)
        assert isinstance(world, EnvironmentWorld)
        return world

    async def _end(self, world: EnvironmentWorld) -> None:
        world.heal()
        await world.remove_environment(OPS, "twin")
        await world.until_let_go()
        if world.find("m") is None:
            await world.create_environment(world.setting.spec)
        await self._insist(world, {"podAnnotations": dict.fromkeys(BENT)})
        await asyncio.sleep(HEALED)
        world.heal()
        await world.finish()
        if self.rests:
            await world.rest()
        last = {
            "rolloutStrategy": "WaitUntilReady",
            "forcePromote": None,
            "forceRollout": "99999999-9999-9999-9999-999999999999",
            "environmentdImageRef": world.fact.running_image,
        }
        await self._insist(world, last)
        world.heal_pods()
        await world.finish()
        assert world.fact.is_settled, world.fact

    async def _insist(self, world: EnvironmentWorld, changes: dict[str, Any]) -> None:
        status = await world.edit(changes)
        while status != 200:
            await asyncio.sleep(5)
            status = await world.edit(changes)


VERSION = st.sampled_from(["v1alpha2", "v1alpha1"])
BENT = (HOLD, CRASH_AFTER, IMAGE_PULL, FLAP, CATCH_UP, BOOT, PROMOTE_TAKES, FAIL)
BENDS: tuple[tuple[str, str | None], ...] = (
    (HOLD, "true"),
    (CRASH_AFTER, "2s"),
    (FLAP, "3s"),
    (CATCH_UP, "never"),
    (CATCH_UP, "40s"),
    (BOOT, "20s"),
    (PROMOTE_TAKES, "20s"),
    (PROMOTE_TAKES, "never"),
    (FAIL, "status=500"),
    (FAIL, "promote=500"),
    (FAIL, "promote=lost"),
    (FAIL, "login=401"),
    (FAIL, "skip-catchup=404"),
    (FAIL, "skip-catchup=500"),
    (FAIL, "slow=3s"),
    (FAIL, "slow=15s"),
    (FAIL, "restart-on-promote"),
    (FAIL, "lie"),
)
EDITS: tuple[dict[str, Any], ...] = (
    {"environmentdImageRef": f"materialize/environmentd:{IMAGES[1]}"},
    {"environmentdImageRef": f"materialize/environmentd:{IMAGES[0]}"},
    {"environmentdImageRef": f"materialize/environmentd:{IMAGES[2]}"},
    {"environmentdImageRef": f"materialize/environmentd:{IMAGES[3]}"},
    {"environmentdExtraEnv": [{"name": "A", "value": "1"}]},
    {"environmentdExtraEnv": [{"name": "A", "value": "2"}]},
    {"environmentdExtraEnv": None},
    {"podLabels": {"team": "a"}},
    {"podLabels": {}},
    {"balancerdReplicas": 3, "consoleReplicas": 1},
    {"balancerdReplicas": None, "consoleResourceRequirements": {"requests": {"cpu": "1"}}},
    {"forceRollout": "33333333-3333-3333-3333-333333333333"},
    {"forceRollout": "33333333333333333333333333333333"},
    {"environmentId": "12345678123412341234123456789012"},
    {"authenticatorKind": "Password"},
    {"authenticatorKind": "None"},
    {"authenticatorKind": "Sasl"},
    {"rolloutRequestTimeout": "10m"},
    {"rolloutRequestTimeout": None},
    {"serviceAccountName": ACCOUNT},
    *({"rolloutStrategy": strategy} for strategy in STRATEGIES),
)

EDIT = st.builds(Edit, st.sampled_from(EDITS), VERSION)
SPECS = one_in_turn(
    EDIT,
    EDIT,
    st.builds(Edit, st.sampled_from([{"rolloutStrategy": each} for each in STRATEGIES]), VERSION),
    st.one_of(
        st.builds(Revert, st.sampled_from([0, 0, 1]), VERSION),
        st.builds(Annotate, st.sampled_from(["x", "y", "", None]), VERSION),
        st.builds(Reapply, VERSION),
    ),
    st.builds(Approve, st.sampled_from(["requested", "wanted", "request", "completed", "wrong", "none"]), VERSION),
    st.sampled_from(BENDS).map(lambda bend: Edit({"podAnnotations": {bend[0]: bend[1]}})),
)
PODS_IN_TROUBLE = one_in_turn(
    st.builds(lambda which, bend: Bend(which, *bend), st.sampled_from([1, 1, 0]), st.sampled_from(BENDS)),
    st.builds(KillEnvironmentd, st.sampled_from([1, 0])),
    st.builds(
        DeleteChild,
        st.sampled_from([0, 1]),
        st.sampled_from(["statefulset", "service", "pubsub", "listeners", "public", "balancer"]),
        st.sampled_from(["Background", "Foreground", "Orphan"]),
    ),
)
SURROUNDINGS = st.one_of(
    st.builds(Webhook, st.booleans()),
    st.builds(OverwriteDefinition),
    st.builds(Twin, st.booleans()),
    st.builds(Recreate, st.sampled_from([0.0, 1.0, 30.0])),
    st.builds(OtherFlags, st.integers(0, len(FLAGS) - 1)),
)
DELAYS = st.sampled_from([0.3, 2.0, 3.5]).map(lambda seconds: Fault("delay", seconds))
WRITES = ("status", "status", "delete", "child", "child", "environment", "companion", "definition", "lease")
WRITE_FAULTS = st.one_of(REFUSALS, st.just(Fault("status", status=422)), LOSSES, DELAYS, LATER)
OPERATORS_IN_TROUBLE = one_in_turn(
    st.builds(FailEnvironment, REPLICAS, st.sampled_from(WRITES), st.sampled_from([1, 1, 2, 3]), WRITE_FAULTS),
    st.builds(FailEnvironment, REPLICAS, st.sampled_from(WRITES), st.sampled_from([1, 1, 2, 3]), WRITE_FAULTS),
    st.one_of(
        st.builds(FailEnvironment, REPLICAS, st.sampled_from(["read", "list"]), st.integers(1, 3), READ_FAULTS),
        st.builds(FailEnvironment, REPLICAS, st.just("watch"), st.integers(1, 3), WATCH_FAULTS),
    ),
    st.one_of(
        st.builds(Freeze, REPLICAS, st.sampled_from(WATCHED)),
        st.builds(Freeze, REPLICAS, st.sampled_from(["materializes", "statefulsets"])),
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
    st.builds(DieAt, REPLICAS, st.integers(1, 12), st.booleans()),
)
WAITS = st.sampled_from([0.01, 0.3, 1.0, 2.0, 5.0, 8.0, 20.0, 70.0, 700.0]).map(Wait)


@st.composite
def environment_settings(draw: st.DrawFn) -> EnvironmentSetting:
    spec: dict[str, Any] = {"rolloutStrategy": draw(st.sampled_from(STRATEGIES))}
    return EnvironmentSetting(
        (),
        seed=draw(st.integers(0, 2**32 - 1)),
        latency=draw(st.sampled_from([0.0, 0.02, 0.2])),
        lag=draw(st.sampled_from([0.0, 0.1, 1.0])),
        leased=True,
        operators=draw(st.sampled_from([1, 2])),
        companions=draw(st.sampled_from([False, False, True])),
        catch_up=draw(st.sampled_from([0.5, 0.0, 8.0])),
        promote_takes=draw(st.sampled_from([0.5, 0.0, 8.0])),
        spec=spec if spec["rolloutStrategy"] != MANUALLY else {},
    )


EVERYTHING = one_in_turn(SPECS, SPECS, SPECS, PODS_IN_TROUBLE, OPERATORS_IN_TROUBLE, OPERATORS_IN_TROUBLE, SURROUNDINGS)
PEOPLE = one_in_turn(SPECS, SPECS, SPECS, SPECS, PODS_IN_TROUBLE, SURROUNDINGS)
"""Edits of all kinds, with operators that work as they should."""
OPERATORS = one_in_turn(SPECS, OPERATORS_IN_TROUBLE, OPERATORS_IN_TROUBLE)
"""An edit now and then, and hardly a moment in which operators are left alone."""


def environment_programs(
    what: st.SearchStrategy[Step] = EVERYTHING, most_steps: int = 20
) -> st.SearchStrategy[EnvironmentProgram]:
    rests = st.sampled_from([False, False, False, False, True])
    return st.builds(EnvironmentProgram, environment_settings(), in_time(what, most_steps, WAITS), rests)
