"""Traffic of a workload that is updated in place: its old and new pods are behind two Services."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.plans.kinds import Json
from tests.contracts.plans.decide.traffic.routed_cluster import RoutedCluster, a_routed_pair
from tests.contracts.plans.decide.workloads.objects import clone_set


class _CloneSet(RoutedCluster):
    """`c` of five pods, of which those that its partition keeps are old."""

    def __init__(self, plan: Json, **fields: Any) -> None:
        super().__init__({"rolloutBatches": [{"replicas": 1}, {"replicas": 2}, {}], **plan}, sources=(), **fields)
        found = clone_set(5, paused=True)
        self.put(found.resource, found.tree)
        self.spec["targetRef"] = self.reference("c", "CloneSet", "apps.kruise.io/v1alpha1")

    def _ready(self, service: str) -> int:
        tree = self.tree("c")
        new = int(tree["status"]["updatedReadyReplicas"])
        if service == "shop-v2":
            return new
        strategy = tree["spec"]["updateStrategy"]
        return 5 - new if strategy.get("paused") else int(strategy.get("partition", 0))


def test_r_32_the_target_gets_everything_before_the_last_old_pods_go() -> None:
    cluster = _CloneSet({})

    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"
    assert cluster.shares == [(20,), (60,), (100,), (100,)]
    assert cluster.lost == []


def test_r_32_one_batch_of_everything_has_no_way_to_keep_traffic_and_waits_for_nothing() -> None:
    cluster = _CloneSet({"rolloutBatches": [{}]})

    cluster.play("rolloutSucceed")

    assert (cluster.state, cluster.shares) == ("rolloutSucceed", [(100,), (100,)])


def test_v_3_traffic_goes_back_with_the_partition() -> None:
    cluster = _CloneSet({"revertOnDelete": True})
    cluster.play_to("batchVerifying", 1)

    cluster.delete()
    cluster.play()

    assert (cluster.is_there, cluster.share) == (False, (0,))
    assert cluster.lost == []


def test_a_third_target_is_refused_where_its_route_still_serves_the_first() -> None:
    """Its plan names two Services, and the route has three: nobody shrinks the one that it forgot."""
    cluster = a_routed_pair()
    cluster.play_to("batchVerifying", 1)
    cluster.add_deployment("d3", 0, paused=True)
    routing = {**cluster.plan["trafficRouting"], "sourceService": "shop-v2", "targetService": "shop-v3"}
    cluster.selectors["shop-v3"] = None

    cluster.change(
        targetRef=cluster.reference("d3"),
        sourceRef=[cluster.reference("d2")],
        rolloutPlan={**cluster.plan, "trafficRouting": routing},
    )
    cluster.play(most=30)

    sentence = "spec.rules[0] sends requests to others than shop-v2 and shop-v3: give those an entry of their own"
    assert cluster.condition("RolloutSpecVerifying")[1] == f"the HTTPRoute ns/shop cannot be shared: {sentence}"
    assert (cluster.size("d1"), cluster.size("d2"), cluster.size("d3")) == (2, 3, 0)
