"""Calls to pods and to Prometheus, measured; those that a pod takes for another cluster's are counted."""

from __future__ import annotations

from fairlead.api.urls import shown_url
from fairlead.control.metrics import Metrics
from fairlead.decide.zones.queries import QUERY_PATH
from fairlead.drive.outside import wrong_cluster
from fairlead.kube import clock
from fairlead.kube.calls import Call, Caller, Reply
from fairlead.webhook.cluster_label import HEADER


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
