"""Section 3.4 case 2: from a changed hash to the point of no return, and what may get in between."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fairlead.contracts.environments.decide.rollout import needs_update
from fairlead.core.act import AnyWrite, Apply, Replace
from fairlead.core.ask import Bad
from fairlead.core.decision import Hold, Move
from fairlead.core.reason import Reason
from fairlead.core.uuids import uuid5
from kubeloop.objects.apps import STATEFULSETS
from tests.contracts.environments.decide.specs import IMMEDIATELY, MANUALLY, NEXT, a_spec
from tests.contracts.environments.decide.world import World, promoted, waiting


def test_the_first_rollout_is_generation_one() -> None:
    world = World()

    world.play()

    assert world.is_promoted
    assert world.status["activeGeneration"] == 1
    assert world.generations == {1: ["ConfigMap", "Service", "Service", "StatefulSet"]}
    assert world.says == ("True", "Applied", "Successfully applied changes for generation 1")


def test_a_changed_spec_becomes_the_next_generation_and_the_one_before_goes() -> None:
    world = promoted()

    world.edit(environmentdImageRef=NEXT)
    world.play()

    assert world.is_promoted
    assert [*world.generations] == [2]
    assert world.image(2) == world.status["lastCompletedRolloutEnvironmentdImageRef"] == NEXT


def test_every_reason_is_told_once_in_order() -> None:
    world = promoted()

    told = [(tell.reason, tell.warning) for tell in world.tells]

    assert told == [("Applying", False), ("Promoting", False), ("Applied", False)]


def test_the_request_is_recorded_before_anything_of_the_generation_exists() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT)

    world.step()

    assert world.says == ("Unknown", "Applying", "Applying changes for generation 2")
    assert world.status["requestedRolloutHash"] == world.hash
    assert world.status["lastCompletedRolloutHash"] != world.hash
    assert [*world.generations] == [1]


def test_fields_that_are_not_hashed_roll_nothing_out() -> None:
    world = promoted()
    before = dict(world.status), world.statefulset(1).version

    world.edit(balancerdReplicas=3, consoleReplicas=1, forcePromote="x")
    world.play()

    assert [*world.generations] == [1]
    assert world.status["requestedRolloutHash"] == before[0]["requestedRolloutHash"]
    assert world.statefulset(1).version == before[1]
    assert world.says == ("True", "Applied", "No changes found from generation 1")
    assert world.condition["observedGeneration"] == 2
    assert [tell.reason for tell in world.tells].count("Applied") == 1


def test_the_annotation_alone_rolls_out() -> None:
    world = promoted()

    world.annotate("materialize.cloud/force-rollout", "x")
    world.play()

    assert world.is_promoted
    assert [*world.generations] == [2]
    annotations = world.statefulset(2).body["metadata"]["annotations"]
    assert annotations["materialize.cloud/force"] == "00000000-0000-0000-0000-000000000000/x"


def test_a_spec_that_changes_on_the_way_overwrites_the_generation_in_place() -> None:
    world = waiting()
    first, uid = world.hash, world.statefulset(2).uid

    world.edit(environmentdExtraArgs=["--x"])
    world.play()

    assert world.status["requestedRolloutHash"] == world.hash != first
    assert [*world.generations] == [1, 2]
    assert world.statefulset(2).uid == uid
    assert world.statefulset(2).body["metadata"]["annotations"]["materialize.cloud/rollout-hash"] == world.hash

    world.states[2] = "ReadyToPromote"
    world.look_again()

    assert world.is_promoted
    assert world.status["activeGeneration"] == 2


def test_a_broken_pod_of_a_superseded_rollout_is_not_waited_for() -> None:
    world = promoted()
    world.pods_start = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    broken = world.statefulset(2).uid

    world.edit(environmentdExtraArgs=["--x"])
    world.play()

    assert world.statefulset(2).uid != broken
    assert world.condition["reason"] == "Applying"
    world.pods_start = True
    world.controllers()
    world.play()
    assert world.is_promoted


def test_a_field_that_cannot_be_changed_is_changed_by_another_statefulset() -> None:
    world = waiting()
    uid = world.statefulset(2).uid

    def refuses(write: AnyWrite) -> Bad | None:
        exists = world.generations.get(2, ()).count("StatefulSet")
        is_set = isinstance(write, Apply) and write.ref.resource == STATEFULSETS
        return Bad("failed", "field is immutable", 422) if is_set and exists else None

    world.refuses = refuses
    world.restart()
    world.edit(environmentdExtraArgs=["--x"])
    world.play()

    assert world.statefulset(2).uid != uid
    assert world.says[1] == "Applying"
    assert "FailedDeploy" not in [tell.reason for tell in world.tells]


def test_with_manual_promotion_it_is_parked_until_somebody_names_the_rollout() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=MANUALLY)

    decision = world.play()

    assert decision.verdict.reason is Reason.AWAITING_PROMOTION
    assert isinstance(decision.verdict, Hold)
    assert "fairlead promote m" in decision.verdict.details[0][1]
    assert world.says == ("Unknown", "ReadyToPromote", "Ready to promote generation 2")
    assert (2, "promote") not in world.calls
    assert world.selected == 1
    writes = len(world.writes)
    world.wait(30)
    assert len(world.writes) == writes

    world.edit(forcePromote=world.status["requestedRolloutHash"])
    world.play()

    assert world.is_promoted
    assert world.status["activeGeneration"] == 2


def test_the_request_that_v1alpha1_shows_names_the_rollout_as_well() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=MANUALLY)
    world.play()

    world.edit(forcePromote=uuid5(world.status["requestedRolloutHash"]).upper())
    world.play()

    assert world.is_promoted


UNFORCED = [None, "", "00000000-0000-0000-0000-000000000000", "0" * 32, "something", "a" * 64]


@pytest.mark.parametrize("named", UNFORCED)
def test_what_names_no_rollout_promotes_none(named: str | None) -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=MANUALLY, forcePromote=named)

    world.play()

    assert world.says[1] == "ReadyToPromote"


def test_a_rollout_that_was_named_beforehand_is_promoted_without_being_parked() -> None:
    world = promoted()
    known = World(a_spec(environmentdImageRef=NEXT, rolloutStrategy=MANUALLY)).hash

    world.edit(environmentdImageRef=NEXT, rolloutStrategy=MANUALLY, forcePromote=known)
    world.play()

    assert world.is_promoted
    assert "ReadyToPromote" not in [tell.reason for tell in world.tells]


def test_a_name_of_an_earlier_rollout_does_not_promote_the_next() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=MANUALLY)
    world.play()
    world.edit(forcePromote=world.hash)
    world.play()

    world.edit(environmentdExtraArgs=["--x"])
    world.play()

    assert world.says[1] == "ReadyToPromote"
    assert world.status["activeGeneration"] == 2


def test_forcing_skips_the_catching_up_and_then_promotes() -> None:
    world = waiting(rolloutStrategy=MANUALLY)
    world.calls.clear()

    world.edit(forcePromote=world.hash)
    world.play()

    assert world.is_promoted
    calls = [call for number, call in world.calls if number == 2]
    assert calls[:3] == ["status", "skip-catchup", "promote"]


def test_it_is_too_early_to_skip_so_it_waits() -> None:
    world = waiting(rolloutStrategy=MANUALLY)
    world.skips = 400

    world.edit(forcePromote=world.hash)
    decision = world.play()

    assert decision.verdict.reason is Reason.CATCH_UP_KEPT
    assert world.says[1] == "Applying"
    world.skips = 204
    world.look_again()
    assert world.is_promoted


def test_with_nothing_left_to_skip_it_is_ready() -> None:
    world = promoted()
    world.skips = 400

    world.edit(environmentdImageRef=NEXT, rolloutStrategy=IMMEDIATELY)
    world.play()

    assert world.is_promoted


def test_environmentd_that_cannot_skip_is_waited_for() -> None:
    world = waiting(rolloutStrategy=MANUALLY)
    world.skips = 404

    world.edit(forcePromote=world.hash)
    decision = world.play()

    assert decision.verdict.reason is Reason.LEADER_INITIALIZING
    world.states[2] = "ReadyToPromote"
    world.look_again()
    assert world.is_promoted


def test_another_answer_to_skipping_is_a_failed_deployment() -> None:
    world = waiting(rolloutStrategy=MANUALLY)
    world.skips = 500

    world.edit(forcePromote=world.hash)
    decision = world.play()

    assert decision.verdict.reason is Reason.GENERATION_REFUSED
    assert world.says[:2] == ("False", "FailedDeploy")
    assert world.says[2].startswith("Failed to apply changes for generation 2: ")
    writes = len(world.writes)
    world.wait(60)
    assert len(world.writes) == writes
    world.skips = 204
    world.wait(60)
    assert world.is_promoted


def test_what_is_parked_and_stops_being_ready_is_applying_again() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=MANUALLY)
    world.play()

    world.states[2] = "broken"
    world.play()

    assert world.says[1] == "Applying"


def test_whether_another_generation_is_on_its_way_can_be_counted() -> None:
    fresh, served, on_its_way = World(), promoted(), waiting()

    assert [needs_update(world.seen()) for world in (fresh, served, on_its_way)] == [False, False, True]
    fresh.step()
    fresh.step()
    assert needs_update(fresh.seen())
    on_its_way.own.terminating = True
    assert not needs_update(on_its_way.seen())


def test_a_promotion_counts_although_the_spec_went_back() -> None:
    world = promoted()
    world.takes_over = False
    world.edit(environmentdExtraArgs=["--x"])
    world.play()
    world.edit(environmentdExtraArgs=None)

    assert world.condition["reason"] == "Promoting"
    assert needs_update(world.seen())


def test_the_time_of_the_condition_is_that_of_the_rollout() -> None:
    world = waiting(rolloutStrategy=MANUALLY)
    began = world.condition["lastTransitionTime"]

    world.now += timedelta(seconds=90, milliseconds=250)
    world.states[2] = "ReadyToPromote"
    world.play()
    assert world.condition["reason"] == "ReadyToPromote"
    assert world.condition["lastTransitionTime"] == began

    world.edit(environmentdExtraArgs=["--x"])
    world.play()
    assert world.condition["lastTransitionTime"] == "2026-03-01T12:01:30Z"


def test_a_status_is_written_from_the_version_that_was_seen() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT)

    decision = world.step()

    assert isinstance(decision.verdict, Move)
    write = decision.verdict.writes[-1]
    assert isinstance(write, Replace)
    assert write.subresource == "status"
    assert write.resource_version == str(world.own.version - 1)
