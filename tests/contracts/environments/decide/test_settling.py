"""Section 3.4 case 3, and B1: rollouts that are abandoned or take too long, and what is missing of what serves."""

from __future__ import annotations

from datetime import timedelta

import pytest

from fairlead.contracts.environments.settings import Settings
from fairlead.core.act import AnyWrite, Apply, Create, Delete, Does
from fairlead.core.ask import Bad
from fairlead.core.decision import Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.core import SERVICES
from tests.contracts.environments.decide.specs import IMMEDIATELY, MANUALLY, NEXT, OLD, a_spec
from tests.contracts.environments.decide.world import World, promoted

FOUR = ["ConfigMap", "Service", "Service", "StatefulSet"]


def waiting(**fields: object) -> World:
    world = promoted()
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT, **fields)
    world.play()
    return world


def test_a_pass_over_what_serves_writes_nothing_and_comes_back_within_the_hour() -> None:
    world = promoted()
    writes = len(world.writes)

    decision = world.step()

    assert len(world.writes) == writes
    assert decision.verdict.reason is Reason.COMPLETE
    assert decision.verdict.again is not None
    assert timedelta(seconds=2400) <= decision.verdict.again - world.now <= timedelta(seconds=3599)


def test_an_operator_that_restarts_applies_the_shared_objects_once_and_rolls_nothing_out() -> None:
    world = promoted()
    versions = {ref: thing.version for ref, thing in world.things.items()}
    writes = len(world.writes)

    world.restart()
    world.play()

    assert {ref: thing.version for ref, thing in world.things.items()} == versions
    assert {write.does for write in world.writes[writes:]} == {Does.APPLY_OBJECT}


def test_other_flags_of_the_operator_change_nothing_that_serves() -> None:
    world = promoted()
    version, status = world.statefulset(1).version, dict(world.status)
    world.settings = Settings(region="elsewhere", collect_pod_metrics=True)
    world.restart()
    world.play()

    assert world.statefulset(1).version == version
    assert world.status == status


def test_what_is_changed_by_hand_of_the_shared_objects_comes_back() -> None:
    world = promoted()
    role = next(thing for ref, thing in world.things.items() if ref.resource.kind == "Role")
    wanted = role.body["rules"]
    role.body = role.body | {"rules": []}
    role.version += 1000

    world.play()

    assert next(thing for ref, thing in world.things.items() if ref.resource.kind == "Role").body["rules"] == wanted


def test_two_who_keep_changing_an_object_do_not_keep_each_other_busy() -> None:
    world = promoted()
    applied = 0
    for _ in range(6):
        role = next(thing for ref, thing in world.things.items() if ref.resource.kind == "Role")
        role.version += 1000
        decision = world.step()
        applied += sum(isinstance(write, Apply) for write in getattr(decision.verdict, "writes", ()))

    assert applied == 1
    assert [aside.reason for aside in decision.asides] == [Reason.OBJECT_UNDONE]
    assert decision.verdict.again == world.now + timedelta(seconds=10)
    decision = world.wait(11)
    assert decision.verdict.reason is Reason.COMPLETE
    assert decision.asides == ()


def test_a_rollout_whose_spec_goes_back_is_taken_down() -> None:
    world = waiting()

    world.edit(environmentdImageRef=OLD)
    world.play()

    assert world.generations == {1: FOUR}
    assert world.says == ("True", "Applied", "No changes found from generation 1")
    assert world.status["requestedRolloutHash"] == world.status["lastCompletedRolloutHash"] == world.hash
    assert world.status["activeGeneration"] == 1


def test_a_failed_deployment_whose_spec_goes_back_is_taken_down_too() -> None:
    world = promoted()
    world.refuses = lambda write: (
        Bad("refused", "no", 403) if isinstance(write, Apply) and write.ref.resource.kind == "StatefulSet" else None
    )
    world.edit(environmentdImageRef=NEXT)
    world.play()
    assert world.says[1] == "FailedDeploy"
    assert world.generations[2] == ["ConfigMap", "Service", "Service"]

    world.edit(environmentdImageRef=OLD)
    world.play()

    assert world.generations == {1: FOUR}
    assert world.says == ("True", "Applied", "No changes found from generation 1")


