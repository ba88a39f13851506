"""The operator of `fairlead up --real`: in this process, as the embedded one, with its webhooks over HTTPS.

The API server finds them by Services, as in any cluster, and asks for connections to those (see `egress`).
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TextIO

import msgspec
from msgspec import Struct, field

from fairlead.cli.embedded.egress import LOCAL, Egress
from fairlead.cli.embedded.hosted_operator import (
    HOME,
    Known,
    bring_kinds,
    configurations,
    hosted,
    options_of,
)
from fairlead.engine.admission_server import admission_server
from fairlead.engine.assembly import assemble
from fairlead.engine.charts import Object
from fairlead.engine.demo import Outlet
from fairlead.engine.logs import configure
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import PartOptions, WebhookOptions
from fairlead.engine.process_context import ProcessContext
from fairlead.engine.serving.https_server import ServingContext, Shutdown, serving_https
from fairlead.plane.launch import free_port
from kubeloop.client import Client
from kubeloop.objects.core import SERVICES
from kubeloop.request import Transport, create
from kubesim.network import Network
from kubesim.pki import Authority

HTTPS = 443


class OperatorSurroundings(Struct, frozen=True):
    """What the operator stands on."""

    client: Client
    """Of an administrator."""
    transport: Transport
    network: Network
    egress: Egress
    folder: Path
    """Private; it goes with the control plane."""
    log: TextIO


class Served(Struct, frozen=True):
    """An operator whose webhooks can be called."""

    manager: Manager
    configurations: tuple[Object, ...]
    """By which the API server learns of them; to be applied once the operator is ready."""


@asynccontextmanager
async def served(around: OperatorSurroundings) -> AsyncIterator[Served]:
    """The operator with all contracts, their kinds and its webhooks; its rounds are up to whoever asked for it."""
    known, folder = hosted(), around.folder / "webhooks"
    await bring_kinds(around.client, known)
    options, metrics, log = options_of(_parts(known, folder)), Metrics(), configure("info", "logfmt", around.log)
    manager = await assemble(options, HOME, around.transport, metrics, log, around.network.call)
    port = free_port()
    doors = {host: port for _, each in known if (host := each.host(HOME))}
    doors |= {server.dns_name: server.secured.port for server in manager.servers}
    authority = Authority()
    await asyncio.to_thread(_write_certificates, folder, authority, tuple(doors))
    webhooks = WebhookOptions(port=port, host=LOCAL, secret="fairlead-webhooks", organisation="fairlead")  # noqa: S106
    context = ProcessContext(options, HOME, around.transport, metrics, log)
    shared = ServingContext(metrics, log, Shutdown(0.0))
    async with AsyncExitStack() as stack:
        for server in (admission_server(webhooks, manager, context), *manager.servers):
            await stack.enter_async_context(serving_https(server, shared))
        for host, own in doors.items():
            around.egress.forward(await _service(around.client, host), own)
        trees = (tree for _, each in known for tree in configurations(each))
        yield Served(manager, tuple(_trusting(tree, authority.certificate) for tree in trees))


def _parts(known: Known, folder: Path) -> tuple[PartOptions, ...]:
    return tuple(
        PartOptions(
            contract, each.settings if each.over_https is None else each.over_https(Outlet(folder, free_port()))
        )
        for contract, each in known
    )


def _write_certificates(folder: Path, authority: Authority, hosts: tuple[str, ...]) -> None:
    """One for all hosts."""
    pair = authority.server(hosts)
    folder.mkdir(mode=0o700)
    for name, content in (("ca.crt", authority.certificate), ("tls.crt", pair.certificate), ("tls.key", pair.key)):
        (folder / name).touch(mode=0o600)
        (folder / name).write_bytes(content)


class _Spec(Struct, frozen=True, rename="camel"):
    cluster_ip: str = field(name="clusterIP")


class _Service(Struct, frozen=True):
    spec: _Spec


async def _service(client: Client, host: str) -> str:
    """The address of the Service that the API server knows the host by."""
    name, namespace, _ = host.split(".", 2)
    tree = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": HTTPS}]}}
    answer = await client.call(create(SERVICES, namespace, msgspec.json.encode(tree)))
    return msgspec.json.decode(answer.body, type=_Service).spec.cluster_ip


def _trusting(configuration: Object, authority: bytes) -> Object:
    bundle = b64encode(authority).decode()
    hooks = [hook | {"clientConfig": hook["clientConfig"] | {"caBundle": bundle}} for hook in configuration["webhooks"]]
    return configuration | {"webhooks": hooks}
