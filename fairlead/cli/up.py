"""`fairlead up`: a cluster in this process, the operator on it, and with `--demo` a rollout to look at.

The cluster is served over HTTPS on a loopback port; a kubeconfig for it lets every other command, and kubectl, talk to
it from another terminal for as long as this one stays.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import shutil
import ssl
import sys
import tempfile
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli import exits

if TYPE_CHECKING:
    from fairlead.cli.demos import Demo
    from fairlead.control.manager import Manager
    from fairlead.kube.client import Client
    from fairlead.plane.pki import Authority
    from fairlead.sim.cluster import Cluster
    from fairlead.sim.network import Network

READY_AFTER = 1.2
GONE_AFTER = 0.4
SERVICE = "fairlead"
"""By which the cluster finds the operator's webhook."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--demo", metavar="NAME", default="", help="play a rollout: zones or environments")
    parser.add_argument("--until-done", action="store_true", help="leave when the demo's rollout is complete")
    parser.add_argument("--kubeconfig-out", metavar="FILE", default="", help="where to write the cluster's kubeconfig")
    parser.add_argument("--port", type=int, default=0, help="port of the cluster on 127.0.0.1; default any free one")
    parser.add_argument("--no-color", action="store_true", help="show no colours; so does the variable NO_COLOR")


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.demos import DEMOS
    from fairlead.cli.main import UsageError

    demo = DEMOS.get(arguments.demo)
    if arguments.demo and demo is None:
        raise UsageError(f'no demo is named "{arguments.demo}": there is {", ".join(DEMOS)}')
    if arguments.until_done and demo is None:
        raise UsageError("--until-done needs --demo: without a rollout nothing is ever done")
    if not 0 <= arguments.port <= 65535:
        raise UsageError(f"--port is {arguments.port}: set it to a port from 0 to 65535")
    try:
        return asyncio.run(_up(arguments, demo))
    except OSError as error:  # a busy port, or a place that cannot be written to
        from fairlead.cli.connect import fail

        return fail(f"the cluster cannot start: {error}; choose another --port or --kubeconfig-out")


async def _up(arguments: argparse.Namespace, demo: Demo | None) -> int:
    from fairlead.plane.build import cache

    folder = cache() / "up"
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "operator.log"
    kubeconfig = Path(arguments.kubeconfig_out) if arguments.kubeconfig_out else folder / "kubeconfig"
    stays = demo is None or (sys.stdout.isatty() and not arguments.until_done)
    try:
        async with _running(kubeconfig, arguments.port, log) as client:
            if demo is not None:
                await _play(demo, client, color=not arguments.no_color)
            print(_farewell(demo, kubeconfig, log, stays=stays), flush=True)
            if stays:
                await asyncio.Event().wait()
    except asyncio.CancelledError:  # Ctrl-C, the way out that was offered
        print()
    return exits.OK


@asynccontextmanager
async def _running(kubeconfig: Path, port: int, log: Path) -> AsyncIterator[Client]:
    """Cluster, kubelet, server and operator, all in this process and all ready; yields an administrator's client."""
    from fairlead.kube.calling import HttpCaller
    from fairlead.kube.client import Client
    from fairlead.plane.pki import Authority
    from fairlead.sim.access import master
    from fairlead.sim.cluster import Cluster
    from fairlead.sim.environmentd import Environments
    from fairlead.sim.kubelet import Kubelet
    from fairlead.sim.kubelet.programs import Programs
    from fairlead.sim.network import Network
    from fairlead.sim.server import serve

    caller, network, programs = HttpCaller(), Network(), Programs(Environments(promote_takes=0.0).make)
    network.ask(programs.find)
    cluster = Cluster(seed=secrets.randbits(32), caller=network.before(caller))
    client = Client(cluster.transport("admin"))
    authority, token = Authority(), secrets.token_urlsafe(24)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(caller.close)
        serving = serve(cluster, port=port, tls=_tls(authority), tokens={token: "admin"})
        server = await stack.enter_async_context(serving)
        _write_kubeconfig(kubeconfig, server.url, authority.certificate, token)
        async with asyncio.TaskGroup() as tasks:
            node = Client(cluster.transport(master("kubelet")))
            kubelet = Kubelet(node, ready_after=READY_AFTER, gone_after=GONE_AFTER, programs=programs)
            manager = await _operator(cluster, network, log)
            running = [tasks.create_task(work) for work in (cluster.run(), kubelet.run(), manager.run())]
            await manager.ready.wait()
            try:
                yield client
            finally:
                for task in running:
                    task.cancel()


async def _operator(cluster: Cluster, network: Network, log: Path) -> Manager:
    """With all parts; its conversion webhook is reached within the process, under the name of its Service."""
    from fairlead.api.environments import Settings
    from fairlead.cli.rollout_operator import identity
    from fairlead.control.logs import configure
    from fairlead.control.metrics import Metrics
    from fairlead.control.options import ConversionOptions, EnvironmentsOptions, OperatorOptions
    from fairlead.control.run import assemble
    from fairlead.sim.access import master

    settings = Settings(create_balancers=True, create_console=True)
    conversion = ConversionOptions(service_name=SERVICE, service_namespace=settings.operator_namespace)
    options = OperatorOptions(
        process="fairlead",
        identity=identity(),
        parts=("zones", "environments"),
        environments=EnvironmentsOptions(settings=settings, conversion=conversion),
    )
    written = configure("info", "logfmt", log.open("w", buffering=1))
    wire = cluster.transport(master("fairlead"))
    manager = await assemble(options, "default", wire, Metrics(), written, network.call)
    if manager.converting is not None:
        network.serve(f"{SERVICE}.{settings.operator_namespace}.svc", manager.converting.conversion())
    return manager


async def _play(demo: Demo, client: Client, *, color: bool) -> None:
    from fairlead.cli.connect import Cluster
    from fairlead.cli.screens import screen
    from fairlead.cli.watch import Wanted, follow
    from fairlead.cli.witness import Witness

    cluster = Cluster(client, (demo.namespace,))
    print(f"{demo.story}\n", flush=True)
    await demo.create(client)
    with screen(color=color) as shown:
        await follow(cluster, Wanted(demo.rollout), shown)
        await demo.change(client)
        witness = Witness(shown)
        begun = asyncio.get_running_loop().time()
        await follow(cluster, Wanted(demo.rollout), witness)
        took = asyncio.get_running_loop().time() - begun
    print(f"\nDone in {took:.0f} s: {demo.summary(witness)}", flush=True)


def _farewell(demo: Demo | None, kubeconfig: Path, log: Path, *, stays: bool) -> str:
    name = demo.rollout if demo is not None else "NAME"
    where = f"-n {demo.namespace}" if demo is not None else "-A"
    fairlead = _program()
    then = "Press Ctrl-C to end it." if stays else "The cluster ends now; in a terminal it stays until Ctrl-C."
    return f"""
Try next, in another terminal:
  export KUBECONFIG={kubeconfig}
  {fairlead} get {where}
  {fairlead} explain {name} {where}
  {fairlead} watch {where} --forever

The operator's log: {log}
{then}"""


def _program() -> str:
    """How this program is called from here."""
    called = Path(sys.argv[0])
    if shutil.which("fairlead") or not called.exists():
        return "fairlead"
    return os.path.relpath(called) if called.is_relative_to(Path.cwd()) else str(called)


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
        "current-context": "fairlead-up",
        "contexts": [{"name": "fairlead-up", "context": {"cluster": "fairlead-up", "user": "admin"}}],
        "clusters": [{"name": "fairlead-up", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token}}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(content, sort_keys=False))
