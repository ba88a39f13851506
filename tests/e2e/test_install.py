"""Installing on clusters: every object is accepted, the kinds refuse what is wrong, the rights suffice to roll."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from fairlead.contracts.zones.install.definitions import definitions as zone_kinds
from fairlead.contracts.zones.install.objects import objects
from fairlead.contracts.zones.install.values import Values
from kubeloop.errors import Forbidden, Invalid, ServerError
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, get, list_page, patch
from tests.contracts.zones.install.helm import render
from tests.contracts.zones.install.test_chart import EVERYTHING, FORMER
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.installing import a_kind_of, define, everything, present, put, ref_of
from tests.e2e.operators import LOOK_EVERY, Operator
from tests.e2e.roles import grant
from tests.e2e.zones import a_zone, begin

GROUP = "rollout-operator.grafana.com"
MONITORING = "monitoring.coreos.com/v1"
NOBODY = "https://127.0.0.1:1"


def from_chart(namespace: str, values: dict[str, Any]) -> list[Tree]:
    return list(render(values, namespace=namespace).values())


def from_manifests(namespace: str) -> list[Tree]:
    return list(objects(everything(namespace)))


@pytest.mark.parametrize("case", ["chart's own values", "values of the former chart", "everything", "manifests"])
@everywhere(controllers=False, on=("real",))
async def test_cluster_takes_every_object(site: Site, case: str) -> None:
    """Unknown fields are refused, so a misspelt one shows."""
    former = FORMER | {"serviceMonitor": FORMER["serviceMonitor"] | {"namespace": site.namespace}}
    made = {
        "chart's own values": lambda: from_chart(site.namespace, {}),
        "values of the former chart": lambda: from_chart(site.namespace, former),
        "everything": lambda: from_chart(site.namespace, EVERYTHING),
        "manifests": lambda: from_manifests(site.namespace),
    }[case]()
    await define(site, a_kind_of(MONITORING, "ServiceMonitor"), a_kind_of(MONITORING, "PrometheusRule"))

    for one in made:
        await put(site, one)

    assert len(await present(site, made)) == len(made)


def a_template(**spec: Any) -> Tree:
    return {"apiVersion": f"{GROUP}/v1", "kind": "ReplicaTemplate", "metadata": {"name": "one"}, "spec": spec}


def a_budget(**spec: Any) -> Tree:
    selected = {"selector": {"matchLabels": {"app": "ingester"}}} | spec
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ZoneAwarePodDisruptionBudget",
        "metadata": {"name": "one"},
        "spec": selected,
    }


def a_health_check(*checks: Tree, **spec: Any) -> Tree:
    whole = {
        "selector": {"matchLabels": {"app": "ingester"}},
        "prometheusURL": "http://prometheus:9090",
        "checks": list(checks) or [a_check()],
    }
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "RolloutHealthCheck",
        "metadata": {"name": "one"},
        "spec": whole | spec,
    }


def a_check(name: str = "errors", **fields: Any) -> Tree:
    return {"name": name, "query": "sum(errors)", "successQuery": "${current} <= bool ${baseline}"} | fields


@everywhere(controllers=False)
async def test_kinds_take_what_is_right_and_fill_in_the_rest(site: Site) -> None:
    await define(site, *zone_kinds())

    template = await put(site, a_template())
    budget = await put(site, a_budget(maxUnavailablePercentage=100, crossZoneEvictionDelay="5m"))
    check = await put(site, a_health_check())

    assert template["spec"] == {"replicas": 1}
    assert budget["spec"] == {
        "selector": {"matchLabels": {"app": "ingester"}},
        "maxUnavailablePercentage": 100,
        "crossZoneEvictionDelay": "5m",
    }
    assert check["spec"]["checks"] == [
        a_check(
            currentRange="5m",
            baselineRange="10m",
            queryTimeout="10s",
            queryRetries=3,
            onFailure="Pause",
            onNoData="Pause",
            disabled=False,
        )
    ]


WRONG = {
    "replicas below zero": (a_template(replicas=-1), "spec.replicas"),
    "replicas that are no number": (a_template(replicas="3"), "spec.replicas"),
    "budget below zero": (a_budget(maxUnavailable=-1), "spec.maxUnavailable"),
    "percentage below zero": (a_budget(maxUnavailablePercentage=-1), "spec.maxUnavailablePercentage"),
    "percentage above a hundred": (a_budget(maxUnavailablePercentage=101), "spec.maxUnavailablePercentage"),
    "group zero": (a_budget(podNameRegexGroup=0), "spec.podNameRegexGroup"),
    "selector without labels": (a_budget(selector={}), "spec.selector.matchLabels"),
    "no selector": ({**a_budget(), "spec": {}}, "spec.selector"),
    "budget without a spec": ({key: value for key, value in a_budget().items() if key != "spec"}, "spec"),
    "address that is no address": (a_health_check(prometheusURL="ftp://prometheus"), "spec.prometheusURL"),
    "two checks of one name": (a_health_check(a_check(), a_check()), "spec.checks[1]"),
    "check without a query": (a_health_check({"name": "a", "successQuery": "1"}), "spec.checks[0].query"),
    "unknown consequence": (a_health_check(a_check(onFailure="Explode")), "spec.checks[0].onFailure"),
    "no checks": (a_health_check(checks=[]), "spec.checks"),
}


@everywhere(controllers=False)
async def test_kinds_refuse_what_is_wrong_and_name_the_field(site: Site) -> None:
    await define(site, *zone_kinds())

    for case, (wrong, field) in WRONG.items():
        with pytest.raises(Invalid) as refused:
            await put(site, wrong)
        assert field in refused.value.message, case


@everywhere(controllers=False)
async def test_scale_of_a_template_shows_the_selector_of_its_spec(site: Site) -> None:
    """An autoscaler finds the pods to measure by it."""
    await define(site, *zone_kinds())
    templates = Resource(GROUP, "v1", "replicatemplates", "ReplicaTemplate")
    await put(site, a_template(replicas=3, labelSelector="name=ingester"))

    await site.write_status(templates, "one", {"replicas": 2})

    answer = await site.client.call(get(Ref(templates, site.namespace, "one"), "scale"))
    scale: Tree = msgspec.json.decode(answer.body)
    assert (scale["spec"]["replicas"], scale["status"]) == (3, {"replicas": 2, "selector": "name=ingester"})


@everywhere(controllers=False)
async def test_operator_that_does_not_answer_can_be_corrected(site: Site) -> None:
    """Its webhooks refuse what nobody answers for, but not the correction of the operator itself."""
    made = objects(Values(namespace=site.namespace, webhooks=True))
    deployment = next(one for one in made if one["kind"] == "Deployment")
    other = copy.deepcopy(deployment) | {"metadata": {"name": "other", "namespace": site.namespace}}
    for one in (deployment, other):
        await put(site, one)
    for one in made:
        if one["kind"].endswith("WebhookConfiguration"):
            for webhook in one["webhooks"]:
                webhook["clientConfig"] = {"url": NOBODY}
            await put(site, one)

    await site.until(lambda: is_refused(site, other), every=LOOK_EVERY)

    assert not await is_refused(site, deployment)
    assert await is_refused(site, deployment, "scale"), "requests for /scale do not say whose they are"


async def is_refused(site: Site, one: Tree, subresource: str = "") -> bool:
    """Whether a change that a webhook is asked about is refused because nobody answers."""
    body = msgspec.json.encode({"spec": {"replicas": 3}})
    try:
        await site.client.call(patch(ref_of(one), MERGE_PATCH, body, subresource))
    except ServerError as error:
        return "failed calling webhook" in str(error)
    return False


@pytest.mark.parametrize("lease", [None, "fairlead-operator"], ids=["alone", "with a Lease"])
@everywhere(controllers=False)
async def test_rights_of_the_manifests_suffice_to_roll(site: Site, lease: str | None) -> None:
    """What is refused beside that is what every operator of the contract does without."""
    await define(site, *zone_kinds())
    await a_zone(site, "a", revision="new")
    await a_zone(site, "b")
    noting = await grant(site, {}, "nobody")
    for one in objects(Values(namespace=site.namespace, high_availability=lease is not None)):
        if one["kind"] in ("ServiceAccount", "Role", "RoleBinding"):
            await put(site, one)

    account = f"system:serviceaccount:{site.namespace}:rollout-operator"
    await site.until(lambda: has_rights(site, account), every=LOOK_EVERY)
    play = await begin(site, Operator(site, lease=lease, through=noting.limits), user=account)
    await play.rest()

    assert (play.completions, play.deletions) == (["a"], ["b-0"])
    assert play.operator.failures() == 0
    assert set(noting.refused) <= {"get namespaces", "create events"}, "Events go to the older of their two APIs"


async def has_rights(site: Site, user: str) -> bool:
    """Whether the server has learned of the roles, which it does by a watch."""
    try:
        await site.client_as(user).call(list_page(PODS, site.namespace))
    except Forbidden:
        return False
    return True
