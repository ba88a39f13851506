"""The referee objects when a safety of rollouts is taken away: each story is fine with it, and broken without."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts.environments.decide import (
    identity,
    promotion,
    readiness,
    reconcile,
    rollout,
    settling,
    standing,
    statuses,
)
from fairlead.contracts.environments.decide.applying import lacking
from fairlead.contracts.environments.decide.leader import leader_by_spec
from fairlead.contracts.environments.decide.readiness import NotReady
from fairlead.contracts.environments.decide.seen import Snapshot
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.contracts.environments.decide.statuses import promoted, promoting, record
from fairlead.contracts.environments.decide.teardown import teardown
from fairlead.contracts.environments.stand_in.rules import CATCH_UP, PROMOTE_TAKES
from fairlead.core.act import AnyWrite, Replace
from fairlead.core.ask import Need
from fairlead.core.decision import Move, Rule, Verdict
from fairlead.core.reason import Reason
from fairlead.engine.driver import perform
from kubeloop import request
from kubeloop.election import Election
from kubeloop.objects.apps import StatefulSet
from kubeloop.request import MERGE_PATCH, Request
from kubesim.faults import Fault
from kubesim.pods.behaviour import HOLD
from tests.chaos.environments.facts import IMAGES, IMMEDIATELY, MANUALLY
from tests.chaos.environments.steps import FLAGS, MEANS, OtherFlags
from tests.chaos.environments.world import EnvironmentSetting, EnvironmentWorld
from tests.chaos.judge import Broken
from tests.chaos.world import Scenario, World, play, play_once

SEEDS = 60
FOUND_AT = {"who lost the lease writes nothing": 61, "a broken N is made anew": 5}
"""Seeds to begin with, where the first ones show nothing: two of sixty orders let the former leader's write be sent."""

Take = Callable[[pytest.MonkeyPatch], None]
Story = Callable[[EnvironmentWorld], Awaitable[None]]
Answer = Verdict | Need | None


def replaced(patch: pytest.MonkeyPatch, name: str, answer: Callable[[Any, datetime], Answer]) -> None:
    """Another rule in the place of the one of that name."""
    rules = tuple(Rule(rule.name, answer) if rule.name == name else rule for rule in reconcile.RULES)
    patch.setattr(reconcile, "RULES", rules)


# What is taken away.


def told_to_lead_before_it_is_recorded(patch: pytest.MonkeyPatch) -> None:
    def committed(stand: Standing, now: datetime) -> Answer:
        found = stand.statefulset(stand.target)
        assert found is not None
        question = leader_by_spec(stand, found.metadata.uid).promote
        todo = stand.seen.answers.lacking((question,))
        return Need(todo) if todo else rollout.commit_promotion(stand, now)

    replaced(patch, "commit_promotion", committed)


