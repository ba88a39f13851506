"""The embedded cluster as other processes see it: over HTTPS, in real time, with a kubeconfig for each user."""

from __future__ import annotations

import json
import secrets
import ssl
from base64 import b64encode
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from kubeloop.calls import Call, Reply
from kubeloop.http_caller import HttpCaller
from kubeloop.request import Transport
from kubesim.cluster import Cluster
from kubesim.pki import Authority
from kubesim.server import serve

if TYPE_CHECKING:
    from tests.e2e.clusters import Site


class ServedGround:
    """An embedded cluster for one scenario, which programs of their own can reach."""

    name = "served"

    def __init__(self, controllers: bool) -> None:
        self._caller = HttpCaller()
        self.cluster = Cluster(caller=self._call)
        self.url = ""
        self._controllers = controllers
        self._authority = Authority()
        self._open = AsyncExitStack()
        self._folder = Path(self._open.enter_context(TemporaryDirectory()))

    @property
    def kubeconfig(self) -> Path:
        """For an administrator."""
        return self.kubeconfig_for("admin")

    def kubeconfig_for(self, user: str) -> Path:
        """For a user who may do only what RBAC grants."""
        token = secrets.token_hex(16)
        self.cluster.handler.tokens.give({token: user})
        cluster = {"server": self.url, "certificate-authority-data": b64encode(self._authority.certificate).decode()}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "served", "cluster": cluster}],
            "users": [{"name": user, "user": {"token": token}}],
            "contexts": [{"name": "served", "context": {"cluster": "served", "user": user}}],
            "current-context": "served",
        }
        path = self._folder / f"{secrets.token_hex(4)}.kubeconfig"
        path.write_text(json.dumps(document))
        return path

    def transport(self, user: str) -> Transport:
        return self.cluster.transport(user)

    def controllers(self) -> Coroutine[Any, Any, None] | None:
        return self.cluster.run() if self._controllers else None

    async def prepare(self, site: Site) -> None:
        pair = self._authority.server(("127.0.0.1",))
        chain = self._folder / "server.pem"
        chain.write_bytes(pair.certificate + pair.key)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(chain)
        server = await self._open.enter_async_context(serve(self.cluster, tls=tls))
        self.url = server.url

    async def _call(self, call: Call) -> Reply:
        """Hosts that a scenario serves are within the process, all others are reached over sockets."""
        return await self.cluster.network.before(self._caller)(call)

    async def clear(self, namespace: str) -> None:
        await self._open.aclose()
        await self._caller.close()
