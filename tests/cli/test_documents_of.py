"""Looking: documents of what the operator would decide, without a call that would change anything."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

import msgspec

from fairlead.cli.documents_of import explain_all
from fairlead.core.explain import Explain
from kubeloop.client import Client
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.core import PODS, Pod
from kubeloop.request import Request, Response, Stream, Transport, path_of
from kubesim.time import run
from tests.builders import body_of, pods_of
from tests.contracts.zones.decide.outsiders import TEMPLATES, a_delayed

GROUP, VERSION = f"/apis/{TEMPLATES.group}", f"/apis/{TEMPLATES.group}/v1"


class Reading(Transport):
    """Answers reads of one zone, its pods and its reference; anything else is a mistake of the test."""

    def __init__(self, zone: StatefulSet, pods: tuple[Pod, ...], wanted: int) -> None:
        metadata = {"name": "rt", "namespace": "test", "uid": "u-rt", "resourceVersion": "1"}
        kind = {"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata}
        scale = kind | {"spec": {"replicas": wanted}, "status": {"replicas": zone.spec.replicas}}
        entries = [
            {"name": name, "kind": "ReplicaTemplate", "namespaced": True}
            for name in ("replicatemplates", "replicatemplates/scale", "replicatemplates/status")
        ]
        live = msgspec.Raw(body_of(zone))
        self.answers: dict[str, object] = {
            path_of(STATEFULSETS, "test"): {"metadata": {"resourceVersion": "1"}, "items": [live]},
            path_of(STATEFULSETS, "test", zone.metadata.name): live,
            path_of(PODS, "test"): {"metadata": {"resourceVersion": "1"}, "items": pods},
            GROUP: {"versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
            VERSION: {"resources": entries},
            path_of(TEMPLATES, "test", "rt", "scale"): scale,
        }

    async def send(self, request: Request) -> Response:
        assert request.method == "GET"
        known = self.answers.get(request.path)
        return Response(404, b"{}") if known is None else Response(200, msgspec.json.encode(known))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise AssertionError(request)


def look(wanted: int, replicas: int = 5) -> Explain:
    zone = a_delayed(replicas)
    transport = Reading(zone, pods_of(zone), wanted)
    return run(explain_all(Client(transport), ["test"]), seed=1)[0]


def test_a_look_says_whom_it_would_have_asked_about_a_delayed_downscale() -> None:
    shown = look(3)

    block = next(block for block in shown.blocked_by if block.rule == "scale")
    assert block.reason == "NeedsAnswer"
    assert "POST to http://ingester-zone-a-3.ingester.test.svc.cluster.local.:8080/prepare" in block.text
    assert block.clears == "the operator asks the pods"


def test_a_look_shows_an_upscale_that_comes_next() -> None:
    assert look(7).next[0] == "scale ingester-zone-a from 5 to 7"
