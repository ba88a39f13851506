"""Traces go where the environment says, and nowhere without it."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from threading import enumerate as enumerate_threads

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from fairlead.engine.traces import Span, is_wanted, service_name, traced_caller, tracing, untraced
from kubeloop.calls import Call, Reply
from kubesim.time import run
from tests.engine.world import Log


@pytest.fixture(autouse=True)
def no_thread_stays(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The library draws lots in its threads, which would disturb the draws of tests that come later."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    before = set(enumerate_threads())
    yield
    left = [thread for thread in enumerate_threads() if thread not in before]
    for thread in left:
        thread.join(15)
    assert [thread.name for thread in left if thread.is_alive()] == []


@contextmanager
def a_collector() -> Iterator[tuple[str, list[ExportTraceServiceRequest]]]:
    """A real OTLP collector on a loopback address, with what it received."""
    received: list[ExportTraceServiceRequest] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Tests print nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_spans_arrive_at_the_collector_with_their_attributes_and_parents(monkeypatch: pytest.MonkeyPatch) -> None:
    with a_collector() as (endpoint, received):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        log = Log()
        traces = tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, "rollout-operator", log.logger())

        with traces.trace("pass") as outer:
            outer.set(rollout="test/ingester", moved=True)
            with traces.trace("call"):
                pass
        traces.close()

    resource = received[0].resource_spans[0]
    assert [each.value.string_value for each in resource.resource.attributes if each.key == "service.name"] == [
        "rollout-operator"
    ]
    inner, outer_span = resource.scope_spans[0].spans
    assert (inner.name, outer_span.name) == ("call", "pass")
    assert inner.parent_span_id == outer_span.span_id
    assert {each.key for each in outer_span.attributes} == {"rollout", "moved"}
    assert log.records == []


def test_a_collector_that_does_not_answer_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes the connection and is silent until the end was reached."""
    monkeypatch.setattr("fairlead.engine.traces.FLUSH_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        traces = tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, "rollout-operator", Log().logger())
        with traces.trace("pass"):
            pass
        begun = time.monotonic()

        traces.close()

        assert time.monotonic() - begun < 3


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        pytest.param({}, False, id="nothing is set"),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, True, id="an endpoint"),
        pytest.param({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, True, id="an endpoint for traces"),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "true"}, False, id="disabled"),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, False, id="none"),
    ],
)
def test_traces_are_sent_only_where_the_environment_wants_them(environment: dict[str, str], expected: bool) -> None:
    assert is_wanted(environment) is expected

    traces = tracing(environment, "p", Log().logger())
    traces.close()

    assert (traces.trace is not untraced) is expected


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"OTEL_SERVICE_NAME": "a", "JAEGER_SERVICE_NAME": "b"}, "a"),
        ({"JAEGER_SERVICE_NAME": "b"}, "b"),
        ({"OTEL_SERVICE_NAME": ""}, "rollout-operator"),
    ],
)
def test_the_service_is_named_by_the_first_variable_that_is_set(environment: dict[str, str], expected: str) -> None:
    assert service_name(environment, "rollout-operator") == expected


def test_a_missing_library_is_a_warning_and_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    log = Log()

    traces = tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, "p", log.logger())

    assert traces.trace is untraced
    assert log.of("no traces are sent")[0]["help"] == 'install "fairlead[traces]"'


def test_settings_of_a_former_protocol_are_answered_with_what_to_set() -> None:
    log = Log()

    tracing({"JAEGER_AGENT_HOST": "jaeger"}, "p", log.logger())

    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in log.of("no traces are sent")[0]["help"]


def test_credentials_of_an_address_are_not_traced() -> None:
    told: list[object] = []

    class Listening:
        def set(self, **attributes: str | int | bool) -> None:
            told.extend(attributes.values())

    @contextmanager
    def trace(_: str) -> Iterator[Span]:
        yield Listening()

    async def pod(_: Call) -> Reply:
        return Reply(200)

    async def scenario() -> None:
        await traced_caller(pod, trace)(Call(method="POST", url="http://user:s3cret@pod/prepare?token=t0ken"))

    run(scenario())

    assert told == ["http://pod/prepare", 200]
