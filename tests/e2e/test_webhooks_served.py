"""Webhooks of real processes at hard moments: before the cluster answers, while a certificate changes, at the end."""

from __future__ import annotations

import asyncio
import ssl
import warnings
from base64 import b64decode
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest

from kubeloop.errors import ApiError
from kubeloop.kubeconfig import load
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.request import Request, Response, Transport, place_of
from kubesim.faults import Faulty
from tests.chaos.proxy import proxied
from tests.e2e.clusters import Site, everywhere
from tests.e2e.endpoints import Answer, endpoints
from tests.e2e.history import Tree
from tests.e2e.pairs import a_pair, keys, store, stored
from tests.e2e.processes import Caller, calling, contract, local, operator, review, started, trusting
from tests.e2e.programs import finished
from tests.e2e.roles import SEED_ROLE, grant
from tests.e2e.webhooks import VALIDATING, rule
from tests.e2e.zones import a_zone, change, statefulset

LABELS = {"grafana.com/no-downscale": "true"}
RENEWED_SECRET = "fairlead-webhooks"
"""The one of `fairlead operator`."""


@everywhere(controllers=False, on=("served",))
async def test_webhooks_answer_while_the_lists_of_the_cluster_hang(site: Site, tmp_path: Path) -> None:
    """zones E-24: with the policy Fail, a webhook that waits for caches keeps its namespace from being changed."""
    await store(site, pair := a_pair())
    await a_zone(site, "a")
    async with proxied(load([site.server.kubeconfig])) as proxy:
        lists = Holding(proxy.faulty)
        proxy.faulty = Faulty(lists)

        async with started(contract(site, *LOCALLY, kubeconfig=proxy.kubeconfig(tmp_path), url=proxy.url)) as process:
            async with calling(await process.port(), pair["ca"]) as caller:
                answers = [await caller.ask("no-downscale", a_downscale())]
                await process.said("the cluster does not answer yet")
                answers.append(await caller.ask("no-downscale", a_downscale()))
                ready = await process.ready()
                lists.released.set()
                await process.said("msg=ready")
                await process.said("pod terminated")
            ready_at_last = await process.ready()

    assert [answer["allowed"] for answer in answers] == [False, False]
    assert (ready, ready_at_last) == (500, 200)


@everywhere(controllers=False, on=("served",))
async def test_missing_right_ends_a_process_with_webhooks_too(site: Site, tmp_path: Path) -> None:
    """That no list comes late is no excuse for one that never will."""
    user = await grant(site, {**SEED_ROLE, ("", "pods"): ("get", "watch", "delete")})
    for key, content in a_pair().items():
        (tmp_path / key).write_bytes(content)
    own = (
        "-server-tls.self-signed-cert.enabled=false",
        f"-server-tls.cert-file={tmp_path / 'cert'}",
        f"-server-tls.key-file={tmp_path / 'key'}",
        "-webhooks.update-ca-bundle=false",
    )

    answer = await finished(*contract(site, *own, kubeconfig=site.server.kubeconfig_for(user.name)))

    assert answer.code == 1
    assert f'user "{user.name}" may not list pods in namespace "{site.namespace}"' in answer.err.splitlines()[-1]


@everywhere(controllers=False, on=("served",))
async def test_only_tls_of_version_1_2_and_later_is_spoken(site: Site) -> None:
    await store(site, pair := a_pair())
    versions = ssl.TLSVersion

    async with started(local(site)) as process:
        port = await process.port()
        spoken = {
            version.name: await greeted(port, pair["ca"], version) for version in (versions.TLSv1_2, versions.TLSv1_3)
        }
        with pytest.raises((ssl.SSLError, ConnectionResetError), match=r"PROTOCOL_VERSION|^$"):
            await greeted(port, pair["ca"], versions.TLSv1_1)

    assert spoken == {"TLSv1_2": "TLSv1.2", "TLSv1_3": "TLSv1.3"}


@everywhere(controllers=False, on=("served",))
async def test_certificate_of_another_authority_is_not_accepted_by_a_strict_client(site: Site) -> None:
    """What the other tests rest on: their client looks."""
    await store(site, a_pair())
    stranger = a_pair(organisation="Somebody else")

    async with started(local(site)) as process:
        port = await process.port()
        with pytest.raises(ssl.SSLCertVerificationError):
            await greeted(port, stranger["ca"], ssl.TLSVersion.TLSv1_3)


@everywhere(controllers=False, on=("served",))
async def test_request_under_way_is_answered_although_the_process_is_told_to_end(site: Site) -> None:
    await store(site, pair := a_pair())
    pods = await endpoints(site)
    zone = await a_zone(site, "a", revision="new", current="new", annotations=PREPARES, own_labels=PREPARED)
    pods.serve(zone, 3)
    pods.answer("a-2", "POST", Answer(after=(slow := asyncio.Event())))
    old = await zone.read()
    new = {**old, "spec": {**old["spec"], "replicas": 2}}

    async with started(local(site)) as process:
        port = await process.port()
        async with calling(port, pair["ca"]) as caller:
            asking = asyncio.create_task(caller.ask("prepare-downscale", review(old, new)))
            await pods.until(lambda: pods.called("POST") == ["a-2"])
            process.process.terminate()
            await site.until(lambda: refused(port), every=0.05)
            slow.set()
            answer = await asking
        code = await process.ended()

    assert answer["allowed"], answer
    assert code == 0
    assert "grafana.com/last-downscale" in (await zone.read())["metadata"]["annotations"]


