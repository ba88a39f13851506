"""The alert about blocked rollouts in a real Prometheus: the rules of the chart, and what an operator exposes."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Semaphore, Thread
from typing import Any

import msgspec
import pytest

from fairlead.contracts import chart_of
from fairlead.engine.charts import data_of
from fairlead.plane.build import Unavailable
from fairlead.plane.held import Held
from fairlead.plane.prometheus import find
from kubesim.pods.behaviour import IMAGE_PULL
from kubesim.time import run
from tests.e2e.clusters import SimGround, Site, _play
from tests.e2e.rollouts import SECOND, is_complete, three_zones
from tests.e2e.test_prometheus import PATIENCE, Log, Prometheus, _place
from tests.e2e.test_zones_blocked import correct, roll_badly, until_blocked
from tests.e2e.zones import begin

NAME = "RolloutOperatorRolloutBlocked"
NAMESPACE = "test"


class Exposition(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Exposing)
        self.server.scrapes.release()
        body = self.server.body
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Says nothing."""


class Exposing(ThreadingHTTPServer):
    """Serves what an operator exposed."""

    def __init__(self, body: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Exposition)
        self.body = body
        self.scrapes = Semaphore(0)


@pytest.fixture(scope="module")
def exposed() -> dict[str, bytes]:
    """What an operator exposes before a rollout, while it is blocked, and when it is over."""
    moments = {}

    async def scenario(site: Site) -> None:
        await three_zones(site)
        play = await begin(site)
        await play.operator.at_rest()
        moments["before"] = play.operator.metrics.exposition()
        await roll_badly(site, **{IMAGE_PULL: "fail"})
        await until_blocked(play)
        moments["blocked"] = play.operator.metrics.exposition()
        await correct(site, IMAGE_PULL)
        await site.until(lambda: is_complete(site, SECOND))
        await play.operator.at_rest()
        moments["over"] = play.operator.metrics.exposition()

    run(_play(SimGround(0, controllers=True), NAMESPACE, scenario, {}))
    return moments


class Server:
    """Prometheus, scraping as a ServiceMonitor has it scrape: with the namespace of the operator on every series."""

    def __init__(self, prometheus: Prometheus, target: Exposing) -> None:
        self.target = target
        self._prometheus = prometheus

    def until(self, fires: bool) -> list[Any]:
        """The alerts of this name that fire, once some do, or none does; looked at with every scrape."""
        end = time.monotonic() + PATIENCE
        while True:
            found = [alert for alert in self._alerts() if alert["labels"]["alertname"] == NAME]
            firing = [alert for alert in found if alert["state"] == "firing"]
            if bool(firing) is fires:
                return firing
            if not self.target.scrapes.acquire(timeout=max(0.0, end - time.monotonic())):
                pytest.fail(f"firing is {bool(firing)} after {PATIENCE:g} s: {found}")

    def _alerts(self) -> list[Any]:
        status, body = self._prometheus._get(f"{self._prometheus.url}/api/v1/alerts")
        alerts: list[Any] = msgspec.json.decode(body)["data"]["alerts"]
        assert status == 200
        return alerts


@pytest.fixture
def server(exposed: dict[str, bytes]) -> Iterator[Server]:
    try:
        program = find(lambda _line: None, build=False)
    except Unavailable as problem:
        pytest.skip(str(problem))
    rules = data_of(chart_of("zones"), "alerts.yaml", {"NAMESPACE": NAMESPACE, "SERVICE": "rollout-operator"})
    for rule in rules["groups"][0]["rules"]:
        rule["for"] = "1s"  # nobody waits for minutes here
    with Exposing(exposed["before"]) as target, socket.create_server(("127.0.0.1", 0)) as free:
        Thread(target=target.serve_forever, daemon=True).start()
        held = Held()
        try:
            port = free.getsockname()[1]
            free.close()
            labels = {"namespace": NAMESPACE, "service": "rollout-operator", "pod": "rollout-operator-0"}
            scraped = {"job_name": "operator", "static_configs": [{"targets": [_place(target)], "labels": labels}]}
            config = {
                "global": {"scrape_interval": "200ms", "scrape_timeout": "200ms", "evaluation_interval": "200ms"},
                "rule_files": [f"{held.folder}/alerts.json"],
                "scrape_configs": [scraped],
            }
            (held.folder / "alerts.json").write_bytes(msgspec.json.encode(rules))
            (held.folder / "prometheus.yml").write_bytes(msgspec.json.encode(config))
            arguments = [f"--config.file={held.folder}/prometheus.yml", f"--storage.tsdb.path={held.folder}/data"]
            log = Log(held._log("prometheus"))
            held.run("prometheus", [str(program), *arguments, f"--web.listen-address=127.0.0.1:{port}"])
            log.wait_for("Server is ready to receive web requests", time.monotonic() + PATIENCE)
            yield Server(Prometheus(f"http://127.0.0.1:{port}"), target)
        finally:
            held.close()
            target.shutdown()


def test_a_blocked_rollout_fires_the_alert_and_its_end_resolves_it(server: Server, exposed: dict[str, bytes]) -> None:
    server.target.body = exposed["blocked"]
    (alert,) = server.until(fires=True)

    assert alert["labels"]["rollout"] == "ingester"
    assert alert["labels"]["reason"] == "PodStuck"
    assert alert["labels"]["severity"] == "warning"
    assert alert["annotations"]["summary"] == "Rollout ingester of namespace test is blocked (PodStuck)."
    assert "fairlead explain ingester -n test" in alert["annotations"]["description"]

    server.target.body = exposed["over"]
    server.until(fires=False)
