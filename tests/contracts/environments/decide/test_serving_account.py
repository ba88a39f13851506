"""In whose name a generation runs, and what it may do until it is gone."""

from __future__ import annotations

import pytest

from fairlead.contracts.environments.kinds import ROLE_BINDINGS
from kubeloop.objects.meta import Ref
from tests.contracts.environments.decide.specs import a_spec
from tests.contracts.environments.decide.world import NAME_OF_IT, NAMESPACE, World, promoted

OTHER = {"serviceAccountName": "other"}


def may(world: World) -> list[str]:
    """The accounts that have the role of the environment."""
    binding = world.things[Ref(ROLE_BINDINGS, NAMESPACE, NAME_OF_IT)]
    return [each["name"] for each in binding.body["subjects"]]


WAITS = {
    "starts": {},
    "catches up": {},
    "waits for approval": {"rolloutStrategy": "ManuallyPromote"},
    "is refused": {"environmentdImageRef": "materialize/environmentd:v29.0.0"},
}


@pytest.mark.parametrize("how", WAITS)
def test_the_generation_that_serves_keeps_its_rights_while_another_with_another_account(how: str) -> None:
    world = promoted()
    world.pods_start = how != "starts"
    world.starts_as = "Initializing" if how == "catches up" else "ReadyToPromote"

    world.edit(**OTHER, **WAITS[how])
    world.play()

    assert world.status["activeGeneration"] == 1
    assert sorted(may(world)) == ["m", "other"]


def test_it_loses_them_when_it_is_gone() -> None:
    world = promoted()

    world.edit(**OTHER)
    world.play()

    assert world.is_promoted
    assert may(world) == ["other"]


def test_a_generation_that_is_promoted_keeps_its_rights_though_the_spec_names_another_account() -> None:
    world = promoted()
    world.takes_over = False
    world.edit(**OTHER)
    world.play()

    world.edit(serviceAccountName="third")
    world.play()

    assert world.is_promoting
    assert sorted(may(world)) == ["m", "other", "third"]


def test_with_one_account_it_is_named_once() -> None:
    world = promoted(a_spec(serviceAccountName="given"))

    world.edit(environmentdExtraArgs=["--second"])
    world.starts_as = "Initializing"
    world.play()

    assert may(world) == ["given"]
