"""L5: whatever is stored in the old version is written in the new one, whoever dies, and the old one is forgotten."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from fairlead.contracts.environments.install.definitions import materializes
from fairlead.contracts.environments.kinds import FINALIZER
from fairlead.engine.decide.storage_migration.names import migration_name
from kubeloop import request
from kubeloop.objects.meta import Ref
from kubesim.store.versions import Tree
from tests.chaos.environments.facts import IMAGES, Fact
from tests.chaos.environments.world import DEFINITION, DEFINITIONS, OLD, EnvironmentSetting, EnvironmentWorld
from tests.chaos.steps import killed_at
from tests.chaos.world import NAMESPACE, Process, World, play

ONE, OTHER = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
LEGACY = {
    "idle": (ONE, ONE, "Applied"),
    "rolling": (OTHER, ONE, "Applying"),
    "promoting": (OTHER, ONE, "Promoting"),
}
"""Environments of an operator that knew v1alpha1 alone: what is requested, what was completed, and the reason."""
JOURNAL = f"configmaps/{migration_name(DEFINITION)}"
IDS = {name: f"12345678-1234-1234-1234-00000000000{number}" for number, name in enumerate(LEGACY)}


def only_old() -> Tree:
    tree: Tree = materializes()
    version = next(each for each in tree["spec"]["versions"] if each["name"] == OLD.version)
    return {**tree, "spec": {**tree["spec"], "versions": [{**version, "storage": True}]}}


async def stored_in_the_old_version(
    world: EnvironmentWorld, names: tuple[str, ...] = tuple(LEGACY), condition: Tree | None = None
) -> None:
    """Environments of LEGACY, with these fields in their condition instead of the usual ones."""
    world.make_secret()
    await accepted(world, request.create(DEFINITIONS, "", msgspec.json.encode(only_old())))
    assert await world.until(world.is_defined, 30.0)
    await asyncio.sleep(1)
    for name in names:
        requested, completed, reason = LEGACY[name]
        tree: Tree = {
            "apiVersion": OLD.api_version,
            "kind": OLD.kind,
            "metadata": {"name": name, "finalizers": [FINALIZER]},
            "spec": {
                "environmentdImageRef": f"materialize/environmentd:{IMAGES[0]}",
                "backendSecretName": "backend",
                "environmentId": IDS[name],
                "requestRollout": requested,
            },
        }
        await accepted(world, request.create(OLD, NAMESPACE, msgspec.json.encode(tree)))
        tree["status"] = {
            "resourceId": f"legacy{len(name):04}",
            "activeGeneration": 1,
            "lastCompletedRolloutRequest": completed,
            "lastCompletedRolloutEnvironmentdImageRef": f"materialize/environmentd:{IMAGES[0]}",
            "resourcesHash": "",
            "conditions": [
                {
                    "type": "UpToDate",
                    "status": "True" if reason == "Applied" else "Unknown",
                    "reason": reason,
                    "message": reason,
                    "lastTransitionTime": "2029-12-31T23:59:00Z",
                    "observedGeneration": 1,
                    **(condition or {}),
                }
            ],
        }
        body = msgspec.json.encode({"status": tree["status"]})
        patch = request.patch(Ref(OLD, NAMESPACE, name), "application/merge-patch+json", body, "status")
        await accepted(world, patch)


async def accepted(world: EnvironmentWorld, sent: request.Request) -> None:
    answer = await world.send(sent)
    assert answer is not None
    assert answer.status in (200, 201), answer.body


def found(world: EnvironmentWorld, name: str) -> Fact:
    fact = world.find(name)
    assert fact is not None
    return fact


def is_migrated(world: EnvironmentWorld) -> bool:
    stored = {found(world, name).api_version for name in LEGACY}
    versions = world.cluster.get(DEFINITIONS, "", DEFINITION)["status"]["storedVersions"]
    return stored == {"materialize.cloud/v1alpha2"} and versions == ["v1alpha2"]


def matters(what: str) -> bool:
    """The definitions, objects that are written as they are, and the journal."""
    return "customresourcedefinitions" in what or what.startswith("apply materializes/") or JOURNAL in what


def migrate_with(number: int, before: bool, struck: list[str], *, webhook_after: float = 0.0) -> EnvironmentWorld:
    """All that is stored in the old version, with a crash of the first operator at its effect of that number."""

    async def scenario(world: World) -> None:
        assert isinstance(world, EnvironmentWorld)
        await stored_in_the_old_version(world)

        def first_only(process: Process) -> None:
            if len(world.processes) == 1 and number:
                replica = world.replicas[0]
                killed_at(replica, process, number, before=before, matters=matters, struck=struck.append)

        world.each_process = first_only
        world.is_webhook_up = not webhook_after
        world.start()
        await asyncio.sleep(webhook_after)
        world.is_webhook_up = True
        assert await world.until(lambda: is_migrated(world), 900.0), world.judge.facts
        active = {"idle": 1, "rolling": 2, "promoting": 3}
        settled = lambda: all(found(world, name).is_settled for name in LEGACY)  # noqa: E731
        assert await world.until(settled, 900.0), world.judge.facts
        assert {name: found(world, name).active for name in LEGACY} == active

    world = play(EnvironmentSetting((), leased=True, latency=0.02), scenario, of=EnvironmentWorld)
    assert isinstance(world, EnvironmentWorld)
    return world


def test_everything_is_migrated_and_nothing_that_rests_is_rolled_out() -> None:
    """An idle environment stays as it is; a rollout goes on with its number; a promotion ends, and one more follows."""
    world = migrate_with(0, True, [])

    assert world.judge.promotions == 3


def test_a_webhook_that_comes_late_delays_the_migration_and_no_more() -> None:
    world = migrate_with(0, True, [], webhook_after=600.0)

    assert world.judge.promotions == 3


@pytest.mark.parametrize("before", [True, False], ids=["before it is sent", "after it is carried out"])
def test_a_crash_at_any_step_of_the_migration_is_made_up_for(before: bool) -> None:
    struck: list[str] = []
    number = 0

    while len(struck) == number:
        number += 1
        migrate_with(number, before, struck)

    assert sum("apply materializes/" in each for each in struck) >= len(LEGACY), struck
    assert sum(JOURNAL in each for each in struck) > 2, struck
    assert any("status of customresourcedefinitions" in each for each in struck), struck
