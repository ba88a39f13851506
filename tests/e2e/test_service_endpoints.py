"""Services find the pods of a StatefulSet, with the addresses that pods have by default."""

from __future__ import annotations

import msgspec
import pytest

from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS, SERVICES
from kubeloop.request import Request, path_of
from kubesim.kinds.registry import ENDPOINT_SLICES, ENDPOINTS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.definitions import MERGE

pytestmark = pytest.mark.fidelity

LABELS = {"app": "web"}
NAMES = ["web-0", "web-1", "web-2"]


async def make(site: Site) -> None:
    """Three pods behind a headless Service, and behind one with an address."""
    for name, extra in (("web", {"clusterIP": "None"}), ("front", {})):
        spec = {"selector": LABELS, "ports": [{"port": 80, "targetPort": 8080}], **extra}
        await site.create(SERVICES, {"metadata": {"name": name}, "spec": spec})
    template = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    wanted = {"serviceName": "web", "replicas": 3, "selector": {"matchLabels": LABELS}, "template": template}
    await site.create(STATEFULSETS, {"metadata": {"name": "web"}, "spec": wanted})


def ready(site: Site, service: str) -> dict[str, str]:
    """Addresses of pods that both kinds of endpoints of a Service have as ready, by name; none while they differ."""
    found = site.history.objects(ENDPOINTS).get(service, {})
    old = {
        each["targetRef"]["name"]: each["ip"]
        for subset in found.get("subsets") or []
        for each in subset.get("addresses", [])
    }
    new = {
        each["targetRef"]["name"]: each["addresses"][0]
        for slice_ in site.history.objects(ENDPOINT_SLICES).values()
        for each in slice_["endpoints"] or []
        if slice_["metadata"]["labels"]["kubernetes.io/service-name"] == service and each["conditions"]["ready"]
    }
    return new if old == new else {}


@everywhere(on=("sim", "served", "real"))
async def test_services_have_the_pods_of_a_statefulset_as_endpoints(site: Site) -> None:
    site.start_kubelet(ready_after=0.1)
    await make(site)

    def served(*names: str) -> bool:
        return all(sorted(ready(site, service)) == sorted(names) for service in ("web", "front"))

    await site.until(lambda: served(*NAMES), following=(PODS, ENDPOINTS, ENDPOINT_SLICES))
    pods = site.history.objects(PODS)
    assert ready(site, "front") == {name: pods[name]["status"]["podIP"] for name in NAMES}

    body = msgspec.json.encode({"spec": {"replicas": 1}})
    await site.client.call(
        Request("PATCH", path_of(STATEFULSETS, site.namespace, "web"), body=body, content_type=MERGE)
    )

    await site.until(lambda: served("web-0"))
