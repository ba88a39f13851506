"""A contract that is one folder appears in the operator: its rounds, its metrics, its word about rollouts."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import msgspec
import pytest

from fairlead.contracts import CONTRACTS, contract
from fairlead.engine.options import PartOptions
from kubeloop import request
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from tests.engine.world import World, play
from tests.operator_parts import ZONES
from tests.toy.kinds import BOXES, definitions


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder and a line are all that a contract takes."""
    monkeypatch.setitem(CONTRACTS, "toy", "tests.toy.contract")


@pytest.mark.parametrize(
    ("room", "unwanted"), [("decide", "fairlead.engine"), ("kinds", "fairlead.engine"), ("install", "asyncio")]
)
def test_a_copy_of_it_keeps_the_rules_of_rooms(room: str, unwanted: str) -> None:
    """Lint and tests hold contracts in their place to these; whoever begins with a copy begins with what they take."""
    code = f"import sys, tests.toy.{room}; print([each for each in sys.modules if each.startswith({unwanted!r})])"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def both() -> tuple[PartOptions, ...]:
    return ZONES, PartOptions(contract("toy"), None)


async def define(world: World) -> None:
    """Returns when the kind is served."""
    await world.define(*definitions())


async def box(world: World, name: str, **spec: Any) -> None:
    of = {"apiVersion": BOXES.api_version, "kind": BOXES.kind}
    await world.create(BOXES, "test", of | {"metadata": {"name": name}, "spec": spec})


def colour(world: World, name: str) -> str:
    painted: str = world.cluster.get(BOXES, "test", name).get("status", {}).get("colour", "")
    return painted


def value(world: World, name: str, **labels: str) -> float | None:
    return world.metrics.registry.get_sample_value(name, labels)


def test_its_rounds_run_beside_those_of_others_and_leave_their_audit() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await world.zone("zone-a", "group")
        async with world.operating(parts=both()):
            await box(world, "one", colour="red")
            await world.until(lambda: colour(world, "one") == "red")
            await world.roll("zone-a")
            await world.until(lambda: world.is_rolled("test", "zone-a"))
            await world.change(BOXES, "test", "one", {"spec": {"colour": "blue"}})
            await world.until(lambda: colour(world, "one") == "blue")

        assert [(each.get("change_from"), each["change_to"]) for each in world.log.of("box painted")] == [
            (None, "red"),
            ("red", "blue"),
        ]

    play(scenario)


def test_its_metrics_are_told_with_its_name() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        async with world.operating(parts=both()):
            assert value(world, "fairlead_leader", part="toy") == 1
            await box(world, "bad")
            blocked = {"part": "toy", "namespace": "test", "rollout": "bad", "reason": "SpecInvalid"}
            await world.until(lambda: value(world, "fairlead_rollout_blocked", **blocked) == 1)

            await world.client.call(request.delete(Ref(BOXES, "test", "bad")))
            await world.until(lambda: value(world, "fairlead_rollout_blocked", **blocked) is None)

        assert value(world, "fairlead_leader", part="toy") == 0

    play(scenario)


def test_its_rollouts_are_in_the_word_of_the_operator() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await world.zone("zone-a", "group")
        async with world.operating(parts=both()) as manager:
            await box(world, "one", colour="red", paused=True)
            await asyncio.sleep(1)
            report = await manager.report("fairlead", ())

        told = {(item.part, item.rollout): item.outcome for item in report.items}
        assert told == {("zones", "group"): "done", ("toy", "one"): "held"}
        assert msgspec.json.decode(msgspec.json.encode(report), type=type(report)) == report

    play(scenario)


def test_its_lease_is_held_and_labelled_as_its_own() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        async with world.operating(parts=both(), lease="fairlead"):
            leases = [world.cluster.get(LEASES, "test", name)["metadata"] for name in ("fairlead", "toy-leader")]

        assert {each["name"]: each["labels"]["app.kubernetes.io/name"] for each in leases} == {
            "fairlead": "rollout-operator",
            "toy-leader": "toy-operator",
        }

    play(scenario)


def test_a_kind_that_is_not_there_ends_the_start_unless_the_operator_defines_it() -> None:
    async def scenario(world: World) -> None:
        with pytest.raises(Exception, match="boxes"):
            await world.operator(parts=both())

    play(scenario)
