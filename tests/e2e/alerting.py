"""A real Prometheus that has the rules of a contract's chart and scrapes what an operator of it exposed."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Semaphore, Thread
from typing import Any

import msgspec
import pytest

from fairlead.plane.build import Unavailable
from fairlead.plane.held import Held
from fairlead.plane.prometheus import find
from kubesim.standins.gateway_counts import GatewayCounts
from tests.e2e.test_prometheus import PATIENCE, Log, Prometheus, _place

WINDOW = re.compile(r"\[\d+[mh]\]")
"""Of a rate or an increase."""


class Exposition(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Exposing)
        self.server.scrapes.release()
        body = self.server.body
        self.send_response(200 if body else 503)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Says nothing."""


class Exposing(ThreadingHTTPServer):
    """Serves what an operator exposed; without a body it is down."""

    def __init__(self, body: bytes) -> None:
        super().__init__(("127.0.0.1", 0), Exposition)
        self.body = body
        self.scrapes = Semaphore(0)


class AlertingPrometheus:
    def __init__(self, prometheus: Prometheus, target: Exposing) -> None:
        self.target = target
        self._prometheus = prometheus

    def until(self, name: str, *, fires: bool) -> list[Any]:
        """The alerts of this name that fire, once some do, or none does; looked at with every scrape."""
        end = time.monotonic() + PATIENCE
        while True:
            found = [alert for alert in self._alerts() if alert["labels"]["alertname"] == name]
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


@contextmanager
def alerting(rules: Any, labels: Mapping[str, str], body: bytes) -> Iterator[AlertingPrometheus]:
    """Scrapes as a monitor of the chart has it scrape: with these labels on every series."""
    try:
        program = find(lambda _line: None, build=False)
    except Unavailable as problem:
        pytest.skip(str(problem))
    for rule in rules["groups"][0]["rules"]:  # nobody waits for minutes here
        rule["for"] = "1s"
        rule["expr"] = WINDOW.sub("[10s]", rule["expr"])
    with Exposing(body) as target, socket.create_server(("127.0.0.1", 0)) as free:
        Thread(target=target.serve_forever, daemon=True).start()
        held = Held()
        try:
            port = free.getsockname()[1]
            free.close()
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
            yield AlertingPrometheus(Prometheus(f"http://127.0.0.1:{port}", GatewayCounts()), target)
        finally:
            held.close()
            target.shutdown()