def nobody_asked_who_leads(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(promotion, "leads", lambda *_: None)


def the_service_moved_first(patch: pytest.MonkeyPatch) -> None:
    real = promotion.leads

    def leads(stand: Standing, leader: Any, now: datetime) -> Any:
        return promotion.service_moved(stand, now) or real(stand, leader, now)

    patch.setattr(promotion, "leads", leads)


def a_taken_down_first(patch: pytest.MonkeyPatch) -> None:
    def promote(stand: Standing, now: datetime) -> Answer:
        gone = teardown(stand, stand.active, now) if stand.is_promoting else None
        return gone or promotion.promote(stand, now)

    replaced(patch, "promote", promote)


def the_request_follows_the_spec(patch: pytest.MonkeyPatch) -> None:
    def promote(stand: Standing, now: datetime) -> Answer:
        if stand.is_promoting and stand.requested != stand.hash:
            write = record(stand, promoting(stand), now, requested_rollout_hash=stand.hash)
            assert write is not None
            return Move(Reason.PROMOTING, (write,))
        return promotion.promote(stand, now)

    replaced(patch, "promote", promote)


def what_is_wanted_counts_as_completed(patch: pytest.MonkeyPatch) -> None:
    def completed(stand: Standing, image: str, now: datetime) -> Move:
        write = record(
            stand,
            promoted(stand),
            now,
            active_generation=stand.target,
            last_completed_rollout_hash=stand.hash,
            last_completed_rollout_environmentd_image_ref=image,
        )
        assert write is not None
        return Move(Reason.PROMOTING, (write,))

    patch.setattr(promotion, "completed", completed)


def the_image_of_the_spec_counts_as_running(patch: pytest.MonkeyPatch) -> None:
    real = promotion.completed

    def completed(stand: Standing, _image: str, now: datetime) -> Verdict:
        return real(stand, stand.spec.environmentd_image_ref, now)

    patch.setattr(promotion, "completed", completed)


def settled_before_promoted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(reconcile, "RULES", tuple(sorted(reconcile.RULES, key=lambda rule: rule.name != "settle")))


def a_is_applied_at_rest(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settling, "missing", lacking)


def the_hash_holds_a_flag(patch: pytest.MonkeyPatch) -> None:
    real = standing.standing_of

    def standing_of(seen: Snapshot) -> Standing:
        stand = real(seen)
        mixed = sha256(f"{stand.hash} {seen.settings.region}".encode()).hexdigest()
        return structs.replace(stand, hash=stand.hash if seen.settings.region == "kind" else mixed)

    patch.setattr(reconcile, "standing_of", standing_of)


def any_version_of_the_object_is_written(patch: pytest.MonkeyPatch) -> None:
    """The status is written over whatever is stored by now."""
    real = perform.request_for

    def request_for(write: AnyWrite) -> Request:
        if isinstance(write, Replace) and write.subresource == "status":
            body = msgspec.json.encode({"status": msgspec.json.decode(write.body)["status"]})
            return request.patch(write.ref, MERGE_PATCH, body, "status")
        return real(write)

    patch.setattr(perform, "request_for", request_for)


def twins_are_not_looked_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(identity, "RULES", tuple(rule for rule in identity.RULES if rule.name != "refuse_twin"))


def any_ready_pod_will_do(patch: pytest.MonkeyPatch) -> None:
    def pod_wait(statefulset: StatefulSet) -> NotReady | None:
        ready = statefulset.status.ready_replicas >= 1
        return None if ready else NotReady(Reason.PODS_NOT_READY, "pod", "it is not ready")

    patch.setattr(readiness, "pod_wait", pod_wait)


def any_approval_will_do(patch: pytest.MonkeyPatch) -> None:
    def is_forced(stand: Standing) -> bool:
        return bool(stand.spec.force_promote)

    patch.setattr(Standing, "is_forced", property(is_forced))


def every_image_may_follow(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rollout, "refused_upgrade", lambda *_: "")


def a_stays_under_a_downtime(patch: pytest.MonkeyPatch) -> None:
    replaced(patch, "vacate_active", lambda *_: None)


def broken_pods_are_waited_for(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(rollout, "is_broken", lambda _: False)


def the_lease_is_not_minded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Election, "gate", lambda _: None)


def the_status_is_always_said(patch: pytest.MonkeyPatch) -> None:
    def settle(stand: Standing, now: datetime) -> Answer:
        verdict = settling.settle(stand, now)
        if verdict is None or isinstance(verdict, Need | Move):
            return verdict
        condition = stand.condition
        assert condition is not None
        changed = structs.replace(condition, last_transition_time=now.replace(microsecond=0))
        status = structs.replace(stand.status, conditions=(changed,))
        return Move(Reason.SETTLING, (statuses.written(stand.seen.environment, status),), verdict.again)

    replaced(patch, "settle", settle)


# What happens.


async def a_rollout(world: EnvironmentWorld) -> None:
    await world.edit({"environmentdExtraEnv": [{"name": "A", "value": "1"}]})
    await world.finish(300)


async def a_slow_rollout(world: EnvironmentWorld) -> None:
    await world.edit({"podAnnotations": {PROMOTE_TAKES: "20s"}})
    await world.finish(300)


async def an_edit_while_promoting(world: EnvironmentWorld) -> None:
    await world.edit({"podAnnotations": {PROMOTE_TAKES: "30s"}})
    await world.until(lambda: world.fact.is_promoting, 60)
    await asyncio.sleep(3)
    await world.edit({"environmentdImageRef": f"materialize/environmentd:{IMAGES[1]}"})
    await world.finish(300)


async def a_revert_while_promoting(world: EnvironmentWorld) -> None:
    await world.edit({"podAnnotations": {PROMOTE_TAKES: "30s"}})
    await world.until(lambda: world.fact.is_promoting, 60)
    await world.edit({"podAnnotations": {PROMOTE_TAKES: None}})
    await world.edit({"podAnnotations": None})
    await world.finish(300)


async def other_flags_at_rest(world: EnvironmentWorld) -> None:
    for number in range(len(FLAGS)):
        await OtherFlags(number).play(world)
        await asyncio.sleep(60)
    await world.finish(300)


async def an_edit_that_is_not_seen(world: EnvironmentWorld) -> None:
    """The operator's watch of environments stands still while a rollout begins."""
    process = world.replicas[0].process
    assert process is not None
    await world.edit({"podAnnotations": {CATCH_UP: "5s"}})
    await world.until(lambda: world.fact.reason == "Applying", 60)
    await asyncio.sleep(1)
    process.wire.faulty.freeze("materializes")
    await world.edit({"podLabels": {"team": "a"}})
    await asyncio.sleep(30)
    world.heal()
    await world.finish(600)


async def a_twin_and_an_edit(world: EnvironmentWorld) -> None:
    await world.create_twin()
    await world.edit({"podLabels": {"team": "a"}})
    await asyncio.sleep(60)
    await world.remove_environment("default", "twin")
    await world.finish(900)


async def an_edit_of_what_is_parked(world: EnvironmentWorld) -> None:
    await world.edit({"rolloutStrategy": MANUALLY})
    await world.until(lambda: world.fact.reason == "ReadyToPromote", 60)
    await world.edit({"rolloutStrategy": "WaitUntilReady", "podLabels": {"team": "a"}})
    await world.finish(300)


async def an_approval_of_another_rollout(world: EnvironmentWorld) -> None:
    await world.edit({"rolloutStrategy": MANUALLY, "forcePromote": "0" * 64})
    await world.until(lambda: world.fact.reason == "ReadyToPromote", 60)
    await asyncio.sleep(30)
    await world.finish(300)


async def a_leap(world: EnvironmentWorld) -> None:
    await world.edit({"environmentdImageRef": f"materialize/environmentd:{IMAGES[3]}"})
    await world.finish(300)


async def a_downtime(world: EnvironmentWorld) -> None:
    await world.edit({"rolloutStrategy": IMMEDIATELY})
    await world.finish(300)


async def a_broken_template_is_replaced(world: EnvironmentWorld) -> None:
    await world.edit({"podAnnotations": {HOLD: "true"}})
    await asyncio.sleep(60)
    await world.edit({"podAnnotations": None})
    await world.edit({"podLabels": {"team": "a"}})
    await world.finish(300)


async def the_leader_stands_still(world: EnvironmentWorld) -> None:
    """It stops between two writes of a round, and goes on in the moment in which another one leads."""
    await world.until(lambda: world.leader() is not None, 60)
    first = world.leader()
    assert first is not None
    assert first.process is not None
    first.process.wire.plan.fail(MEANS["read"], 1, Fault("delay", 2.0))
    await world.edit({"podLabels": {"team": "a"}})
    await asyncio.sleep(1)
    first.stop()
    await world.until(lambda: world.leader() not in (None, first), 120, every=0.001)
    first.go_on()
    await world.finish(900)


async def nothing(world: EnvironmentWorld) -> None:
    await world.rest(60)


CASES: dict[str, tuple[Take, Story, str]] = {
    "a promotion is recorded before it is begun": (told_to_lead_before_it_is_recorded, a_rollout, "S3"),
    "A goes after N was heard to lead": (a_taken_down_first, a_slow_rollout, "S4"),
    "a promotion ends after N was heard to lead": (nobody_asked_who_leads, a_slow_rollout, "S5"),
    "the Service moves after N was heard to lead": (the_service_moved_first, a_slow_rollout, "S5"),
    "R stays while promoting": (the_request_follows_the_spec, an_edit_while_promoting, "S1"),
    "what was requested is completed": (what_is_wanted_counts_as_completed, an_edit_while_promoting, "S2"),
    "the image is that of N": (the_image_of_the_spec_counts_as_running, an_edit_while_promoting, "S13"),
    "a promotion ends whatever the spec says": (settled_before_promoted, a_revert_while_promoting, "3.4"),
    "A is never applied": (a_is_applied_at_rest, other_flags_at_rest, "S7"),
    "no flag is hashed": (the_hash_holds_a_flag, other_flags_at_rest, "S9"),
    "a status is bound to a version": (any_version_of_the_object_is_written, an_edit_that_is_not_seen, "3.4"),
    "twins wait": (twins_are_not_looked_for, a_twin_and_an_edit, "S14"),
    "the pod is of the newest template": (any_ready_pod_will_do, an_edit_of_what_is_parked, "3.6"),
    "an approval is for one rollout": (any_approval_will_do, an_approval_of_another_rollout, "3.5"),
    "not every image may follow": (every_image_may_follow, a_leap, "3.8"),
    "a downtime is accepted before N comes": (a_stays_under_a_downtime, a_downtime, "3.5"),
    "a broken N is made anew": (broken_pods_are_waited_for, a_broken_template_is_replaced, "L"),
    "who lost the lease writes nothing": (the_lease_is_not_minded, the_leader_stands_still, "lease"),
    "a status that says the same is not written": (the_status_is_always_said, nothing, "L7"),
}


@pytest.mark.parametrize("case", CASES)
def test_without_the_safety_an_invariant_breaks(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one of a few orders of what is simultaneous."""
    take, story, invariant = CASES[case]
    operators = 2 if story is the_leader_stands_still else 1
    lag = 0.0 if story is an_edit_of_what_is_parked else 0.1
    setting = EnvironmentSetting((), latency=lag / 5, lag=lag, leased=True, operators=operators)
    play_once(story, setting, started(story), of=EnvironmentWorld)

    with pytest.raises(Broken, match=f"^{invariant} broken"):
        play_in_many_orders(setting, started(story, lambda: take(monkeypatch)), FOUND_AT.get(case, 0))


def play_in_many_orders(setting: EnvironmentSetting, scenario: Scenario, first: int) -> None:
    for seed in range(first, first + SEEDS):
        play(structs.replace(setting, seed=seed), scenario, of=EnvironmentWorld)


def started(story: Story, before: Callable[[], None] = lambda: None) -> Scenario:
    """The story of an environment whose first generation serves."""

    async def scenario(world: World) -> None:
        assert isinstance(world, EnvironmentWorld)
        await world.begin_with_an_environment()
        before()
        await story(world)

    return scenario
