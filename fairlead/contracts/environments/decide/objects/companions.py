"""What the objects of a Balancer and of a Console have in common: a Deployment, a Service and a certificate.

A Deployment's selector can never be changed, so it holds exactly the labels of the contract, and a pod's own labels
give way to these.
"""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.environments.decide.objects.owner import Owner, filled, recommended
from fairlead.contracts.environments.decide.objects.wanted import Wanted
from fairlead.contracts.environments.kinds import APP, NAME, Balancer, Console, Json, Text
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import SERVICES

DEFAULT_REPLICAS = 2


class Probe(Struct, frozen=True):
    """When a container is asked over HTTP; None leaves it to Kubernetes."""

    path: str
    delay: int | None = None
    period: int | None = None
    failures: int | None = None
    timeout: int | None = None

    def on(self, port: int, scheme: str | None = None) -> Json:
        return {
            "httpGet": {"path": self.path, "port": port, "scheme": scheme},
            "initialDelaySeconds": self.delay,
            "periodSeconds": self.period,
            "failureThreshold": self.failures,
            "timeoutSeconds": self.timeout,
        }


def selected(owner: Owner) -> Text:
    """The labels that the Deployment selects its pods by."""
    return owner.identity | {NAME: owner.prefixed(owner.app), "app": owner.app, APP: owner.app}


def deployment(
    owner: Owner, companion: Balancer | Console, pod: Json, *, annotations: Text, strategy: Json | None = None
) -> Wanted:
    """Of the companion's pods (B13); its own annotations win over those given."""
    wish = companion.spec
    labels = recommended(owner.app) | (wish.pod_labels or {}) | selected(owner)
    spec: Json = {
        "replicas": DEFAULT_REPLICAS if wish.replicas is None else wish.replicas,
        "selector": {"matchLabels": selected(owner)},
        "strategy": strategy,
        "template": {
            "metadata": {"labels": labels, "annotations": filled(annotations | (wish.pod_annotations or {}))},
            "spec": pod,
        },
    }
    return owner.wanted(DEPLOYMENTS, owner.prefixed(owner.app), {"spec": spec})


def service(owner: Owner, ports: list[Json]) -> Wanted:
    """Headless: clients see every pod."""
    selector = {NAME: owner.prefixed(owner.app)}
    spec: Json = {"type": "ClusterIP", "clusterIP": "None", "selector": selector, "ports": ports}
    return owner.wanted(SERVICES, owner.prefixed(owner.app), {"spec": spec})
