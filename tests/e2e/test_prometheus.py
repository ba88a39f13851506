"""Health checks and metrics of rollouts answered by a real Prometheus: it understands the queries, and the answers mean
what they should.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread
from urllib.parse import urlencode, urlsplit

import msgspec
import pytest

from fairlead.contracts import chart_of
from fairlead.contracts.plans.decide.metrics.built_in import query_of
from fairlead.contracts.plans.kinds import Json
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.contracts.zones.decide import Snapshot
from fairlead.contracts.zones.decide.groups import group_of
from fairlead.contracts.zones.decide.healthchecks.healthcheck import EVERY, window_of
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import HealthCheck
from fairlead.contracts.zones.decide.rollout.starting import Start, start_of
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Http, Question
from fairlead.core.prometheus import Number, query_call
from fairlead.core.prometheus import measured as number_of
from fairlead.core.reason import Reason
from fairlead.core.times import format_rfc3339
from fairlead.engine.charts import data_of
from fairlead.plane.build import Unavailable
from fairlead.plane.held import Held
from fairlead.plane.prometheus import find
from kubesim.standins.counted_queries import evaluated
from kubesim.standins.gateway_counts import GatewayCounts
from tests.builders import a_pod, a_zone, pods_of, seen
from tests.contracts.plans.decide.cluster import Cluster
from tests.contracts.plans.decide.metrics.measured import a_metric, measured_pair
from tests.contracts.zones.decide.checking import a_check, a_checked_zone, settled_by
from tests.contracts.zones.decide.judging import deleted

PATIENCE = 120.0

SERIES = """
errors{namespace="test",pod="ingester-zone-a-0"} 3
errors{namespace="test",pod="ingester-zone-a-1"} 4
errors{namespace="test",pod="ingester-zone-ab-1"} 1000
errors{namespace="other",pod="ingester-zone-a-0"} 1000
errors{namespace="test",pod="ingester-zone-b-0"} 5
"""

WORKLOAD = 'destination_workload_namespace="ns",destination_workload'
REQUESTS = f"""
istio_requests_total{{reporter="destination",{WORKLOAD}="d2",response_code="200"}} GOOD
istio_requests_total{{reporter="destination",{WORKLOAD}="d2",response_code="503"}} BAD
istio_requests_total{{reporter="source",{WORKLOAD}="d2",response_code="503"}} GOOD
istio_requests_total{{reporter="destination",{WORKLOAD}="broken",response_code="500"}} GOOD
istio_request_duration_milliseconds_bucket{{reporter="destination",{WORKLOAD}="d2",le="100"}} GOOD
istio_request_duration_milliseconds_bucket{{reporter="destination",{WORKLOAD}="d2",le="+Inf"}} ALL
response_total{{namespace="ns",deployment="d2",direction="inbound",classification="success"}} GOOD
response_total{{namespace="ns",deployment="d2",direction="inbound",classification="failure"}} BAD
response_total{{namespace="ns",deployment="d2",direction="outbound",classification="failure"}} GOOD
response_total{{namespace="ns",deployment="broken",direction="inbound",classification="failure"}} GOOD
response_latency_ms_bucket{{namespace="ns",deployment="d2",direction="inbound",le="100"}} GOOD
response_latency_ms_bucket{{namespace="ns",deployment="d2",direction="inbound",le="+Inf"}} ALL
http_request_duration_seconds_count{{namespace="ns",pod="d2-5f9-x2",status="200"}} GOOD
http_request_duration_seconds_count{{namespace="ns",pod="d2-5f9-x2",status="500"}} BAD
http_request_duration_seconds_count{{namespace="ns",pod="d2-new-5f9-x2",status="500"}} GOOD
http_request_duration_seconds_count{{namespace="ns",pod="broken-5f9-x2",status="500"}} GOOD
http_request_duration_seconds_bucket{{namespace="ns",pod="d2-5f9-x2",le="0.1"}} GOOD
http_request_duration_seconds_bucket{{namespace="ns",pod="d2-5f9-x2",le="+Inf"}} ALL
"""
"""Of a hundred requests ninety-nine are answered well, within a tenth of a second; `broken` answers none."""


def requests(times: int) -> str:
    return REQUESTS.replace("GOOD", str(99 * times)).replace("BAD", str(times)).replace("ALL", str(100 * times))


TOLD = 'kube_validating_webhook_failure_policy{namespace="%s",webhook="w",policy="Fail"} %d %d'


def past() -> str:
    """What operators that are gone told of their webhooks: a week ago that they refuse, or later that they do not."""
    days = {"refusing": [(7, 1)], "ignoring": [(7, 1), (6, 0)]}
    told = [(name, value, (time.time() - age * 86400) * 1000) for name, ages in days.items() for age, value in ages]
    return "".join(TOLD % line + "\n" for line in told)


async def more_routed(counts: GatewayCounts) -> str:
    """What a stand-in gateway tells after some requests more, a quarter of which fail."""
    for code, seconds in ((200, 0.004), (200, 0.03), (200, 0.2), (500, 0.004)):
        counts.add(("ns", "shop"), "routed", code, seconds)
    return counts.exposition()


class Metrics(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Target)
        self.server.scrapes.release()
        self.server.served += 1
        routed = asyncio.run(more_routed(self.server.counts))
        body = (SERIES + requests(self.server.served) + routed + past()).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Says nothing."""


