"""Section 3.6 and section 3.4 case 1: from the point of no return to the end, whatever happens in between."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.contracts.environments.kinds import CertificateSpec, IssuerRef
from fairlead.contracts.environments.settings import DefaultCertificates, Ports, Settings
from fairlead.core.act import AnyWrite, Create, Delete, Does
from fairlead.core.ask import Ask, Bad, Http, Read, ReadSecret
from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from tests.contracts.environments.decide.specs import NEXT, OLD, a_license, a_spec
from tests.contracts.environments.decide.world import Crashed, World, promoted

TLS = Settings(default_certificates=DefaultCertificates(internal=CertificateSpec(issuer_ref=IssuerRef("ca"))))


def promoting(world: World | None = None) -> World:
    """The second generation is told to lead and does not come to it."""
    world = world or promoted()
    world.takes_over = False
    world.edit(environmentdExtraArgs=["--second"])
    world.play()
    assert world.says == ("Unknown", "Promoting", "Attempting to promote generation 2")
    return world


def calls_to(world: World) -> list[Http]:
    return [ask.to for ask in world.asked if isinstance(ask.to, Http)]


def test_it_is_told_and_asked_again_until_it_leads() -> None:
    world = promoting()
    world.calls.clear()
    decision = world.play()

    assert decision.verdict.reason is Reason.NOT_YET_LEADER
    assert world.calls == [(2, "promote"), (2, "status")]
    assert decision.verdict.again is not None
    assert 5 <= (decision.verdict.again - world.now).total_seconds() <= 9
    writes = len(world.writes)
    world.look_again()
    assert len(world.writes) == writes
    assert world.selected == 1
    assert [*world.generations] == [1, 2]

    world.takes_over = True
    world.look_again()

    assert world.is_promoted


def test_the_request_stays_while_the_spec_changes_and_the_next_rollout_follows() -> None:
    world = promoting()
    recorded = world.status["requestedRolloutHash"]
    image = world.image(2)

    world.edit(environmentdImageRef=NEXT)
    world.look_again()

    assert world.status["requestedRolloutHash"] == recorded
    assert world.image(2) == image == OLD
    world.takes_over = True
    world.edit(forcePromote="x", rolloutStrategy="ManuallyPromote")
    world.starts_as = "Initializing"
    world.look_again()

    assert world.status["activeGeneration"] == 2
    assert world.status["lastCompletedRolloutHash"] == recorded
    assert world.status["lastCompletedRolloutEnvironmentdImageRef"] == OLD
    assert world.status["requestedRolloutHash"] == world.hash
    assert [*world.generations] == [2, 3]


def test_a_spec_that_went_back_does_not_turn_it_back() -> None:
    world = promoting()

    world.edit(environmentdExtraArgs=None)
    world.takes_over = True
    for _ in range(30):
        world.step()
        world.controllers()
        if world.status["activeGeneration"] == 2:
            break

    assert [*world.generations] == [2]
    assert world.selected == 2
    world.play()
    assert world.is_promoted
    assert world.status["activeGeneration"] == 3


def test_the_end_is_about_the_object_as_it_was_when_the_promotion_began() -> None:
    world = promoting()
    recorded = world.condition["observedGeneration"]
    world.edit(balancerdReplicas=3)
    world.takes_over = True
    seen = []
    for _ in range(30):
        world.step()
        world.controllers()
        seen.append((world.condition["reason"], world.condition["observedGeneration"]))

    assert ("Applied", recorded) in seen
    assert seen[-1] == ("Applied", recorded + 1)
    assert world.condition["message"] == "No changes found from generation 2"


def test_a_request_that_was_lost_in_a_migration_costs_one_more_rollout() -> None:
    world = promoting()
    del world.own.status["requestedRolloutHash"]
    completed = world.status["lastCompletedRolloutHash"]
    del world.own.status["lastCompletedRolloutHash"]
    world.takes_over = True
    for _ in range(30):
        world.step()
        world.controllers()
        if world.status["activeGeneration"] == 2:
            break

    assert completed is not None
    assert "lastCompletedRolloutHash" not in world.status
    assert "requestedRolloutHash" not in world.status
    world.play()
    assert world.is_promoted
    assert world.status["activeGeneration"] == 3


@pytest.mark.parametrize("survives", range(7))
def test_a_crash_anywhere_is_made_up_for(survives: int) -> None:
    world = promoting()
    world.takes_over = True
    world.now = world.look_again_at()
    world.dies_after = survives
    with pytest.raises(Crashed):
        world.play()

    world.restart()
    world.play()

    assert world.is_promoted
    assert [*world.generations] == [2]
    assert {number for number, call in world.calls if call == "promote"} == {1, 2}


def test_nothing_is_told_before_the_record_is_there() -> None:
    world = promoted()
    world.edit(environmentdExtraArgs=["--second"])
    while world.condition["reason"] != "Promoting":
        world.step()
        world.controllers()

    assert (2, "promote") not in world.calls


def test_a_promotion_that_is_not_taken_is_an_error_and_stays_recorded() -> None:
    world = promoting()
    world.states[2] = "broken"

    decision = world.play()

    assert decision.verdict.reason is Reason.PROMOTE_FAILED
    assert decision.tell[0].warning
    assert world.says[1] == "Promoting"
    world.states[2], world.takes_over = "ReadyToPromote", True
    world.play()
    assert world.is_promoted


def test_a_pod_that_restarts_is_waited_for() -> None:
    world = promoting()
    world.pods_start = False
    world.statefulset(2).status["readyReplicas"] = 0

    decision = world.play()

    assert decision.verdict.reason is Reason.PODS_NOT_READY
    assert isinstance(decision.verdict, Hold)
    assert decision.verdict.again is not None
    world.pods_start = world.takes_over = True
    world.controllers()
    world.play()
    assert world.is_promoted


@pytest.mark.parametrize("kind", ["statefulset/mz{id}-environmentd-2", "configmap/mz{id}-listeners-2"])
def test_what_is_lost_of_the_generation_is_made_again_from_the_spec_as_it_is(kind: str) -> None:
    world = promoting()
    world.edit(environmentdImageRef=NEXT)
    kept = {ref: thing.uid for ref, thing in world.things.items()}
    world.remove(kind.format(id=world.id))

    world.play()

    assert {ref for ref, uid in kept.items() if world.things[ref].uid != uid} == {
        ref for ref in kept if str(ref) == kind.format(id=world.id)
    }
    assert isinstance(world.writes[-1], Create)
    world.takes_over = True
    world.look_again()
    assert world.is_promoted


def test_the_image_that_is_recorded_is_the_one_that_runs() -> None:
    world = promoting()
    world.edit(environmentdImageRef=NEXT)
    world.remove(f"statefulset/mz{world.id}-environmentd-2")
    world.takes_over = True

    for _ in range(40):
        world.step()
        world.controllers()
        if world.status["activeGeneration"] == 2:
            break

    assert world.status["lastCompletedRolloutEnvironmentdImageRef"] == world.image(2) == NEXT


def test_an_object_that_is_on_its_way_out_is_awaited_before_it_is_made_again() -> None:
    world = promoting()
    world.statefulset(2).terminating = True

    decision = world.step()

    assert decision.verdict.reason is Reason.OBJECTS_GOING
    world.takes_over = True
    world.controllers()
    world.play()
    assert world.is_promoted


def test_the_generation_before_goes_one_object_after_the_other_in_order() -> None:
    world = promoting()
    world.takes_over = True
    world.now = world.look_again_at()
    order = []
    for _ in range(30):
        world.step()
        going = [str(ref) for ref, thing in world.things.items() if thing.terminating]
        assert len(going) <= 1
        if going:
            assert world.step().verdict.reason is Reason.OBJECTS_GOING
        order += going
        world.controllers()

    prefix = f"mz{world.id}"
    assert order == [
        f"statefulset/{prefix}-environmentd-1",
        f"service/{prefix}-persist-pubsub-1",
        f"service/{prefix}-environmentd-1",
        f"configmap/{prefix}-listeners-1",
    ]
    assert world.is_promoted


def test_leading_is_heard_in_every_pass_that_removes_something() -> None:
    world = promoting()
    world.takes_over = True
    world.now = world.look_again_at()
    told = world.calls.count((2, "promote"))
    removals = []
    for _ in range(30):
        asked = len(world.asked)
        decision = world.step()
        world.controllers()
        if any(isinstance(write, Delete) for write in getattr(decision.verdict, "writes", ())):
            removals.append([ask for ask in world.asked[asked:] if isinstance(ask.to, Http)])

    assert len(removals) == 4
    assert world.calls.count((2, "promote")) == told + 1, "who leads is told again"
    assert all(any(isinstance(ask.to, Http) and ask.to.url.endswith("status") for ask in asks) for asks in removals)


def test_somebody_who_moves_the_service_does_not_end_the_generation_before() -> None:
    world = promoting()
    world.heard_leading.add(2)  # the world takes it from the test, the operator must not
    service = next(thing for ref, thing in world.things.items() if ref.name == f"mz{world.id}-environmentd")
    service.body = msgspec.json.decode(msgspec.json.encode(service.body).replace(b"environmentd-1", b"environmentd-2"))

    decision = world.play()

    assert decision.verdict.reason is Reason.NOT_YET_LEADER
    assert [*world.generations] == [1, 2]
    assert (2, "promote") in world.calls


def test_a_service_that_is_refused_keeps_the_generation_before() -> None:
    world = promoting()
    world.takes_over = True

    def refuses(write: AnyWrite) -> Bad | None:
        return Bad("refused", "forbidden", 403) if write.does is Does.MOVE_SERVICE else None

    world.refuses = refuses
    decision = world.look_again()

    assert decision.verdict.reason is Reason.OBJECT_REFUSED
    assert [*world.generations] == [1, 2]
    assert world.says[1] == "Promoting"
    world.refuses = lambda _: None
    world.wait(20)
    assert world.is_promoted


def test_listeners_that_cannot_be_read_are_an_error_that_says_what_to_do() -> None:
    world = promoting()
    found = next(thing for ref, thing in world.things.items() if ref.name == f"mz{world.id}-listeners-2")
    found.body["data"] = {"listeners.json": "{}"}

    decision = world.play()

    assert decision.verdict.reason is Reason.READ_FAILED
    assert "delete it" in decision.tell[0].text
    world.remove(f"configmap/mz{world.id}-listeners-2")
    world.takes_over = True
    world.play()
    assert world.is_promoted


KINDS = {
    "None": ("http", 6878, False),
    "Frontegg": ("http", 6878, False),
    "Password": ("https", 6876, True),
    "Sasl": ("https", 6876, True),
    "Oidc": ("https", 6876, True),
}


@pytest.mark.parametrize(("kind", "expected"), KINDS.items(), ids=KINDS)
def test_environmentd_is_reached_as_its_authentication_wants(kind: str, expected: tuple[str, int, bool]) -> None:
    scheme, port, signs_in = expected
    world = promoted(a_spec(authenticatorKind=kind), TLS)

    calls = calls_to(world)

    host = f"{scheme}://mz{world.id}-environmentd-1.e.svc.cluster.local:{port}"
    assert {call.url for call in calls} == {f"{host}/api/leader/status", f"{host}/api/leader/promote"}
    assert {call.verified for call in calls} == {scheme == "http"}
    assert {call.method for call in calls} == {"GET", "POST"}
    for call in calls:
        assert (call.sign_in is not None) is signs_in
        if call.sign_in is not None:
            assert call.sign_in.url == f"{host}/api/login"
            assert call.sign_in.username == "mz_system"
            assert call.sign_in.secret.name == "backend"
            assert call.sign_in.key == "external_login_password_mz_system"
    effects = {ask.effect for ask in world.asked if isinstance(ask.to, Http) and ask.to.method == "POST"}
    assert effects == {True}
    assert all(ask.timeout == 10 for ask in world.asked if isinstance(ask.to, Http))


def test_without_a_certificate_signing_in_is_plain() -> None:
    world = promoted(a_spec(authenticatorKind="Password"))

    assert all(call.url.startswith("http://") and call.verified for call in calls_to(world))


def test_a_promotion_speaks_to_the_generation_as_that_was_made() -> None:
    world = promoted(a_spec(authenticatorKind="Password"), TLS)
    promoting(world)
    world.secret = {"license_key": a_license()}
    world.settings = Settings(ports=Ports(http=1111, internal_http=2222))
    world.edit(authenticatorKind="None", backendSecretName="other")
    world.asked.clear()

    world.play()

    calls = calls_to(world)
    assert {call.url for call in calls} == {
        f"https://mz{world.id}-environmentd-2.e.svc.cluster.local:6876/api/leader/{each}"
        for each in ("promote", "status")
    }
    assert {call.sign_in.secret.name for call in calls if call.sign_in} == {"backend"}


def test_the_address_may_be_given_another_form() -> None:
    world = promoted(None, Settings(url_template="http://stub-{generation}.{namespace}:{port}/{scheme}/"))

    assert calls_to(world)[0].url == "http://stub-1.e:6878/http/api/leader/status"


def test_who_cannot_sign_in_tries_again_soon() -> None:
    world = World(a_spec(authenticatorKind="Password"))
    world.answers = lambda ask: Bad("sign-in", "it answered with status 401") if _signs_in(ask) else None

    decision = world.play()

    assert decision.verdict.reason is Reason.SIGN_IN_FAILED
    assert decision.verdict.again is not None
    assert world.says[1] == "Applying"
    world.answers = lambda ask: Bad("sign-in", "401") if _signs_in(ask) and ask.effect else None
    decision = world.play()
    assert decision.verdict.reason is Reason.SIGN_IN_FAILED
    assert world.says[1] == "Promoting"
    world.answers = lambda _: None
    world.play()
    assert world.is_promoted


def _signs_in(ask: Ask) -> bool:
    return isinstance(ask.to, Http) and ask.to.sign_in is not None


def test_what_only_looks_says_that_the_operator_asks() -> None:
    world = World()
    world.answers = lambda ask: Bad("not-sent") if not isinstance(ask.to, Read | ReadSecret) else None
    decision = world.play()
    assert decision.verdict.reason is Reason.NEEDS_ANSWER
    assert world.says[1] == "Applying"

    world.answers = lambda ask: Bad("not-sent") if ask.effect else None
    decision = world.play()

    assert decision.verdict.reason is Reason.NEEDS_ANSWER
    assert world.says[1] == "Promoting"
