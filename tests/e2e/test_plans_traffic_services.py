"""Traffic of a component with a rollout trait: its Services are there without anybody making them (section 3.11)."""

from __future__ import annotations

from functools import partial

from fairlead.contracts.plans.kinds import ROLLING, ROLLOUT_TRAITS, SUCCEEDED
from kubeloop.objects.core import SERVICES
from kubesim.standins.route_rules import HTTP_ROUTES
from tests.e2e.application_play import ApplicationPlay, begin, component, definitions
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import define
from tests.e2e.plan_play import NEW, OLD, batches
from tests.e2e.plan_routes import SHOP, route_definitions
from tests.e2e.zones import change

ROUTING = {"provider": "gatewayapi", "ingressRef": {"name": SHOP}}
with_routed_applications = partial(everywhere, definitions=lambda: (*definitions(), *route_definitions()[:1]))


def weights(play: ApplicationPlay) -> dict[str, int]:
    (rule,) = play.object(HTTP_ROUTES, SHOP)["spec"]["rules"]
    return {each["name"]: each.get("weight", 100) for each in rule["backendRefs"]}


def rolled(image: str, **gate: int) -> Tree:
    plan = batches(1, 3, targetSize=4, trafficRouting=ROUTING, **gate)
    return component(image, {"name": "rollout", "properties": plan})


@with_routed_applications(on=("sim",))
async def test_traffic_follows_the_revisions_of_a_component(site: Site) -> None:
    await define(site, *route_definitions()[:1])
    await site.history.follow(HTTP_ROUTES)
    play = await begin(site)
    await play.apply("shop", rolled(OLD))
    await play.until(lambda: play.state("web") == SUCCEEDED)
    assert play.object(SERVICES, "web-v1")["spec"]["selector"]["app.oam.dev/revision"] == "web-v1"
    rule = {"backendRefs": [{"name": "web-v1", "port": 80}]}
    await site.create(HTTP_ROUTES, {"metadata": {"name": SHOP}, "spec": {"rules": [rule]}})

    await play.apply("shop", rolled(NEW, lastBatchToRollout=0))
    await play.until(lambda: play.at("web") == (ROLLING, "batchReady", 0))

    assert weights(play) == {"web-v1": 75, "web-v2": 25}

    await change(site, ROLLOUT_TRAITS, "web", {"spec": {"rolloutPlan": {"lastBatchToRollout": 1}}})
    await play.until(lambda: play.state("web") == SUCCEEDED)

    assert weights(play) == {"web-v2": 100}
    assert sorted(play.site.history.objects(SERVICES)) == ["web-v1", "web-v2"]
