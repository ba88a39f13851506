"""The judges object when a safety of scaling or evicting is taken away: each story is fine with it, broken without."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

import pytest
from msgspec import structs

from fairlead.contracts.zones import webhooks
from fairlead.contracts.zones.decide.admission import (
    downscale_effects,
    downscale_marks,
    last_downscale,
    no_downscale,
    prepare_downscale,
    zone_tracker,
)
from fairlead.contracts.zones.decide.admission.downscale_effects import DownscaleRequest
from fairlead.contracts.zones.decide.admission.neighbours import zones_in, zones_question
from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot, decoded, downscale_of, ignored
from fairlead.contracts.zones.decide.budgets import eviction
from fairlead.contracts.zones.decide.budgets.permits import Permits
from fairlead.contracts.zones.decide.groups import Group
from fairlead.contracts.zones.decide.rollout import group_pass
from fairlead.contracts.zones.decide.scaling import delay, scale_step
from fairlead.contracts.zones.decide.scaling.follow import followed
from fairlead.contracts.zones.decide.scaling.scale_target import Findings, Want, scaled
from fairlead.core.act import Delete, Does, Patch
from fairlead.core.ask import Ask, Good, Need, StartOver
from fairlead.core.decision import Admit
from fairlead.engine.driver import outside_calls
from kubeloop import request as requests
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.objects.review import Review
from kubeloop.records import MemoryRecords
from kubeloop.request import place_of
from kubesim.faults import Fault
from tests.chaos.judge import Broken
from tests.chaos.scaled import GroupPlan, Scaled, ScaledWorld
from tests.chaos.world import LEASE, Scenario, World, play
from tests.chaos.zone_plans import ZonePlan

SEEDS = 20
ZONES = tuple(ZonePlan("g", f"zone-{letter}", 3) for letter in "abc")

Take = Callable[[pytest.MonkeyPatch], None]
Story = Callable[[ScaledWorld], Awaitable[None]]


# What is taken away.


def lists_read_before_the_mark(patch: pytest.MonkeyPatch) -> None:
    real = prepare_downscale.prepare_downscale

    def lists_first(seen: ReviewSnapshot, now: datetime) -> Admit | Need | StartOver:
        """Also the pods of the others, before the record."""
        change = downscale_of(seen.review)
        zone = decoded(seen.review.old_object, StatefulSet)
        if isinstance(change, Admit) or zone is None:
            return real(seen, now)
        request = DownscaleRequest(seen, now, change, zone, "g")
        assert request.tracker is not None
        listing = zones_question(seen.review.namespace, "g")
        if todo := seen.answers.lacking((listing, request.tracker.question())):
            return Need(todo)
        zones = zones_in(seen.answers[listing])
        assert not isinstance(zones, str)
        judged = prepare_downscale._spaced(request, zones)
        if not isinstance(judged, DownscaleRequest):
            return judged
        return prepare_downscale._settled(judged, zones) or real(seen, now)

    patch.setattr(webhooks, "prepare_downscale", lists_first)


def no_mark(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(downscale_marks, "in_progress", lambda *_: "")


def no_time_written(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(downscale_effects, "_stamp", lambda _: None)


def times_of_others_unread(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(prepare_downscale, "too_soon", lambda *_: "")


def every_repetition_is_new(patch: pytest.MonkeyPatch) -> None:
    for module in (last_downscale, downscale_effects, zone_tracker):
        patch.setattr(module, "is_repetition", lambda *_: False)


def any_reply_is_good(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(outside_calls, "_of", lambda _call, _sent, reply: Good(reply.body))


def nothing_undone(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(downscale_effects, "_undone", downscale_effects._ended)


def undone_after_the_answer(patch: pytest.MonkeyPatch) -> None:
    def later(request: DownscaleRequest, denial: Admit, end: Ask) -> Admit:
        return structs.replace(denial, afterwards=((end,), request.preparation.undo))

    patch.setattr(downscale_effects, "_undone", later)


def nothing_noted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(downscale_effects, "_notes", lambda _: ())


def delay_unchecked(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delay, "elapsed", lambda *_: True)


def label_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(no_downscale, "_judged", lambda *_: ignored("not-labelled"))


def dry_runs_taken_for_real(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Review, "is_dry_run", property(lambda _: False))


def dry_evictions_taken_for_real(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(eviction, "is_dry_run", lambda review: review.is_dry_run)


def evictions_unrecorded(patch: pytest.MonkeyPatch) -> None:
    without_turns(patch)
    patch.setattr(eviction, "_recorded", lambda *_: Admit(allowed=True, word="allowed"))


def without_turns(patch: pytest.MonkeyPatch) -> None:
    """Evictions meet as they do on different replicas; that they take turns in one is no safety."""
    patch.setattr(eviction, "contested", lambda _: "")


def records_swapped_blindly(patch: pytest.MonkeyPatch) -> None:
    without_turns(patch)
    real = MemoryRecords.swap

    async def swap(self: MemoryRecords, key: str, _version: str, value: bytes, lasts: int = 0) -> str:
        return await real(self, key, (await self.get(key)).version, value, lasts)

    patch.setattr(MemoryRecords, "swap", swap)


def own_deletions_past_the_budget(patch: pytest.MonkeyPatch) -> None:
    def permits(pods: tuple[object, ...], *_: object) -> Permits:
        return Permits(pods)  # type: ignore[arg-type]

    patch.setattr(group_pass, "permits", permits)


def two_zones_in_one_pass(patch: pytest.MonkeyPatch) -> None:
    def both(group: Group, now: datetime) -> Findings:
        found = followed(group, now)
        if found.want is None:
            return found
        wants = [Want(zone, found.want.replicas, "") for zone in group.zones[1:] if zone is not found.want.zone]
        reports: tuple[Patch, ...] = tuple(scaled(want) for want in wants)
        return structs.replace(found, want=structs.replace(found.want, reports=reports))

    patch.setattr(scale_step, "followed", both)


def a_pod_deleted_in_the_same_pass(patch: pytest.MonkeyPatch) -> None:
    def and_a_pod(group: Group, now: datetime) -> Findings:
        found = followed(group, now)
        outdated = [(pod, zone) for zone in group.zones for pod in zone.outdated]
        if found.want is None or not outdated:
            return found
        ((pod, zone), *_) = outdated
        ref = Ref(PODS, pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
        deletion = Delete(ref=ref, does=Does.TERMINATE_POD, scope=zone.ref.uid)
        return structs.replace(found, want=structs.replace(found.want, reports=(deletion,)))

    patch.setattr(scale_step, "followed", and_a_pod)


# What happens.


async def two_zones_at_once(world: ScaledWorld) -> None:
    """Each with pods that take their time."""
    for pod in ("zone-a-2", "zone-b-2"):
        world.pods_called.manners[pod] = "slow"
    await asyncio.gather(world.scaled_by("patch", "zone-a", 2), world.scaled_by("patch", "zone-b", 2))


async def one_overtakes_the_other(world: ScaledWorld) -> None:
    """One request is held up when it reads whether another is in progress, and the other passes by."""
    process = world.replicas[0].process
    assert process is not None
    process.wire.plan.fail(_reads_a_record, 1, Fault("delay", 3.0))
    world.begin(world.scaled_by("patch", "zone-a", 2))
    await asyncio.sleep(0.5)
    await world.scaled_by("patch", "zone-b", 2)
    await world.idle()


def _reads_a_record(request: requests.Request) -> bool:
    place = place_of(request.path)
    return request.method == "GET" and place.plural == "leases" and place.name != LEASE


async def one_after_the_other(world: ScaledWorld) -> None:
    for zone in ("zone-a", "zone-b"):
        await world.scaled_by("scale", zone, 2)
        await world.scaled_by("scale", zone, 2)
        await asyncio.sleep(10)


async def an_autoscaler_writes(world: ScaledWorld) -> None:
    """It tries again once after a conflict, and that must do (H-4)."""
    world.pods_called.manners["zone-a-2"] = "slow"
    await world.autoscaled("zone-a", 2)
    if world.replicas_of("zone-a") != 2:
        world.judge.broken("H-4", "the autoscaler was turned away twice")


async def a_pod_fails(world: ScaledWorld, zone: str = "zone-a") -> None:
    world.pods_called.manners[f"{zone}-1"] = "failing"
    await world.scaled_by("patch", zone, 0)
    await asyncio.sleep(30)


async def somebody_tries_again_at_once(world: ScaledWorld, zone: str = "zone-a") -> None:
    """A pod that failed takes its time to hear that it stays."""
    world.pods_called.manners |= {f"{zone}-1": "slow", f"{zone}-2": "failing"}
    await world.scaled_by("patch", zone, 1)
    world.pods_called.manners.clear()
    await world.scaled_by("patch", zone, 1)
    await asyncio.sleep(30)


async def the_operator_dies_while_pods_prepare(world: ScaledWorld, zone: str = "zone-a") -> None:
    world.pods_called.manners[f"{zone}-1"] = "slow"
    world.begin(world.scaled_by("patch", zone, 0))
    await asyncio.sleep(1)
    world.replicas[0].kill()
    await asyncio.sleep(30)


async def the_reference_shrinks(world: ScaledWorld) -> None:
    await world.refer("g", 1)
    await asyncio.sleep(60)


async def a_guarded_zone_is_scaled(world: ScaledWorld, zone: str = "zone-a") -> None:
    world.change(zone, {"metadata": {"labels": {"grafana.com/no-downscale": "true"}}})
    await world.autoscaled(zone, 1)


async def somebody_tries(world: ScaledWorld, zone: str = "zone-a") -> None:
    await world.scaled_by("patch", zone, 2, dry_run=True)
    await world.evicted(f"{zone}-0", dry_run="query")


async def somebody_tries_an_eviction(world: ScaledWorld) -> None:
    await world.evicted("zone-a-0", dry_run="body")


async def nodes_are_drained(world: ScaledWorld) -> None:
    await asyncio.gather(*(world.evicted(f"zone-{letter}-0") for letter in "abc"))


async def a_node_is_drained_unseen_in_a_rollout(world: ScaledWorld) -> None:
    """The operator's watch of pods stands still, so that only live reads can tell it."""
    process = world.replicas[0].process
    assert process is not None
    process.wire.faulty.freeze("pods")
    await world.evicted("zone-b-0")
    world.deploy("zone-a", 2)
    await asyncio.sleep(0.8)


