"""Calls outside the cluster's API, measured; those that a pod takes for another cluster's are counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from fairlead.engine.driver.questions import wrong_cluster
from fairlead.engine.metrics import Metrics
from fairlead.engine.serving.cluster_label import HEADER
from kubeloop import clock
from kubeloop.calls import Call, Caller, Reply

CallCounter: TypeAlias = Callable[[Call, int | None, float], bool]
"""Told of a call, its status, None without an answer, and its seconds; whether it is counted there."""


def measured(caller: Caller, metrics: Metrics, counts: Sequence[CallCounter] = ()) -> Caller:
    """What none of `counts` counts is a call to a pod."""

    async def call(sent: Call) -> Reply:
        begun = clock.monotonic()
        status: int | None = None
        try:
            reply = await caller(sent)
            status = reply.status
        finally:
            took = clock.monotonic() - begun
            if not any(counted(sent, status, took) for counted in counts):
                metrics.observe_pod_call(sent, status, took)
        if (wrong := wrong_cluster(reply)) is not None:
            metrics.refused_cluster(wrong.route, "".join(sent.header(HEADER)))
        return reply

    return call
