"""Acceptance scenarios 16 to 18, 27 and 28: rollouts that are turned round, and those deleted in the middle."""

from __future__ import annotations

import pytest

from fairlead.contracts.plans.kinds import ABANDONED, ACTION, FAILED, ROLLING, ROLLOUT_TRAITS, TRAIT_FINALIZER
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import PODS
from tests.e2e.clusters import Site, long
from tests.e2e.plan_play import Play, a_pair, batches, begin, reference
from tests.e2e.plans import with_traits
from tests.e2e.rollouts import is_ready
from tests.e2e.zones import change


def uids(play: Play) -> dict[str, str]:
    return {name: tree["metadata"]["uid"] for name, tree in play.site.history.objects(DEPLOYMENTS).items()}


def is_free(play: Play) -> bool:
    return all("RolloutTrait" not in play.owners(name) for name in ("d1", "d2"))


def ready_pods(play: Play) -> list[int]:
    """How many pods were ready, after each change of one; from when `d2` had its first."""
    found: list[int] = []
    for event, world in play.site.history.replay():
        if event.resource == PODS and (found or event.name.startswith("d2")):
            found.append(sum(map(is_ready, world[PODS].values())))
    return found


@with_traits()
async def test_scenario_16_swap_in_mid_rollout(site: Site) -> None:
    """Target and source change places after a batch: the attempt is released, and another goes back."""
    play = await begin(site)
    target, source = await a_pair(site)
    await play.roll(batches(2, 3, lastBatchToRollout=0), target, source)
    await play.until(lambda: play.at()[:2] == (ROLLING, "batchReady"))

    await play.change({"targetRef": source, "sourceRef": [target], "rolloutPlan": {"lastBatchToRollout": None}})
    await play.ends()

    assert ABANDONED in play.states()
    assert (play.size("d1"), play.size("d2")) == (5, 0)
    assert play.sizes_of("d2") == [0, 2, 0]
    assert is_free(play)
    assert play.status()["rolloutTargetSize"] == 5


@with_traits(long=True)
async def test_scenario_28_turned_round_between_the_halves(site: Site) -> None:
    """When the target has grown and the source has not shrunk, nothing is lost by turning round."""
    play = await begin(site, ready_after=0.5)
    target, source = await a_pair(site)
    await play.roll(batches(2, 3), target, source)
    await play.until(lambda: (play.size("d1"), play.size("d2")) == (5, 2))

    await play.change({"targetRef": source, "sourceRef": [target]})
    await play.ends()

    assert (play.size("d1"), play.size("d2")) == (5, 0)
    assert play.status()["rolloutTargetSize"] == 5
    assert play.sizes_of("d1") == [5]
    assert min(ready_pods(play)) >= 5


@with_traits()
async def test_scenario_17_delete_without_revert(site: Site) -> None:
    """Sizes stay mixed, and nobody owns the workloads any more."""
    play = await begin(site)
    before = await _in_batch_1(play)

    await play.delete(propagation="Foreground")
    await play.until(lambda: not play.trait())
    await play.site.history.caught_up()

    assert uids(play) == before
    assert (play.size("d1"), play.size("d2")) == (2, 3)
    for name in ("d1", "d2"):
        assert play.owners(name) == []
    assert await play.tells("Rollout Deleted")


async def _in_batch_1(play: Play, **plan: object) -> dict[str, str]:
    target, source = await a_pair(play.site)
    await play.roll(batches(1, 2, 2, lastBatchToRollout=1, **plan), target, source)
    await play.until(lambda: play.at() == (ROLLING, "batchReady", 1))
    return uids(play)


@pytest.mark.parametrize("is_failed", [False, long(True)], ids=["rolling", "failed"])
@with_traits()
async def test_scenario_18_delete_with_revert(site: Site, is_failed: bool) -> None:
    """The old pods are there and ready before the new ones go, also of a rollout that has failed."""
    play = await begin(site)
    await _in_batch_1(play, revertOnDelete=True)
    if is_failed:
        await act(play, "abort@2030-01-01T00:00:00Z")
        await play.ends(FAILED)

    await play.delete()
    await play.until(lambda: not play.trait())
    await play.site.history.caught_up()

    assert (play.size("d1"), play.size("d2")) == (5, 0)
    assert play.sizes_of("d1") == [5, 4, 2, 5]
    assert play.sizes_of("d2") == [0, 1, 3, 0]
    assert min(ready_pods(play)) >= 5
    assert is_free(play)
    assert await play.tells("Rollout Reverted")


async def act(play: Play, action: str) -> None:
    await change(play.site, ROLLOUT_TRAITS, "r", {"metadata": {"annotations": {ACTION: action}}})


@with_traits()
async def test_scenario_27_stripped_by_hand(site: Site) -> None:
    """Somebody takes the finalizer off and deletes the rollout: workloads stay, and a new rollout finishes."""
    play = await begin(site)
    before = await _in_batch_1(play)
    await play.kill()
    await change(play.site, ROLLOUT_TRAITS, "r", {"metadata": {"finalizers": None}})
    await play.delete(propagation="Background")
    await play.until(lambda: not play.trait())
    await play.until(lambda: is_free(play))
    assert uids(play) == before
    assert (play.size("d1"), play.size("d2")) == (2, 3)

    play.start()
    await play.roll(batches(3, 2), reference("d2"), reference("d1"), name="again")
    await play.ends(name="again")

    assert uids(play) == before
    assert (play.size("d1"), play.size("d2")) == (0, 5)
    assert TRAIT_FINALIZER in play.trait("again")["metadata"]["finalizers"]
