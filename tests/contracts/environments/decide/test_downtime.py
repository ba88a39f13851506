"""Section 3.5: with a downtime, the serving generation goes before the next one is there, unless that is invalid."""

from __future__ import annotations

import pytest
from msgspec import structs

from fairlead.contracts.environments.decide import decide
from fairlead.contracts.environments.decide.identity import secret_question
from fairlead.core.act import AnyWrite, Create, Delete
from fairlead.core.ask import Bad
from fairlead.core.decision import Decision
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS
from tests.contracts.environments.decide.specs import IMMEDIATELY, NEXT
from tests.contracts.environments.decide.world import World, promoted

UNMADE = {
    "what no StatefulSet can have": (422, True),
    "a quota that the serving generation uses up": (403, False),
    "a webhook that knows no rehearsal": (400, False),
}


def test_with_a_downtime_the_serving_generation_is_gone_before_the_next_is_there() -> None:
    world = promoted()
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=IMMEDIATELY)
    together = []
    for _ in range(40):
        world.step()
        together.append(len(world.generations))
        world.controllers()

    assert max(together) == 1
    assert world.is_promoted
    assert (2, "skip-catchup") in world.calls
    kinds = [write.ref.name for write in world.writes if isinstance(write, Delete)]
    assert [name.removeprefix(f"mz{world.id}-") for name in kinds] == [
        "environmentd-1",
        "persist-pubsub-1",
        "environmentd-1",
        "listeners-1",
    ]


@pytest.mark.parametrize(("code", "serves_on"), UNMADE.values(), ids=UNMADE)
def test_with_a_downtime_the_serving_generation_does_not_go_for_one_that_is_invalid(code: int, serves_on: bool) -> None:
    world = promoted()
    world.refuses = lambda write: (
        Bad("refused", "requests: more than limits", code)
        if write.dry_run and isinstance(write, Create) and write.resource == STATEFULSETS
        else None
    )

    world.edit(environmentdImageRef=NEXT, rolloutStrategy=IMMEDIATELY)
    decision = world.play()

    if not serves_on:
        assert world.is_promoted
        return
    assert [*world.generations] == [1]
    assert decision.verdict.reason is Reason.GENERATION_REFUSED
    assert world.says[1:] == ("FailedDeploy", "Failed to apply changes for generation 2: requests: more than limits")
    assert looked_at(world).verdict.reason is not Reason.RETIRING
    world.refuses = lambda _: None
    world.edit(environmentdExtraArgs=["--mended"])
    world.play()
    assert world.is_promoted
    assert world.status["activeGeneration"] == 2


def looked_at(world: World) -> Decision:
    """By somebody who tries nothing and sends no write."""
    secret = secret_question(world.seen())
    tried = structs.replace(world.seen({secret: Bad("not-sent")}), applied=None)
    decision = decide(tried, world.now)
    assert isinstance(decision, Decision)
    return decision


def test_once_the_serving_generation_is_going_nothing_is_tried_any_more() -> None:
    world = promoted()
    tried: list[str] = []

    def notes(write: AnyWrite) -> None:
        if write.dry_run:
            assert isinstance(write, Create)
            tried.append(write.resource.kind)

    world.refuses = notes
    world.edit(environmentdImageRef=NEXT, rolloutStrategy=IMMEDIATELY)

    world.play()

    assert world.is_promoted
    assert tried == ["Service", "Service", "ConfigMap", "StatefulSet"]
