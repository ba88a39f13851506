"""The webhooks' own server, called by the real API server; on the embedded cluster its handler, called in process."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable

from fairlead.engine.assembly import assemble
from fairlead.engine.certificates.pairs import Pair
from fairlead.engine.certificates.served import Credentials
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from fairlead.engine.serving.routes import Routes, dispatching
from fairlead.engine.serving.server import ServerTerms, serving
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import ApiError
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Ref
from kubeloop.request import Transport
from kubesim.pki import Authority
from tests.e2e.clusters import SimGround, Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.webhooks import VALIDATING, install, rule
from tests.engine.world import Log, a_statefulset
from tests.operator_parts import ZONES

HOST = "rollout-operator.test.svc"


class Endpoint:
    """Where the webhooks are reached, and the certificate they show."""

    def __init__(self, site: Site, routes: Routes) -> None:
        self.metrics, self.log = Metrics(), Log()
        self._site, self._routes = site, routes
        self._authority = Authority()
        pair = self._authority.server(("127.0.0.1",))
        self.credentials = Credentials(Pair(pair.certificate, pair.key))

    async def config(self, path: str) -> Tree:
        """The `clientConfig` of a webhook; serves until the end of the scenario."""
        if isinstance(self._site.ground, SimGround):
            self._site.ground.cluster.network.serve(HOST, dispatching(self._routes))
            return {"url": f"https://{HOST}{path}"}
        port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._site.start(self._serve(port))
        bundle = b64encode(self._authority.certificate).decode()
        return {"url": f"https://127.0.0.1:{await port}{path}", "caBundle": bundle}

    def renew(self) -> None:
        """Another certificate of the same authority."""
        pair = self._authority.server(("127.0.0.1",))
        self.credentials.swap(Pair(pair.certificate, pair.key))

    async def _serve(self, port: asyncio.Future[int]) -> None:
        terms = ServerTerms(tls=self.credentials.context)
        async with serving(0, self._routes, self.metrics, self.log.logger(), terms) as chosen:
            port.set_result(chosen)
            await asyncio.Event().wait()


async def guarded(site: Site, version: str) -> Endpoint:
    """A labelled StatefulSet of three, guarded by the no-downscale webhook of an operator."""
    options = OperatorOptions(process="rollout-operator", namespaces=(site.namespace,), parts=(ZONES,))
    log = Log()
    transport = site.ground.transport("admin")
    site.start(_held(transport))
    manager = await assemble(options, site.namespace, transport, Metrics(), log.logger())
    endpoint = Endpoint(site, manager.webhooks.routes)
    tree = a_statefulset("a", "group")
    tree["metadata"]["labels"]["grafana.com/no-downscale"] = "true"
    await site.create(STATEFULSETS, tree)
    hook = {
        "clientConfig": await endpoint.config("/admission/no-downscale"),
        "rules": [rule("UPDATE", "statefulsets statefulsets/scale", "apps", "v1")],
        "admissionReviewVersions": [version],
        "failurePolicy": "Fail",
    }
    await install(site, VALIDATING, f"no-downscale-{site.namespace}", hook)
    return endpoint


async def _held(transport: Transport) -> None:
    """Open until the end of the scenario."""
    try:
        await asyncio.Event().wait()
    finally:
        await Client(transport).close()


async def scaled(site: Site, replicas: int, subresource: str = "") -> str:
    """What the server says to it; empty when it is done."""
    body = b'{"spec":{"replicas":%d}}' % replicas
    ref = Ref(STATEFULSETS, site.namespace, "a")
    try:
        await site.client.call(request.patch(ref, request.MERGE_PATCH, body, subresource))
    except ApiError as error:
        return f"{error.status}: {error}"
    return ""


def denies(old: int, new: int) -> Callable[[str], bool]:
    def holds(said: str) -> bool:
        expected = ("grafana.com/no-downscale=true", f"from {old} to {new} replicas")
        return said.startswith("400: ") and all(words in said for words in expected)

    return holds


@everywhere(controllers=False)
async def test_webhook_denies_what_the_cluster_asks_about_in_version_v1(site: Site) -> None:
    await guarded(site, "v1")

    assert await scaled(site, 4) == ""
    assert denies(4, 2)(await scaled(site, 2))
    assert denies(4, 1)(await scaled(site, 1, "scale"))


@everywhere(controllers=False)
async def test_webhook_denies_what_the_cluster_asks_about_in_version_v1beta1(site: Site) -> None:
    await guarded(site, "v1beta1")

    assert denies(3, 2)(await scaled(site, 2))


@everywhere(controllers=False, on=("real",))
async def test_webhook_keeps_answering_while_its_certificate_changes(site: Site) -> None:
    endpoint = await guarded(site, "v1")

    for replicas in range(4, 10):
        endpoint.renew()
        assert await scaled(site, replicas) == ""
        assert denies(replicas, 1)(await scaled(site, 1))
