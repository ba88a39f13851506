"""Section 3.2 steps 1 to 5: who an environment is, before anything is made for it."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts.environments.decide import decide
from fairlead.contracts.environments.decide.identity import resource_id_of, secret_question
from fairlead.contracts.environments.kinds import FINALIZER, NIL, Materialize, MaterializeStatus
from fairlead.core.act import Does, Patch
from fairlead.core.ask import Answers, Ask, Bad, Good, ReadSecret
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.core import SECRETS
from kubeloop.sealing import seal
from tests.builders import NOW
from tests.contracts.environments.decide.specs import ENVIRONMENT_ID, a_license, a_spec
from tests.contracts.environments.decide.world import World, promoted

OTHER_ID = "99999999-9999-9999-9999-999999999999"
OLD_IMAGE = "materialize/environmentd:v0.160.0"


def held(world: World) -> Reason:
    """Why the environment does not go on; the pass fails, is told, and leaves everything as it was."""
    before, things = dict(world.own.status), {ref: thing.version for ref, thing in world.things.items()}
    decision = world.play()
    assert isinstance(decision.verdict, Hold)
    assert world.own.status == before
    assert {ref: thing.version for ref, thing in world.things.items()} == things
    assert [tell.reason for tell in decision.tell] == [decision.verdict.reason.word]
    assert all(tell.warning for tell in decision.tell)
    assert decision.verdict.reason.fails
    return decision.verdict.reason


def begun(spec: dict[str, object] | None = None) -> World:
    """With finalizer and status."""
    world = World(spec or a_spec())
    world.step()
    world.step()
    assert world.own.status
    return world


def test_the_finalizer_comes_first_and_keeps_those_of_others() -> None:
    world = World()
    world.own.body["metadata"]["finalizers"] = ["somebody/else"]

    world.step()

    assert world.own.body["metadata"]["finalizers"] == ["somebody/else", FINALIZER]
    assert not world.own.status


def test_a_secret_without_a_name_is_not_asked_for() -> None:
    world = promoted()
    world.edit(backendSecretName="")
    world.asked.clear()

    assert held(world) is Reason.SPEC_INVALID

    assert not [ask for ask in world.asked if isinstance(ask.to, ReadSecret)]
    assert "backendSecretName is empty" in world.tells[-1].text


def test_a_promotion_ends_although_the_secret_has_no_name_any_more() -> None:
    world = promoted()
    world.takes_over = False
    world.edit(environmentdExtraArgs=["--second"])
    world.play()
    assert world.is_promoting

    world.edit(backendSecretName="")
    world.takes_over = True
    world.play()

    assert world.status["activeGeneration"] == 2


def test_an_environment_that_is_deleted_loses_only_our_finalizer() -> None:
    world = promoted()
    world.own.body["metadata"]["finalizers"] = ["somebody/else", FINALIZER]
    world.own.terminating = True
    objects = {*world.things}

    world.step()

    assert world.own.body["metadata"]["finalizers"] == ["somebody/else"]
    assert {*world.things} == objects
    assert world.step().verdict == Hold(Reason.ENVIRONMENT_LEAVING)


def test_a_broken_spec_does_not_keep_an_environment_from_being_deleted() -> None:
    world = promoted()
    world.replace_spec({"environmentdImageRef": 5})
    world.own.terminating = True

    world.step()

    assert world.own.body["metadata"]["finalizers"] == []


def test_the_first_status_has_an_id_of_its_own_and_says_nothing_was_completed() -> None:
    world = begun()

    status = world.own.status
    assert {name: value for name, value in status.items() if name != "resourceId"} == {
        "activeGeneration": 0,
        "lastCompletedRolloutEnvironmentdImageRef": a_spec()["environmentdImageRef"],
        "conditions": [],
    }
    assert len(status["resourceId"]) == 10
    assert {*status["resourceId"]} <= {*"abcdefghijklmnopqrstuvwxyz0123456789"}


def test_the_resource_id_is_repeated_after_a_crash_and_not_after_the_status_was_removed() -> None:
    metadata = World().environment.metadata

    again = structs.replace(metadata, labels={"other": "label"})
    later = structs.replace(metadata, resource_version="77")
    another = structs.replace(metadata, uid="uid-other")

    assert resource_id_of(metadata) == resource_id_of(again)
    assert len({resource_id_of(each) for each in (metadata, later, another)}) == 3


@pytest.mark.parametrize(("text", "active"), [("7", 7), ("0", 0), ("+3", 3), ("007", 7)])
def test_an_annotation_tells_the_generation_to_go_on_from(text: str, active: int) -> None:
    world = World()
    world.annotate("materialize.cloud/last-known-active-generation", text)

    world.play()

    assert world.status["activeGeneration"] == active + 1
    assert [*world.generations] == [active + 1]


@pytest.mark.parametrize("text", ["", "x", "1.5", "-1", "9" * 19, "1 2", "\u0661"])
def test_an_annotation_that_is_no_generation_is_an_error_and_nothing_is_written(text: str) -> None:
    world = World()
    world.annotate("materialize.cloud/last-known-active-generation", text)
    world.step()

    assert held(world) is Reason.INVALID_ANNOTATION
    assert not world.own.status


def test_a_spec_that_cannot_be_read_is_an_error() -> None:
    world = begun()
    world.edit(balancerdReplicas="many")

    assert held(world) is Reason.SPEC_INVALID


def test_the_secret_is_read_in_every_pass() -> None:
    world = promoted()
    world.asked.clear()

    world.step()
    world.step()

    reads = [ask.to for ask in world.asked]
    assert reads == [secret_question(world.seen()).to] * 2
    assert all(isinstance(read, ReadSecret) and read.ref.resource == SECRETS for read in reads)


def test_a_missing_secret_is_an_error_that_touches_nothing_that_serves() -> None:
    world = promoted()
    world.secret = None
    world.edit(environmentdExtraArgs=["--x"])

    assert held(world) is Reason.SECRET_MISSING


def test_a_secret_that_cannot_be_read_is_another_error() -> None:
    seen = begun().seen()
    question = secret_question(seen)

    outcome = decide(structs.replace(seen, answers=_answers(question, Bad("refused", "forbidden", 403))), NOW)

    assert isinstance(outcome, Decision)
    assert outcome.verdict.reason is Reason.READ_FAILED
    assert "forbidden" in outcome.tell[0].text


@pytest.mark.parametrize("key", ["", "nonsense", a_license(iss="somebody else")])
def test_a_license_key_that_is_not_valid_is_an_error(key: str) -> None:
    world = begun()
    world.secret = {"license_key": key}

    assert held(world) is Reason.LICENSE_INVALID


@pytest.mark.parametrize("held", [{}, {"license_key": b""}, {"license_key": b"\xff\xfe"}, {"license_key": b"a.b.c"}])
def test_what_a_secret_holds_may_be_anything(held: dict[str, bytes]) -> None:
    seen = begun().seen()
    answer = Good(sealed=tuple((key, seal(value)) for key, value in held.items()))

    outcome = decide(structs.replace(seen, answers=_answers(secret_question(seen), answer)), NOW)

    assert isinstance(outcome, Decision)
    assert outcome.verdict.reason is Reason.LICENSE_INVALID


@pytest.mark.parametrize("image", ["materialize/environmentd:v0.161.0", "materialize/environmentd:mine"])
def test_images_from_0_161_on_and_unknown_ones_need_a_license_key(image: str) -> None:
    world = begun(a_spec(environmentdImageRef=image))
    world.secret = {}

    assert held(world) is Reason.LICENSE_INVALID


def test_an_older_image_needs_none() -> None:
    world = World(a_spec(environmentdImageRef=OLD_IMAGE))
    world.secret = {}

    world.play()

    assert world.is_promoted


FILLED = {
    "the one of the license": ({"license_key": a_license(OTHER_ID.upper())}, OTHER_ID),
    "one of its own for a license for any": ({"license_key": a_license(NIL)}, None),
    "one of its own without a license": ({}, None),
}


@pytest.mark.parametrize(("secret", "expected"), FILLED.values(), ids=FILLED)
@pytest.mark.parametrize("absent", [None, NIL, NIL.replace("-", "")])
def test_an_environment_without_an_id_is_given(
    secret: dict[str, str], expected: str | None, absent: str | None
) -> None:
    worlds = [World(a_spec(environmentdImageRef=OLD_IMAGE, environmentId=absent)) for _ in range(2)]
    for world in worlds:
        world.secret = secret
        world.play()

    first, second = (str(world.own.body["spec"]["environmentId"]) for world in worlds)
    assert first == second
    assert first not in (NIL, ENVIRONMENT_ID)
    assert expected in (None, first)
    assert worlds[0].is_promoted
    writes = [write for write in worlds[0].writes if write.does is Does.SET_ENVIRONMENT_ID]
    assert len(writes) == 1
    assert isinstance(writes[0], Patch)
    assert {*msgspec.json.decode(writes[0].body)["spec"]} == {"environmentId"}


def test_no_hash_is_compared_before_there_is_an_id() -> None:
    world = begun(a_spec(environmentId=None))

    decision = world.step()

    assert isinstance(decision.verdict, Move)
    assert [write.does for write in decision.verdict.writes] == [Does.SET_ENVIRONMENT_ID]
    assert "requestedRolloutHash" not in world.status


@pytest.mark.parametrize("spelled", [ENVIRONMENT_ID, NIL])
def test_a_license_of_the_environment_or_of_any_is_accepted(spelled: str) -> None:
    world = World()
    world.secret = {"license_key": a_license(spelled)}

    world.play()

    assert world.is_promoted


def test_a_license_of_another_environment_is_an_error() -> None:
    world = promoted()
    world.secret = {"license_key": a_license(OTHER_ID)}

    assert held(world) is Reason.ENVIRONMENT_MISMATCH


def a_twin(uid: str = "uid-twin") -> Materialize:
    own = World().environment
    status = MaterializeStatus(resource_id="other", active_generation=0, conditions=())
    return structs.replace(own, metadata=structs.replace(own.metadata, uid=uid, namespace="elsewhere"), status=status)


def test_nothing_is_made_for_an_environment_whose_id_another_has() -> None:
    world = begun()
    world.twins = (a_twin(),)

    assert held(world) is Reason.DUPLICATE_ENVIRONMENT
    assert not world.things


def test_what_has_a_twin_keeps_its_objects_and_rolls_out_when_the_twin_is_gone() -> None:
    world = promoted()
    world.twins = (a_twin(),)
    world.edit(environmentdExtraArgs=["--x"])

    assert held(world) is Reason.DUPLICATE_ENVIRONMENT
    assert [*world.generations] == [1]

    world.twins = ()
    world.play()

    assert world.is_promoted
    assert [*world.generations] == [2]


def test_an_environment_is_not_its_own_twin() -> None:
    world = World()
    world.twins = (structs.replace(world.environment),)

    world.play()

    assert world.is_promoted


def _answers(question: Ask, answer: Good | Bad) -> Answers:
    return Answers({question: answer})
