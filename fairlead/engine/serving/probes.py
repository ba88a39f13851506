"""The plain HTTP server: whether the process is ready and alive, metrics and the word about rollouts, all measured.

That it is alive is answered as long as the process does anything at all: whatever it waits for, a restart would not
bring it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from urllib.parse import parse_qs, urlsplit

from structlog.types import FilteringBoundLogger

from fairlead.engine.metrics import Metrics
from fairlead.engine.serving.cluster_label import ClusterLabel
from fairlead.engine.serving.plain_paths import EVERYWHERE, PlainPaths
from fairlead.engine.serving.routes import text
from fairlead.engine.serving.server import PortBusy, ServerTerms, serving
from kubeloop.calls import Call, Handler, Reply

__all__ = ["PortBusy", "probes"]

EXPOSITION = (("Content-Type", "text/plain; version=0.0.4"),)


USUAL_PATHS = PlainPaths()


def showing(metrics: Metrics) -> Handler:
    """Answers with the metrics as they are."""

    async def exposition(_: Call) -> Reply:
        return Reply(200, metrics.exposition(), EXPOSITION)

    return exposition


def answering(obstacle: Callable[[], str | None]) -> Handler:
    """Answers 200 and nothing where nothing is in the way, else 503 and what is."""

    async def answer(_: Call) -> Reply:
        found = obstacle()
        return Reply(200) if found is None else text(503, found)

    return answer


def readiness(obstacle: Callable[[], str | None], remarks: Callable[[], Iterable[str]] = tuple) -> Handler:
    """Answers 200, with the remarks where `?verbose` asks for words, else 500 and what is in the way."""

    async def ready(call: Call) -> Reply:
        found = obstacle()
        if found is not None:
            return text(500, found) if found else Reply(500)
        is_verbose = "verbose" in parse_qs(urlsplit(call.url).query, keep_blank_values=True)
        return text(200, "\n".join(("ready", *remarks()))) if is_verbose else Reply(200)

    return ready


def probes(
    port: int,
    metrics: Metrics,
    obstacle: Callable[[], str | None],
    log: FilteringBoundLogger,
    cluster: ClusterLabel | None = None,
    host: str = EVERYWHERE,
    more: Mapping[str, Handler] = {},
    paths: PlainPaths = USUAL_PATHS,
) -> AbstractAsyncContextManager[int]:
    """Serves there while the context lasts; yields the port (useful when 0 was given).

    `obstacle` says why the process is not ready, in no words while it starts; None when it is.
    """

    async def alive(_: Call) -> Reply:
        return Reply(200)

    answers = ((paths.ready, readiness(obstacle)), (paths.alive, alive), (paths.metrics, showing(metrics)))
    routes = {path: handler for known, handler in answers for path in known} | dict(more)
    return serving(port, routes, metrics, log, ServerTerms(cluster=cluster), host=host)