def test_what_was_left_by_others_of_a_next_generation_goes_and_that_is_said() -> None:
    world = waiting()
    leftovers = {ref: thing for ref, thing in world.things.items() if ref.name.endswith("-2")}
    world.edit(environmentdImageRef=OLD)
    world.play()
    world.own.status["conditions"][0]["message"] = "Successfully applied changes for generation 1"
    world.things |= leftovers
    for thing in leftovers.values():
        thing.terminating = False

    world.play()

    assert world.generations == {1: FOUR}
    assert world.says == ("True", "Applied", "No changes found from generation 1")


def test_a_serving_generation_that_was_given_up_comes_back_before_the_next_goes() -> None:
    world = promoted()
    world.starts_as = "Initializing"
    world.skips = 400
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=IMMEDIATELY)
    world.play()
    assert [*world.generations] == [2]

    world.edit(environmentdImageRef=OLD, rolloutStrategy="WaitUntilReady")
    seen = []
    for _ in range(40):
        world.step()
        seen.append((1 in world.generations, 2 in world.generations))
        world.controllers()

    assert (False, False) not in seen
    assert seen.index((True, True)) < seen.index((True, False))
    assert world.generations == {1: FOUR}
    assert world.is_promoted
    assert world.status["activeGeneration"] == 1


@pytest.mark.parametrize(
    "name", ["service/{}-environmentd-1", "service/{}-persist-pubsub-1", "configmap/{}-listeners-1"]
)
def test_what_is_lost_of_the_serving_generation_is_created_and_the_rest_is_left_alone(name: str) -> None:
    world = promoted()
    kept = {ref: thing.version for ref, thing in world.things.items()}
    writes = len(world.writes)
    world.remove(name.format(f"mz{world.id}"))

    world.play()

    assert {*world.things} == {*kept}
    assert [type(write) for write in world.writes[writes:]] == [Create]


def test_the_public_service_is_created_when_it_is_lost() -> None:
    world = promoted()
    world.remove(f"service/mz{world.id}-environmentd")

    world.play()

    assert world.selected == 1


def test_a_service_that_somebody_pointed_elsewhere_is_not_touched() -> None:
    world = promoted()
    service = next(thing for ref, thing in world.things.items() if ref.name == f"mz{world.id}-environmentd")
    service.body["metadata"]["labels"]["mine"] = "yes"
    service.version += 1000
    writes = len(world.writes)

    world.play()

    assert len(world.writes) == writes


def test_nothing_is_healed_while_a_rollout_is_on_its_way() -> None:
    world = waiting()
    world.remove(f"service/mz{world.id}-persist-pubsub-1")

    world.play()

    assert world.generations[1] == ["ConfigMap", "Service", "StatefulSet"]


def test_a_deletion_by_hand_is_let_happen_before_the_object_is_made_again() -> None:
    world = promoted()
    world.statefulset(1).terminating = True

    decision = world.step()
    assert decision.verdict.reason is Reason.OBJECTS_GOING

    world.controllers()
    world.play()
    assert world.generations == {1: FOUR}


def test_a_creation_that_is_refused_is_an_error() -> None:
    world = promoted()
    world.remove(f"statefulset/mz{world.id}-environmentd-1")
    world.refuses = lambda write: Bad("refused", "quota", 403) if isinstance(write, Create) else None

    decision = world.play()

    assert decision.verdict.reason is Reason.OBJECT_REFUSED
    assert decision.tell[0].warning
    assert world.says[1] == "Applied"


def test_a_legacy_condition_is_settled() -> None:
    world = promoted()
    world.own.status["conditions"][0] |= {"status": "False", "reason": "WaitingForApproval"}

    world.play()

    assert world.says == ("True", "Applied", "No changes found from generation 1")


