"""L2: a promotion that has begun ends, whatever has become of what identifies the environment."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from fairlead.contracts.environments.kinds import BALANCERS, Materialize
from fairlead.contracts.environments.settings import Settings
from fairlead.core.act import Create
from fairlead.core.ask import Bad, ReadSecret
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref
from tests.contracts.environments.decide.specs import NEXT, a_license
from tests.contracts.environments.decide.world import NAME_OF_IT, NAMESPACE, World, promoted

BALANCER = Ref(BALANCERS, NAMESPACE, NAME_OF_IT)


def promoting(settings: Settings | None = None) -> World:
    world = promoted(None, settings)
    world.takes_over = False
    world.edit(environmentdExtraArgs=["--second"])
    world.play()
    assert world.says[1] == "Promoting"
    return world


def without_secret(world: World) -> None:
    world.secret = None


def with_another_license(world: World) -> None:
    world.secret = {"license_key": a_license("11111111-1111-4111-8111-111111111111")}


def with_a_license_that_is_none(world: World) -> None:
    world.secret = {"license_key": "nonsense"}


def without_an_answer(world: World) -> None:
    world.answers = lambda ask: Bad("timeout", "no answer") if isinstance(ask.to, ReadSecret) else None


def with_a_twin(world: World) -> None:
    tree = world.own.tree | {"metadata": {"name": "copy", "namespace": "f", "uid": "uid-c", "resourceVersion": "1"}}
    world.twins = (msgspec.convert(tree | {"status": None}, Materialize),)


TROUBLES: dict[Reason, list[Callable[[World], None]]] = {
    Reason.SECRET_MISSING: [without_secret],
    Reason.ENVIRONMENT_MISMATCH: [with_another_license],
    Reason.LICENSE_INVALID: [with_a_license_that_is_none],
    Reason.READ_FAILED: [without_an_answer],
    Reason.DUPLICATE_ENVIRONMENT: [with_a_twin],
}
CASES = [(trouble, reason) for reason, troubles in TROUBLES.items() for trouble in troubles]


@pytest.mark.parametrize(("trouble", "reason"), CASES, ids=[trouble.__name__ for trouble, _ in CASES])
def test_it_ends(trouble: Callable[[World], None], reason: Reason) -> None:
    world = promoting()
    recorded = world.status["requestedRolloutHash"]
    trouble(world)

    waiting = world.play()

    assert waiting.verdict.reason is Reason.NOT_YET_LEADER
    assert [aside.reason for aside in waiting.asides] == [reason]
    assert waiting.asides[0].text
    world.takes_over = True
    after = world.look_again()
    assert world.status["activeGeneration"] == 2
    assert world.status["lastCompletedRolloutHash"] == recorded
    assert [*world.generations] == [2]
    assert world.selected == 2
    assert after.verdict.reason is reason, "afterwards it is an error like any other"


def test_meanwhile_nothing_else_is_touched() -> None:
    world = promoting(Settings(create_balancers=True))
    role = next(thing for ref, thing in world.things.items() if ref.resource.kind == "Role")
    role.version += 1000
    world.edit(balancerdReplicas=7)
    without_secret(world)
    writes = len(world.writes)

    world.play()

    assert len(world.writes) == writes
    assert "replicas" not in world.things[BALANCER].body["spec"]


def test_what_is_wrong_with_the_shared_objects_is_told_beside_it() -> None:
    world = promoting()
    world.restart()
    world.refuses = lambda write: Bad("refused", "no roles", 403) if b'"Role"' in getattr(write, "body", b"") else None

    decision = world.play()

    assert decision.verdict.reason is Reason.NOT_YET_LEADER
    assert Reason.OBJECT_REFUSED in [aside.reason for aside in decision.asides]
    assert "no roles" in decision.asides[-1].text


def test_what_is_lost_of_the_generation_is_made_again_without_the_secret() -> None:
    world = promoting()
    without_secret(world)
    world.remove(f"statefulset/mz{world.id}-environmentd-2")

    world.play()

    assert isinstance(world.writes[-1], Create)
    world.takes_over = True
    world.look_again()
    assert world.status["activeGeneration"] == 2


def test_without_an_environment_id_it_ends_too() -> None:
    world = promoting()
    world.edit(environmentId=None)
    world.takes_over = True

    for _ in range(30):
        world.step()
        world.controllers()
        if world.status["activeGeneration"] == 2:
            break

    assert world.status["activeGeneration"] == 2


def test_nothing_is_made_again_without_an_environment_id() -> None:
    world = promoting()
    world.edit(environmentId=None)
    world.remove(f"statefulset/mz{world.id}-environmentd-2")
    writes = len(world.writes)

    decision = world.play()

    assert decision.verdict.reason is Reason.SPEC_INVALID
    assert "spec.environmentId" in decision.tell[0].text
    assert len(world.writes) == writes
    world.edit(environmentId="12345678-1234-1234-1234-123456789012", environmentdImageRef=NEXT)
    world.takes_over = True
    world.play()
    assert world.is_promoted
