"""What must hold at every moment of an environment's life (S1 to S14), asserted by the world on every write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, SERVICES
from kubeloop.objects.meta import Ref

if TYPE_CHECKING:
    from tests.contracts.environments.decide.world import World

Tree = dict[str, Any]
IMMEDIATELY = "ImmediatelyPromoteCausingDowntime"


def status_written(world: World, status: Tree) -> None:
    old = world.own.status
    if not old:
        return
    assert status != old, "L7: a status that says the same was written"
    assert status["resourceId"] == old["resourceId"], "S12: the resource id was changed"
    assert len(status["conditions"]) == 1
    grown = status["activeGeneration"] - old["activeGeneration"]
    was_promoting = bool(old["conditions"]) and old["conditions"][0]["reason"] == "Promoting"
    is_promoting = status["conditions"][0]["reason"] == "Promoting"
    assert grown in (0, 1), "S2: the generation made a leap"
    completed = status.get("lastCompletedRolloutHash"), old.get("lastCompletedRolloutHash")
    assert grown or completed[0] == completed[1], "S2: the completed hash changed without a promotion"
    if was_promoting:
        assert grown == int(not is_promoting), "S2: a promotion ended without its generation"
        assert status.get("requestedRolloutHash") == old.get("requestedRolloutHash"), "S1: the request changed"
    else:
        assert not grown, "S2: a generation was promoted that was not recorded"
    if grown:
        assert completed[0] == old.get("requestedRolloutHash"), "the completed hash is not the recorded one"
        image = status["lastCompletedRolloutEnvironmentdImageRef"]
        assert image == world.image(status["activeGeneration"]), "S13: the image is not that of the generation"
        assert old["activeGeneration"] not in world.generations, "the generation before is still there"
        assert world.selected == status["activeGeneration"]


def touched(world: World, ref: Ref, *, exists: bool, deletes: bool = False) -> None:
    number, active = ref.name.rpartition("-")[2], world.status["activeGeneration"]
    if ref.resource not in (STATEFULSETS, SERVICES, CONFIGMAPS) or not number.isdigit() or int(number) != active:
        return
    settled = world.status.get("lastCompletedRolloutHash") == world.hash and not world.is_promoting
    assert not (settled and exists), "S7: the serving generation was touched"
    if deletes and world.own.body["spec"]["rolloutStrategy"] != IMMEDIATELY:
        assert active + 1 in world.heard_leading, "S4: the serving generation was removed before its time"


def stands(world: World) -> None:
    """What holds at every moment, as long as nobody else has a hand in it."""
    if world.is_meddled_with:
        return
    if not world.own.status:
        assert not world.things
        return
    active = world.status["activeGeneration"]
    assert {*world.generations} <= {active, active + 1}, "S6: a third generation exists"
    if world.selected is not None:
        leads = {active} | ({active + 1} if active + 1 in world.heard_leading and world.is_promoting else set())
        assert world.selected in leads, "S5: the public Service selects who does not lead"