async def the_leader_shrinks(world: ScaledWorld) -> None:
    await world.scaled_by("patch", "zone-a", 2)
    await asyncio.sleep(5)


async def the_leader_shrinks_in_a_rollout(world: ScaledWorld) -> None:
    world.deploy("zone-b", 2)
    await world.scaled_by("patch", "zone-a", 2)
    await asyncio.sleep(5)


ALONE = GroupPlan("g", least="10m")
LED = GroupPlan("g", "led", prepares=False)
DELAYED = GroupPlan("g", "mirrored", delay="10m", prepares=False)
BUDGET = GroupPlan("g", budget="zone")

CASES: dict[str, tuple[Take, Story, GroupPlan, str]] = {
    "the mark is read before the lists": (lists_read_before_the_mark, one_overtakes_the_other, ALONE, "S9"),
    "a downscale leaves a mark": (no_mark, two_zones_at_once, ALONE, "S9"),
    "marks are swapped": (records_swapped_blindly, two_zones_at_once, ALONE, "S9"),
    "the time of a downscale is written": (no_time_written, one_after_the_other, ALONE, "S9"),
    "times of others are minded": (times_of_others_unread, one_after_the_other, ALONE, "S9"),
    "a repetition keeps the time": (every_repetition_is_new, an_autoscaler_writes, ALONE, "H-4"),
    "every pod must prepare": (any_reply_is_good, a_pod_fails, ALONE, "S10"),
    "a denial is undone": (nothing_undone, a_pod_fails, ALONE, "S11"),
    "undoing comes before the denial": (undone_after_the_answer, somebody_tries_again_at_once, ALONE, "B-4"),
    "who prepares is noted": (nothing_noted, the_operator_dies_while_pods_prepare, ALONE, "B-4"),
    "pods have their time": (delay_unchecked, the_reference_shrinks, DELAYED, "S12"),
    "the label guards": (label_ignored, a_guarded_zone_is_scaled, LED, "S14"),
    "a dry run leaves no trace": (dry_runs_taken_for_real, somebody_tries, BUDGET, "S13"),
    "an eviction says itself that it is a dry run": (
        dry_evictions_taken_for_real,
        somebody_tries_an_eviction,
        BUDGET,
        "S13",
    ),
    "evictions are recorded": (evictions_unrecorded, nodes_are_drained, BUDGET, "S16"),
    "records of evictions are swapped": (records_swapped_blindly, nodes_are_drained, BUDGET, "S16"),
    "a rollout minds evictions": (
        own_deletions_past_the_budget,
        a_node_is_drained_unseen_in_a_rollout,
        BUDGET,
        "S16",
    ),
    "a pass that scales deletes nothing": (
        a_pod_deleted_in_the_same_pass,
        the_leader_shrinks_in_a_rollout,
        LED,
        "S5",
    ),
    "a pass scales one zone": (two_zones_in_one_pass, the_leader_shrinks, LED, "S8"),
}


@pytest.mark.parametrize("case", CASES)
def test_without_the_safety_an_invariant_breaks(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one of a few orders of what is simultaneous."""
    take, story, group, invariant = CASES[case]
    tracked = story in (two_zones_at_once, one_overtakes_the_other)
    shared = story is one_overtakes_the_other
    setting = Scaled(ZONES, groups=(group,), latency=0.02, leased=shared, tracked=tracked)
    play(setting, started(story), of=ScaledWorld)

    take(monkeypatch)

    with pytest.raises(Broken, match=f"^{invariant} broken"):
        play_in_many_orders(setting, story)


def play_in_many_orders(setting: Scaled, story: Story) -> None:
    for seed in range(SEEDS):
        play(structs.replace(setting, seed=seed), started(story), of=ScaledWorld)


def started(story: Story) -> Scenario:
    async def scenario(world: World) -> None:
        assert isinstance(world, ScaledWorld)
        world.start()
        await asyncio.sleep(5)
        if world.setting.tracked:  # the tracker is made by the first request, and nobody may shrink soon after that
            await world.scaled_by("patch", "zone-c", 2)
            await asyncio.sleep(605)
        await story(world)

    return scenario
