"""Which replicas behind a Service cannot convert yet what a definition is about to name.

Each replica says on its own pod what it can convert. Whoever may be called counts: every ready endpoint of the Service,
as EndpointSlices tell. A Service without slices is that of a process which is no pod; then the one that asks counts
alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from fairlead.core.ask import Answers, Ask, Bad, Good, Listing
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Resource
from kubeloop.unreadable import UNREADABLE

ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
SERVICE_LABEL = "kubernetes.io/service-name"
TIMEOUT_SECONDS = 30.0

Convertible: TypeAlias = Mapping[str, Sequence[str]]
"""By the name of a definition: versions that can be converted."""


class ReplicaQuestion(Struct, frozen=True):
    """Where the replicas are, and where each says what it can convert."""

    namespace: str
    service: str
    annotation: str

    @property
    def asks(self) -> tuple[Ask, ...]:
        slices = Listing(ENDPOINT_SLICES, self.namespace, labels=f"{SERVICE_LABEL}={self.service}")
        pods = Listing(PODS, self.namespace, metadata_only=True)
        return Ask(slices, timeout=TIMEOUT_SECONDS), Ask(pods, timeout=TIMEOUT_SECONDS)

    def behind(self, answers: Answers, needed: Convertible) -> tuple[str, ...] | Bad:
        """Replicas that cannot convert all of this, sorted; Bad where that could not be read."""
        found = [answers[ask] for ask in self.asks]
        for answer in found:
            if isinstance(answer, Bad):
                return answer
        slices, pods = (_items(each.value) for each in found if isinstance(each, Good))
        held = {str(each["metadata"]["name"]): _convertible(each, self.annotation) for each in pods}
        ready = {name for each in slices for name in _ready(each)}
        return tuple(sorted(name for name in ready if not covers(held.get(name, {}), needed)))


def covers(held: Convertible, needed: Convertible) -> bool:
    return all(set(versions) <= set(held.get(crd, ())) for crd, versions in needed.items())


def written(held: Convertible) -> str:
    """As a replica writes it on its pod; equal for equal facts."""
    tree = {crd: sorted(versions) for crd, versions in sorted(held.items())}
    return msgspec.json.encode(tree).decode()


def read(text: str) -> Convertible:
    """Nothing where it cannot be read: whoever wrote that converts nothing that is known of."""
    try:
        return msgspec.json.decode(text, type=dict[str, list[str]])
    except UNREADABLE:
        return {}


def _convertible(pod: Mapping[str, Any], annotation: str) -> Convertible:
    return read(str((pod["metadata"].get("annotations") or {}).get(annotation, "{}")))


def _ready(tree: Mapping[str, Any]) -> Iterator[str]:
    """Names of the pods, or addresses of what is none and so never says what it can convert."""
    for endpoint in tree.get("endpoints") or ():
        conditions = endpoint.get("conditions") or {}
        if conditions.get("ready") is False:  # not said is ready
            continue
        target = endpoint.get("targetRef") or {}
        yield str(target["name"]) if target.get("kind") == "Pod" else str(endpoint["addresses"][0])


def _items(body: bytes) -> list[Any]:
    found: list[Any] = msgspec.json.decode(body).get("items") or []
    return found
