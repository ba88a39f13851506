"""Calls that the server passes on to a pod: what answers at the pod's address in the cluster's network answers here.

As with the real server a pod without an address is refused, and one where nobody answers is out of reach.
"""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import quote, urlencode

from kubeloop.calls import Call, Caller, NoReply
from kubeloop.request import Request, Response
from kubesim.api.verbs import Verbs
from kubesim.errors import StatusError, bad_request, quoted
from kubesim.requests.paths import Target
from kubesim.store.versions import Tree

SCHEMES = ("", "http", "https")
SECONDS = 30.0
_OWN = ("authorization", "host", "content-length")
"""Headers that are for the server alone; so are those of impersonation."""


async def proxied(verbs: Verbs, pods: Caller, target: Target, request: Request) -> Response:
    """The answer of the pod that the target names, as `pod`, `pod:port` or `scheme:pod:port`."""
    scheme, name, port = _parts(target.name)
    pod = verbs.current(target.kind, target.namespace, name).tree()
    url = f"{scheme or 'http'}://{_address(pod)}:{port or _first_port(pod)}/{quote(target.below)}"
    query = f"?{urlencode(request.query)}" if request.query else ""
    call = Call(
        method=request.method,
        url=f"{url}{query}",
        headers=tuple(pair for pair in request.headers if _passes(pair[0])),
        body=request.body,
        timeout=request.timeout or SECONDS,
    )
    try:
        reply = await pods(call)
    except NoReply as error:
        raise StatusError(503, "ServiceUnavailable", f"error trying to reach service: {error}") from None
    return Response(reply.status, reply.body, {name.lower(): value for name, value in reply.headers})


def _parts(name: str) -> tuple[str, str, str]:
    match name.split(":"):
        case [pod] if pod:
            return "", pod, ""
        case [pod, port] if pod:
            return "", pod, port
        case [scheme, pod, port] if pod and scheme in SCHEMES:
            return scheme, pod, port
    raise bad_request(f"invalid pod request {quoted(name)}")


def _address(pod: Tree) -> str:
    try:
        found = ip_address(pod.get("status", {}).get("podIP", ""))
    except ValueError:
        raise bad_request("address not allowed") from None
    if found.is_loopback or found.is_link_local or found.is_multicast or found.is_unspecified:
        raise bad_request("address not allowed")
    return f"[{found}]" if found.version == 6 else str(found)


def _first_port(pod: Tree) -> int:
    ports = (port["containerPort"] for each in pod["spec"]["containers"] for port in each.get("ports", ()))
    return next(ports, 80)


def _passes(header: str) -> bool:
    return header.lower() not in _OWN and not header.lower().startswith("impersonate-")
