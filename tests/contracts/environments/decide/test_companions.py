"""Section 3.13: Balancer and Console beside a rollout, and what is done for each of them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec import structs

from fairlead.contracts.environments.decide import decide_console
from fairlead.contracts.environments.decide.seen import CompanionSnapshot
from fairlead.contracts.environments.kinds import (
    BALANCERS,
    CONSOLES,
    Balancer,
    BalancerdAddress,
    BalancerSpec,
    CompanionStatus,
    Condition,
    Console,
    ConsoleSpec,
    FronteggRouting,
)
from fairlead.contracts.environments.settings import Settings
from fairlead.core.act import Apply, Does
from fairlead.core.ask import Answers, Bad, Good
from fairlead.core.decision import Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.apps import Deployment
from kubeloop.objects.meta import Ref
from tests.builders import EARLIER, NOW
from tests.contracts.environments.decide.balancing import (
    CERTIFIED,
    IDENTIFIED,
    META,
    SPEC,
    a_deployment,
    answered,
    of,
    status_in,
)
from tests.contracts.environments.decide.specs import NEXT, a_ready_condition
from tests.contracts.environments.decide.world import NAME_OF_IT, NAMESPACE, World, promoted

BOTH = Settings(create_balancers=True, create_console=True)
BALANCER, CONSOLE = Ref(BALANCERS, NAMESPACE, NAME_OF_IT), Ref(CONSOLES, NAMESPACE, NAME_OF_IT)


def test_they_come_once_a_generation_serves() -> None:
    world = World(settings=BOTH)
    while world.own.status.get("activeGeneration") != 1:
        world.step()
        world.controllers()
        assert BALANCER not in world.things

    world.play()

    assert {BALANCER, CONSOLE} <= {*world.things}


def test_the_console_waits_for_the_balancer_to_be_ready() -> None:
    world = promoted(settings=BOTH)
    world.remove("console/m")
    world.things[BALANCER].status["conditions"] = [a_ready_condition("False")]

    decision = world.play()

    assert CONSOLE not in world.things
    assert decision.verdict.again == world.now + timedelta(seconds=1)
    assert [aside.reason for aside in decision.asides] == [Reason.BALANCER_NOT_READY]
    world.things[BALANCER].status["conditions"] = [a_ready_condition()]
    world.play()
    assert CONSOLE in world.things


def test_a_console_without_balancers_is_not_looked_at_all_the_time_and_says_what_helps() -> None:
    world = promoted(settings=Settings(create_console=True))

    decision = world.play()

    assert CONSOLE not in world.things
    assert decision.verdict.again is not None
    assert timedelta(seconds=5) <= decision.verdict.again - world.now <= timedelta(seconds=9)
    (aside,) = decision.asides
    assert "--create-balancers" in aside.text


def test_a_console_may_have_a_balancer_that_somebody_else_made() -> None:
    world = promoted(settings=BOTH)
    world.remove("console/m")
    world.things[BALANCER].body["metadata"]["ownerReferences"] = []
    world.settings = Settings(create_console=True)

    world.play()

    assert {BALANCER, CONSOLE} <= {*world.things}


WAITS = {"waits": {}, "is parked": {"rolloutStrategy": "ManuallyPromote"}, "is refused": {"image": "v29.0.0"}}


@pytest.mark.parametrize("fields", WAITS.values(), ids=WAITS)
def test_they_follow_the_spec_also_while_a_rollout(fields: dict[str, str]) -> None:
    world = promoted(settings=BOTH)
    world.starts_as = "Initializing" if not fields else "ReadyToPromote"
    image = f"materialize/environmentd:{fields['image']}" if "image" in fields else NEXT
    strategy = fields.get("rolloutStrategy", "WaitUntilReady")
    world.edit(environmentdImageRef=image, rolloutStrategy=strategy)
    world.play()
    assert world.condition["reason"] in ("Applying", "ReadyToPromote", "FailedDeploy")

    world.edit(balancerdReplicas=7, consoleReplicas=3)
    world.play()

    assert world.things[BALANCER].body["spec"]["replicas"] == 7
    assert world.things[CONSOLE].body["spec"]["replicas"] == 3
    assert world.things[BALANCER].body["spec"]["balancerdImageRef"] == "materialize/balancerd:v26.0.0"


def test_they_follow_the_spec_also_while_a_rollout_fails() -> None:
    world = promoted(settings=BOTH)
    world.refuses = lambda write: Bad("refused", "no", 403) if write.does is Does.APPLY_GENERATION else None
    world.edit(environmentdImageRef=NEXT, balancerdReplicas=7)

    decision = world.play()

    assert decision.verdict.reason is Reason.GENERATION_REFUSED
    assert world.things[BALANCER].body["spec"]["replicas"] == 7


def test_they_stay_as_they_are_while_the_environment_itself_cannot_be_identified() -> None:
    world = promoted(settings=BOTH)
    world.secret = None
    world.edit(balancerdReplicas=7)

    world.play()

    assert "replicas" not in world.things[BALANCER].body["spec"]


def test_they_follow_the_image_that_runs() -> None:
    world = promoted(settings=BOTH)

    world.edit(environmentdImageRef=NEXT)
    world.play()

    assert world.things[BALANCER].body["spec"]["balancerdImageRef"] == "materialize/balancerd:v26.1.0"


def test_what_is_switched_off_goes_and_comes_back() -> None:
    world = promoted(settings=BOTH)

    world.settings = Settings()
    world.play()
    assert not {BALANCER, CONSOLE} & {*world.things}

    world.settings = BOTH
    world.play()
    assert {BALANCER, CONSOLE} <= {*world.things}


def test_a_balancer_of_that_name_that_somebody_else_made_stays() -> None:
    world = promoted(settings=BOTH)
    world.things[BALANCER].body["metadata"]["ownerReferences"] = []

    world.settings = Settings()
    world.play()

    assert BALANCER in world.things


def test_an_owner_is_known_whatever_version_it_was_written_in() -> None:
    world = promoted(settings=BOTH)
    world.things[BALANCER].body["metadata"]["ownerReferences"][0]["apiVersion"] = "materialize.cloud/v1alpha1"

    world.settings = Settings()
    world.play()

    assert BALANCER not in world.things


def test_a_refused_generation_keeps_its_pace_while_a_console_waits() -> None:
    """Else what was refused would be sent again every second, for that is how often the Balancer is looked at."""
    world = promoted(settings=BOTH)
    world.things[BALANCER].status["conditions"] = [a_ready_condition("False")]
    world.refuses = lambda write: Bad("refused", "quota", 403) if write.does is Does.APPLY_GENERATION else None
    world.edit(environmentdImageRef=NEXT)

    decision = world.play()

    assert decision.verdict.reason is Reason.GENERATION_REFUSED
    assert [aside.reason for aside in decision.asides] == [Reason.BALANCER_NOT_READY]
    assert decision.verdict.again is None


def test_a_companion_that_is_refused_fails_the_pass_but_not_the_rollout() -> None:
    world = promoted(settings=BOTH)
    world.refuses = lambda write: (
        Bad("refused", "no balancers", 403) if isinstance(write, Apply) and write.ref == BALANCER else None
    )
    world.edit(environmentdImageRef=NEXT, balancerdReplicas=7)

    decision = world.play()

    assert world.is_promoted
    assert decision.verdict.reason is Reason.OBJECT_REFUSED
    assert "no balancers" in decision.tell[0].text


# What is done for a Balancer or a Console.


def test_the_resource_id_is_the_one_that_is_given_or_one_of_its_own() -> None:
    given = of(Balancer(META, structs.replace(SPEC, resource_id="given")))
    own = [of(Balancer(META, SPEC)) for _ in range(2)]

    assert status_in(given).resource_id == "given"
    assert len({status_in(each).resource_id for each in own}) == 1
    assert len(status_in(own[0]).resource_id) == 10


def test_its_objects_are_applied_the_deployment_last() -> None:
    decision = of(IDENTIFIED, applied={})

    assert isinstance(decision.verdict, Move)
    assert [str(write.ref) for write in decision.verdict.writes if isinstance(write, Apply)] == [
        "service/mzabc-balancerd",
        "deployment/mzabc-balancerd",
    ]
    assert all(isinstance(write, Apply) and write.force and write.refusable for write in decision.verdict.writes)


def test_a_refused_object_is_an_error() -> None:
    first = of(IDENTIFIED, applied={})
    assert isinstance(first.verdict, Move)

    decision = of(IDENTIFIED, applied={}, answers=Answers({first.verdict.writes[0]: Bad("refused", "quota", 403)}))

    assert decision.verdict.reason is Reason.OBJECT_REFUSED
    assert decision.tell[0].warning
    assert "quota" in decision.tell[0].text


def test_an_object_that_is_undone_is_left_for_a_while() -> None:
    found = a_deployment()
    first = of(IDENTIFIED, applied={}, deployment=found)
    assert isinstance(first.verdict, Move)
    deployed = first.verdict.writes[-1]
    others = {write.ref: write.change_to for write in first.verdict.writes[:-1] if isinstance(write, Apply)}

    decision = of(IDENTIFIED, applied=others, deployment=found, answers=Answers({deployed: Good()}))

    assert decision.verdict.reason is Reason.OBJECT_UNDONE
    assert decision.verdict.again == NOW + timedelta(seconds=10)


TROUBLES = {
    "no routing": structs.replace(SPEC, static_routing=None),
    "two routings": structs.replace(SPEC, frontegg_routing=FronteggRouting()),
    "frontegg": structs.replace(SPEC, static_routing=None, frontegg_routing=FronteggRouting()),
}


@pytest.mark.parametrize("spec", TROUBLES.values(), ids=TROUBLES)
def test_a_balancer_that_cannot_be_built_is_an_error(spec: BalancerSpec) -> None:
    decision = of(structs.replace(IDENTIFIED, spec=spec))

    assert decision.verdict.reason is Reason.SPEC_INVALID
    assert decision.tell[0].about.name == "b"


def test_a_certificate_of_a_balancer_needs_cert_manager() -> None:
    decision = of(structs.replace(IDENTIFIED, spec=CERTIFIED), has_certificates=False)

    assert decision.verdict.reason is Reason.KIND_MISSING


def test_a_certificate_of_a_balancer_that_may_not_be_seen_needs_the_right() -> None:
    certified = structs.replace(IDENTIFIED, spec=CERTIFIED)
    decision = of(certified, has_certificates=False, may_list_certificates=False)

    assert decision.verdict.reason is Reason.READ_FAILED


def a_condition(value: str) -> Condition:
    return Condition(type="Ready", status=value, reason="DeploymentStatus", message="", last_transition_time=EARLIER)


@pytest.mark.parametrize("available", [True, False])
@pytest.mark.parametrize("stored", ["True", "False", None])
def test_readiness_is_written_when_it_changes(available: bool, stored: str | None) -> None:
    conditions = () if stored is None else (a_condition(stored),)
    balancer = structs.replace(IDENTIFIED, status=CompanionStatus(resource_id="abc", conditions=conditions))

    decision = of(balancer, deployment=a_deployment(available=available))

    if str(available) == stored:
        assert isinstance(decision.verdict, Hold)
        assert decision.verdict.reason is (Reason.COMPLETE if available else Reason.DEPLOYMENT_NOT_READY)
        return
    (condition,) = status_in(decision).conditions
    text = "balancerd deployment is ready" if available else "balancerd deployment is not ready"
    assert (condition.type, condition.status) == ("Ready", str(available))
    assert (condition.reason, condition.message) == ("DeploymentStatus", text)
    assert condition.last_transition_time == NOW


@pytest.mark.parametrize("deployment", [None, a_deployment(conditions=())])
def test_nothing_is_said_before_the_deployment_says_something(deployment: Deployment | None) -> None:
    decision = of(IDENTIFIED, deployment=deployment)

    assert isinstance(decision.verdict, Hold)
    assert decision.verdict.reason is Reason.DEPLOYMENT_NOT_READY


def test_a_balancer_that_is_deleted_is_left_to_the_garbage_collector() -> None:
    leaving = structs.replace(IDENTIFIED, metadata=structs.replace(META, deletion_timestamp=NOW))

    assert of(leaving, applied={}).verdict == Hold(Reason.ENVIRONMENT_LEAVING)


def test_a_console_is_told_of_in_its_own_words() -> None:
    spec = ConsoleSpec(
        console_image_ref="materialize/console:1", balancerd=BalancerdAddress("mzabc-balancerd", "e", "http")
    )
    console = Console(META, spec, CompanionStatus(resource_id="abc"))

    first = answered(decide_console, CompanionSnapshot(own=console))
    ready = answered(decide_console, CompanionSnapshot(own=console, applied=None, deployment=None))

    assert isinstance(first.verdict, Move)
    names = [str(write.ref) for write in first.verdict.writes if isinstance(write, Apply)]
    assert names == ["configmap/mzabc-console", "service/mzabc-console", "deployment/mzabc-console"]
    assert ready.verdict.reason is Reason.DEPLOYMENT_NOT_READY
