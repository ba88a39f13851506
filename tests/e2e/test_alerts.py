"""Alerts of each contract in a real Prometheus: the rules of its chart, and what its operator exposes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from fairlead.contracts import chart_of, contract
from fairlead.contracts.apiversions.install.values import METRICS_SERVICE as API_METRICS_SERVICE
from fairlead.contracts.leaderworker.install.values import METRICS_SERVICE
from fairlead.contracts.plans.kinds import FAILED
from fairlead.engine.charts import data_of
from fairlead.engine.decide.downgrade import MAX_OPERATOR_VERSION
from kubeloop import clock, request
from kubeloop.calls import Reply
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import LEASES, SECRETS
from kubeloop.objects.meta import Ref
from kubesim.pods.behaviour import IMAGE_PULL
from kubesim.time import run
from tests.e2e.alerting import AlertingPrometheus, alerting
from tests.e2e.api_commands import api
from tests.e2e.clusters import SimGround, Site, _play
from tests.e2e.converting_operator import rules_in_a_map
from tests.e2e.environments import V, _set_up, manifest
from tests.e2e.leaderworker_play import begin as begin_sets
from tests.e2e.plan_play import OLD, a_deployment, a_pair, batches, reference
from tests.e2e.plan_play import begin as begin_plans
from tests.e2e.receivers import receiving
from tests.e2e.replicated_operator import LEASE, Replica
from tests.e2e.replicated_operator import SERVICE as REPLICAS
from tests.e2e.roles import CLUSTER_ROLES, allow
from tests.e2e.rollouts import SECOND, is_complete, three_zones
from tests.e2e.service_proxy import ServiceProxy, a_pod
from tests.e2e.test_apiversions_attaching import defined, probe_of, unconvert
from tests.e2e.test_apiversions_rights import granted, rules_without
from tests.e2e.test_environments_blocked import UNPULLABLE, blocked
from tests.e2e.test_leaderworker_blocked import give_workers, patient
from tests.e2e.test_leaderworker_blocked import until_blocked as groups_blocked
from tests.e2e.test_plans_blocked import blocked as plan_blocked
from tests.e2e.test_zones_blocked import correct, roll_badly, until_blocked
from tests.e2e.zones import begin, change

NAMESPACE = "test"
DOWN = "down"
"""The moment at which no operator can be scraped."""
A_DAY = 86400.0
ENOUGH_REFUSALS = 15

Moments = dict[str, bytes]


async def zones(site: Site, moments: Moments, _folder: Path) -> None:
    await three_zones(site)
    play = await begin(site)
    await play.operator.at_rest()
    await roll_badly(site, **{IMAGE_PULL: "fail"})
    await until_blocked(play)
    moments["blocked"] = play.operator.metrics.exposition()
    await correct(site, IMAGE_PULL)
    await site.until(lambda: is_complete(site, SECOND))
    await play.operator.at_rest()
    moments["at rest"] = play.operator.metrics.exposition()


async def environments(site: Site, moments: Moments, folder: Path) -> None:
    lease = contract("environments").lease
    held = {
        "holderIdentity": "another",
        "leaseDurationSeconds": 3600,
        "renewTime": f"{clock.now():%Y-%m-%dT%H:%M:%S.%fZ}",
        "leaseTransitions": 0,
    }
    await site.create(LEASES, {"metadata": {"name": lease}, "spec": held})
    async with _set_up(site, folder, ()) as scene:
        starting = site.start(scene.operator.start())
        await asyncio.sleep(60)
        moments["standing by"] = scene.operator.metrics.exposition()
        await change(site, LEASES, lease, {"spec": {"holderIdentity": ""}})
        await starting
        await scene.keep_secret()
        await scene.apply(manifest(V))
        await scene.promoted(1)
        moments["at rest"] = scene.operator.metrics.exposition()
        await scene.apply(manifest(UNPULLABLE))
        await blocked(scene)
        await asyncio.sleep(60)
        moments["blocked"] = scene.operator.metrics.exposition()
        await asyncio.sleep(3600)
        moments["stalled"] = scene.operator.metrics.exposition()


async def leaderworker(site: Site, moments: Moments, _folder: Path) -> None:
    play = await begin_sets(site)
    await play.create(patient(600))
    await play.available()
    await play.at_rest()
    moments["at rest"] = play.operator.metrics.exposition()
    await give_workers(play, **{IMAGE_PULL: "fail"})
    await groups_blocked(play)
    await play.at_rest()
    moments["blocked"] = play.operator.metrics.exposition()


async def plans(site: Site, moments: Moments, _folder: Path) -> None:
    play = await begin_plans(site)
    target, source = await a_pair(site, 2)
    await play.at_rest()
    moments["at rest"] = play.operator.metrics.exposition()
    await change(site, DEPLOYMENTS, "d2", {"spec": {"template": {"metadata": {"annotations": {IMAGE_PULL: "fail"}}}}})
    await play.roll(batches(1, 1, rolloutStrategy="DecreaseFirst"), target, source)
    await play.until(lambda: plan_blocked(play))
    moments["blocked"] = play.operator.metrics.exposition()
    await play.roll(batches(7), target, source, name="bad")
    await play.ends(FAILED, "bad")
    await play.at_rest()
    moments["failed"] = play.operator.metrics.exposition()
    play.operator.metrics.show_certificate("webhooks", lambda: time.time() + A_DAY)
    moments["ending"] = play.operator.metrics.exposition()
    async with receiving(site, lambda _: Reply(403)) as receiver:
        await site.create(DEPLOYMENTS, a_deployment("d3", 1, OLD))
        hook = {"type": "initialize-rollout", "name": "asked", "url": receiver.url}
        await play.roll({"targetSize": 2, "rolloutWebhooks": [hook]}, reference("d3"), name="hooked")
        await play.until(lambda: len(receiver.calls) > ENOUGH_REFUSALS, every=1.0, within=300)
        moments["hooks refuse"] = play.operator.metrics.exposition()


async def apiversions(site: Site, moments: Moments, _folder: Path) -> None:
    """A newer version has led; a rotation waits for replicas of which the operator may not know, and goes on once it
    may; and somebody takes the conversion of a definition away again and again."""
    kind, proxy, user = await defined(site), ServiceProxy(site, REPLICAS), "fairlead"
    await proxy.start()
    replica = Replica(site, proxy, 1)
    await a_pod(site, replica.endpoint.pod)
    without = rules_without(granted(kind), "list", "endpointslices.discovery.k8s.io")
    await allow(site, user, list(without), everywhere=True)
    newer = {"name": LEASE, "annotations": {MAX_OPERATOR_VERSION: "99.0.0"}}
    await site.create(LEASES, {"metadata": newer})
    site.start_operator(replica, user)
    await asyncio.sleep(60)
    moments["standing by"] = replica.metrics.exposition()
    body = msgspec.json.encode({"metadata": {"annotations": {MAX_OPERATOR_VERSION: None}}})
    await site.client.call(request.patch(Ref(LEASES, site.namespace, LEASE), request.MERGE_PATCH, body))

    def blocked() -> set[str]:
        families = replica.metrics.registry.collect()
        told = [each for family in families for each in family.samples if each.name == "fairlead_rollout_blocked"]
        return {each.labels["part"] for each in told if each.value}

    await site.until(lambda: "rights" in blocked(), every=1.0)
    await site.until(lambda: site.get(SECRETS, "fairlead-webhook-cert"), every=1.0)
    ran = await api(site.client, "certs", "rotate", "-n", site.namespace, "--wait", "no")
    assert ran.code == 0, ran
    await site.until(lambda: blocked() == {"rights", "certificates"}, every=1.0, within=600)
    moments["without a right"] = replica.metrics.exposition()
    body = msgspec.json.encode({"rules": granted(kind)})
    await site.client.call(request.patch(Ref(CLUSTER_ROLES, "", user), request.MERGE_PATCH, body))
    await site.until(lambda: not blocked(), every=1.0, within=600)
    await proxy.tell(replica.endpoint)
    await rules_in_a_map(site, {**kind.rules(), "attach": True})
    await site.until(lambda: probe_of(replica, kind) == "answers", every=1.0)
    moments["at rest"] = replica.metrics.exposition()
    while probe_of(replica, kind) != "lost":
        await unconvert(site, kind)
        await asyncio.sleep(1.0)
    moments["overwritten"] = replica.metrics.exposition()


class Monitored(NamedTuple):
    """How the chart of a contract has its operator scraped."""

    tokens: Mapping[str, str]
    """What is filled into the rules."""
    labels: Mapping[str, str]
    """What the monitor puts on every series."""
    play: Callable[[Site, Moments, Path], Coroutine[Any, Any, None]]


CONTRACTS = {
    "zones": Monitored(
        {"NAMESPACE": NAMESPACE, "SERVICE": "rollout-operator"},
        {"namespace": NAMESPACE, "service": "rollout-operator", "pod": "rollout-operator-0"},
        zones,
    ),
    "environments": Monitored(
        {"NAMESPACE": NAMESPACE},
        {"namespace": NAMESPACE, "container": "materialize-operator", "pod": "materialize-operator-0"},
        environments,
    ),
    "leaderworker": Monitored(
        {"NAMESPACE": NAMESPACE, "SERVICE": METRICS_SERVICE},
        {"namespace": NAMESPACE, "service": METRICS_SERVICE, "pod": "lws-controller-manager-0"},
        leaderworker,
    ),
    "plans": Monitored(
        {"NAMESPACE": NAMESPACE, "SERVICE": "vela-core-metrics"},
        {"namespace": NAMESPACE, "service": "vela-core-metrics", "pod": "vela-core-0"},
        plans,
    ),
    "apiversions": Monitored(
        {"NAMESPACE": NAMESPACE, "SERVICE": API_METRICS_SERVICE},
        {"namespace": NAMESPACE, "service": API_METRICS_SERVICE, "pod": "fairlead-1"},
        apiversions,
    ),
}


class Alerted(NamedTuple):
    prometheus: AlertingPrometheus
    moments: Moments


@pytest.fixture(scope="module")
def alerted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Alerted]:
    """A Prometheus with the rules of the contract, and what its operator exposed at each moment."""
    monitored = CONTRACTS[request.param]
    moments: Moments = {DOWN: b""}

    async def scenario(site: Site) -> None:
        await monitored.play(site, moments, tmp_path_factory.mktemp(request.param))

    run(_play(SimGround(0, controllers=True), NAMESPACE, scenario, {}))
    rules = data_of(chart_of(request.param), "alerts.yaml", dict(monitored.tokens))
    with alerting(rules, monitored.labels, moments["at rest"]) as prometheus:
        yield Alerted(prometheus, moments)


@pytest.mark.parametrize(
    ("alerted", "moment", "alert", "severity", "told"),
    [
        pytest.param(
            "zones",
            "blocked",
            "RolloutOperatorRolloutBlocked",
            "warning",
            [
                "Rollout ingester of namespace test is blocked (PodStuck).",
                "fairlead explain ingester -n test says what helps",
            ],
            id="zones, a rollout is blocked",
        ),
        pytest.param("zones", DOWN, "RolloutOperatorAbsent", "warning", ["No rollout-operator runs"], id="zones, down"),
        pytest.param(
            "environments",
            "blocked",
            "OrchestratordRolloutBlocked",
            "warning",
            [
                "The rollout of environment m in namespace test is blocked (PodStuck).",
                "fairlead explain m -n test says what helps",
            ],
            id="environments, a rollout is blocked",
        ),
        pytest.param(
            "environments",
            "stalled",
            "OrchestratordEnvironmentStalled",
            "critical",
            ["Environment m of namespace test is not up to date for an hour (Applying)."],
            id="environments, one is stalled",
        ),
        pytest.param(
            "environments",
            "standing by",
            "OrchestratordNobodyLeads",
            "critical",
            ["No operator in namespace test holds the Lease."],
            id="environments, nobody leads",
        ),
        pytest.param(
            "environments",
            DOWN,
            "OrchestratordAbsent",
            "critical",
            ["No operator of environments runs"],
            id="environments, down",
        ),
        pytest.param(
            "leaderworker",
            "blocked",
            "LeaderWorkerSetBlocked",
            "warning",
            ["LeaderWorkerSet a is blocked (PodStuck).", "fairlead explain a says what helps"],
            id="leaderworker, a set is blocked",
        ),
        pytest.param(
            "leaderworker",
            "blocked",
            "LeaderWorkerSetGroupsNotReady",
            "warning",
            ["Groups of LeaderWorkerSet a are not ready for half an hour.", "1 of its groups are not ready"],
            id="leaderworker, groups are not ready",
        ),
        pytest.param(
            "leaderworker",
            DOWN,
            "LeaderWorkerSetOperatorAbsent",
            "critical",
            ["No operator of LeaderWorkerSets runs in namespace test."],
            id="leaderworker, down",
        ),
        pytest.param(
            "plans",
            "blocked",
            "PlanRolloutBlocked",
            "warning",
            ["Rollout r is blocked (PodStuck).", "fairlead explain r says what helps"],
            id="plans, a rollout is blocked",
        ),
        pytest.param(
            "plans",
            "blocked",
            "PlanPodsNotReady",
            "warning",
            ["New pods of RolloutTrait r are not ready for half an hour.", "1 of them are not ready"],
            id="plans, new pods are not ready",
        ),
        pytest.param(
            "plans",
            "failed",
            "PlanRolloutFailed",
            "warning",
            ["A RolloutTrait has failed."],
            id="plans, the first rollout fails",
        ),
        pytest.param(
            "plans",
            "hooks refuse",
            "PlanHooksFail",
            "warning",
            ["Webhooks of type initialize-rollout refuse or do not answer."],
            id="plans, hooks refuse",
        ),
        pytest.param(
            "plans",
            "ending",
            "PlanCertificateEnds",
            "warning",
            ["The certificate of the webhooks of plans ends in less than 15 days."],
            id="plans, the certificate ends",
        ),
        pytest.param(
            "plans",
            DOWN,
            "PlanOperatorAbsent",
            "critical",
            ["No operator of plans runs in namespace test."],
            id="plans, down",
        ),
        pytest.param(
            "apiversions",
            "without a right",
            "OperatorLacksRight",
            "warning",
            [
                "The operator of API versions may not list endpointslices.discovery.k8s.io.",
                "a role of the operator has it",
            ],
            id="apiversions, a right lacks",
        ),
        pytest.param(
            "apiversions",
            "without a right",
            "CertificateRotationStuck",
            "warning",
            [
                "The exchange of the certificate in fairlead-webhook-cert cannot go on (ReplicaUnreached).",
                "fairlead explain rotation/fairlead-webhook-cert says which replica or bundle it waits for.",
            ],
            id="apiversions, a rotation is stuck",
        ),
        pytest.param(
            "apiversions",
            "overwritten",
            "ConversionOverwritten",
            "critical",
            [
                "Somebody takes the conversion of widgets.test.example.test away again and again.",
                "have whoever applies it leave spec.conversion out",
            ],
            id="apiversions, a conversion is overwritten",
        ),
        pytest.param(
            "apiversions",
            "standing by",
            "ApiVersionsNobodyLeads",
            "critical",
            ["No operator in namespace test holds the Lease.", "no certificate renewed"],
            id="apiversions, nobody leads",
        ),
        pytest.param(
            "apiversions",
            DOWN,
            "ApiVersionsOperatorDown",
            "critical",
            ["No operator of API versions answers."],
            id="apiversions, down",
        ),
    ],
    indirect=["alerted"],
    scope="module",
)
def test_an_alert_fires_and_the_end_of_its_cause_resolves_it(
    alerted: Alerted, moment: str, alert: str, severity: str, told: list[str]
) -> None:
    prometheus, moments = alerted
    prometheus.until(alert, fires=False)

    prometheus.target.body = moments[moment]
    (firing,) = prometheus.until(alert, fires=True)

    assert firing["labels"]["severity"] == severity
    words = " ".join((firing["annotations"]["summary"], firing["annotations"]["description"]))
    assert [sentence for sentence in told if sentence not in words] == []
    prometheus.target.body = moments["at rest"]
    prometheus.until(alert, fires=False)
