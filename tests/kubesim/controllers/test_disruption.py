"""The disruption controller counts the pods of budgets, and forgets disruptions that do not happen.

No other controller runs beside it: pods are whose they are said to be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubeloop.objects.meta import Resource
from kubesim.controllers.disruption import DisruptionController
from kubesim.kinds.registry import (
    DAEMON_SETS,
    DEFINITIONS,
    DEPLOYMENTS,
    DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
)
from kubesim.store.versions import Tree
from kubesim.time import run
from tests.kubesim.controllers.world import LAG, World

TEAMS = Resource("test.example", "v1", "teams", "Team")


def play(scenario: Callable[[World], Awaitable[None]]) -> None:
    async def main() -> None:
        world = World(0, LAG)
        running = asyncio.create_task(DisruptionController(world.verbs).run())
        try:
            await scenario(world)
            assert not running.done(), running.exception()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    run(main())


def a_budget(world: World, **spec: Any) -> None:
    world.create(
        DISRUPTION_BUDGETS, {"metadata": {"name": "pb"}, "spec": {"selector": {"matchLabels": {"app": "x"}}} | spec}
    )


def a_pod(world: World, name: str, owner: Tree | None = None, kind: Resource = STATEFUL_SETS) -> None:
    metadata: Tree = {"name": name, "labels": {"app": "x"}}
    if owner is not None:
        place = {"apiVersion": kind.api_version, "kind": kind.kind, "name": owner["metadata"]["name"]}
        metadata["ownerReferences"] = [place | {"uid": owner["metadata"]["uid"], "controller": True}]
    world.create(PODS, {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i:1"}]}})


def a_workload(world: World, kind: Resource, replicas: int, name: str = "w") -> Tree:
    """One that makes no pods of its own: its selector is another."""
    labels = {"app": f"{name}-own"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    spec: Tree = {"selector": {"matchLabels": labels}, "template": template}
    if kind != DAEMON_SETS:
        spec["replicas"] = replicas
    return world.create(kind, {"metadata": {"name": name}, "spec": spec})


def status(world: World) -> Tree:
    found: Tree = world.verbs.read(DISRUPTION_BUDGETS, "default", "pb")["status"]
    return found


def counts(world: World) -> tuple[int, int, int, int]:
    """Disruptions allowed, healthy pods, those needed, those expected."""
    found = status(world)
    keys = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    allowed, healthy, needed, expected = (found[key] for key in keys)
    return allowed, healthy, needed, expected


def condition(world: World) -> tuple[str, str, str]:
    (found,) = status(world)["conditions"]
    return found["status"], found["reason"], found["message"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 1}, (1, 2, 1, 3)),
        ({"minAvailable": "50%"}, (0, 2, 3, 5)),
        ({"minAvailable": "0%"}, (2, 2, 0, 5)),
        ({"maxUnavailable": 4}, (1, 2, 1, 5)),
        ({"maxUnavailable": "50%"}, (0, 2, 2, 5)),
        ({"maxUnavailable": "100%"}, (2, 2, 0, 5)),
        ({"maxUnavailable": 9}, (2, 2, 0, 5)),
        ({}, (0, 2, 0, 0)),
    ],
)
def test_what_is_needed_is_a_number_or_a_share_of_what_the_owner_wants(
    spec: Tree, expected: tuple[int, int, int, int]
) -> None:
    """Of 5 pods 50 % are 3: shares round up, of those that must be there and of those that may be missing."""

    async def scenario(world: World) -> None:
        owner = a_workload(world, STATEFUL_SETS, 5)
        for name in ("a", "b", "c"):
            a_pod(world, name, owner)
        a_budget(world, **spec)
        world.make_ready("a", "b")
        await asyncio.sleep(0.5)

        assert counts(world) == expected
        allowed = expected[0] > 0
        assert condition(world) == (("True", "SufficientPods", "") if allowed else ("False", "InsufficientPods", ""))
        assert status(world)["observedGeneration"] == 1

    play(scenario)


@pytest.mark.parametrize("kind", [STATEFUL_SETS, REPLICA_SETS])
def test_each_owner_counts_once(kind: Resource) -> None:
    async def scenario(world: World) -> None:
        for number, size in enumerate((4, 2)):
            owner = a_workload(world, kind, size, f"w{number}")
            a_pod(world, f"a{number}", owner, kind)
            a_pod(world, f"b{number}", owner, kind)
        a_budget(world, maxUnavailable=1)
        await asyncio.sleep(0.5)

        assert counts(world) == (0, 0, 5, 6)

    play(scenario)


def test_a_deployment_speaks_for_its_sets() -> None:
    async def scenario(world: World) -> None:
        owner = a_workload(world, DEPLOYMENTS, 3)["metadata"]
        named = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w", "uid": owner["uid"], "controller": True}
        for number in range(2):
            set_ = a_workload(world, REPLICA_SETS, 2, f"w-{number}")
            world.patch(REPLICA_SETS, f"w-{number}", {"metadata": {"ownerReferences": [named]}})
            a_pod(world, f"p-{number}", set_, REPLICA_SETS)
        a_budget(world, maxUnavailable=0)
        await asyncio.sleep(0.5)

        assert counts(world) == (0, 0, 3, 3)

    play(scenario)


def test_anything_with_a_scale_can_be_an_owner() -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    paths = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    version: Tree = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    version["subresources"] = {"scale": paths}
    names = {"plural": "teams", "singular": "team", "kind": "Team", "listKind": "TeamList"}
    spec = {"group": "test.example", "scope": "Namespaced", "names": names, "versions": [version]}

    async def scenario(world: World) -> None:
        world.create(DEFINITIONS, {"metadata": {"name": "teams.test.example"}, "spec": spec})
        await asyncio.sleep(0.5)
        team = world.create(
            TEAMS, {"apiVersion": "test.example/v1", "kind": "Team", "metadata": {"name": "t"}, "spec": {"size": 7}}
        )
        a_pod(world, "a", team, TEAMS)
        a_budget(world, maxUnavailable=3)
        await asyncio.sleep(0.5)

        assert counts(world) == (0, 0, 4, 7)

    play(scenario)


@pytest.mark.parametrize(
    ("kind", "name", "why"),
    [
        (DAEMON_SETS, "w", "daemonsets.apps does not implement the scale subresource"),
        (Resource("", "v1", "", "Gadget"), "w", 'no matches for kind "Gadget" in version "v1"'),
        (STATEFUL_SETS, "other", 'found no controllers for pod "a"'),
    ],
)
def test_a_budget_that_cannot_be_counted_allows_nothing(kind: Resource, name: str, why: str) -> None:
    """Recorded from kube-controller-manager 1.36.4."""

    async def scenario(world: World) -> None:
        a_workload(world, DAEMON_SETS if kind == DAEMON_SETS else STATEFUL_SETS, 1)
        a_pod(world, "a", {"metadata": {"name": name, "uid": "u"}}, kind)
        a_budget(world, maxUnavailable=1)
        await asyncio.sleep(0.5)

        assert condition(world) == ("False", "SyncFailed", why)
        assert counts(world)[0] == 0
        told = f"CalculateExpectedPodCountFailed: Failed to calculate the number of expected pods: {why}"
        assert told in world.events()

    play(scenario)


def test_pods_that_nobody_controls_are_told_of() -> None:
    async def scenario(world: World) -> None:
        a_pod(world, "a")
        a_budget(world, maxUnavailable=1)
        await asyncio.sleep(0.5)

        assert counts(world) == (0, 0, 0, 0)
        text = next(each for each in world.events() if each.startswith("UnmanagedPods"))
        assert text == (
            "UnmanagedPods: Pods selected by this PodDisruptionBudget (selector: &LabelSelector{MatchLabels:"
            "map[string]string{app: x,},MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged. "
            "As a result, the status of the PDB cannot be calculated correctly, which may result in undefined "
            'behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.'
        )

    play(scenario)


def test_a_disruption_that_does_not_happen_is_forgotten_after_two_minutes() -> None:
    async def scenario(world: World) -> None:
        for name in ("a", "b"):
            a_pod(world, name)
        world.make_ready("a", "b")
        a_budget(world, minAvailable=1)
        await asyncio.sleep(0.5)
        gone = {"metadata": {"name": "a"}, "deleteOptions": {"preconditions": {"uid": "another"}}}
        with pytest.raises(Exception, match="does not match the UID"):
            world.verbs.evict("default", "a", gone, user="drain")
        await asyncio.sleep(100)

        assert list(status(world)["disruptedPods"]) == ["a"]
        assert counts(world) == (0, 1, 1, 2)

        await asyncio.sleep(30)

        assert "disruptedPods" not in status(world)
        assert counts(world) == (1, 2, 1, 2)
        assert "NotDeleted: Pod was expected by PDB default/default to be deleted but it wasn't" in world.events()

    play(scenario)


def test_a_disrupted_pod_is_not_counted_until_it_is_gone() -> None:
    async def scenario(world: World) -> None:
        for name in ("a", "b", "c"):
            a_pod(world, name)
        world.make_ready("a", "b", "c")
        a_budget(world, minAvailable=1)
        await asyncio.sleep(0.5)

        world.verbs.evict("default", "a", {"metadata": {"name": "a"}}, user="drain")
        taken = status(world)

        assert (taken["disruptionsAllowed"], taken["currentHealthy"], list(taken["disruptedPods"])) == (1, 3, ["a"])

        await asyncio.sleep(0.5)

        assert counts(world) == (1, 2, 1, 2)
        assert "disruptedPods" not in status(world)

    play(scenario)


@pytest.mark.parametrize(("reason", "said"), [("EvictionByEvictionAPI", "False"), ("TerminationByKubelet", "True")])
def test_a_pod_that_stays_does_not_say_for_ever_that_it_goes(reason: str, said: str) -> None:
    """Whether or not there is any budget."""

    async def scenario(world: World) -> None:
        a_pod(world, "a")
        told = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": reason,
            "lastTransitionTime": "2030-01-01T00:00:00Z",
        }
        world.patch(PODS, "a", {"status": {"phase": "Running", "conditions": [told]}}, "status")
        await asyncio.sleep(100)
        before = _target(world)
        await asyncio.sleep(30)

        assert (before, _target(world)) == ("True", said)

    play(scenario)


def _target(world: World) -> str:
    (found,) = world.pods()["a"]["status"]["conditions"]
    state: str = found["status"]
    return state


def test_a_pod_of_two_budgets_is_told_of() -> None:
    async def scenario(world: World) -> None:
        a_budget(world, minAvailable=1)
        world.create(DISRUPTION_BUDGETS, {"metadata": {"name": "second"}, "spec": {"selector": {}, "minAvailable": 1}})
        await asyncio.sleep(0.5)
        a_pod(world, "a")
        await asyncio.sleep(0.5)

        text = 'Pod "default"/"a" matches multiple PodDisruptionBudgets.  Chose "pb" arbitrarily.'
        assert f"MultiplePodDisruptionBudgets: {text}" in world.events()

    play(scenario)
