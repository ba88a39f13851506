"""The plain HTTP server: `/ready`, `/livez`, `/metrics` and the word about rollouts, each request measured.

`/livez` is answered as long as the process does anything at all: whatever it waits for, a restart would not bring it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

from structlog.types import FilteringBoundLogger

from fairlead.engine.metrics import Metrics
from fairlead.engine.serving.cluster_label import ClusterLabel
from fairlead.engine.serving.routes import text
from fairlead.engine.serving.server import EVERYWHERE, PortBusy, Terms, serving
from kubeloop.calls import Call, Handler, Reply

__all__ = ["PortBusy", "probes"]

EXPOSITION = (("Content-Type", "text/plain; version=0.0.4"),)


def probes(
    port: int,
    metrics: Metrics,
    obstacle: Callable[[], str | None],
    log: FilteringBoundLogger,
    cluster: ClusterLabel | None = None,
    host: str = EVERYWHERE,
    more: Mapping[str, Handler] = {},
) -> AbstractAsyncContextManager[int]:
    """Serves there while the context lasts; yields the port (useful when 0 was given).

    `obstacle` says why the process is not ready, in no words while it starts; None when it is.
    """

    async def ready(_: Call) -> Reply:
        found = obstacle()
        return Reply(200) if found is None else text(500, found) if found else Reply(500)

    async def alive(_: Call) -> Reply:
        return Reply(200)

    async def exposition(_: Call) -> Reply:
        return Reply(200, metrics.exposition(), EXPOSITION)

    routes = {"/ready": ready, "/livez": alive, "/metrics": exposition, **more}
    return serving(port, routes, metrics, log, Terms(cluster=cluster), host=host)
