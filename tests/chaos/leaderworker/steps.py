"""Programs of edits and trouble: what happens to LeaderWorkerSets, their pods, their objects and their operators."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import strategies as st

from kubeloop.objects.apps import CONTROLLER_REVISIONS, STATEFULSETS
from kubeloop.objects.core import PODS, SERVICES
from kubeloop.request import Request, place_of
from kubesim.faults import Fault
from kubesim.kinds.features import MAX_UNAVAILABLE
from kubesim.pods.behaviour import CRASH_AFTER, HANG_TERMINATING, HOLD, IMAGE_PULL
from kubesim.store.versions import Tree
from tests.chaos.leaderworker.facts import (
    AFTER_START,
    BACK_OFF,
    GROUP_INDEX,
    HISTORY,
    KEY,
    MOST_RESTARTS,
    NAME,
    NODE_EACH,
    PAUSED,
    SIZE,
    TEARDOWN,
    WORKER_INDEX,
)
from tests.chaos.leaderworker.world import KINDS, WATCHED, GroupedSetting, GroupedWorld, SetPlan, a_template
from tests.chaos.loop import running
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
    Evict,
    Freeze,
    KillPod,
    Lag,
    Misbehave,
    Program,
    Restart,
    Step,
    StepIn,
    Stop,
    Thaw,
    Wait,
    in_time,
    one_in_turn,
    pod_of,
    replica_of,
)
from tests.chaos.world import World, play

SETTLED = 20.0
"""Seconds between the end of all trouble and a second look at what was made meanwhile."""


class SetStep(StepIn[GroupedWorld], frozen=True):
    in_world: ClassVar[type[World]] = GroupedWorld


class Edit(SetStep, frozen=True):
    """A merge patch of a set."""

    change: dict[str, Any]
    set: int = 0

    async def play_on(self, world: GroupedWorld) -> None:
        await world.edit(_plan(world, self.set).name, self.change)


class ScaleSet(SetStep, frozen=True):
    """By its subresource, past the webhooks."""

    replicas: int
    set: int = 0

    async def play_on(self, world: GroupedWorld) -> None:
        await world.scale_set(_plan(world, self.set).name, self.replicas)


class Undo(SetStep, frozen=True):
    back: int = 0
    set: int = 0

    async def play_on(self, world: GroupedWorld) -> None:
        await world.undo(_plan(world, self.set).name, self.back)


class ReplaceSet(SetStep, frozen=True):
    """The set is deleted, and made again under its name."""

    propagation: str
    after: float
    set: int = 0

    async def play_on(self, world: GroupedWorld) -> None:
        plan = _plan(world, self.set)
        world.remove(KINDS["set"], plan.name, self.propagation)
        await asyncio.sleep(self.after)
        await world.create_set(plan)


class DeleteLeader(SetStep, frozen=True):
    index: int
    propagation: str
    set: int = 0

    async def play_on(self, world: GroupedWorld) -> None:
        world.remove(PODS, f"{_plan(world, self.set).name}-{self.index}", self.propagation)


class LosePod(SetStep, frozen=True):
    """Its node is lost: it is evicted and does not go, until somebody takes it away by force."""

    pod: int
    seconds: float

    async def play_on(self, world: GroupedWorld) -> None:
        if name := pod_of(world, self.pod):
            world.misbehave(name, HANG_TERMINATING)
            world.remove(PODS, name)
            await asyncio.sleep(self.seconds)
            world.remove(PODS, name, grace=0)


class DeleteObject(SetStep, frozen=True):
    kind: str
    number: int
    propagation: str = ""

    async def play_on(self, world: GroupedWorld) -> None:
        resource = KINDS[self.kind]
        if names := world.names(resource.plural):
            world.remove(resource, names[self.number % len(names)], self.propagation)


class EditLeaders(SetStep, frozen=True):
    """Somebody edits the StatefulSet of leaders by hand."""

    change: dict[str, Any]
    set: int = 0

    async def play_on(self, world: GroupedWorld) -> None:
        world.patch(STATEFULSETS, _plan(world, self.set).name, self.change)


class PutForeign(SetStep, frozen=True):
    """Something of nobody comes that looks like a part of the set, or has a name that it needs."""

    what: str
    index: int = 0

    async def play_on(self, world: GroupedWorld) -> None:
        resource, tree = FOREIGN[self.what](_plan(world, 0), self.index)
        world.put(resource, tree)


class Jump(SetStep, frozen=True):
    """The clock of everybody is set."""

    seconds: float

    async def play_on(self, world: GroupedWorld) -> None:
        running().jump(self.seconds)


class FailSet(SetStep, frozen=True):
    """The nth request of a kind from now on fails in some way."""

    replica: int
    what: str
    nth: int
    fault: Fault

    async def play_on(self, world: GroupedWorld) -> None:
        if (process := replica_of(world, self.replica).process) is not None:
            process.wire.plan.fail(MEANS[self.what], self.nth, self.fault)


def _plan(world: GroupedWorld, number: int) -> SetPlan:
    return world.setting.sets[number % len(world.setting.sets)]


def _labelled(plan: SetPlan, name: str, **labels: str) -> Tree:
    return {"name": name, "labels": {NAME: plan.name, **labels}, "annotations": {SIZE: "2"}}


def _foreign_pod(plan: SetPlan, index: int) -> tuple[Any, Tree]:
    labels = {WORKER_INDEX: "0", GROUP_INDEX: str(index), KEY: "foreign"}
    return PODS, {"metadata": _labelled(plan, f"{plan.name}-{index}x", **labels), **a_template(9)}


def _foreign_worker(plan: SetPlan, index: int) -> tuple[Any, Tree]:
    """In a group by its name, and of another set by its label."""
    metadata = _labelled(plan, f"{plan.name}-{index}-7", **{WORKER_INDEX: "7", GROUP_INDEX: str(index)})
    metadata["labels"][NAME] = "elsewhere"
    return PODS, {"metadata": metadata, **a_template(9)}


def _foreign_workers(plan: SetPlan, index: int) -> tuple[Any, Tree]:
    labels = {"app": "foreign"}
    return STATEFULSETS, {
        "metadata": {"name": f"{plan.name}-{index}", "labels": labels},
        "spec": {
            "serviceName": "foreign",
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, **a_template(9)},
        },
    }


def _foreign_revision(plan: SetPlan, index: int) -> tuple[Any, Tree]:
    name = f"{plan.name}-foreign-{index}"
    return CONTROLLER_REVISIONS, {
        "metadata": _labelled(plan, name, **{KEY: "foreign"}),
        "revision": 1,
        "data": {"spec": ["garbage"]},
    }


def _foreign_service(plan: SetPlan, index: int) -> tuple[Any, Tree]:
    return SERVICES, {"metadata": {"name": f"{plan.name}-{index}"}, "spec": {"clusterIP": "None"}}


FOREIGN: dict[str, Callable[[SetPlan, int], tuple[Any, Tree]]] = {
    "pod": _foreign_pod,
    "worker": _foreign_worker,
    "workers": _foreign_workers,
    "revision": _foreign_revision,
    "service": _foreign_service,
}


def _writes(*plurals: str) -> Callable[[Request], bool]:
    return lambda sent: sent.method != "GET" and place_of(sent.path).plural in plurals


MEANS: dict[str, Callable[[Request], bool]] = {
    "status": lambda sent: sent.method != "GET" and place_of(sent.path).subresource == "status",
    "delete": lambda sent: sent.method == "DELETE",
    "statefulset": _writes("statefulsets"),
    "leaders": lambda sent: sent.method == "PATCH" and place_of(sent.path).plural == "statefulsets",
    "revision": _writes("controllerrevisions"),
    "service": _writes("services"),
    "event": _writes("events"),
    "lease": lambda sent: place_of(sent.path).plural == "leases",
    "read": lambda sent: sent.verb == "get",
    "list": lambda sent: sent.verb == "list",
    "watch": lambda sent: sent.verb == "watch",
}


class SetProgram(Program, frozen=True):
    """After its steps all trouble ends; then every set comes to where its spec wants it, and stays there."""

    rests: bool = False

    def play(self) -> GroupedWorld:
        async def scenario(world: World) -> None:
            assert isinstance(world, GroupedWorld)
            await world.begin_with_sets()
            for step in self.steps:
                await step.play(world)
                world.check()
            await ended(world, rests=self.rests)

        world = play(self.setting, scenario, steps=MOST_STEPS, of=GroupedWorld)
        assert isinstance(world, GroupedWorld)
        return world


async def ended(world: GroupedWorld, *, rests: bool = False) -> None:
    """All trouble ends, and all sets come to their end."""
    await world.heal()
    await asyncio.sleep(SETTLED)
    await world.heal()
    await world.finish(healing=True)
    if rests:
        await world.rest()


def _template(**changes: Any) -> dict[str, Any]:
    return {"spec": {"leaderWorkerTemplate": changes}}


def _annotation(key: str, value: str | None) -> dict[str, Any]:
    return {"metadata": {"annotations": {key: value}}}


def _update(**changes: Any) -> dict[str, Any]:
    return {"spec": {"rolloutStrategy": {"rollingUpdateConfiguration": changes}}}


def _with_cpu(amount: str) -> dict[str, Any]:
    template = a_template(1)
    template["spec"]["containers"][0]["resources"] = {"requests": {"cpu": amount}}
    return _template(workerTemplate=template)


IMAGES: tuple[dict[str, Any], ...] = tuple(_template(workerTemplate=a_template(image)) for image in (2, 3, 1))
ROLLS: tuple[dict[str, Any], ...] = (
    *IMAGES,
    *(_template(size=size) for size in (2, 3, 1)),
    *(
        _template(restartPolicy=policy)
        for policy in ("None", "RecreateGroupOnPodRestart", "RecreateGroupAfterStart", "Default")
    ),
    *({"spec": {"networkConfig": {"subdomainPolicy": policy}}} for policy in ("UniquePerReplica", "Shared")),
    _template(leaderTemplate=a_template(2)),
    _template(leaderTemplate=None),
    _with_cpu("1"),
    _with_cpu("1000m"),
    {"spec": {"leaderWorkerTemplate": {"size": 3, "workerTemplate": a_template(3)}}},
)
BAD: tuple[dict[str, Any], ...] = (
    *(_template(workerTemplate=a_template(image, **{HOLD: "true"})) for image in (2, 3)),
    _template(workerTemplate=a_template(2, **{CRASH_AFTER: "2s"})),
    _template(workerTemplate=a_template(3, **{IMAGE_PULL: "fail"})),
    _template(workerTemplate={"spec": {"restartPolicy": "Never"}}),
    _template(workerTemplate={"spec": {"restartPolicy": None}}),
)
BUDGETS: tuple[dict[str, Any], ...] = tuple(
    _update(maxUnavailable=away, maxSurge=more)
    for away, more in ((1, 0), (0, 1), (2, 2), (1, 4), ("25%", "25%"), (2, 0), (10, 0), ("50%", 1))
)
PARTITIONS: tuple[dict[str, Any], ...] = tuple(_update(partition=partition) for partition in (0, 1, 2, 3, 9, 0))
ANNOTATIONS: tuple[dict[str, Any], ...] = (
    _annotation(PAUSED, "true"),
    _annotation(PAUSED, None),
    _annotation(BACK_OFF, "2s,20s"),
    _annotation(BACK_OFF, "1m"),
    _annotation(BACK_OFF, "nonsense"),
    _annotation(BACK_OFF, None),
    _annotation(MOST_RESTARTS, "1"),
    _annotation(MOST_RESTARTS, "0"),
    _annotation(MOST_RESTARTS, None),
    _annotation(TEARDOWN, "Parallel"),
    _annotation(TEARDOWN, None),
    _annotation(HISTORY, "2"),
    _annotation(HISTORY, None),
    _annotation(AFTER_START, ""),
    _annotation("example.test/note", "x"),
)
OTHER: tuple[dict[str, Any], ...] = (
    *({"spec": {"startupPolicy": policy}} for policy in ("LeaderReady", "LeaderCreated")),
    {"spec": {"replicas": 2, "leaderWorkerTemplate": {"workerTemplate": a_template(2)}}},
    {"spec": {"replicas": 5, "leaderWorkerTemplate": {"workerTemplate": a_template(3)}}},
)
BY_HAND: tuple[dict[str, Any], ...] = (
    {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 2}}}},
    {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}},
    {"spec": {"replicas": 1}},
    {"spec": {"replicas": 5}},
    {"spec": {"template": a_template(7)}},
    {"metadata": {"labels": {KEY: "edited"}}},
    {"metadata": {"labels": {KEY: None}}},
    {"spec": {"template": {"metadata": {"labels": {KEY: "edited"}}}}},
    {"metadata": {"annotations": {"leaderworkerset.sigs.k8s.io/replicas": "many"}}},
    {"metadata": {"annotations": {"fairlead.dev/group-recreations": '{"x":'}}},
)

SET = st.sampled_from([0, 0, 0, 1])
PROPAGATIONS = st.sampled_from(["Background", "Foreground", "Orphan"])
NUMBERS = st.integers(0, 11)


def _edits(changes: tuple[dict[str, Any], ...]) -> st.SearchStrategy[Step]:
    return st.builds(Edit, st.sampled_from(changes), SET)


ROLLOUTS = one_in_turn(_edits(IMAGES), _edits(ROLLS), _edits(ROLLS), st.builds(Undo, st.integers(0, 1), SET))
"""What changes neither size nor budget of a set."""
PEOPLE = one_in_turn(
    ROLLOUTS,
    ROLLOUTS,
    _edits(BAD),
    _edits(BUDGETS),
    _edits(PARTITIONS),
    _edits(ANNOTATIONS),
    _edits(OTHER),
    st.builds(ScaleSet, st.integers(0, 5), SET),
    st.builds(ReplaceSet, PROPAGATIONS, st.sampled_from([0.0, 1.0, 20.0]), SET),
)
PODS_IN_TROUBLE = one_in_turn(
    st.builds(KillPod, NUMBERS, st.sampled_from([None, None, 0])),
    st.builds(Evict, NUMBERS),
    st.builds(Misbehave, NUMBERS, st.sampled_from([HOLD, CRASH_AFTER, CRASH_AFTER, None])),
    st.builds(DeleteLeader, st.integers(0, 3), PROPAGATIONS, SET),
    st.builds(LosePod, NUMBERS, st.sampled_from([1.0, 30.0])),
)
OBJECTS_IN_TROUBLE = st.one_of(
    st.builds(
        DeleteObject, st.sampled_from(["statefulset", "statefulset", "service", "revision"]), NUMBERS, PROPAGATIONS
    ),
    st.builds(EditLeaders, st.sampled_from(BY_HAND), SET),
    st.builds(PutForeign, st.sampled_from(sorted(FOREIGN)), st.integers(0, 4)),
)
WRITES = ("status", "delete", "statefulset", "statefulset", "statefulset", "revision", "revision", "service", "lease")
WRITE_FAULTS = st.one_of(REFUSALS, st.just(Fault("status", status=422)), LOSSES, DELAYS, LATER)
OPERATORS_IN_TROUBLE = one_in_turn(
    st.builds(FailSet, REPLICAS, st.sampled_from(WRITES), st.sampled_from([1, 1, 2, 3]), WRITE_FAULTS),
    st.builds(FailSet, REPLICAS, st.sampled_from(WRITES), st.sampled_from([1, 1, 2, 3]), WRITE_FAULTS),
    st.one_of(
        st.builds(FailSet, REPLICAS, st.sampled_from(["read", "list"]), st.integers(1, 3), READ_FAULTS),
        st.builds(FailSet, REPLICAS, st.just("watch"), st.integers(1, 3), WATCH_FAULTS),
    ),
    st.one_of(
        st.builds(Freeze, REPLICAS, st.sampled_from(WATCHED)),
        st.builds(Freeze, REPLICAS, st.sampled_from(["pods", "pods", "statefulsets"])),
        st.builds(Thaw, REPLICAS, st.sampled_from(WATCHED)),
        st.builds(Lag, REPLICAS, st.sampled_from([0.0, 0.2, 2.0])),
        st.builds(EndWatches),
        st.builds(Compact),
    ),
    st.one_of(
        st.builds(Restart, REPLICAS),
        st.builds(Stop, REPLICAS, st.sampled_from([0.5, 5.0, 30.0])),
        st.builds(Cut, REPLICAS, st.sampled_from([0.5, 5.0, 30.0])),
        st.builds(Jump, st.sampled_from([-3600.0, 3600.0, -2.0])),
    ),
    st.builds(DieAt, REPLICAS, st.integers(1, 12), st.booleans()),
    st.builds(DieAt, REPLICAS, st.integers(1, 12), st.booleans()),
)
WAITS = st.sampled_from([0.01, 0.3, 1.0, 2.0, 3.0, 5.0, 8.0, 20.0]).map(Wait)


FIRST_BUDGETS: tuple[tuple[int | str, int | str], ...] = (
    (1, 0),
    (0, 1),
    (2, 2),
    (1, 2),
    (2, 3),
    ("25%", "25%"),
    (3, 0),
)


@st.composite
def grouped_settings(draw: st.DrawFn) -> GroupedSetting:
    unavailable, surge = draw(st.sampled_from(FIRST_BUDGETS))
    first = SetPlan(
        "a",
        replicas=draw(st.integers(1, 5)),
        size=draw(st.sampled_from([2, 3, 1])),
        unavailable=unavailable,
        surge=surge,
        policy=draw(st.sampled_from(["RecreateGroupOnPodRestart", "None", "RecreateGroupAfterStart"])),
        network=draw(st.sampled_from(["Shared", "UniquePerReplica"])),
        annotations=draw(st.sampled_from([{}, NODE_EACH])),
    )
    sets = (first, SetPlan("b", replicas=2, size=2)) if draw(st.booleans()) else (first,)
    return GroupedSetting(
        (),
        sets=sets,
        seed=draw(st.integers(0, 2**32 - 1)),
        latency=draw(st.sampled_from([0.0, 0.02, 0.2])),
        lag=draw(st.sampled_from([0.0, 0.1, 1.0])),
        leased=True,
        operators=draw(st.sampled_from([1, 2])),
        ready_after=draw(st.sampled_from([1.0, 0.2, 4.0])),
        feature_gates=draw(st.sampled_from([(), (MAX_UNAVAILABLE,)])),
    )


EVERYTHING = one_in_turn(
    PEOPLE, PEOPLE, PODS_IN_TROUBLE, PODS_IN_TROUBLE, OBJECTS_IN_TROUBLE, OPERATORS_IN_TROUBLE, OPERATORS_IN_TROUBLE
)
QUIET = one_in_turn(ROLLOUTS, _edits(PARTITIONS), OPERATORS_IN_TROUBLE, OPERATORS_IN_TROUBLE, OPERATORS_IN_TROUBLE)
"""Rollouts, and hardly a moment in which operators are left alone; groups fail for no other reason (S1)."""
DISTURBED = one_in_turn(PEOPLE, PEOPLE, PODS_IN_TROUBLE, OBJECTS_IN_TROUBLE)
"""Edits and failures of all kinds, with operators that work as they should."""


def set_programs(what: st.SearchStrategy[Step] = EVERYTHING, most_steps: int = 20) -> st.SearchStrategy[SetProgram]:
    rests = st.sampled_from([False, False, False, True])
    return st.builds(SetProgram, grouped_settings(), in_time(what, most_steps, WAITS), rests)
