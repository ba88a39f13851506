"""What the API server counts of itself, and how many of its kind there are."""

from __future__ import annotations

from typing import Any

from kubeloop.client import Client
from kubeloop.errors import ApiError, Forbidden, NotFound
from kubeloop.objects.meta import Resource
from kubeloop.request import Request

ENDPOINT_SLICES = Resource("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")


async def metrics_text(client: Client) -> str | None:
    """None where this user may not read them, or nobody serves them."""
    try:
        answer = await client.call(Request("GET", "/metrics", headers=(("Accept", "text/plain"),)))
    except ApiError:
        return None
    return answer.body.decode(errors="replace")


async def api_servers(client: Client) -> int:
    """As the Service `kubernetes` has them; 1 where that is not told."""
    try:
        listed = await client.list(
            ENDPOINT_SLICES, dict[str, Any], namespace="default", labels="kubernetes.io/service-name=kubernetes"
        )
    except (Forbidden, NotFound):
        return 1
    addresses = {
        address
        for each in listed.items
        for endpoint in each.get("endpoints") or ()
        for address in endpoint.get("addresses") or ()
    }
    return max(1, len(addresses))
