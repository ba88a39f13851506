"""Traces of rounds, reviews and calls, sent by OTLP when the environment says where to.

Nothing is imported, started or sent otherwise. What keeps tracing from starting is a warning and nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from threading import Thread
from typing import Protocol

from structlog.types import FilteringBoundLogger

from kubeloop.calls import Call, Caller, Handler, Reply
from kubeloop.request import Request, Response, Stream, Transport

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
NAMES = ("OTEL_SERVICE_NAME", "JAEGER_SERVICE_NAME")
FORMER = ("JAEGER_ENDPOINT", "JAEGER_AGENT_HOST")
"""Of a protocol that its own collector has given up; it takes OTLP instead."""


FLUSH_SECONDS = 3.0
"""For sending what is left at the end."""


class Span(Protocol):
    def set(self, **attributes: str | int | bool) -> None:
        """Adds what is known by now."""


class _Silent:
    def set(self, **attributes: str | int | bool) -> None:
        """Nobody listens."""


Trace = Callable[[str], AbstractContextManager[Span]]
"""Opens a span of this name; spans opened inside it are its children."""


@contextmanager
def untraced(_: str) -> Iterator[Span]:
    """For processes without tracing."""
    yield _Silent()


def service_name(environment: Mapping[str, str], process: str) -> str:
    """The first of the variables that is set, else the name of the process."""
    return next((environment[name] for name in NAMES if environment.get(name)), process)


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether the environment says where traces go, and does not say that there are to be none."""
    off = (
        environment.get("OTEL_SDK_DISABLED", "").lower() == "true" or environment.get("OTEL_TRACES_EXPORTER") == "none"
    )
    return not off and any(environment.get(name) for name in ENDPOINTS)


def traced_handler(handler: Handler, name: str, trace: Trace) -> Handler:
    """A span for every request to one path."""

    async def handle(call: Call) -> Reply:
        with trace(name) as span:
            reply = await handler(call)
            span.set(status=reply.status)
            return reply

    return handle


def traced_caller(caller: Caller, trace: Trace) -> Caller:
    """A span for every call to a pod or another service."""

    async def called(call: Call) -> Reply:
        with trace(f"call {call.method}") as span:
            span.set(url=call.place)
            reply = await caller(call)
            span.set(status=reply.status)
            return reply

    return called


class TracedTransport:
    """A span for every request to the API server, watches apart: they are no work."""

    def __init__(self, inner: Transport, trace: Trace) -> None:
        self._inner = inner
        self._trace = trace

    async def send(self, request: Request) -> Response:
        with self._trace(f"api {request.verb}") as span:
            span.set(path=request.path)
            response = await self._inner.send(request)
            span.set(status=response.status)
            return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)


class Traces:
    """What was begun for one process; `close` sends what is left."""

    def __init__(self, trace: Trace = untraced, close: Callable[[], None] = lambda: None) -> None:
        self.trace = trace
        self.close = close


def tracing(environment: Mapping[str, str], process: str, log: FilteringBoundLogger) -> Traces:
    """Traces as the environment wants them; never raises."""
    if not is_wanted(environment):
        if former := [name for name in FORMER if environment.get(name)]:
            log.warning("no traces are sent", set=former[0], help=f"set {ENDPOINTS[1]}: the collector takes OTLP")
        return Traces()
    try:
        return _otlp(service_name(environment, process))
    except ImportError as error:
        log.warning("no traces are sent", error=str(error), help='install "fairlead[traces]"')
    except Exception as error:  # noqa: BLE001  tracing must not keep the operator from starting
        log.warning("no traces are sent", error=str(error), help="check the OTEL_ variables")
    return Traces()


def _otlp(service: str) -> Traces:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    from opentelemetry.trace import Span as OtelSpan  # noqa: PLC0415

    class Told:
        def __init__(self, span: OtelSpan) -> None:
            self._span = span

        def set(self, **attributes: str | int | bool) -> None:
            self._span.set_attributes(attributes)

    provider = TracerProvider(resource=Resource.create({"service.name": service}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    tracer = provider.get_tracer("fairlead")

    @contextmanager
    def trace(name: str) -> Iterator[Span]:
        with tracer.start_as_current_span(name) as span:
            yield Told(span)

    def close() -> None:
        """A collector that does not answer must not hold up the end of the process."""
        sending = Thread(target=provider.shutdown, daemon=True)
        sending.start()
        sending.join(FLUSH_SECONDS)

    return Traces(trace, close)
