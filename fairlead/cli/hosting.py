"""The cluster of `fairlead up` in this process: store, controllers, kubelet, HTTPS server, operator, kubeconfig."""

from __future__ import annotations

import asyncio
import os
import secrets
import ssl
import tempfile
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from fairlead.control.manager import Manager
    from fairlead.kube.client import Client
    from fairlead.plane.pki import Authority
    from fairlead.sim.cluster import Cluster
    from fairlead.sim.network import Network
    from fairlead.sim.saving import Saved

READY_AFTER = 1.2
GONE_AFTER = 0.4
SERVICE = "fairlead"
"""By which the cluster finds the operator's webhook."""
SAVE_EVERY = 30.0
POD_NETWORK = 10
"""First number of pods' addresses; those of the loopback are refused in endpoints."""


CONTEXT = "fairlead-up"


class NotOurs(Exception):
    """The kubeconfig would overwrite somebody else's; the text is a sentence that says what would help."""


@dataclass(frozen=True)
class Place:
    """Where the cluster's parts are to be found."""

    kubeconfig: Path
    log: Path
    port: int = 0
    saved: Path | None = None
    """The folder that keeps its state."""


@asynccontextmanager
async def running(place: Place, state: Saved | None) -> AsyncIterator[Client]:
    """Everything, all ready; yields an administrator's client. What is saved is the state at the end."""
    from fairlead.kube.calling import HttpCaller
    from fairlead.kube.client import Client
    from fairlead.plane.pki import Authority
    from fairlead.sim.access.rights import insider
    from fairlead.sim.cluster import Cluster
    from fairlead.sim.kubelet import Kubelet
    from fairlead.sim.kubelet.answers import answering
    from fairlead.sim.kubelet.pods import SCHEDULER
    from fairlead.sim.kubelet.programs import Programs
    from fairlead.sim.network import Network
    from fairlead.sim.saving import load
    from fairlead.sim.server import serve
    from fairlead.sim.standins.environmentd import Environments

    caller, network = HttpCaller(), Network()
    programs = Programs(Environments(promote_takes=0.0).make, answering)
    network.ask(programs.find)
    authority, token = Authority(), secrets.token_urlsafe(24)
    cluster = Cluster(
        seed=secrets.randbits(32),
        caller=network.before(caller),
        authority=authority.certificate.decode(),
        history=False,
        events_expire=True,
    )
    if state is not None:
        load(cluster, state)
    client = Client(cluster.transport("admin"))
    async with AsyncExitStack() as stack:
        stack.push_async_callback(caller.close)
        log = stack.enter_context(place.log.open("w", buffering=1))
        serving = serve(cluster, port=place.port, tls=_tls(authority), tokens={token: "admin"})
        server = await stack.enter_async_context(serving)
        _write_kubeconfig(place.kubeconfig, server.url, authority.certificate, token)
        async with asyncio.TaskGroup() as tasks:
            node = Client(cluster.transport(insider("kubelet")))
            kubelet = Kubelet(
                node,
                ready_after=READY_AFTER,
                gone_after=GONE_AFTER,
                programs=programs,
                events=True,
                network=POD_NETWORK,
                scheduler=SCHEDULER,
            )
            # Read by another thread, so that the cluster answers meanwhile.
            await asyncio.to_thread(import_module, "fairlead.control.run")
            manager = await _operator(cluster, network, log)
            work = [cluster.run(), kubelet.run(), manager.run()]
            if place.saved is not None:
                work.append(_saving(cluster, place.saved))
            started = [tasks.create_task(each) for each in work]
            await manager.ready.wait()
            try:
                yield client
            finally:
                for task in started:
                    task.cancel()


async def _saving(cluster: Cluster, folder: Path) -> None:
    """Now and then, and at the end."""
    from fairlead.sim.saving import save

    try:
        while True:
            save(cluster, folder)
            await asyncio.sleep(SAVE_EVERY)
    finally:
        save(cluster, folder)


async def _operator(cluster: Cluster, network: Network, log: TextIO) -> Manager:
    """With all parts; its conversion webhook is reached within the process, under the name of its Service."""
    from fairlead.api.environments import Settings
    from fairlead.cli.rollout_operator import identity
    from fairlead.control.logs import configure
    from fairlead.control.metrics import Metrics
    from fairlead.control.options import ConversionOptions, EnvironmentsOptions, OperatorOptions
    from fairlead.control.run import assemble
    from fairlead.sim.access.rights import master

    settings = Settings(create_balancers=True, create_console=True)
    conversion = ConversionOptions(service_name=SERVICE, service_namespace=settings.operator_namespace)
    options = OperatorOptions(
        process="fairlead",
        identity=identity(),
        parts=("zones", "environments"),
        environments=EnvironmentsOptions(settings=settings, conversion=conversion),
    )
    written = configure("info", "logfmt", log)
    wire = cluster.transport(master("fairlead"))
    manager = await assemble(options, "default", wire, Metrics(), written, network.call)
    if manager.converting is not None:
        network.serve(f"{SERVICE}.{settings.operator_namespace}.svc", manager.converting.conversion())
    return manager


def _tls(authority: Authority) -> ssl.SSLContext:
    pair = authority.server(("127.0.0.1", "localhost"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:  # the library reads keys from files only
        certificate, key = Path(folder, "certificate"), Path(folder, "key")
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        context.load_cert_chain(certificate, key)
    return context


def _write_kubeconfig(path: Path, address: str, authority: bytes, token: str) -> None:
    import yaml

    cluster = {"server": address, "certificate-authority-data": b64encode(authority).decode()}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": CONTEXT,
        "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": "admin"}}],
        "clusters": [{"name": CONTEXT, "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token}}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not _is_ours(path):
        raise NotOurs(f"{path} is a kubeconfig of other clusters, or none at all: choose another --kubeconfig-out")
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_text(yaml.safe_dump(content, sort_keys=False))
    fresh.replace(path)


def _is_ours(path: Path) -> bool:
    """Whether nothing is lost when the file is written anew."""
    import yaml

    try:
        content = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError):
        return False
    if not content:
        return True
    contexts = content.get("contexts") if isinstance(content, dict) else None
    return contexts is not None and [each.get("name") for each in contexts] == [CONTEXT]
