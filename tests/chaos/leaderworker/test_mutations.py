"""The referee objects when a safety of groups is taken away: each story is fine with it, and broken without."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec import structs

from fairlead.contracts.leaderworker.decide import (
    budgets,
    group_restart,
    groups,
    living_group,
    planner,
    restart,
    revision_writes,
    revisions,
    set_reports,
    set_round,
    status,
)
from fairlead.contracts.leaderworker.decide.groups import GroupState
from fairlead.contracts.leaderworker.decide.revisions import Drafted, Reused
from fairlead.contracts.leaderworker.decide.seen import GroupSeen
from fairlead.contracts.leaderworker.decide.set_view import of_spec
from kubeloop import request
from kubeloop.election import Election
from kubeloop.ledger import Ledger
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request
from kubesim.draws import Draws
from kubesim.faults import Fault
from kubesim.pods.behaviour import CRASH_AFTER, HOLD
from tests.chaos.judge import Broken
from tests.chaos.leaderworker.facts import MOST_RESTARTS, PAUSED
from tests.chaos.leaderworker.steps import MEANS, PutForeign, ReplaceSet, ended
from tests.chaos.leaderworker.world import GroupedSetting, GroupedWorld, SetPlan, a_template
from tests.chaos.world import Process, Scenario, World, play

SEEDS = 20
FOUND_AT = {"surge groups stay while others are away": 7, "a rollout in a rollout counts who is away": 4}
"""Seeds to begin with, where the first ones show nothing."""

Take = Callable[[pytest.MonkeyPatch], None]
Story = Callable[[GroupedWorld], Awaitable[None]]


# What is taken away.


def surge_reclaimed_unguarded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(planner, "_reclaimable", lambda _seen, _leaders, _partition, replicas: replicas)


def partition_lowered_unguarded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(planner, "_spared", lambda _seen, _leaders, partition, _highest: partition)


def the_controller_is_not_waited_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(groups, "is_observed", lambda _: True)


def leaders_as_they_were_seen(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(set_round, "_is_first_step", lambda *_: False)


def partition_of_a_person_ignored(patch: pytest.MonkeyPatch) -> None:
    real = planner.plan
    patch.setattr(set_round, "plan", lambda seen: real(structs.replace(seen, kept_below=0)))


def pause_ignored(patch: pytest.MonkeyPatch) -> None:
    real = planner.plan
    patch.setattr(set_round, "plan", lambda seen: real(structs.replace(seen, paused=False)))


def surge_unbounded(patch: pytest.MonkeyPatch) -> None:
    real = budgets.budget

    def budget(*given: Any) -> Any:
        found = real(*given)
        return structs.replace(found, surge=found.surge + 1)

    patch.setattr(set_round, "budget", budget)


def all_that_is_ready_counts(patch: pytest.MonkeyPatch) -> None:
    """Leaders are enough, as they are for the StatefulSet controller."""
    patch.setattr(GroupState, "is_ready", property(lambda group: groups.is_running_and_ready(group.leader)))


def leaders_bound_to_no_version(patch: pytest.MonkeyPatch) -> None:
    real = request.apply

    def apply(ref: Ref, body: bytes, manager: str, *, force: bool = False, resource_version: str = "") -> Request:
        return real(structs.replace(ref, uid=""), body, manager, force=force)

    patch.setattr(request, "apply", apply)


def deletions_bound_to_no_uid(patch: pytest.MonkeyPatch) -> None:
    real = request.delete

    def delete(ref: Ref, *, resource_version: str = "", propagation: str = "") -> Request:
        return real(structs.replace(ref, uid=""), resource_version=resource_version, propagation=propagation)

    patch.setattr(request, "delete", delete)


def nothing_recorded_before(patch: pytest.MonkeyPatch) -> None:
    """What carries the key comes first, and its revision with the next round."""
    real = set_round._decided

    def decided(seen: Any, found: Any, now: Any) -> Any:
        if found.apply is not None and isinstance(found.chosen, Drafted):
            patch.setattr(set_round, "recorded", lambda *_: ())
            try:
                return real(seen, found, now)
            finally:
                patch.setattr(set_round, "recorded", revision_writes.recorded)
        return real(seen, found, now)

    patch.setattr(set_round, "_decided", decided)


def always_recorded_anew(patch: pytest.MonkeyPatch) -> None:
    def drafted(seen: Any, everything: Any, known: Any, wanted: bytes, occasion: Any) -> Drafted | Reused:
        return revisions._drafted(seen, everything, known, wanted, occasion)

    patch.setattr(revisions, "_reused_or_drafted", drafted)


def truncated_before_it_is_done(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(status, "is_done", lambda *_: True)


def truncated_whoever_carries_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(set_reports, "carried_keys", lambda *_: frozenset())


def truncated_by_the_view_of_pods(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(set_reports, "have_moved", lambda *_: True)


def revisions_of_anybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(revisions, "is_owned", lambda *_: True)


def leaders_of_anybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        set_round,
        "_taken",
        lambda seen, now: set_round._selected(seen, set_round._leaders_key(seen, seen.leaders), now),
    )


def workers_by_name(patch: pytest.MonkeyPatch) -> None:
    """Whoever owns them, and whichever group they were made for."""

    def is_worker_of(_seen: Any, leader: Any, pod: Any) -> bool:
        return bool(pod.metadata.name.startswith(f"{leader.metadata.name}-"))

    patch.setattr(restart, "_is_worker_of", is_worker_of)


def pods_of_anybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(living_group, "_is_of_the_set", lambda *_: True)


def groups_of_the_live_spec(patch: pytest.MonkeyPatch) -> None:
    """A group that is rebuilt is made of what the set says now."""
    real = living_group.living_group

    def group(seen: GroupSeen) -> Any:
        found = real(seen)
        return found if found is None else structs.replace(found, view=of_spec(found.set))

    patch.setattr("fairlead.contracts.leaderworker.decide.group_round.living_group", group)


def own_writes_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ledger, "pending", lambda *_: ())


def recreations_uncounted(patch: pytest.MonkeyPatch) -> None:
    """They are written after the deletion, which is too late for who dies in between."""
    patch.setattr(group_restart, "_counted", lambda *_: ())


def the_lease_is_not_minded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Election, "gate", lambda _: None)


def every_apply_is_sent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(set_round, "is_unchanged", lambda *_: False)


def conditions_exclude_nothing(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(status, "_EXCLUDED", dict.fromkeys(status._EXCLUDED, frozenset()))


# What happens.


def _process(world: GroupedWorld) -> Process:
    process = world.replicas[0].process
    assert process is not None
    return process


async def _give(world: GroupedWorld, image: int, *, held: bool = False, **more: Any) -> None:
    """Another image; leaders are ready at once, and workers that are held become ready by `_release`."""
    templates = {"workerTemplate": a_template(image, **{HOLD: "true" if held else None}), **more}
    await world.edit("a", {"spec": {"leaderWorkerTemplate": templates}})


async def a_rollout(world: GroupedWorld) -> None:
    await _give(world, 2)
    await world.finish(300)


async def surge_groups_ready_first(world: GroupedWorld) -> None:
    """Workers become ready in another order than their groups were moved."""
    await _give(world, 2, held=True, leaderTemplate=a_template(2))
    await _released(world, 12)
    await ended(world)


async def a_second_rollout_in_the_middle(world: GroupedWorld) -> None:
    await _give(world, 2, held=True, leaderTemplate=a_template(2))
    await _released(world, 3)
    await _give(world, 3, held=True, leaderTemplate=a_template(3))
    await _released(world, 12)
    await ended(world)


async def an_edit_as_the_partition_falls(world: GroupedWorld) -> None:
    """Group 1 was just let go, and the StatefulSet controller has not taken it yet."""
    await _give(world, 2)
    await world.until(lambda: "a 1/4" in world.judge.numbers, 60, every=0.001)
    await _give(world, 3)
    await world.finish(300)


async def an_edit_whose_group_goes_unseen(world: GroupedWorld) -> None:
    await _give(world, 2)
    await world.until(lambda: "a 1/4" in world.judge.numbers, 60, every=0.001)
    _process(world).wire.faulty.freeze("pods")
    await _give(world, 3)
    await asyncio.sleep(3)
    await ended(world)


async def _released(world: GroupedWorld, times: int) -> None:
    """One group after the other, in an order of the seed."""
    draws = Draws(world.setting.seed, "order")
    for _ in range(times):
        await asyncio.sleep(6)
        held = [each for each in world.pods() if each.count("-") == 2 and _is_held(world, each)]
        if held:
            world.misbehave(held[draws.below(len(held))], None)


def _is_held(world: GroupedWorld, pod: str) -> bool:
    return HOLD in world.judge.record.objects["pods"][pod]["metadata"]["annotations"]


async def a_rollout_down_to_a_partition(world: GroupedWorld) -> None:
    await world.edit("a", {"spec": {"rolloutStrategy": {"rollingUpdateConfiguration": {"partition": 2}}}})
    await _give(world, 2)
    await asyncio.sleep(60)
    await ended(world)


async def a_pause(world: GroupedWorld) -> None:
    await _give(world, 2)
    await asyncio.sleep(3)
    await world.edit("a", {"metadata": {"annotations": {PAUSED: "true"}}})
    await asyncio.sleep(30)
    await ended(world)


async def a_partition_lowered_by_hand_meanwhile(world: GroupedWorld) -> None:
    """While the next step of the operator travels, somebody lowers the partition further."""
    await _give(world, 2)
    await world.until(lambda: "a 3/4" in world.judge.numbers, 60, every=0.01)
    await asyncio.sleep(0.5)
    _process(world).wire.plan.fail(MEANS["leaders"], 1, Fault("delay", 3.0))
    await world.until(lambda: _asked(world, "apply statefulsets/a "), 60, every=0.01)
    world.change("a", {"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}})
    await asyncio.sleep(30)
    await ended(world)


def _asked(world: GroupedWorld, what: str) -> bool:
    """Whether it is the last that an operator asked for."""
    asked = [line for line in world.judge._tail if " asks " in line]
    return bool(asked) and what in asked[-1]


async def a_leader_replaced_while_its_deletion_travels(world: GroupedWorld) -> None:
    _process(world).wire.plan.fail(MEANS["delete"], 1, Fault("delay", 3.0))
    world.misbehave("a-0-1", CRASH_AFTER)
    assert await world.until(lambda: _asked(world, "delete pods/a-0 "), 30, every=0.01)
    world.kill_pod("a-0", grace=0)
    await asyncio.sleep(30)
    await ended(world)


async def there_and_back(world: GroupedWorld) -> None:
    await _give(world, 2)
    await asyncio.sleep(3)
    await _give(world, 1)
    await world.finish(300)


async def there_and_back_unseen(world: GroupedWorld) -> None:
    """Pods are shown as they were before a group moved, and it is still on its way back."""
    await _give(world, 2)
    await world.finish(300)
    _process(world).wire.faulty.freeze("pods")
    await _give(world, 3)
    await asyncio.sleep(3)
    await _give(world, 2)
    await asyncio.sleep(5)
    await ended(world)


async def an_orphan_and_a_rollout(world: GroupedWorld) -> None:
    """Workers of a leader that is gone for good carry the old key."""
    world.remove(PODS, "a-3", "Orphan")
    await asyncio.sleep(1)
    await world.scale_set("a", 3)
    await asyncio.sleep(5)
    await _give(world, 2)
    await asyncio.sleep(60)
    await ended(world)


async def a_revision_of_nobody(world: GroupedWorld) -> None:
    await PutForeign("revision").play(world)
    await _give(world, 2)
    await asyncio.sleep(60)
    await ended(world)


async def a_set_replaced_beside_its_leaders(world: GroupedWorld) -> None:
    await ReplaceSet("Orphan", 1.0).play(world)
    await asyncio.sleep(10)
    world.kill_pod("a-0-1")
    await asyncio.sleep(10)
    await ended(world)


async def a_leader_deleted(world: GroupedWorld) -> None:
    """In the background: its workers die after the next leader was made."""
    world.remove(PODS, "a-0", "Background")
    await asyncio.sleep(30)
    await world.finish(300)


async def an_old_leader_deleted_in_a_rollout(world: GroupedWorld) -> None:
    await _give(world, 2, held=True, size=3)
    await asyncio.sleep(10)
    world.remove(PODS, "a-0", "Foreground")
    await asyncio.sleep(10)
    await ended(world)


async def another_policy_and_a_failure(world: GroupedWorld) -> None:
    """A group that has not moved yet goes by the policy of its revision."""
    await world.edit("a", {"spec": {"leaderWorkerTemplate": {"restartPolicy": "None"}}})
    await world.finish(300)
    await _give(world, 2, held=True, restartPolicy="RecreateGroupOnPodRestart")
    await asyncio.sleep(10)
    world.kill_pod("a-0-1")
    await asyncio.sleep(10)
    await ended(world)


async def a_failure_that_is_not_seen_to_be_mended(world: GroupedWorld) -> None:
    world.misbehave("a-0-1", CRASH_AFTER)
    assert await world.until(lambda: bool(world.judge.recreations), 30, every=0.001)
    _process(world).wire.faulty.freeze("pods")
    await asyncio.sleep(10)
    await ended(world)


async def a_group_that_always_fails(world: GroupedWorld) -> None:
    """Its operator dies after every deletion."""
    await world.edit("a", {"metadata": {"annotations": {MOST_RESTARTS: "2"}}})
    await _give(world, 2, workerTemplate=a_template(2, **{CRASH_AFTER: "1s"}))
    await asyncio.sleep(60)
    recreated = world.judge.recreations
    if any(recreated.count(name) > 2 for name in recreated):
        world.judge.broken("6.8", f"groups were recreated more than twice: {recreated}")
    await ended(world)


async def the_leader_stands_still(world: GroupedWorld) -> None:
    """It stops between two writes of a round, and goes on in the moment in which another one leads."""
    await world.until(lambda: world.leader() is not None, 60)
    first = world.leader()
    assert first is not None
    assert first.process is not None
    first.process.wire.plan.fail(MEANS["revision"], 1, Fault("delay", 0.4))
    await _give(world, 2)
    await asyncio.sleep(0.1)
    first.stop()
    await world.until(lambda: world.leader() not in (None, first), 120, every=0.001)
    first.go_on()
    await world.finish(900)


async def rest(world: GroupedWorld) -> None:
    await world.rest()


FOUR = SetPlan("a", replicas=4, size=2)
ALONE = SetPlan("a", replicas=4, size=1)
SURGING = SetPlan("a", replicas=4, size=2, unavailable=2, surge=3)

CASES: dict[str, tuple[Take, Story, SetPlan, str]] = {
    "surge groups stay while others are away": (surge_reclaimed_unguarded, surge_groups_ready_first, SURGING, "S1"),
    "a rollout in a rollout counts who is away": (
        partition_lowered_unguarded,
        a_second_rollout_in_the_middle,
        SURGING,
        "S1",
    ),
    "who was told to go is waited for": (
        the_controller_is_not_waited_for,
        an_edit_as_the_partition_falls,
        FOUR,
        "S1",
    ),
    "who has gone is looked for": (leaders_as_they_were_seen, an_edit_whose_group_goes_unseen, FOUR, "S1"),
    "a group is ready with its workers": (all_that_is_ready_counts, a_rollout, FOUR, "S[16]"),
    "a surge is bounded": (surge_unbounded, a_rollout, FOUR, "S2"),
    "a partition is a person's": (partition_of_a_person_ignored, a_rollout_down_to_a_partition, FOUR, "S3"),
    "leaders are bound to a version": (leaders_bound_to_no_version, a_partition_lowered_by_hand_meanwhile, FOUR, "S3"),
    "groups are made of their own revision": (
        groups_of_the_live_spec,
        an_old_leader_deleted_in_a_rollout,
        FOUR,
        "S4",
    ),
    "revisions are kept while somebody carries them": (
        truncated_whoever_carries_it,
        an_orphan_and_a_rollout,
        FOUR,
        "S5",
    ),
    "revisions are kept for groups that are not seen": (
        truncated_by_the_view_of_pods,
        there_and_back_unseen,
        ALONE,
        "S[56]",
    ),
    "revisions are kept until all is done": (truncated_before_it_is_done, a_rollout, FOUR, "S[56]"),
    "revisions are reused": (always_recorded_anew, there_and_back, FOUR, "S7"),
    "a revision comes before its key": (nothing_recorded_before, a_rollout, FOUR, "S8"),
    "what is there already is not sent": (every_apply_is_sent, rest, FOUR, "S9"),
    "revisions of others are left alone": (revisions_of_anybody, a_revision_of_nobody, FOUR, "S10"),
    "leaders of others are left alone": (leaders_of_anybody, a_set_replaced_beside_its_leaders, FOUR, "S10"),
    "pods of others are left alone": (pods_of_anybody, a_set_replaced_beside_its_leaders, FOUR, "S10"),
    "a deletion is bound to one leader": (
        deletions_bound_to_no_uid,
        a_leader_replaced_while_its_deletion_travels,
        FOUR,
        "S11",
    ),
    "workers of an earlier leader mean nothing": (workers_by_name, a_leader_deleted, FOUR, "S11"),
    "the policy is that of the group": (groups_of_the_live_spec, another_policy_and_a_failure, FOUR, "S11"),
    "own deletions are remembered": (own_writes_forgotten, a_failure_that_is_not_seen_to_be_mended, FOUR, "S11"),
    "conditions exclude one another": (conditions_exclude_nothing, a_rollout, FOUR, "S13"),
    "recreations are counted": (recreations_uncounted, a_group_that_always_fails, FOUR, "6.8"),
    "a pause holds": (pause_ignored, a_pause, FOUR, "pause"),
    "who lost the lease writes nothing": (the_lease_is_not_minded, the_leader_stands_still, FOUR, "lease"),
}


@pytest.mark.parametrize("case", CASES)
def test_without_the_safety_an_invariant_breaks(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one of a few orders of what is simultaneous."""
    take, story, plan, invariant = CASES[case]
    operators = 2 if story is the_leader_stands_still else 1
    seed = FOUND_AT.get(case, 0)
    lag = 0.0 if story is an_edit_as_the_partition_falls else 0.1
    setting = GroupedSetting((), sets=(plan,), seed=seed, latency=lag / 5, lag=lag, leased=True, operators=operators)
    play(setting, started(story), of=GroupedWorld)

    with pytest.raises(Broken, match=f"^{invariant} broken"):
        play_in_many_orders(setting, started(story, lambda: take(monkeypatch)))


def play_in_many_orders(setting: GroupedSetting, scenario: Scenario) -> None:
    for seed in range(setting.seed, setting.seed + SEEDS):
        play(structs.replace(setting, seed=seed), scenario, of=GroupedWorld)


def started(story: Story, before: Callable[[], None] = lambda: None) -> Scenario:
    """The story of a set that is available."""

    async def scenario(world: World) -> None:
        assert isinstance(world, GroupedWorld)
        await world.begin_with_sets()
        before()
        await story(world)

    return scenario
