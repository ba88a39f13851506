"""The cluster of `fairlead up` in this process: store, controllers, kubelet, HTTPS server, operator, kubeconfig."""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import os
import secrets
import socket
import ssl
import sys
import tempfile
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from fairlead.plane.pki import Authority
    from kubeloop.client import Client
    from kubesim.cluster import Cluster
    from kubesim.saving import Saved

READY_AFTER = 1.2
GONE_AFTER = 0.4
NODES = 6
"""Two in each of three zones, so that the pods of one that is drained find room in their zone."""
SAVE_EVERY = 30.0
ANSWERS_WITHIN = 2.0
"""Seconds; a loopback takes a thousandth of one, a process that stands still for a moment more."""
POD_NETWORK = 10
"""First number of pods' addresses; those of the loopback are refused in endpoints."""


CONTEXT = "fairlead-up"


class Unhostable(Exception):
    """The cluster cannot be where it is wanted; the text is a sentence that says what would help."""


@contextmanager
def own_log(folder: Path) -> Iterator[TextIO]:
    """An empty file for the operator's log, which no other cluster writes to."""
    for number in itertools.count(1):
        path = folder / ("operator.log" if number == 1 else f"operator-{number}.log")
        with _writing(path, "XDG_CACHE_HOME"):
            folder.mkdir(parents=True, exist_ok=True)
            file = path.open("a", buffering=1)
        with file:
            if _locked(file.fileno()):
                file.truncate(0)
                yield file
                return


@dataclass(frozen=True)
class HostFiles:
    """Where the cluster's parts are to be found."""

    kubeconfig: Path
    log: TextIO
    port: int = 0
    saved: Path | None = None
    """The folder that keeps its state."""


@asynccontextmanager
async def running(place: HostFiles, state: Saved | None) -> AsyncIterator[Client]:
    """Everything, all ready; yields an administrator's client. What is saved is the state at the end."""
    from fairlead.contracts.environments.stand_in.environmentd import Environments
    from fairlead.plane.pki import Authority
    from kubeloop.client import Client
    from kubeloop.http_caller import HttpCaller
    from kubesim import unattended
    from kubesim.access.rights import insider
    from kubesim.cluster import Cluster
    from kubesim.kubelet import Kubelet
    from kubesim.kubelet.answers import answering
    from kubesim.kubelet.pods import SCHEDULER
    from kubesim.kubelet.programs import Programs
    from kubesim.network import Network
    from kubesim.saving import load, save
    from kubesim.server import serve

    caller, network = HttpCaller(), Network()
    programs = Programs(Environments(promote_takes=0.0).make, answering)
    network.ask(programs.find)
    authority, token = Authority(), secrets.token_urlsafe(24)
    cluster = Cluster(
        seed=secrets.randbits(32),
        caller=network.before(caller),
        pods=network.call,
        authority=authority.certificate.decode(),
        history=False,
        events_expire=True,
    )
    if state is not None:
        load(cluster, state)
    client = Client(cluster.transport("admin"))
    async with AsyncExitStack() as stack:
        stack.push_async_callback(caller.close)
        with _writing(place.kubeconfig, "--kubeconfig-out"):
            await asyncio.to_thread(_give_way, place.kubeconfig)
        is_up = False
        # When nobody is answered any longer, so that nothing is lost that somebody was told is stored.
        stack.callback(lambda: _save_the_last(cluster, place.saved) if is_up and place.saved is not None else None)
        serving = serve(cluster, port=place.port, tls=_tls(authority), tokens={token: "admin"})
        try:
            server = await stack.enter_async_context(serving)
        except OSError as error:
            raise Unhostable(
                f"port {place.port} cannot be listened on ({_why(error)}): choose another --port"
            ) from error
        with _writing(place.kubeconfig, "--kubeconfig-out"):
            _write_kubeconfig(place.kubeconfig, server.url, authority.certificate, token)
        if place.saved is not None:
            with _writing(place.saved, "--save"):
                save(cluster, place.saved)
        is_up = True
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
                nodes=NODES,
                demanding=True,
            )
            work = [cluster.run(), kubelet.run(), unattended.tell(node)]
            if place.saved is not None:
                work.append(_saving(cluster, place.saved))
            started = [tasks.create_task(each) for each in work]
            # Read by another thread, so that the cluster answers meanwhile.
            operator = await asyncio.to_thread(import_module, "fairlead.cli.embedded.hosted_operator")
            manager = await operator.installed(client, cluster, network, place.log)
            started.append(tasks.create_task(manager.run()))
            await manager.ready.wait()
            await import_module("fairlead.cli.embedded.operator_pod").show_operator(client, network, manager)
            try:
                yield client
            finally:
                for task in started:
                    task.cancel()


async def _saving(cluster: Cluster, folder: Path) -> None:
    """Now and then; what fails is tried again."""
    from kubesim.saving import save

    while True:
        await asyncio.sleep(SAVE_EVERY)
        try:
            save(cluster, folder)
        except OSError as error:
            print(f"fairlead: {folder} cannot be written ({_why(error)}): it is tried again", file=sys.stderr)


def _save_the_last(cluster: Cluster, folder: Path) -> None:
    from kubesim.saving import save

    try:
        save(cluster, folder)
    except OSError as error:
        raise Unhostable(f"{folder} cannot be written ({_why(error)}): the cluster's last changes are lost") from error


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Nobody else saves there meanwhile; to be taken before what is there is looked at."""
    with _writing(folder, "--save"):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    try:
        if not _locked(handle):
            raise Unhostable(f"another `fairlead up` saves to {folder}: end it, or choose another --save")
        yield
    finally:
        os.close(handle)


@contextmanager
def _writing(path: Path, option: str) -> Iterator[None]:
    """Names the path that the user has given, and how to give another."""
    try:
        yield
    except OSError as error:
        raise Unhostable(f"{path} cannot be written ({_why(error)}): choose another {option}") from error


def _why(error: OSError) -> str:
    if isinstance(error, FileExistsError | NotADirectoryError):
        return "a file is in the way"
    return (os.strerror(error.errno) if error.errno else str(error)).lower()


def _locked(handle: int) -> bool:
    """Whether it is this process's until it is closed."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.touch(mode=0o600)
    fresh.write_text(yaml.safe_dump(content, sort_keys=False))
    fresh.replace(path)


def _give_way(path: Path) -> None:
    """Leaves a file that is somebody else's, or of a cluster that is up, as it is."""
    import yaml

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
        } if name == CONTEXT:
            if _is_up(server, authority):
                raise Unhostable(
                    f"{path} is of another `fairlead up`, at {server}: end that one, or choose another --kubeconfig-out"
                )
        case _:
            raise Unhostable(
                f"{path} is a kubeconfig of other clusters, or none at all: choose another --kubeconfig-out"
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
