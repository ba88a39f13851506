"""An edit through v1alpha1 is deployed, whenever it comes while objects of that version are taken over."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from fairlead.contracts.environments.decide import convert, identity
from fairlead.engine.decide import guard
from kubeloop import request
from kubeloop.objects.meta import Ref
from kubeloop.request import APPLY, MERGE_PATCH, Request, place_of
from kubesim.faults import Fault
from kubesim.store.versions import Tree
from tests.chaos.environments.facts import IMAGES
from tests.chaos.environments.test_migration import found, stored_in_the_old_version
from tests.chaos.environments.world import OLD, EnvironmentSetting, EnvironmentWorld
from tests.chaos.judge import Broken
from tests.chaos.world import NAMESPACE, Process, World, play

IMAGE = f"materialize/environmentd:{IMAGES[1]}"
MOST_EFFECTS = 60
"""More than there are until an environment is taken over and rolled out."""
TAKEN_OVER = 30.0
"""Seconds after which an environment is, whatever is in the way of the migration."""
UNCOUNTED: Tree = {"observedGeneration": None}
"""In a condition: only what is stored tells an edited spec from the completed one then."""


class Edit:
    """The image of the idle environment is changed, under the request of before, at an effect of the operator."""

    def __init__(self, number: int, *, before: bool = True) -> None:
        """With number 0, before the operator starts."""
        self.number = number
        self.before = before
        self.at = "the start"
        self.stored = ""
        """The version that the environment was stored in until then; empty while there was no edit."""

    def watch(self, world: EnvironmentWorld, process: Process) -> None:
        left = self.number

        async def strike(what: str, _number: int) -> None:
            nonlocal left
            counts = "materializes" in what or "customresourcedefinitions" in what
            left -= counts
            if counts and left == 0:
                self.at = what
                await self.make(world)

        if self.before:
            process.wire.at_effect = strike
        else:
            process.wire.after_effect = strike

    async def make(self, world: EnvironmentWorld) -> None:
        self.stored = found(world, "idle").api_version
        body = msgspec.json.encode({"spec": {"environmentdImageRef": IMAGE}})
        sent = request.patch(Ref(OLD, NAMESPACE, "idle"), MERGE_PATCH, body)
        while (answer := await world.send(sent)) is None or answer.status != 200:  # noqa: ASYNC110  it may not be served
            await asyncio.sleep(0.01)

    async def is_deployed(self, world: EnvironmentWorld) -> None:
        """Fails where the environment is called complete without it."""
        if not await world.until(lambda: found(world, "idle").is_settled, 900.0):
            world.judge.broken("L", f"the edit at {self.at} does not end: {found(world, 'idle')}")
        fact = found(world, "idle")
        if fact.running_image != fact.image:
            world.judge.broken("L1", f"{fact.image} is wanted since {self.at}, and {fact.running_image} runs")
        world.check()


def edited_at(edit: Edit) -> None:
    async def scenario(world: World) -> None:
        assert isinstance(world, EnvironmentWorld)
        await stored_in_the_old_version(world, ("idle",))
        if not edit.number:
            await edit.make(world)

        def first_only(process: Process) -> None:
            if len(world.processes) == 1:
                edit.watch(world, process)

        world.each_process = first_only
        world.start()
        await asyncio.sleep(TAKEN_OVER)
        await edit.is_deployed(world)

    play(EnvironmentSetting((), leased=True, latency=0.02), scenario, of=EnvironmentWorld)


def edited_everywhere(before: bool) -> list[Edit]:
    """One edit in each world, at one effect after the other, as long as there are effects."""
    edits: list[Edit] = []
    for number in range(MOST_EFFECTS):
        edit = Edit(number, before=before)
        edited_at(edit)
        if not edit.stored:
            return edits
        edits.append(edit)
    raise AssertionError("the effects have no end")


@pytest.mark.parametrize("before", [True, False], ids=["before it is sent", "after it is carried out"])
def test_an_edit_at_any_effect_is_deployed(before: bool) -> None:
    edits = edited_everywhere(before)

    assert {each.stored for each in edits} == {"materialize.cloud/v1alpha1", "materialize.cloud/v1alpha2"}
    assert any("customresourcedefinitions" in each.at for each in edits)


def test_without_the_look_at_generations_an_edit_is_called_applied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(convert, "_is_observed", lambda *_: True)

    with pytest.raises(Broken, match=r"^L1 broken"):
        edited_everywhere(before=False)


def is_migration(sent: Request) -> bool:
    place = place_of(sent.path)
    return (sent.content_type, place.plural, place.subresource) == (APPLY, "materializes", "")


def edited_after_the_first_round() -> str:
    """While no migration succeeds; the version that the environment was stored in."""
    edit = Edit(0)

    async def scenario(world: World) -> None:
        assert isinstance(world, EnvironmentWorld)
        await stored_in_the_old_version(world, ("idle",), UNCOUNTED)

        def refuses_migrations(process: Process) -> None:
            for nth in range(1, 200):
                process.wire.plan.fail(is_migration, nth, Fault("status", status=403))

        world.each_process = refuses_migrations
        world.start()
        await asyncio.sleep(TAKEN_OVER)
        await edit.make(world)
        await edit.is_deployed(world)

    play(EnvironmentSetting((), leased=True, latency=0.02), scenario, of=EnvironmentWorld)
    return edit.stored


def test_the_first_round_stores_what_was_completed() -> None:
    """So that an edit is told from it even where nobody counted generations, and no migration succeeds."""
    assert edited_after_the_first_round() == "materialize.cloud/v1alpha2"


def test_without_a_first_round_that_stores_it_rounds_rest_on_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(identity, "RULES", tuple(rule for rule in identity.RULES if rule.name != "store_hashes"))
    # The note of a version is a write as well, and stores what is worked out.
    monkeypatch.setattr(guard, "_stamp", lambda *_: None)

    with pytest.raises(Broken, match=r"^S9 broken"):
        edited_after_the_first_round()