def test_a_request_that_was_lost_is_written_again() -> None:
    world = promoted()
    del world.own.status["requestedRolloutHash"]

    world.play()

    assert world.status["requestedRolloutHash"] == world.hash


def test_a_status_without_condition_is_settled() -> None:
    world = promoted()
    world.own.status["conditions"] = []

    world.play()

    assert world.says == ("True", "Applied", "No changes found from generation 1")


LIMITS = {"the default": (None, 86400, "24h"), "an hour and a half": ("1h 30m", 5400, "1h 30m")}
LIMITS |= {"what is no duration": ("soon", 86400, "24h")}


@pytest.mark.parametrize(("text", "seconds", "shown"), LIMITS.values(), ids=LIMITS)
def test_a_rollout_that_takes_too_long_is_cancelled(text: str | None, seconds: int, shown: str) -> None:
    world = waiting(rolloutRequestTimeout=text)
    world.wait(seconds - 1)
    assert world.says[1] == "Applying"
    completed = world.status["lastCompletedRolloutHash"]

    world.wait(1)

    assert world.says == (
        "False",
        "RolloutTimeout",
        f"Cancelled rollout to generation 2 after it exceeded the rollout timeout of {shown}",
    )
    assert world.generations == {1: FOUR}
    assert world.status["requestedRolloutHash"] == world.hash
    assert world.status["lastCompletedRolloutHash"] == completed
    assert world.selected == 1


@pytest.mark.parametrize("waits_as", ["Applying", "ReadyToPromote"])
def test_the_time_of_a_rollout_counts_from_now_when_a_clock_that_was_ahead_is_set_right(waits_as: str) -> None:
    world = promoted()
    world.starts_as = "Initializing" if waits_as == "Applying" else waits_as
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=MANUALLY, rolloutRequestTimeout="1h")
    world.play()
    world.now -= timedelta(days=400)
    world.play()
    writes = len(world.writes)
    world.wait(3599)
    assert (world.says[1], len(world.writes)) == (waits_as, writes)

    world.wait(1)

    assert world.says[1] == "RolloutTimeout"


def cancelled() -> World:
    world = waiting(rolloutRequestTimeout="90m")
    world.wait(5400)
    assert world.says[1] == "RolloutTimeout"
    return world


def test_the_wait_ends_when_the_time_is_over_without_anybody_looking() -> None:
    world = waiting(rolloutRequestTimeout="10s")
    began = world.now
    while world.says[1] == "Applying":
        world.look_again()

    assert world.says[1] == "RolloutTimeout"
    assert world.now == began + timedelta(seconds=10)


def test_a_cancelled_rollout_is_not_tried_again_until_something_else_is_wanted() -> None:
    world = cancelled()
    writes = len(world.writes)

    decision = world.wait(86400)
    world.restart()
    decision = world.play()

    assert decision.verdict.reason is Reason.ROLLOUT_TIMED_OUT
    assert not decision.verdict.reason.fails
    assert {write.does for write in world.writes[writes:]} <= {Does.APPLY_OBJECT}
    world.edit(forcePromote=world.hash)
    world.play()
    assert world.says[1] == "RolloutTimeout"

    world.starts_as = "ReadyToPromote"
    world.annotate("materialize.cloud/force-rollout", "again")
    world.play()

    assert world.is_promoted


def test_a_cancelled_rollout_whose_spec_goes_back_is_settled() -> None:
    world = cancelled()

    world.edit(environmentdImageRef=OLD, rolloutRequestTimeout=None)
    world.play()

    assert world.says == ("True", "Applied", "No changes found from generation 1")


def test_what_is_parked_for_too_long_is_cancelled_too() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=MANUALLY, rolloutRequestTimeout="10m")
    world.play()
    assert world.says[1] == "ReadyToPromote"
    assert world.look_again_at() == world.now + timedelta(minutes=10)

    world.look_again()

    assert world.says[1] == "RolloutTimeout"


