"""The two clusters that kubectl's own suite is run on, each with a user known by a token.

Both have controllers and no kubelet, and whoever is known may do everything, as the suite expects.
"""

from __future__ import annotations

import asyncio
import ipaddress
import secrets
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from fairlead.plane.launch import Plane
from fairlead.plane.programs import SERVICE_ADDRESS
from kubeloop.client import Client
from kubeloop.http_transport import HttpTransport
from kubeloop.request import Request, Transport
from kubesim.auth.rbac import AUTHENTICATED
from kubesim.cluster import Cluster
from kubesim.pki import Authority
from kubesim.server import serve
from kubesim.strategies.service_addresses import RANGE

USER = "suite"
GROUPS = (AUTHENTICATED, "the-group")
"""Everybody, and whom the suite asks about."""
SERVICE = 12
"""Which of the addresses of Services the suite asks for."""


class Place(Struct, frozen=True):
    """Where a cluster listens on the loopback address, and what opens it."""

    port: int
    token: str
    service_address: str
    """One that a Service may ask for."""


@asynccontextmanager
async def embedded() -> AsyncIterator[Place]:
    """A new embedded cluster over HTTPS, in real time."""
    token, authority = secrets.token_hex(16), Authority()
    cluster = Cluster(authority=authority.certificate.decode())
    async with serve(cluster, tls=_tls(authority), tokens={token: USER}) as server, asyncio.TaskGroup() as tasks:
        controllers = tasks.create_task(cluster.run())
        await _allow_everything(cluster.transport())
        yield Place(server.port, token, str(RANGE[SERVICE]))
        controllers.cancel()


@asynccontextmanager
async def real() -> AsyncIterator[Place]:
    """A new control plane of the pinned release."""
    async with Plane(token_users=(USER,)) as plane:
        await _allow_everything(HttpTransport(plane.config()))
        port = int(plane.url.rpartition(":")[2])
        address = ipaddress.ip_address(SERVICE_ADDRESS) + SERVICE - 1
        yield Place(port, plane.config_as(USER).token, str(address))


CLUSTERS: dict[str, Callable[[], AbstractAsyncContextManager[Place]]] = {"real": real, "sim": embedded}


async def _allow_everything(transport: Transport) -> None:
    client = Client(transport)
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": USER},
        "roleRef": role,
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": name} for name in GROUPS],
    }
    path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    await client.call(Request("POST", path, body=msgspec.json.encode(binding), content_type="application/json"))
    await client.close()


def _tls(authority: Authority) -> ssl.SSLContext:
    pair = authority.server(("127.0.0.1", "localhost"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:  # the library reads keys from files only
        chain = Path(folder, "server.pem")
        chain.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(chain)
    return context
