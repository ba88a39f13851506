"""Sizes that somebody else changes end an attempt with the numbers, and nobody writes against them (R-21)."""

from __future__ import annotations

from fairlead.contracts.plans.kinds import AUTOSCALERS, BATCH_READY, FAILED, ROLLING
from kubeloop.objects.apps import DEPLOYMENTS
from tests.e2e.clusters import Site
from tests.e2e.plan_play import a_pair, batches, begin
from tests.e2e.plans import with_traits
from tests.e2e.zones import change


@with_traits()
async def test_an_autoscaler_is_named_when_the_plan_is_verified_and_when_it_scales(site: Site) -> None:
    play = await begin(site)
    target, source = await a_pair(site)
    aim = {key: target[key] for key in ("apiVersion", "kind", "name")}
    spec = {"scaleTargetRef": aim, "minReplicas": 1, "maxReplicas": 9}
    await site.create(AUTOSCALERS, {"metadata": {"name": "auto"}, "spec": spec})
    await play.roll(batches(2, 3, lastBatchToRollout=0), target, source)
    (told,) = await play.tells("AutoscalerActive")
    await play.until(lambda: play.at() == (ROLLING, BATCH_READY, 0))

    await change(site, DEPLOYMENTS, "d2", {"spec": {"replicas": 4}})
    await play.plan({"lastBatchToRollout": 1})
    await play.ends(FAILED)

    assert told.startswith("the HorizontalPodAutoscaler auto aims at the Deployment d2")
    said = play.condition("RolloutFailed")["message"]
    assert said == (
        "the Deployment d2, at which the HorizontalPodAutoscaler auto aims, has 4 replicas; expected: 2 or 5"
    )
    assert (play.size("d1"), play.size("d2")) == (3, 4)
    assert play.owners("d1") == play.owners("d2") == []
