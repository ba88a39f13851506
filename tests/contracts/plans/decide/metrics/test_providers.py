"""Whom metrics are asked of, with what query, and what keeps them from being asked (sections 2.5 and 3.10)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.plans.decide.metrics.built_in import query_of
from fairlead.contracts.plans.decide.metrics.placeholders import Unfillable, filled, window
from fairlead.contracts.plans.kinds import CanaryMetric, Json
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.ask import Bad, Credential, Http
from fairlead.core.written import written
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from tests.contracts.plans.decide.cluster import Cluster
from tests.contracts.plans.decide.metrics.measured import SERVER, Prometheus, a_metric, measured_pair
from tests.prometheus_answers import value, vector

SECRET = Ref(SECRETS, "ns", "login")


def asked(cluster: Cluster, prometheus: Prometheus) -> Http:
    """The first look at the metrics of batch 0."""
    cluster.play_to("batchVerifying", 0)
    cluster.settle()
    cluster.run()
    cluster.now += timedelta(minutes=5)
    cluster.run()
    (ask,) = prometheus.asks
    assert isinstance(ask.to, Http)
    assert (ask.timeout, ask.effect) == (5.0, False)
    return ask.to


def a_prometheus(**template: Any) -> Prometheus:
    prometheus = Prometheus()
    prometheus.put(**template)
    return prometheus


def test_a_template_is_filled_with_what_the_rollout_is_about() -> None:
    query = """
      rate(errors{rollout="{{ name }}.{{namespace}}", target="{{ target }}", old="{{ source }}",
        region="{{ variables.region }}", svc="{{ service }}", in="{{ ingress }}-{{ route }}"}[{{ interval }}])
    """
    prometheus = a_prometheus(query=query)
    routing = {"provider": "none", "targetService": "web-new", "ingressRef": {"name": "entry"}}
    metric = a_metric(interval="1.5m", templateVariables={"region": "{{ name }}"})
    cluster = measured_pair(metric, prometheus=prometheus, trafficRouting=routing)

    asked(cluster, prometheus)

    (found,) = prometheus.asked
    assert found == (
        'rate(errors{rollout="r.ns", target="d2", old="d1", region="{{ name }}", svc="web-new", in="entry-entry"}'
        "[90000ms])"
    )


def test_the_service_is_that_of_the_component_revision_where_the_plan_names_none() -> None:
    prometheus = a_prometheus(query='up{svc="{{ service }}"}')
    cluster = measured_pair(a_metric(), prometheus=prometheus, trafficRouting={"provider": "none"})
    cluster.tree("d2")["metadata"]["labels"] = {"app.oam.dev/revision": "web-v2"}

    asked(cluster, prometheus)

    assert prometheus.asked == ['up{svc="web-v2"}']


UNFILLABLE = {
    "an unknown one": ("{{ canary }}", "the placeholder canary is unknown: use name, namespace, target"),
    "one without a name": ("{{ }}", "the placeholder without a name is unknown"),
    "a variable that is not given": ("{{ variables.zone }}", "add it to templateVariables"),
    "an empty one": ("{{ service }}", "the placeholder service is empty here"),
    "an empty variable": ("{{ variables.empty }}", "the placeholder variables.empty is empty here"),
    "a pipe of Go": ("{{ target | printf }}", "the placeholder target | printf is unknown"),
}


@pytest.mark.parametrize(("query", "said"), UNFILLABLE.values(), ids=UNFILLABLE.keys())
def test_a_placeholder_that_nothing_is_known_for_is_waited_for_at_verification(query: str, said: str) -> None:
    cluster = measured_pair(a_metric(templateVariables={"empty": ""}), prometheus=a_prometheus(query=query))

    waits_at_verification(cluster, said)


def waits_at_verification(cluster: Cluster, said: str) -> None:
    """Nobody is claimed, nothing is written, and a Warning says why."""
    before = dict(cluster.objects)

    cluster.play(most=20)

    assert cluster.state == "verifyingSpec"
    status, message = cluster.condition("RolloutSpecVerifying")
    assert (status, said in message) == ("False", True), message
    assert next(each.reason for each in cluster.told if said in each.text and each.warning) == "MetricCheckFailed"
    assert cluster.objects == before


ENDING = {
    "double quotes": ('errors{in="{{ variables.x }}"}', 'web"} or secret{in="'),
    "single quotes": ("errors{in='{{ variables.x }}'}", "web'} or secret{in='"),
    "raw quotes": ("errors{in=`{{ variables.x }}`}", "web`} or secret{in=`"),
    "a backslash before the end": ('errors{in="{{ variables.x }}", pod="{{ target }}"}', "web\\"),
    "a backslash that is escaped": ('errors{in="{{ variables.x }}"}', 'web\\\\"} or secret{in="'),
    "after another value": ('errors{pod="{{ target }}", in="{{ variables.x }}"}', '"} or secret{in="'),
    "a service that no webhook has seen": ('errors{in="{{ service }}"}', '"} or secret{in="'),
}


@pytest.mark.parametrize(("query", "text"), ENDING.values(), ids=ENDING.keys())
def test_no_value_leaves_the_quotes_that_the_template_puts_it_in(query: str, text: str) -> None:
    """A template of another namespace has a credential and decides what is asked with it."""
    prometheus = a_prometheus(query=query)
    routing = {"provider": "none", "targetService": text}
    metric = a_metric(templateVariables={"x": text})
    cluster = measured_pair(metric, prometheus=prometheus, trafficRouting=routing)

    waits_at_verification(cluster, "would end the text in quotes that it is put in")

    assert prometheus.asked == []


STAYING = {
    "an expression": ('errors{in=~"{{ variables.x }}"}', "eu-.*\\\\.(a|b)"),
    "an escaped quote": ('errors{in="{{ variables.x }}"}', 'the \\"web\\"'),
    "other quotes": ("errors{in='{{ variables.x }}'}", '"web"'),
    "a backslash in raw quotes": ("errors{in=`{{ variables.x }}`}", "web\\"),
    "outside of quotes": ("errors{ {{ variables.x }} }", 'in="web"'),
    "between texts": ('errors{in="a"} > {{ variables.x }} or errors{in="b"}', "5"),
}


@pytest.mark.parametrize(("query", "text"), STAYING.values(), ids=STAYING.keys())
def test_a_value_that_stays_inside_is_put_in_as_it_is(query: str, text: str) -> None:
    assert filled(query, {"variables.x": text}) == query.replace("{{ variables.x }}", text)


@given(st.text())
def test_no_template_becomes_another_exception(query: str) -> None:
    try:
        found = filled(query, {"target": "t"})
    except Unfillable:
        assert "{{" in query
    else:
        assert "{{target}}" not in found


@pytest.mark.parametrize(
    ("interval", "wanted"),
    [("", "1m"), ("30s", "30s"), ("1h30m", "1h30m"), ("1.5s", "1500ms"), ("1m0.5s", "60500ms"), ("10us", "1ms")],
)
def test_the_window_is_written_as_prometheus_reads_it(interval: str, wanted: str) -> None:
    assert window(CanaryMetric("a", interval)) == wanted


UNUSABLE: dict[str, tuple[Json, str]] = {
    "another protocol": ({"type": "datadog"}, "the MetricTemplate ns/errors has the provider datadog"),
    "no address": ({"address": ""}, "provider.address of the MetricTemplate ns/errors must be an address"),
    "an address with a query": ({"address": f"{SERVER}?x=1"}, "must end with its path"),
    "a number as address": ({"address": 5}, "spec.provider.address"),
    "no Secret": ({"secretRef": {"name": "gone"}}, "the Secret ns/gone is not there"),
    "a Secret of something else": ({"secretRef": {"name": "empty"}}, "has neither token, nor username and password"),
    "half a login": ({"secretRef": {"name": "half"}}, "has neither token, nor username and password"),
}


@pytest.mark.parametrize(("provider", "said"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_template_that_cannot_be_used_is_waited_for(provider: Json, said: str) -> None:
    prometheus = a_prometheus(provider=provider)
    prometheus.secrets = {("ns", "empty"): {"other": b"x"}, ("ns", "half"): {"password": b"x"}}
    cluster = measured_pair(a_metric(), prometheus=prometheus)

    waits_at_verification(cluster, said)

    prometheus.put()
    cluster.play("rolloutSucceed")
    assert cluster.state == "rolloutSucceed"


WITHOUT: dict[str, tuple[object, str]] = {
    "no spec": (None, "must be an address"),
    "a word": ("text", "must be an object"),
    "no provider": ({"query": "up"}, "must be an address"),
    "no query": ({"provider": {"address": SERVER}}, "the MetricTemplate ns/errors has no query"),
    "an empty query": ({"provider": {"address": SERVER}, "query": " "}, "the MetricTemplate ns/errors has no query"),
}


@pytest.mark.parametrize(("spec", "said"), WITHOUT.values(), ids=WITHOUT.keys())
def test_a_template_without_what_it_needs_is_waited_for(spec: object, said: str) -> None:
    prometheus = Prometheus()
    prometheus.templates["standard.oam.dev", "ns", "errors"] = {"metadata": {}, "spec": spec}

    waits_at_verification(measured_pair(a_metric(), prometheus=prometheus), said)


def test_a_template_that_is_not_there_is_waited_for() -> None:
    waits_at_verification(
        measured_pair(a_metric(), prometheus=Prometheus()), "the MetricTemplate ns/errors is not there"
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Bad("unreachable", "no connection"), "no connection"),
        (vector(), "does not answer vector(1) with 1"),
        (value("2"), "does not answer vector(1) with 1"),
    ],
)
def test_a_provider_that_is_offline_is_waited_for(answer: Any, said: str) -> None:
    """R-30."""
    prometheus = a_prometheus()
    prometheus.online = answer
    cluster = measured_pair(a_metric(), prometheus=prometheus)

    waits_at_verification(cluster, said)

    prometheus.online = value("1")
    cluster.play("rolloutSucceed")
    assert cluster.state == "rolloutSucceed"


def test_dry_runs_are_not_waited_for_at_verification() -> None:
    cluster = measured_pair(a_metric(dryRun=True), prometheus=Prometheus())

    cluster.play("rolloutSucceed")

    assert cluster.state == "rolloutSucceed"


def test_a_token_goes_along_when_the_query_is_sent_and_is_in_no_question() -> None:
    prometheus = a_prometheus(provider={"secretRef": {"name": "login"}, "insecureSkipVerify": True})
    prometheus.secrets["ns", "login"] = {"token": b"s3cret", "username": b"me", "password": b"s3cret"}
    cluster = measured_pair(a_metric(), prometheus=prometheus)

    call = asked(cluster, prometheus)

    assert call.credential == Credential(SECRET, "token")
    assert not call.verified
    assert b"s3cret" not in written(call, Http)


def test_a_name_and_password_go_along_where_there_is_no_token() -> None:
    prometheus = a_prometheus(provider={"secretRef": {"name": "login"}})
    prometheus.secrets["ns", "login"] = {"username": b"me", "password": b"s3cret"}

    call = asked(measured_pair(a_metric(), prometheus=prometheus), prometheus)

    assert call.credential == Credential(SECRET, "password", username_key="username")
    assert call.verified


def test_headers_of_a_template_stay_sealed() -> None:
    prometheus = a_prometheus(provider={"headers": {"X-Scope-OrgID": ["s3cret"]}})

    call = asked(measured_pair(a_metric(), prometheus=prometheus), prometheus)

    assert call.sealed_headers is not None
    assert call.sealed_headers.open() == b'{"X-Scope-OrgID":["s3cret"]}'
    assert b"s3cret" not in written(call, Http)


def test_templates_of_flagger_and_of_other_namespaces_are_read_with_their_own_secrets() -> None:
    prometheus = Prometheus()
    prometheus.put(namespace="shared", group="flagger.app", provider={"secretRef": {"name": "login"}})
    prometheus.secrets["shared", "login"] = {"token": b"s3cret"}
    reference = {"apiVersion": "flagger.app/v1beta1", "kind": "MetricTemplate", "name": "errors", "namespace": "shared"}

    call = asked(measured_pair(a_metric(templateRef=reference), prometheus=prometheus), prometheus)

    assert call.credential == Credential(Ref(SECRETS, "shared", "login"), "token")


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ({"name": "errors", "kind": "ConfigMap"}, "templateRef.kind"),
        ({"name": "errors", "apiVersion": "v1"}, "templateRef.apiVersion"),
        ({"name": "errors", "apiVersion": "apps/v1"}, "must be of standard.oam.dev or flagger.app"),
        ({}, "templateRef.name"),
    ],
)
def test_a_reference_to_something_else_fails_the_verification(reference: Json, said: str) -> None:
    cluster = measured_pair(a_metric(templateRef=reference))

    cluster.play("rolloutFailed")

    assert said in cluster.condition("RolloutFailed")[1]


def test_a_metric_that_is_broken_in_flight_is_waited_for() -> None:
    """Metrics may change at any time, and where no webhook sees it they may break."""
    cluster = measured_pair(a_metric())
    cluster.play_to("batchVerifying", 0)
    batches = [{"replicas": 2, "canaryMetric": [a_metric(interval="never")]}, {"replicas": 3}]
    cluster.edit(rolloutBatches=batches)

    cluster.play(most=30)

    assert (cluster.state, cluster.rollout.batch_rolling_state) == ("rollingInBatches", "batchVerifying")
    assert '"never" is not a duration' in cluster.condition("BatchVerifying")[1]
    cluster.edit(rolloutBatches=[{"replicas": 2, "canaryMetric": [a_metric()]}, {"replicas": 3}])
    cluster.play("rolloutSucceed")
    assert cluster.state == "rolloutSucceed"


BUILT_IN = {
    ("request-success-rate", "istio"): (
        '100 * (sum(rate(istio_requests_total{reporter="destination",destination_workload_namespace="ns",'
        'destination_workload="d2",response_code!~"5.*"}[10s])) or vector(0)) / '
        'sum(rate(istio_requests_total{reporter="destination",destination_workload_namespace="ns",'
        'destination_workload="d2"}[10s]))'
    ),
    ("request-duration", "istio"): (
        "histogram_quantile(0.99, sum by (le) (rate(istio_request_duration_milliseconds_bucket{"
        'reporter="destination",destination_workload_namespace="ns",destination_workload="d2"}[10s])))'
    ),
    ("request-success-rate", "linkerd"): (
        '100 * (sum(rate(response_total{namespace="ns",deployment="d2",direction="inbound",'
        'classification!="failure"}[10s])) or vector(0)) / '
        'sum(rate(response_total{namespace="ns",deployment="d2",direction="inbound"}[10s]))'
    ),
    ("request-duration", "linkerd"): (
        "histogram_quantile(0.99, sum by (le) (rate(response_latency_ms_bucket{"
        'namespace="ns",deployment="d2",direction="inbound"}[10s])))'
    ),
    ("request-success-rate", ""): (
        '100 * (sum(rate(http_request_duration_seconds_count{namespace="ns",pod=~"d2-[0-9a-z]+-[0-9a-z]+",'
        'status!~"5.*"}[10s])) or vector(0)) / '
        'sum(rate(http_request_duration_seconds_count{namespace="ns",pod=~"d2-[0-9a-z]+-[0-9a-z]+"}[10s]))'
    ),
    ("request-duration", ""): (
        "1000 * histogram_quantile(0.99, sum by (le) (rate(http_request_duration_seconds_bucket{"
        'namespace="ns",pod=~"d2-[0-9a-z]+-[0-9a-z]+"}[10s])))'
    ),
}


@pytest.mark.parametrize(("name", "mesh"), BUILT_IN)
def test_built_in_metrics_ask_for_what_the_mesh_measures(name: str, mesh: str) -> None:
    """R-31."""
    prometheus = Prometheus()
    cluster = measured_pair(a_metric(name, metricsRange={"min": 0}), prometheus=prometheus)
    cluster.settings = PlanSettings(metrics_server=f"{SERVER}/", mesh_provider=mesh)

    call = asked(cluster, prometheus)

    assert prometheus.asked == [BUILT_IN[name, mesh]]
    assert call.url.startswith(f"{SERVER}/api/v1/query?")


def test_pods_of_other_kinds_have_one_word_after_the_name() -> None:
    query = query_of("request-duration", "", "ns", "StatefulSet", "my.db", "1m")

    assert 'pod=~"my\\\\.db-[0-9a-z]+"' in query


def test_a_server_that_is_no_address_is_waited_for() -> None:
    cluster = measured_pair(a_metric("request-duration"))
    cluster.settings = PlanSettings(metrics_server="prometheus:9090")

    waits_at_verification(cluster, "--metrics-server must be an address that begins with http:// or https://")