@everywhere(controllers=False, on=("served", "real"))
async def test_certificate_is_renewed_without_a_request_that_fails(site: Site) -> None:
    """`fairlead operator`, after two thirds of its certificate's life; the API server asks all the time."""
    await store(site, old := a_pair(age=timedelta(seconds=200), left=timedelta(seconds=104)), RENEWED_SECRET)
    await site.create(STATEFULSETS, statefulset("guarded", labels=LABELS))

    async with started(operator(site)) as process:
        port = await process.port()
        await register(site, port)
        done = asyncio.Event()
        asking = [
            asyncio.create_task(asked_on_one_connection(port, old["ca"], done)),
            asyncio.create_task(asked_on_new_connections(site, port, done)),
        ]
        if site.real:
            asking.append(asyncio.create_task(asked_by_the_cluster(site, done)))
        await process.said('msg="certificate renewed"')
        renewed = await stored(site, RENEWED_SECRET)
        async with calling(port, renewed["ca"].partition(b"-----END")[0] + END) as caller:
            answer = await caller.ask("no-downscale", a_downscale())
        done.set()
        asked = await asyncio.gather(*asking)

    assert not answer["allowed"]
    assert renewed["cert"] != old["cert"]
    assert old["ca"] in renewed["ca"]
    assert min(asked) > 10


END = b"-----END CERTIFICATE-----\n"
LOCALLY = ("-server-tls.self-signed-cert.dns-name=localhost",)
PREPARED = {"grafana.com/prepare-downscale": "true"}
PREPARES = {
    "grafana.com/prepare-downscale-http-path": "prepare",
    "grafana.com/prepare-downscale-http-port": "8080",
}


class Holding:
    """A transport; lists of what rounds look at wait until they are released."""

    def __init__(self, transport: Transport) -> None:
        self.released = asyncio.Event()
        self.stream = transport.stream
        self._transport = transport

    async def send(self, request: Request) -> Response:
        if request.verb == "list" and place_of(request.path).plural in ("pods", "statefulsets"):
            await self.released.wait()
        return await self._transport.send(request)


def a_downscale() -> Tree:
    """Of a StatefulSet that must not be scaled down."""
    keys()
    return review(statefulset("a", 3, labels=LABELS), statefulset("a", 2, labels=LABELS))


async def greeted(port: int, authority: bytes, version: ssl.TLSVersion) -> str:
    """The version that a client gets which speaks no other."""
    context = trusting(authority)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = version
    if version < ssl.TLSVersion.TLSv1_2:
        context.set_ciphers("DEFAULT@SECLEVEL=0")  # else the client itself would refuse
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
    spoken: str = writer.get_extra_info("ssl_object").version()
    writer.close()
    with suppress(ssl.SSLError, ConnectionError):
        await writer.wait_closed()
    return spoken


async def refused(port: int) -> bool:
    """Whether nobody can connect any more."""
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionRefusedError:
        return True
    writer.close()
    return False


async def register(site: Site, port: int) -> None:
    """The webhook as users register it; who it is to trust is not said."""
    hook = {
        "name": "no-downscale.fairlead.test",
        "clientConfig": {"url": f"https://localhost:{port}/admission/no-downscale"},
        "rules": [rule("UPDATE", "statefulsets statefulsets/scale", "apps", "v1")],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": site.namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail",
    }
    labels = {"grafana.com/inject-rollout-operator-ca": "true", "grafana.com/namespace": site.namespace}
    name = f"no-downscale-{site.namespace}"
    await site.create(VALIDATING, {"metadata": {"name": name, "labels": labels}, "webhooks": [hook]})

    async def trusted() -> bool:
        if not (await bundle(site)):
            return False
        return not site.real or "grafana.com/no-downscale=true" in await scaled(site, 1)

    await site.until(trusted, every=0.1)


async def bundle(site: Site) -> bytes:
    """Whom the API server trusts now."""
    found = await site.get(VALIDATING, f"no-downscale-{site.namespace}")
    assert found is not None
    return b64decode(found["webhooks"][0]["clientConfig"].get("caBundle", ""))


async def asked_on_one_connection(port: int, authority: bytes, done: asyncio.Event) -> int:
    """How often it was asked; the connection is the one that was opened with the old certificate."""
    async with calling(port, authority) as caller:
        return await asked_until(caller, done)


async def asked_on_new_connections(site: Site, port: int, done: asyncio.Event) -> int:
    asked = 0
    while not done.is_set():
        async with calling(port, await bundle(site)) as caller:
            assert not (await caller.ask("no-downscale", a_downscale()))["allowed"]
        asked += 1
        await asyncio.sleep(0.05)
    return asked


async def asked_until(caller: Caller, done: asyncio.Event) -> int:
    asked = 0
    while not done.is_set():
        assert not (await caller.ask("no-downscale", a_downscale()))["allowed"]
        asked += 1
        await asyncio.sleep(0.05)
    return asked


async def asked_by_the_cluster(site: Site, done: asyncio.Event) -> int:
    """Every update gets the answer of the webhook and no other."""
    asked = 0
    while not done.is_set():
        assert "grafana.com/no-downscale=true" in await scaled(site, 1)
        asked += 1
        await asyncio.sleep(0.05)
    return asked


async def scaled(site: Site, replicas: int) -> str:
    """What the API server says against it."""
    try:
        await change(site, STATEFULSETS, "guarded", {"spec": {"replicas": replicas}})
    except ApiError as error:
        return str(error)
    return ""
