"""The webhook does not answer, or another tool takes the conversion away: what must go on goes on, and it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from fairlead.contracts.environments.kinds import MATERIALIZES
from kubeloop import request
from kubeloop.objects.meta import Ref, Resource
from tests.chaos.environments.world import DEFINITION, DEFINITIONS, OLD, EnvironmentSetting, EnvironmentWorld
from tests.chaos.world import NAMESPACE, World, play

Story = Callable[[EnvironmentWorld], Awaitable[None]]


def played(story: Story, *, operators: int = 1) -> EnvironmentWorld:
    async def scenario(world: World) -> None:
        assert isinstance(world, EnvironmentWorld)
        await world.begin_with_an_environment()
        await story(world)

    world = play(EnvironmentSetting((), leased=True, operators=operators), scenario, of=EnvironmentWorld)
    assert isinstance(world, EnvironmentWorld)
    return world


async def reads(world: EnvironmentWorld, resource: Resource) -> int:
    answer = await world.send(request.get(Ref(resource, NAMESPACE, "m")))
    return 0 if answer is None else answer.status


def test_without_the_webhook_the_stored_version_is_read_written_and_rolled_out() -> None:
    async def story(world: EnvironmentWorld) -> None:
        world.is_webhook_up = False

        assert await reads(world, OLD) == 500
        assert await world.edit({"podLabels": {"team": "old"}}, "v1alpha1") == 500
        assert await reads(world, MATERIALIZES) == 200
        assert await world.edit({"podLabels": {"team": "a"}}) == 200
        await world.finish(300)

        assert world.fact.active == 2
        assert world.fact.spec["podLabels"] == {"team": "a"}

    played(story)


def test_an_operator_that_starts_without_a_webhook_reconciles_what_is_migrated() -> None:
    """As when no pod is a ready endpoint yet."""

    async def story(world: EnvironmentWorld) -> None:
        world.is_webhook_up = False
        world.replicas[0].kill()
        await asyncio.sleep(5)

        await world.edit({"podLabels": {"team": "a"}})
        await world.finish(300)

        assert world.fact.active == 2
        assert len(world.processes) == 2

    played(story)


def test_an_edit_of_the_old_version_is_rolled_out_once_the_webhook_is_back() -> None:
    async def story(world: EnvironmentWorld) -> None:
        world.is_webhook_up = False
        await asyncio.sleep(600)
        refused = await world.edit({"podLabels": {"team": "a"}}, "v1alpha1")
        world.is_webhook_up = True

        accepted = await world.edit({"podLabels": {"team": "a"}}, "v1alpha1")
        await world.finish(300)

        assert (refused, accepted) == (500, 200)
        assert world.fact.active == 2

    played(story)


def test_a_conversion_that_is_taken_away_is_put_back_and_nothing_is_rolled_out() -> None:
    async def story(world: EnvironmentWorld) -> None:
        before = len(world.judge.own_writes)

        await world.overwrite_definition()
        assert await world.until(lambda: not world.left(), 5.0)
        await world.rest(300)

        assert world.judge.own_writes[before:] == [f"patch customresourcedefinitions/{DEFINITION} "]
        assert await world.edit({"podLabels": {"team": "a"}}, "v1alpha1") == 200
        await world.finish(300)
        assert world.fact.active == 2

    played(story)


def test_a_conversion_that_is_taken_away_again_and_again_is_put_back_more_and_more_slowly() -> None:
    """Two tools do not keep each other and the API server busy; once the other one stops, it is there to stay."""

    async def story(world: EnvironmentWorld) -> None:
        before = len(world.judge.own_writes)
        for _ in range(240):
            await world.overwrite_definition()
            await asyncio.sleep(5)
        repairs = len(world.judge.own_writes) - before
        assert 5 <= repairs <= 12

        assert await world.until(lambda: not world.left(), 320.0)
        await world.rest(300)
        assert world.cluster.get(DEFINITIONS, "", DEFINITION)["spec"]["conversion"]["strategy"] == "Webhook"

    played(story)


def test_a_conversion_is_put_back_after_the_leader_died() -> None:
    async def story(world: EnvironmentWorld) -> None:
        leader = world.leader()
        assert leader is not None
        leader.kill()
        await world.overwrite_definition()

        assert await world.until(lambda: not world.left(), 60.0)

    played(story, operators=2)
