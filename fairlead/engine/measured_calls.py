"""Calls to pods and to Prometheus, measured; those that a pod takes for another cluster's are counted."""

from __future__ import annotations

from fairlead.contracts.zones.decide.healthchecks.queries import QUERY_PATH
from fairlead.engine.driver.questions import wrong_cluster
from fairlead.engine.metrics import Metrics
from fairlead.engine.serving.cluster_label import HEADER
from kubeloop import clock
from kubeloop.calls import Call, Caller, Reply
from kubeloop.urls import shown_url


def measured(caller: Caller, metrics: Metrics) -> Caller:
    async def call(sent: Call) -> Reply:
        begun = clock.monotonic()
        status: int | None = None
        try:
            reply = await caller(sent)
            status = reply.status
        finally:
            took = clock.monotonic() - begun
            if shown_url(sent.url).endswith(QUERY_PATH):
                metrics.observe_query(status, took)
            else:
                metrics.observe_pod_call(sent, status, took)
        if (wrong := wrong_cluster(reply)) is not None:
            metrics.refused_cluster(wrong.route, "".join(sent.header(HEADER)))
        return reply

    return call
