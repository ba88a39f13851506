"""When traffic moves (R-32, V-2, X-4): no Service gets requests that has nobody to answer them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from fairlead.contracts.plans.kinds import TRAFFIC_COPIES, Json
from fairlead.core.ask import Bad
from fairlead.core.decision import Hold
from tests.contracts.plans.decide.cluster import Died
from tests.contracts.plans.decide.traffic.routed_cluster import RoutedCluster, a_routed_pair
from tests.contracts.plans.decide.traffic.routes import backend, http_ref, http_route, http_rule, one_entry

each_provider = pytest.mark.parametrize("provider", ["gatewayapi", "istio", "smi"])
CANARY: Json = {"header": "X-Canary", "exact": "always"}
NO_ENTRY = "nothing of it sends requests to shop-v1 or shop-v2: add an entry that does"


@each_provider
def test_r_32_each_batch_gets_its_share_and_the_last_one_everything(provider: str) -> None:
    cluster = a_routed_pair(provider=provider)

    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"
    assert cluster.shares == [(20,), (60,), (100,), (100,)]
    assert cluster.route is not None
    assert cluster.route["spec"] == one_entry(cluster.dialect, backend(cluster.dialect, "shop-v2", 100))["spec"]
    assert cluster.rollout.traffic_weight == 100
    assert cluster.lost == []


def test_r_32_traffic_moves_before_the_source_shrinks_and_is_read_back() -> None:
    cluster = a_routed_pair()
    cluster.play_to("batchInRolling", 0)
    cluster.run()
    cluster.settle()

    moves = cluster.run()
    assert (cluster.share, cluster.size("d1")) == ((20,), 5)
    assert moves.verdict.again == cluster.now + timedelta(seconds=0.2)
    cluster.run()
    assert cluster.size("d1") == 4


def test_r_32_with_decrease_first_the_last_old_pod_goes_after_its_traffic() -> None:
    cluster = a_routed_pair({"rolloutStrategy": "DecreaseFirst"})

    cluster.play("rolloutSucceed")

    assert cluster.shares == [(20,), (60,), (100,), (100,)]
    assert cluster.lost == []
    assert max(each.sizes["d1"] + each.sizes["d2"] for each in cluster.history) == 5


def test_r_32_with_an_interval_traffic_follows_the_pods_one_by_one() -> None:
    batches = [{"replicas": 3, "instanceInterval": 1}, {"replicas": 2}]
    cluster = a_routed_pair({"rolloutBatches": batches})

    cluster.play("rolloutSucceed")

    assert cluster.shares == [(20,), (40,), (60,), (100,), (100,)]
    assert cluster.lost == []


@pytest.mark.parametrize("weight", [{}, {"trafficWeight": 10}], ids=["its own", "named"])
@pytest.mark.parametrize("strategy", ["IncreaseFirst", "DecreaseFirst"])
def test_r_32_a_source_without_pods_gets_no_requests(strategy: str, weight: Json) -> None:
    """Turned round before any pod moved: the target has all of them, and the first batch is but a share of it."""
    batches = [{"replicas": 1, **weight}, {"replicas": 2}, {}]
    cluster = a_routed_pair({"rolloutStrategy": strategy, "rolloutBatches": batches})
    cluster.exchange()

    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"
    assert (cluster.share, cluster.size("d1"), cluster.size("d2"), cluster.lost) == ((0,), 5, 0, [])


def test_a_batch_may_name_its_share() -> None:
    batches = [{"replicas": 1, "trafficWeight": 1}, {"replicas": 2, "trafficWeight": 33}, {"trafficWeight": 5}]
    cluster = a_routed_pair({"rolloutBatches": batches})

    cluster.play("rolloutSucceed")

    assert cluster.shares == [(1,), (33,), (100,), (100,)]


def test_r_32_requests_wait_for_an_endpoint_that_is_ready() -> None:
    cluster = a_routed_pair()
    cluster.silent = {"shop-v2"}

    cluster.play(most=20)
    assert cluster.condition("RolloutInProgress") == (
        "False",
        "waiting for an endpoint of the Service shop-v2 to become ready",
    )
    assert (cluster.shares, cluster.size("d1")) == ([], 5)
    assert "TrafficFailed" not in cluster.reasons()
    cluster.silent = set()
    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"


def test_a_wait_for_endpoints_is_looked_at_ever_more_slowly() -> None:
    cluster = a_routed_pair()
    cluster.silent = {"shop-v2"}
    cluster.play_to("batchInRolling", 0)
    cluster.run()
    cluster.settle()

    found = []
    for _ in range(40):
        verdict = cluster.run().verdict
        assert isinstance(verdict, Hold)
        assert verdict.again is not None
        found.append((verdict.again - cluster.now).total_seconds())
        cluster.now = verdict.again

    assert (found[0], max(found)) == (0.2, 5)
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("meddling", "sentence"),
    [
        ({"route": None}, "the HTTPRoute ns/shop is not there: create it"),
        (
            {"versions": ("v1alpha2",)},
            "the cluster does not serve HTTPRoute of gateway.networking.k8s.io/v1 or v1beta1: install it",
        ),
        (
            {"route": http_route(http_rule(http_ref("cart")))},
            f"the HTTPRoute ns/shop cannot be shared: {NO_ENTRY}",
        ),
    ],
    ids=["missing", "not installed", "about others"],
)
@pytest.mark.parametrize("place", [None, ("batchInRolling", 0), ("batchVerifying", 0)], ids=str)
def test_r_32_a_route_that_is_not_there_is_waited_for_and_told(
    meddling: dict[str, Any], sentence: str, place: tuple[str, int] | None
) -> None:
    cluster = a_routed_pair()
    if place is not None:
        cluster.play_to(*place)
    before = {name: getattr(cluster, name) for name in meddling}
    for name, value in meddling.items():
        setattr(cluster, name, value)

    cluster.play(most=10)
    sizes = cluster.size("d1")
    cluster.play(most=3)
    (told,) = {(each.reason, each.text) for each in cluster.told if each.warning}

    assert told == ("TrafficFailed", sentence)
    assert cluster.size("d1") == sizes
    assert sentence in {each.message for each in cluster.rollout.conditions if each.status == "False"}
    for name, value in before.items():
        setattr(cluster, name, value)
    cluster.play("rolloutSucceed")
    assert cluster.state == "rolloutSucceed"


def test_a_route_is_read_in_the_version_that_is_served() -> None:
    cluster = a_routed_pair()
    cluster.versions = ("v1beta1",)

    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"


def test_a_refused_change_of_a_route_is_told_in_the_words_of_the_server() -> None:
    cluster = a_routed_pair()
    cluster.refusal = Bad("refused", "rules is too long")

    cluster.play(most=20)

    assert cluster.condition("RolloutInProgress") == (
        "False",
        "the HTTPRoute ns/shop was not changed: rules is too long",
    )
    assert (cluster.size("d1"), cluster.size("d2")) == (5, 1)


def test_r_32_a_traffic_split_is_made_where_there_is_none() -> None:
    cluster = a_routed_pair(provider="smi")
    cluster.route = None

    cluster.play("rolloutSucceed")

    assert cluster.shares == [(20,), (60,), (100,), (100,)]
    assert cluster.route is not None
    assert cluster.route["apiVersion"] == "split.smi-spec.io/v1alpha2"
    assert cluster.route["spec"] == {"service": "shop", "backends": [{"service": "shop-v2", "weight": 100}]}


@pytest.mark.parametrize("is_there", [True, False])
def test_r_32_no_traffic_split_is_made_or_shared_in_the_namespace_of_others(is_there: bool) -> None:
    """It is about Services of its own namespace, where whoever writes rollouts in this one may have no rights."""
    cluster = a_routed_pair(provider="smi")
    cluster.route = cluster.route if is_there else None
    before = cluster.route
    routing = cluster.plan["trafficRouting"]
    cluster.edit(trafficRouting={**routing, "ingressRef": {"name": "shop", "namespace": "others"}})

    cluster.play()

    assert (cluster.state, cluster.condition("RolloutFailed")[1]) == (
        "rolloutFailed",
        "trafficRouting.ingressRef.namespace is others: a TrafficSplit must be in that of its Services, ns",
    )
    assert cluster.route == before


def test_r_32_and_neither_is_one_that_a_status_names() -> None:
    cluster = a_routed_pair(provider="smi")
    cluster.play("rollingInBatches")
    cluster.route = None
    routing = {**cluster.status["trafficRouting"], "ingressRef": {"name": "shop", "namespace": "others"}}
    cluster.status = {**cluster.status, "trafficRouting": routing}
    cluster.route_namespace = "others"

    for _ in range(10):
        cluster.settle()
        cluster.run()

    assert cluster.route is None
    assert "the TrafficSplit others/shop is not there: create it" in cluster.told[-1].text


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"provider": "nginx"}, "trafficRouting.provider is nginx: write one of gatewayapi, istio, smi, none"),
        ({"ingressRef": None}, "trafficRouting.ingressRef.name is missing: name the HTTPRoute"),
        (
            {"sourceService": ""},
            "trafficRouting.sourceService is missing, and no component revision tells it: name the Service",
        ),
        (
            {"targetService": "shop-v1"},
            "sourceService and targetService are both shop-v1: name the Service of each side",
        ),
        ({"port": 0}, "trafficRouting.port is 0: write a number from 1 to 65535"),
    ],
)
def test_a_plan_that_cannot_be_routed_fails_its_verification(change: Json, sentence: str) -> None:
    cluster = a_routed_pair()
    cluster.edit(trafficRouting={**cluster.plan["trafficRouting"], **change})

    cluster.play()

    assert (cluster.state, cluster.condition("RolloutFailed")[1]) == ("rolloutFailed", sentence)
    assert cluster.owners("d1") == []


@pytest.mark.parametrize(
    ("batch", "provider", "sentence"),
    [
        (
            {"trafficMatch": [CANARY]},
            "smi",
            "rolloutBatches[0] has trafficMatch, but a TrafficSplit cannot match headers: take it out",
        ),
        (
            {"trafficMatch": [{"header": "x"}]},
            "istio",
            "rolloutBatches[0].trafficMatch needs a header with one of exact, prefix and regex",
        ),
        ({"trafficWeight": 101}, "istio", "rolloutBatches[0].trafficWeight is 101: write a number from 0 to 100"),
        (
            {"trafficWeight": 10},
            None,
            "rolloutBatches[0] shares traffic: say in trafficRouting which route it is about",
        ),
    ],
)
def test_a_batch_that_cannot_be_routed_fails_the_verification(batch: Json, provider: str | None, sentence: str) -> None:
    cluster = a_routed_pair({"rolloutBatches": [{"replicas": 1, **batch}, {}]}, provider=provider or "smi")
    if provider is None:
        cluster.edit(trafficRouting=None)

    cluster.play()

    assert (cluster.state, cluster.condition("RolloutFailed")[1]) == ("rolloutFailed", sentence)


def test_services_are_those_of_the_component_revisions() -> None:
    cluster = a_routed_pair()
    for name, revision in (("d1", "shop-v1"), ("d2", "shop-v2")):
        resource, tree = cluster.objects[name]
        labels = {"app.oam.dev/revision": revision}
        cluster.put(resource, {**tree, "metadata": {**tree["metadata"], "labels": labels}})
    cluster.edit(trafficRouting={"provider": "gatewayapi", "ingressRef": {"name": "shop"}})

    cluster.play("rolloutSucceed")

    assert cluster.shares == [(20,), (60,), (100,), (100,)]


def test_services_that_select_the_pods_of_the_other_side_fail_the_verification() -> None:
    """Else the Service of the pods that go would get all requests."""
    cluster = a_routed_pair()
    cluster.play("rolloutSucceed")

    cluster.change(targetRef=cluster.reference("d1"), sourceRef=[cluster.reference("d2")])
    cluster.play()

    assert (cluster.state, cluster.condition("RolloutFailed")[1]) == (
        "rolloutFailed",
        "the Service shop-v1 does not select the pods of the Deployment d2: name one that does",
    )
    assert (cluster.share, cluster.size("d2")) == ((100,), 5)


def test_services_are_waited_for_and_may_have_no_selector() -> None:
    cluster = a_routed_pair()
    cluster.selectors = {"shop-v1": None}

    cluster.play(most=10)
    assert cluster.condition("RolloutSpecVerifying") == ("False", "the Service shop-v2 is not there: create it")
    assert "TrafficFailed" in cluster.reasons()
    cluster.selectors = {"shop-v1": None, "shop-v2": {}}
    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"


def test_a_plan_without_a_provider_leaves_routes_alone() -> None:
    cluster = a_routed_pair()
    cluster.edit(trafficRouting={"provider": "none"})
    cluster.versions = ()

    cluster.play("rolloutSucceed")

    assert (cluster.state, cluster.shares) == ("rolloutSucceed", [])
    assert cluster.rollout.traffic_weight is None


def test_a_scale_leaves_routes_alone() -> None:
    cluster = a_routed_pair({"targetSize": 3, "rolloutBatches": [{"replicas": 1}, {}]}, sources=())
    cluster.edit(trafficRouting={**cluster.plan["trafficRouting"], "sourceService": ""})

    cluster.play("rolloutSucceed")

    assert (cluster.state, cluster.shares) == ("rolloutSucceed", [])


def test_i_5_a_paused_rollout_touches_no_route() -> None:
    cluster = a_routed_pair()
    cluster.play_to("batchVerifying", 0)
    cluster.edit(paused=True)
    cluster.route = one_entry(cluster.dialect, backend(cluster.dialect, "shop-v1", 100))

    cluster.play(most=5)
    assert cluster.share == (0,)
    cluster.edit(paused=False)
    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"


def test_x_4_a_route_that_somebody_overwrites_at_the_gate_gets_its_share_and_headers_again() -> None:
    batches = [{"replicas": 1, "trafficMatch": [CANARY]}, {"replicas": 2}, {}]
    cluster = a_routed_pair({"rolloutBatches": batches, "lastBatchToRollout": 0})
    cluster.play_to("batchReady", 0)
    cluster.play(most=3)
    kept = cluster.route

    cluster.route = one_entry(cluster.dialect, backend(cluster.dialect, "shop-v1", 100))
    cluster.play(most=3)

    assert kept is not None
    assert cluster.route is not None
    assert len(kept["spec"]["rules"]) == 2
    assert cluster.route["spec"] == kept["spec"]
    assert cluster.rollout.paused_since is not None


@pytest.mark.parametrize("provider", ["gatewayapi", "istio"])
def test_x_4_headers_reach_the_target_at_weight_0_until_the_next_batch(provider: str) -> None:
    batches = [{"replicas": 1, "trafficWeight": 0, "trafficMatch": [CANARY]}, {"replicas": 2}, {}]
    cluster = a_routed_pair({"rolloutBatches": batches}, provider=provider)

    cluster.play_to("batchFinalizing", 0)
    assert cluster.route is not None
    copy, entry = cluster.route["spec"][cluster.dialect.copied_in]
    assert [cluster.dialect.read(each, "ns").service for each in copy[cluster.dialect.backends]] == ["shop-v2"]  # type: ignore[union-attr]
    assert cluster.share == (0,)
    cluster.play_to("batchFinalizing", 1)

    assert len(cluster.route["spec"][cluster.dialect.copied_in]) == 1
    assert "annotations" not in cluster.route["metadata"]
    assert entry[cluster.dialect.backends] != copy[cluster.dialect.backends]


def _headed(**plan: Any) -> RoutedCluster:
    cluster = a_routed_pair({"rolloutBatches": [{"replicas": 1, "trafficMatch": [CANARY]}, {}], **plan})
    cluster.play_to("batchFinalizing", 0)
    assert cluster.route is not None
    assert TRAFFIC_COPIES in cluster.route["metadata"]["annotations"]
    return cluster


def test_x_4_headers_go_at_the_end_by_revert_and_by_deletion() -> None:
    failed, reverted, deleted = _headed(), _headed(revertOnDelete=True), _headed()
    failed.ask("abort@2026-03-01T12:00:00Z")
    reverted.delete()
    deleted.delete()

    for cluster, share in ((failed, 20), (reverted, 0), (deleted, 20)):
        cluster.play()
        assert cluster.route is not None
        assert (cluster.share, len(cluster.route["spec"]["rules"])) == ((share,), 1)
        assert "annotations" not in cluster.route["metadata"]


def test_l_2_headers_that_cannot_be_taken_off_hold_up_no_deletion() -> None:
    cluster = _headed()
    cluster.refusal = Bad("refused", "no")

    cluster.delete()
    cluster.play()

    assert not cluster.is_there


@pytest.mark.parametrize("plan", [{}, {"rolloutStrategy": "DecreaseFirst"}], ids=["increase", "decrease"])
def test_l_4_a_crash_at_any_write_loses_no_request(plan: Json) -> None:
    plan = {**plan, "rolloutBatches": [{"replicas": 1}, {}]}
    cluster = a_routed_pair(plan, old=2)
    cluster.play()
    whole = len(cluster.history) + len(cluster.shares)

    for writes in range(whole):
        cluster = a_routed_pair(plan, old=2)
        cluster.writes_left = writes
        with pytest.raises(Died):
            cluster.play()
        cluster.writes_left = None
        cluster.settle()
        cluster.play()

        assert (cluster.state, cluster.lost) == ("rolloutSucceed", [])
        assert cluster.shares == [(50,), (100,), (100,)]
