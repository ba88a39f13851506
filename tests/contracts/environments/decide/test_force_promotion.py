"""A person's word for a promotion: when it is taken, and what is said when it is not."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.contracts.environments.decide.force_promotion import Force, force
from fairlead.contracts.environments.kinds import Materialize
from fairlead.core.ask import Bad
from fairlead.core.verb import Nothing, Refused
from tests.builders import NOW
from tests.contracts.environments.decide.specs import IMMEDIATELY, NEXT
from tests.contracts.environments.decide.world import World, promoted


def parked() -> World:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy="ManuallyPromote")
    world.play()
    return world


def test_what_is_parked_is_promoted_by_its_hash_in_exactly_this_version() -> None:
    world = parked()

    forced = force(world.environment)

    assert isinstance(forced, Force)
    assert (forced.generation, forced.image, forced.is_ready) == (2, NEXT, True)
    assert forced.patch == {
        "spec": {"forcePromote": world.status["requestedRolloutHash"]},
        "metadata": {"resourceVersion": str(world.own.version)},
    }


def test_what_is_done_after_the_patch_is_a_promotion() -> None:
    world = parked()
    forced = force(world.environment)
    assert isinstance(forced, Force)

    world.edit(forcePromote=world.status["requestedRolloutHash"])
    world.play()

    assert world.is_promoted
    assert world.status["activeGeneration"] == 2


def test_what_is_still_catching_up_may_be_promoted_too() -> None:
    world = promoted()
    world.starts_as = "Initializing"
    world.edit(environmentdImageRef=NEXT)
    world.play()

    forced = force(world.environment)

    assert isinstance(forced, Force)
    assert not forced.is_ready


def changed() -> World:
    world = promoted()
    world.edit(environmentdImageRef=NEXT)
    return world


def refused() -> World:
    world = promoted()
    world.edit(environmentdImageRef="materialize/environmentd:v29.0.0")
    world.play()
    return world


def given_up() -> World:
    world = parked()
    world.wait(25 * 3600)
    return world


def failing() -> World:
    world = promoted()
    world.refuses = lambda write: Bad("failed", "no room", 500) if write.refusable else None
    world.edit(environmentdImageRef=NEXT)
    world.play()
    return world


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (World(), "has not taken it up yet"),
        (promoted(), "nothing to promote: generation 1 is what the spec asks for"),
        (changed(), "has not taken up the latest change"),
        (refused(), "generation 2 cannot be promoted: Refusing to upgrade"),
        (given_up(), "generation 2 cannot be promoted: Cancelled rollout"),
        (failing(), "generation 2 cannot be promoted: Failed to apply changes"),
    ],
    ids=["not begun", "nothing on its way", "just changed", "refused upgrade", "given up", "not deployed"],
)
def test_where_nothing_can_be_promoted_a_sentence_says_why(world: World, words: str) -> None:
    answer = force(world.environment)

    assert isinstance(answer, Refused)
    assert words in answer.sentence


def test_a_deleted_environment_and_one_whose_spec_cannot_be_read_are_left_alone() -> None:
    world = parked()
    metadata = msgspec.structs.replace(world.environment.metadata, deletion_timestamp=NOW)
    leaving = Materialize(metadata, world.environment.spec, world.environment.status)
    broken = Materialize(
        world.environment.metadata, world.environment.spec | {"enableRbac": "maybe"}, world.environment.status
    )

    assert force(leaving) == Refused("it is being deleted")
    answer = force(broken)
    assert isinstance(answer, Refused)
    assert "enableRbac" in answer.sentence


def promoting() -> World:
    world = promoted()
    world.takes_over = False
    world.edit(environmentdImageRef=NEXT)
    world.play()
    return world


def approved() -> World:
    world = promoted()
    world.starts_as, world.skips = "Initializing", 400
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.edit(forcePromote=world.status["requestedRolloutHash"])
    world.play()
    return world


def immediate() -> World:
    world = promoted()
    world.pods_start = False
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=IMMEDIATELY)
    world.play()
    return world


@pytest.mark.parametrize(
    ("world", "words"),
    [
        (promoting(), "is being promoted already"),
        (approved(), "was approved already"),
        (immediate(), "takes over by itself"),
    ],
    ids=["promoting", "approved", "immediately"],
)
def test_what_happens_anyway_is_no_mistake(world: World, words: str) -> None:
    answer = force(world.environment)

    assert isinstance(answer, Nothing)
    assert words in answer.sentence