def test_a_rollout_that_is_forced_has_all_the_time() -> None:
    world = waiting(rolloutStrategy=MANUALLY, rolloutRequestTimeout="1h")
    world.skips = 400
    world.edit(forcePromote=world.hash)
    world.play()

    world.wait(7200)

    assert world.says[1] == "Applying"


def test_a_promotion_has_all_the_time() -> None:
    world = promoted()
    world.takes_over = False
    world.edit(environmentdImageRef=NEXT, rolloutRequestTimeout="1s")
    world.play()

    world.wait(7200)

    assert world.says[1] == "Promoting"


def test_an_environment_object_that_is_refused_fails_the_pass_before_the_rollout() -> None:
    world = World()

    def refuses(write: AnyWrite) -> Bad | None:
        return (
            Bad("refused", "no roles", 403) if isinstance(write, Apply) and write.ref.resource.kind == "Role" else None
        )

    world.refuses = refuses
    decision = world.play()

    assert decision.verdict.reason is Reason.OBJECT_REFUSED
    assert "no roles" in decision.tell[0].text
    assert not world.generations
    assert world.status["conditions"] == []
    world.refuses = lambda _: None
    world.wait(11)
    assert world.is_promoted


def test_an_environment_object_that_is_refused_does_not_stop_a_promotion() -> None:
    world = promoted()
    world.takes_over = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.refuses = lambda write: (
        Bad("refused", "no", 403) if isinstance(write, Apply) and write.ref.resource.kind == "Role" else None
    )
    world.restart()
    world.takes_over = True

    world.play()

    assert world.status["activeGeneration"] == 2
    assert world.selected == 2


CERTIFIED = {"internalCertificateSpec": {"issuerRef": {"name": "ca"}}}


def test_a_certificate_needs_cert_manager() -> None:
    world = World(a_spec(**CERTIFIED))
    world.has_certificates = False

    decision = world.play()

    assert decision.verdict.reason is Reason.KIND_MISSING
    assert isinstance(decision.verdict, Hold)
    assert "Certificate of cert-manager.io" in decision.verdict.details[0][1]
    assert not world.generations
    world.has_certificates = True
    world.play()
    assert world.is_promoted


def test_a_certificate_that_may_not_be_seen_needs_the_right() -> None:
    """cert-manager may well be there: to install it would help nobody."""
    world = World(a_spec(**CERTIFIED))
    world.has_certificates = world.may_list_certificates = False

    decision = world.play()

    assert decision.verdict.reason is Reason.READ_FAILED
    assert isinstance(decision.verdict, Hold)
    told = decision.verdict.details[0][1]
    assert "allow it get, list, watch, create, patch and delete of certificates in cert-manager.io" in told
    assert "install" not in told


def test_a_certificate_that_cannot_be_asked_for_is_an_error() -> None:
    world = World(
        a_spec(internalCertificateSpec={"issuerRef": {"name": "ca"}, "privateKeyAlgorithm": "RSA", "privateKeySize": 1})
    )

    decision = world.play()

    assert decision.verdict.reason is Reason.SPEC_INVALID
    assert "2048" in decision.tell[0].text


def test_deletions_are_not_sent_for_what_is_going_already() -> None:
    world = waiting()
    world.edit(environmentdImageRef=OLD)
    for _ in range(3):
        decision = world.step()
    assert isinstance(decision.verdict, Hold)
    deletes = [write for write in world.writes if isinstance(write, Delete)]
    assert len(deletes) == 1


def test_a_spec_that_changes_again_while_the_abandoned_generation_goes_waits_for_its_end() -> None:
    world = waiting()
    world.edit(environmentdImageRef=OLD)
    decision = world.step()
    assert isinstance(decision.verdict, Move)

    world.starts_as = "ReadyToPromote"
    world.edit(environmentdExtraArgs=["--other"])
    world.step()
    assert world.step().verdict.reason is Reason.OBJECTS_GOING
    world.controllers()
    world.play()

    assert world.is_promoted
    assert world.status["activeGeneration"] == 2
    assert SERVICES in {ref.resource for ref in world.things}
