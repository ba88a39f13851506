"""A crash at every write and every call of a rollout, of a first rollout, and of an operator's start.

Rollouts follow one another in one world; in each of them the operator is killed at another effect and started again.
Whatever was lost, no invariant is broken, and after each the cluster is exactly as it is after the same rollouts
without a crash (L6).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import msgspec
import pytest

from fairlead.contracts.environments.kinds import ENVIRONMENT_CHILDREN, MATERIALIZES
from kubeloop.objects.apps import STATEFULSETS
from kubesim.store.versions import Tree
from tests.chaos.environments.facts import IMMEDIATELY, MANUALLY
from tests.chaos.environments.world import EnvironmentSetting, EnvironmentWorld
from tests.chaos.machine import SOAKS, soaked
from tests.chaos.steps import killed_at
from tests.chaos.world import NAMESPACE, Process, World, play

MOST = 80
"""Effects of one story; there are fewer."""
MOST_REPETITIONS = 4
"""Of one effect in one rollout: the status is written so often; environmentd is asked as often as it takes."""
_OF_ONE_ROLLOUT = re.compile(r"(?<=mz)[a-z0-9]{10}(?=-)|-\d+\b")
OWN = (
    *("uid", "resourceVersion", "creationTimestamp", "managedFields", "lastTransitionTime", "ownerReferences"),
    *("clusterIP", "clusterIPs"),
)
"""What no two objects have in common."""
PICTURED = (MATERIALIZES, STATEFULSETS, *ENVIRONMENT_CHILDREN)

Story = Callable[[EnvironmentWorld, int], Awaitable[None]]
Picture = dict[str, Any]


async def waiting_until_ready(world: EnvironmentWorld, number: int) -> None:
    await world.edit({"environmentdExtraEnv": [{"name": "A", "value": str(number)}]})


async def by_hand(world: EnvironmentWorld, number: int) -> None:
    """Somebody approves as soon as it is ready."""
    await world.edit({"environmentdExtraEnv": [{"name": "A", "value": str(number)}]})
    assert await world.until(lambda: world.fact.reason == "ReadyToPromote", 600.0)
    await world.edit({"forcePromote": world.fact.requested})


async def anew(world: EnvironmentWorld, number: int) -> None:
    """The environment is deleted and made again, under the same name."""
    await world.remove_environment()
    await world.until_let_go()
    await world.create_environment({"podLabels": {"number": str(number)}})
    assert await world.until(lambda: world.fact.active == 1, 600.0)


STORIES: dict[str, tuple[Story, Tree, tuple[str, ...]]] = {
    "waiting until ready": (
        waiting_until_ready,
        {},
        (
            "/api/leader/status",
            "/api/leader/promote",
            "delete statefulsets",
            "status of materializes",
            "apply services",
        ),
    ),
    "with a password": (
        waiting_until_ready,
        {"authenticatorKind": "Password"},
        ("/api/login", "/api/leader/promote", "delete configmaps"),
    ),
    "promoted by hand": (by_hand, {"rolloutStrategy": MANUALLY}, ("/api/leader/skip-catchup", "/api/leader/promote")),
    "with a downtime": (
        waiting_until_ready,
        {"rolloutStrategy": IMMEDIATELY},
        ("/api/leader/skip-catchup", "delete services", "apply statefulsets"),
    ),
    "for the first time": (anew, {}, ("patch materializes", "apply roles", "apply services", "/api/leader/promote")),
}
"""What happens, under which spec, and effects that must have been struck."""


@soaked
@pytest.mark.parametrize("story", STORIES)
def test_a_crash_at_any_effect_changes_nothing_of_the_end(story: str) -> None:
    """Before an effect is sent, and after it was carried out; both are held against the same rollouts without one.

    Usually half of the effects are struck before and the other half after; each both ways with `--soak`.
    """
    tell, spec, least = STORIES[story]
    modes = {word: Crashes(word == "before") for word in ("before", "after")}

    with_crashes = {word: pictures_of(tell, spec, crashes.prepare) for word, crashes in modes.items()}
    most = max(map(len, with_crashes.values()))
    without = pictures_of(tell, spec, lambda _, number: number <= most)

    for word, pictures in with_crashes.items():
        assert len(pictures) > len(least)
        for number, picture in enumerate(pictures):
            assert picture == without[number], f"after a crash {word} {modes[word].tried[number]}"
    before, after = (each.struck for each in modes.values())
    for struck in (before, after) if SOAKS else ([*before, *after],):
        assert not [effect for effect in least if not any(effect in each for each in struck)], struck


class Crashes:
    """One after the other at effects that were seen, and at their repetitions; the first rollout has none."""

    def __init__(self, before: bool) -> None:
        self.struck: list[str] = []
        self.tried: list[str] = []
        self._known: list[str] = []
        self._before = before

    def prepare(self, world: EnvironmentWorld, number: int) -> bool:
        """Whether there is another crash to try; it is then about to happen."""
        ours = self._known if SOAKS else self._known[not self._before :: 2]
        left = [effect for effect in ours if effect not in self.tried]
        if number > 1 and not left:
            return False
        self.tried.append(left[0] if left else "nothing")
        replica = world.replicas[0]
        assert replica.process is not None
        counts: Counter[str] = Counter()

        def matters(what: str) -> bool:
            effect = _OF_ONE_ROLLOUT.sub("*", what)
            counts[effect] += 1
            if not is_of_a_rollout(what) or counts[effect] > MOST_REPETITIONS:
                return False
            effect += f" #{counts[effect]}"
            if effect not in self._known:
                self._known.append(effect)
            return effect == self.tried[-1]

        killed_at(replica, replica.process, 1, before=self._before, matters=matters, struck=self.struck.append)
        return True


def pictures_of(tell: Story, spec: Tree, prepare: Callable[[EnvironmentWorld, int], bool]) -> list[Picture]:
    """The cluster after each of the rollouts, as long as `prepare` wants another one."""
    pictures: list[Picture] = []

    async def scenario(world: World) -> None:
        assert isinstance(world, EnvironmentWorld)
        await world.begin_with_an_environment()
        if spec:
            await world.edit(dict(spec))
            await approved(world)
        for number in range(1, MOST):
            if not prepare(world, number):
                return
            await tell(world, number)
            await world.finish()
            pictures.append(dict(picture_of(world)))
        pytest.fail("there is no end of effects")

    play(EnvironmentSetting((), leased=True), scenario, of=EnvironmentWorld)
    return pictures


async def approved(world: EnvironmentWorld) -> None:
    await world.finish()
    if world.fact.reason == "ReadyToPromote":
        await world.edit({"forcePromote": world.fact.requested})
        await world.finish()


def is_of_a_rollout(what: str) -> bool:
    """Not what is said in Events, and not the renewal of leadership."""
    return " events" not in what and "leases/" not in what


def picture_of(world: EnvironmentWorld) -> Iterator[tuple[str, Any]]:
    """Everything in the namespace."""
    for resource in PICTURED:
        for tree in world.cluster.verbs.list(resource, NAMESPACE):
            if resource != MATERIALIZES:
                tree.pop("status", None)  # others write it, at their own pace
            text = msgspec.json.encode(timeless(tree)).decode().replace(world.fact.id, "ID")
            name = tree["metadata"]["name"].replace(world.fact.id, "ID")
            yield f"{resource.plural}/{name}", msgspec.json.decode(text)


def timeless(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: timeless(value) for key, value in tree.items() if key not in OWN}
    return [timeless(each) for each in tree] if isinstance(tree, list) else tree


@pytest.mark.parametrize("before", [True, False], ids=["before it is sent", "after it is carried out"])
def test_a_crash_at_any_effect_of_a_start_is_made_up_for_by_the_next_one(before: bool) -> None:
    struck: list[str] = []
    number = 0

    while len(struck) == number:
        number += 1
        start_with(number, before, struck)

    assert sum("apply customresourcedefinitions" in each for each in struck) == 3, struck


def start_with(number: int, before: bool, struck: list[str]) -> None:
    async def scenario(world: World) -> None:
        assert isinstance(world, EnvironmentWorld)

        def first_only(process: Process) -> None:
            if len(world.processes) == 1:
                replica = world.replicas[0]
                killed_at(replica, process, number, before=before, matters=is_of_a_rollout, struck=struck.append)

        world.each_process = first_only
        await world.begin_with_an_environment()

    play(EnvironmentSetting((), leased=True), scenario, of=EnvironmentWorld)
