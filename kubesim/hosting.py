"""A cluster for programs of any kind: served over HTTPS on a loopback port, with a kubeconfig and nodes that run pods.

A kubeconfig of somebody else is never overwritten, nor that of a cluster that is still up.
"""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import tempfile
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path

import yaml
from msgspec import Struct, structs

from kubeloop.calls import Call, Caller, Handler, Reply
from kubeloop.client import Client
from kubeloop.http_caller import HttpCaller
from kubesim.cluster import Cluster
from kubesim.copies import Marks
from kubesim.kubelet import Kubelet
from kubesim.kubelet.pods import SCHEDULER
from kubesim.kubelet.programs import Programs
from kubesim.network import Network
from kubesim.pki import Authority
from kubesim.server import Server, serve

HOST = "127.0.0.1"
READY_AFTER = 1.2
GONE_AFTER = 0.4
NODES = 6
"""Two in each of three zones, so that the pods of one that is drained find room in their zone."""
ANSWERS_WITHIN = 2.0
"""Seconds; a loopback takes a thousandth of one, a process that stands still for a moment more."""
KUBECONFIG_OPTION = "--kubeconfig-out"


class Unhostable(Exception):
    """The cluster cannot be where it is wanted; the text is a sentence that says what would help."""


class Host(Struct, frozen=True):
    """Where a cluster is to be found, and in whose words that is told."""

    program: str
    """As users call it."""
    context: str
    """Of the kubeconfig; a file with this one alone is of an earlier run."""
    kubeconfig: Path
    port: int = 0
    """Any free one for 0."""


def new_cluster(seed: int, network: Network, caller: HttpCaller, authority: Authority) -> Cluster:
    """One that forgets as a real one does; webhooks are looked for on the network within, then on the real one."""
    return Cluster(
        seed=seed,
        caller=network.before(caller),
        pods=network.call,
        authority=authority.certificate.decode(),
        history=False,
        events_expire=True,
    )


@asynccontextmanager
async def hosted(cluster: Cluster, host: Host, authority: Authority, token: str) -> AsyncIterator[Server]:
    """Serves the cluster to whoever has the kubeconfig, which is written when it can be used."""
    with writing(host.kubeconfig, KUBECONFIG_OPTION):
        await asyncio.to_thread(give_way, host)
    serving = serve(cluster, host=HOST, port=host.port, tls=_tls(authority), tokens={token: "admin"})
    async with AsyncExitStack() as stack:
        try:
            server = await stack.enter_async_context(serving)
        except OSError as error:
            problem = f"port {host.port} cannot be listened on ({why(error)})"
            raise Unhostable(f"{problem}: choose another --port") from error
        with writing(host.kubeconfig, KUBECONFIG_OPTION):
            write_kubeconfig(host, server.url, authority.certificate, token)
        yield server


def nodes_of(client: Client, programs: Programs, marks: Marks | None = None) -> Kubelet:
    """Nodes that run only pods which have what they need, and tell of their lives in Events.

    Those of a copy are taken over, and its pods stay as they are.
    """
    copied = marks or Marks()
    return Kubelet(
        client,
        ready_after=READY_AFTER,
        gone_after=GONE_AFTER,
        programs=programs,
        events=True,
        scheduler=SCHEDULER,
        nodes=NODES if copied.nodes is None else copied.nodes,
        demanding=True,
        histories=copied.pods,
    )


def node_client(cluster: Cluster) -> Client:
    """In the name of the nodes."""
    return cluster.inside("kubelet")


def forwarded(url: str, caller: Caller) -> Handler:
    """Answers calls with what is answered at the address."""

    async def forward(call: Call) -> Reply:
        headers = tuple(each for each in call.headers if each[0].lower() != "host")
        return await caller(structs.replace(call, url=url.rstrip("/") + call.url, headers=headers, verified=False))

    return forward


@contextmanager
def writing(path: Path, option: str) -> Iterator[None]:
    """Names the path that the user has given, and how to give another."""
    try:
        yield
    except OSError as error:
        raise Unhostable(f"{path} cannot be written ({why(error)}): choose another {option}") from error


def why(error: OSError) -> str:
    """In a few words."""
    if isinstance(error, FileExistsError | NotADirectoryError):
        return "a file is in the way"
    return (os.strerror(error.errno) if error.errno else str(error)).lower()


def _tls(authority: Authority) -> ssl.SSLContext:
    pair = authority.server((HOST, "localhost"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:  # the library reads keys from files only
        certificate, key = Path(folder, "certificate"), Path(folder, "key")
        certificate.write_bytes(pair.certificate)
        key.write_bytes(pair.key)
        context.load_cert_chain(certificate, key)
    return context


def write_kubeconfig(host: Host, address: str, authority: bytes, token: str) -> None:
    """Nobody sees a part of it; who asks for it may do everything in the cluster."""
    cluster = {"server": address, "certificate-authority-data": b64encode(authority).decode()}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": host.context,
        "contexts": [{"name": host.context, "context": {"cluster": host.context, "user": "admin"}}],
        "clusters": [{"name": host.context, "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token}}],
    }
    path = host.kubeconfig
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_text(yaml.safe_dump(content, sort_keys=False))
    fresh.replace(path)


def give_way(host: Host) -> None:
    """Raises Unhostable where the kubeconfig is somebody else's, or of a cluster that is up."""
    path = host.kubeconfig
    if not path.exists():
        return
    try:
        content = yaml.safe_load(path.read_text())
    except (yaml.YAMLError, UnicodeDecodeError):
        content = "no YAML"
    match content:
        case None:
            return
        case {
            "contexts": [{"name": name}],
            "clusters": [{"cluster": {"server": str(server), "certificate-authority-data": str(authority)}}],
            "users": [_],
        } if name == host.context:
            if _is_up(server, authority):
                raise Unhostable(
                    f"{path} is of another `{host.program}`, at {server}: end that one, or choose another "
                    f"{KUBECONFIG_OPTION}"
                )
        case _:
            raise Unhostable(
                f"{path} is a kubeconfig of other clusters, or none at all: choose another {KUBECONFIG_OPTION}"
            )


def _is_up(server: str, authority: str) -> bool:
    """Whether the very cluster answers, not somebody who has its port by now."""
    host, _, port = server.removeprefix("https://").rpartition(":")
    try:
        trust = ssl.create_default_context(cadata=b64decode(authority).decode())
        with (
            socket.create_connection((host, int(port)), timeout=ANSWERS_WITHIN) as plain,
            trust.wrap_socket(plain, server_hostname=host),
        ):
            return True
    except (OSError, ValueError):
        return False
