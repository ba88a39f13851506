"""The pod as which the operator of `fairlead up` is seen, so that commands ask it as they would anywhere.

It is on a node of its own, which nobody drains: the operator runs in the process of the cluster itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from fairlead.core.explain import OperatorReport
from fairlead.core.times import format_rfc3339
from fairlead.engine.explain_endpoint import PATH, handling
from fairlead.engine.manager import Manager
from fairlead.engine.serving.routes import dispatching
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import AlreadyExists
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, create, patch
from kubesim.network import Network

POD = Ref(PODS, "kube-system", "fairlead")
LABELS = {"app.kubernetes.io/name": "fairlead"}
NODE = "control-plane"
ADDRESS = "10.1.0.1"
"""Below those that the kubelet gives to pods."""
PORT = 8081


async def show_operator(client: Client, network: Network, manager: Manager) -> None:
    """From now on the pod is there and answers for this operator; in a cluster that was saved it may be there."""

    async def report(namespaces: Sequence[str]) -> OperatorReport:
        return await manager.report(POD.name, namespaces)

    network.serve(f"{ADDRESS}:{PORT}", dispatching({PATH: handling(report)}))
    with suppress(AlreadyExists):
        await client.call(create(PODS, POD.namespace, msgspec.json.encode(_pod())))
    status = msgspec.json.encode({"status": _status()})
    await client.call(patch(POD, MERGE_PATCH, status, "status"))


def _pod() -> dict[str, object]:
    ports = [{"name": "http-metrics", "containerPort": PORT}]
    container = {"name": POD.name, "image": POD.name, "ports": ports}
    spec = {"nodeName": NODE, "automountServiceAccountToken": False, "containers": [container]}
    return {"metadata": {"name": POD.name, "namespace": POD.namespace, "labels": LABELS}, "spec": spec}


def _status() -> dict[str, object]:
    now = format_rfc3339(clock.now())
    types = ("Initialized", "PodScheduled", "ContainersReady", "Ready")
    container = {
        "name": POD.name,
        "image": POD.name,
        "imageID": "",
        "ready": True,
        "started": True,
        "restartCount": 0,
        "state": {"running": {"startedAt": now}},
    }
    return {
        "phase": "Running",
        "startTime": now,
        "podIP": ADDRESS,
        "podIPs": [{"ip": ADDRESS}],
        "conditions": [{"type": each, "status": "True", "lastTransitionTime": now} for each in types],
        "containerStatuses": [container],
    }