class Target(ThreadingHTTPServer):
    """Serves the series, and counts how often they were asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Metrics)
        self.scrapes = Semaphore(0)
        self.served = 0
        self.counts = GatewayCounts()


class Log:
    """What a program says, line by line as it says it: a pipe in the place of its log file."""

    def __init__(self, path: Path) -> None:
        self._said: SimpleQueue[str] = SimpleQueue()
        os.mkfifo(path)
        Thread(target=self._read, args=(path,), daemon=True).start()

    def wait_for(self, words: str, end: float) -> None:
        said = ""
        while words not in said:
            try:
                line = self._said.get(timeout=max(0.0, end - time.monotonic()))
            except Empty:
                pytest.fail(f"it did not say {words!r} in time, but:\n{said}")
            if not line:
                pytest.fail(f"it ended without saying {words!r}:\n{said}")
            said += line

    def _read(self, path: Path) -> None:
        """To the end, for a program whose log nobody reads would stop."""
        with path.open(errors="replace") as pipe:
            for line in pipe:
                self._said.put(line)
        self._said.put("")


class Prometheus:
    def __init__(self, url: str, gateway: GatewayCounts) -> None:
        self.url = url
        self.gateway = gateway
        # Samples count for five minutes, so that at this moment all have come and none is old.
        self.now = window_of(datetime.now(UTC)) + timedelta(seconds=2 * EVERY)

    def __call__(self, ask: Ask) -> Answer:
        assert isinstance(ask.to, Http)
        status, body = self._get(ask.to.url)
        return Good(body) if status == 200 else Bad("failed", f"it answered with status {status}", status)

    def fires(self, query: str) -> bool:
        """Whether the query is understood and has a result."""
        status, body = self._get(f"{self.url}/api/v1/query?{urlencode({'query': query})}")
        assert status == 200, body
        return bool(msgspec.json.decode(body)["data"]["result"])

    def _get(self, url: str) -> tuple[int, bytes]:
        parts = urlsplit(url)
        with closing(HTTPConnection(parts.netloc, timeout=PATIENCE)) as connection:
            connection.request("GET", f"{parts.path}?{parts.query}")
            reply = connection.getresponse()
            return reply.status, reply.read()


@pytest.fixture(scope="module")
def prometheus() -> Iterator[Prometheus]:
    try:
        program = find(lambda _line: None, build=False)
    except Unavailable as problem:
        pytest.skip(str(problem))
    with Target() as target, socket.create_server(("127.0.0.1", 0)) as free:
        Thread(target=target.serve_forever, daemon=True).start()
        held = Held()
        try:
            port = free.getsockname()[1]
            free.close()
            scrape = {"job_name": "pods", "honor_labels": True, "static_configs": [{"targets": [_place(target)]}]}
            config = {
                "global": {"scrape_interval": "200ms", "scrape_timeout": "200ms"},
                "scrape_configs": [scrape],
                "storage": {"tsdb": {"out_of_order_time_window": "30d"}},
            }
            (held.folder / "prometheus.yml").write_bytes(msgspec.json.encode(config))
            arguments = [f"--config.file={held.folder}/prometheus.yml", f"--storage.tsdb.path={held.folder}/data"]
            log = Log(held._log("prometheus"))
            held.run("prometheus", [str(program), *arguments, f"--web.listen-address=127.0.0.1:{port}"])
            yield _answering(Prometheus(f"http://127.0.0.1:{port}", target.counts), log, target)
        finally:
            held.close()
            target.shutdown()


def _place(server: ThreadingHTTPServer) -> str:
    return f"127.0.0.1:{server.server_address[1]}"


def _answering(prometheus: Prometheus, log: Log, target: Target) -> Prometheus:
    """Once it is ready and has read the series, which it has done with one scrape before it begins the next."""
    end = time.monotonic() + PATIENCE
    log.wait_for("Server is ready to receive web requests", end)
    while not prometheus.fires("errors") or not prometheus.fires("rate(http_request_duration_seconds_bucket[1m])"):
        if not target.scrapes.acquire(timeout=max(0.0, end - time.monotonic())):
            pytest.fail("Prometheus never had the series")
    return prometheus


def checked(prometheus: Prometheus, **check: object) -> HealthCheck:
    return msgspec.structs.replace(a_check(dict(check)), url=prometheus.url)


TOTAL = "sum(max_over_time(errors{${targetMatchers}}[${range}]))"
OUTCOMES = {
    "7 errors after 5 are fine": (TOTAL, "${current} <= bool 2 * ${baseline}", None),
    "7 errors after 5 are too many": (TOTAL, "${current} <= bool ${baseline}", "current 7, baseline 5"),
    "a vector is as good as a scalar": (TOTAL, "vector(${current}) == bool vector(${baseline} + 2)", None),
    "signs are kept together": (f"-{TOTAL}", "2 - ${current} == bool 9", None),
    "exponents are understood": (f"{TOTAL} / 1e9", "${current} == bool 7e-9", None),
    "infinity is a number": (f"{TOTAL} / 0", "${current} < bool Inf", "current +Inf"),
    "nothing by nothing is no data": (f"{TOTAL} * 0 / 0", "${current} >= bool ${baseline}", "no data"),
    "other pods have no data": (TOTAL.replace("errors", "others"), "${current} < bool 1", "no data"),
    "one series per pod is too many": ("errors{${targetMatchers}}", "${current} < bool 1", "2 series"),
    "a query that cannot be read is a failure": (f"{TOTAL}(", "${current} < bool 1", "status 400"),
    "a judgement that cannot be read is a failure": (TOTAL, "${current} < 8", "current 7"),
}


@pytest.mark.parametrize(("query", "success", "held"), OUTCOMES.values(), ids=OUTCOMES.keys())
def test_what_a_real_prometheus_says_decides(
    prometheus: Prometheus, query: str, success: str, held: str | None
) -> None:
    a, b = a_zone("a", current="new"), a_checked_zone("b", f"new={format_rfc3339(prometheus.now)}")
    rolled = tuple(a_pod(a, place, "new", since=prometheus.now) for place in range(3))
    check = checked(prometheus, query=query, successQuery=success)
    snapshot = msgspec.structs.replace(seen(a, b, rolled, pods_of(b)), checks=(check,))
    answers: dict[Question, Answer] = {}

    decision = settled_by(snapshot, lambda ask: answers.setdefault(ask, prometheus(ask)), prometheus.now)

    if held is None:
        assert deleted(decision) == ["b-0"]
    else:
        assert decision.verdict.reason is Reason.HEALTH_CHECK_FAILING
        assert held in measured(msgspec.structs.replace(snapshot, answers=Answers(answers)), prometheus.now)


def measured(snapshot: Snapshot, now: datetime) -> str:
    """What was measured for zone b."""
    group = group_of(snapshot, now)
    start = start_of(group.zones[1], group)
    assert isinstance(start, Start)
    return start.numbers


RANGES: dict[str, Json] = {
    "request-success-rate": {"min": "98.9%", "max": "99.1%"},
    "request-duration": {"min": 99, "max": 101},
}
EVERY_MESH = ("istio", "linkerd", "")


def rolled(prometheus: Prometheus, mesh: str, target: str, **bounds: Json) -> Cluster:
    """A rollout to this target whose first batch was looked at once."""
    cluster = measured_pair(*(a_metric(name, interval="1m", metricsRange=bounds[name]) for name in bounds))
    cluster.add_deployment(target, 0, paused=True)
    cluster.spec["targetRef"] = cluster.reference(target)
    cluster.settings = PlanSettings(metrics_server=prometheus.url, mesh_provider=mesh)
    cluster.outside = prometheus
    cluster.play_to("batchVerifying", 0)
    cluster.settle()
    cluster.run()
    cluster.now += timedelta(minutes=1)
    cluster.run()
    return cluster


@pytest.mark.parametrize("mesh", EVERY_MESH)
def test_built_in_metrics_measure_the_target_alone(prometheus: Prometheus, mesh: str) -> None:
    cluster = rolled(prometheus, mesh, "d2", **RANGES)

    assert cluster.rollout.batch_rolling_state == "batchFinalizing"
    rate, duration = (float(each.value) for each in cluster.rollout.metrics)
    assert (round(rate, 6), round(duration, 6)) == (99, 100)


@pytest.mark.parametrize("mesh", EVERY_MESH)
def test_a_target_that_answers_nobody_well_is_refused(prometheus: Prometheus, mesh: str) -> None:
    """There is no series of good answers, which is not the same as no data."""
    cluster = rolled(prometheus, mesh, "broken", **{"request-success-rate": {"min": 99}})

    assert cluster.rollout.batch_rolling_state == "batchVerifyFailed"
    assert "the metric request-success-rate is 0, below its min 99" in cluster.condition("BatchVerifying")[1]


@pytest.mark.parametrize("mesh", EVERY_MESH)
def test_a_target_that_nobody_asks_has_no_data(prometheus: Prometheus, mesh: str) -> None:
    cluster = rolled(prometheus, mesh, "idle", **RANGES)

    assert cluster.rollout.batch_rolling_state == "batchVerifying"
    assert [each.outcome for each in cluster.rollout.metrics] == ["noData", "noData"]


@pytest.mark.parametrize("name", RANGES)
def test_a_stand_in_gateway_answers_as_prometheus_does_that_scrapes_it(prometheus: Prometheus, name: str) -> None:
    query = query_of(name, "istio", "ns", "Deployment", "routed", "1m")

    async def answered() -> float:
        (value,) = evaluated(query, prometheus.gateway.increase).values()
        return value

    answer = prometheus(Ask(query_call(prometheus.url, query)))
    number = number_of(answer)
    assert isinstance(number, Number)
    assert number.value == pytest.approx(asyncio.run(answered()))


def alerts(namespace: str) -> dict[str, str]:
    """The query of every alert."""
    (group,) = data_of(chart_of("zones"), "alerts.yaml", {"NAMESPACE": namespace, "SERVICE": "rollout-operator"})[
        "groups"
    ]
    return {rule["alert"]: rule["expr"] for rule in group["rules"]}


@pytest.mark.parametrize("name", alerts("test"))
def test_alerts_are_queries(prometheus: Prometheus, name: str) -> None:
    prometheus.fires(alerts("test")[name])


@pytest.mark.parametrize(("namespace", "fires"), [("refusing", True), ("ignoring", False), ("unheard-of", False)])
def test_unanswered_webhooks_are_told_for_as_long_as_the_last_operator_is_remembered(
    prometheus: Prometheus, namespace: str, fires: bool
) -> None:
    assert prometheus.fires(alerts(namespace)["RolloutOperatorWebhooksUnanswered"]) is fires
