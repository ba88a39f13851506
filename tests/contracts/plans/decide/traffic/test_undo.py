"""`fairlead undo` of a rollout that is routed: the Services go with their workloads."""

from __future__ import annotations

import pytest

from fairlead.contracts.plans.decide.verbs.undo import undo
from tests.contracts.plans.decide.traffic.routed_cluster import a_routed_pair
from tests.contracts.plans.decide.verbs.asked import Asked, planned, written


@pytest.mark.parametrize("place", [None, ("batchVerifying", 0), ("batchInRolling", 2)], ids=str)
def test_undo_sends_requests_back_with_the_pods(place: tuple[str, int] | None) -> None:
    cluster = a_routed_pair()
    cluster.play("rolloutSucceed") if place is None else cluster.play_to(*place)

    plan = planned(Asked(cluster)(undo))
    written(cluster, plan)
    cluster.run()
    cluster.play("rolloutSucceed")

    assert plan.writes[0].shown[-2:] == (
        "spec.rolloutPlan.trafficRouting.sourceService: shop-v1 -> shop-v2",
        "spec.rolloutPlan.trafficRouting.targetService: shop-v2 -> shop-v1",
    )
    assert (cluster.share, cluster.size("d1"), cluster.size("d2"), cluster.lost) == ((0,), 5, 0, [])


def test_undo_leaves_services_out_that_the_plan_does_not_name() -> None:
    cluster = a_routed_pair()
    cluster.play_to("batchVerifying", 0)
    cluster.edit(trafficRouting={"provider": "gatewayapi", "ingressRef": {"name": "shop"}, "sourceService": "shop-v1"})

    write = planned(Asked(cluster)(undo)).writes[0]

    services = {"sourceService": None, "targetService": "shop-v1"}
    assert write.patch["spec"]["rolloutPlan"] == {"trafficRouting": services}
