"""Rollouts of which something is refused: images that may not follow, and objects that cannot be applied or removed."""

from __future__ import annotations

import pytest

from fairlead.core.act import AnyWrite, Apply, Delete, Does
from fairlead.core.ask import Bad
from fairlead.core.reason import Reason
from tests.contracts.environments.decide.specs import IMMEDIATELY, NEXT, OLD, a_spec
from tests.contracts.environments.decide.world import World, promoted, waiting


def test_an_image_that_may_not_follow_is_refused_once_and_touches_nothing() -> None:
    world = promoted()

    world.edit(environmentdImageRef="materialize/environmentd:v28.0.1")
    decision = world.play()

    assert decision.verdict.reason is Reason.UPGRADE_REFUSED
    assert not decision.verdict.reason.fails
    assert world.says[:2] == ("False", "FailedDeploy")
    assert world.says[2].startswith(f"Refusing to upgrade from {OLD} to materialize/environmentd:v28.0.1.")
    assert world.status["requestedRolloutHash"] == world.hash
    assert [*world.generations] == [1]
    assert "Applying" not in [tell.reason for tell in world.tells[3:]]
    writes = len(world.writes)
    world.look_again()
    assert len(world.writes) == writes

    world.edit(environmentdImageRef="materialize/environmentd:v27.0.0")
    world.play()

    assert world.is_promoted


def test_a_downgrade_is_refused_and_what_serves_serves_on() -> None:
    world = promoted(a_spec(environmentdImageRef=NEXT))

    world.edit(environmentdImageRef=OLD)
    world.play()

    assert world.says[1] == "FailedDeploy"
    assert world.selected == 1
    assert world.image(1) == NEXT


def refusing(world: World, kind: str) -> None:
    def refuses(write: AnyWrite) -> Bad | None:
        is_kind = isinstance(write, Apply) and write.ref.resource.kind == kind and write.does is Does.APPLY_GENERATION
        return Bad("failed", f"{kind} quota exceeded", 403) if is_kind else None

    world.refuses = refuses


@pytest.mark.parametrize("kind", ["Service", "ConfigMap", "StatefulSet"])
def test_an_object_that_is_refused_is_a_failed_deployment_said_once(kind: str) -> None:
    world = promoted()
    refusing(world, kind)

    world.edit(environmentdImageRef=NEXT)
    decision = world.play()

    assert decision.verdict.reason is Reason.GENERATION_REFUSED
    assert world.says == (
        "False",
        "FailedDeploy",
        f"Failed to apply changes for generation 2: {kind} quota exceeded",
    )
    assert decision.tell[0].warning
    assert world.status["requestedRolloutHash"] == world.hash
    assert world.selected == 1
    version = world.own.version
    for _ in range(3):
        world.wait(60)
    assert world.own.version == version, "L7: the same failure was written again"

    world.refuses = lambda _: None
    world.wait(60)

    assert world.is_promoted


def test_a_refusal_for_another_cause_does_not_cost_the_statefulset() -> None:
    world = waiting()
    uid = world.statefulset(2).uid
    refusing(world, "StatefulSet")

    world.edit(environmentdExtraArgs=["--x"])
    world.play()

    assert world.says[1] == "FailedDeploy"
    assert world.statefulset(2).uid == uid


def test_a_generation_that_may_not_be_removed_is_a_failed_deployment() -> None:
    world = promoted()
    world.refuses = lambda write: Bad("refused", "may not delete", 403) if isinstance(write, Delete) else None

    world.edit(environmentdImageRef=NEXT, rolloutStrategy=IMMEDIATELY)
    world.play()

    assert world.says == (
        "False",
        "FailedDeploy",
        "Failed to apply changes for generation 2: may not delete",
    )
    assert [*world.generations] == [1]
    world.refuses = lambda _: None
    world.wait(11)
    assert world.is_promoted


def test_a_failed_deployment_that_passes_but_is_not_ready_is_applying_again() -> None:
    world = promoted()
    refusing(world, "StatefulSet")
    world.edit(environmentdImageRef=NEXT)
    world.play()
    world.starts_as, world.refuses = "Initializing", lambda _: None

    world.wait(60)

    assert world.says[1] == "Applying"
    assert [tell.reason for tell in world.tells if not tell.warning][3:] == ["Applying", "FailedDeploy", "Applying"]
