"""The cluster of `fairlead up` in this process: store, controllers, kubelet, HTTPS server, operator, kubeconfig."""

from __future__ import annotations

import asyncio
import fcntl
import itertools
import os
import secrets
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from kubesim.hosting import Host, Unhostable, hosted, new_cluster, node_client, nodes_of, why, writing

if TYPE_CHECKING:
    from kubeloop.client import Client
    from kubesim.cluster import Cluster
    from kubesim.copies import Copy

PROGRAM, CONTEXT = "fairlead up", "fairlead-up"
SAVE_EVERY = 30.0


@contextmanager
def own_log(folder: Path) -> Iterator[TextIO]:
    """An empty file for the operator's log, which no other cluster writes to."""
    for number in itertools.count(1):
        path = folder / ("operator.log" if number == 1 else f"operator-{number}.log")
        with writing(path, "XDG_CACHE_HOME"):
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
    controllers: tuple[str, ...] = ("*",)
    """Which of them act, as in kube-controller-manager's `--controllers`."""
    webhooks: tuple[tuple[str, str], ...] = ()
    """Services of a copied cluster, as name and namespace, and the addresses that answer for them."""


@asynccontextmanager
async def running(place: HostFiles, state: Copy | None) -> AsyncIterator[Client]:
    """Everything, all ready; yields an administrator's client. What is saved is the state at the end."""
    from fairlead.cli.embedded.stand_ins import stand_in
    from kubeloop.client import Client
    from kubeloop.http_caller import HttpCaller
    from kubesim import unattended
    from kubesim.controllers.names import KUBELET, acts
    from kubesim.hosting import forwarded
    from kubesim.kubelet.answers import answering
    from kubesim.kubelet.programs import Programs
    from kubesim.network import Network
    from kubesim.pki import Authority
    from kubesim.saving import save

    caller, network = HttpCaller(), Network()
    programs = Programs(stand_in(), answering)
    network.ask(programs.find)
    authority, token = Authority(), secrets.token_urlsafe(24)
    cluster = new_cluster(secrets.randbits(32), network, caller, authority)
    for service, url in place.webhooks:
        network.serve(f"{service}.svc", forwarded(url, caller))
    cluster.controllers = place.controllers
    if state is not None:
        cluster.hold(state, network)
    client = Client(cluster.transport("admin"))
    async with AsyncExitStack() as stack:
        stack.push_async_callback(caller.close)
        is_up = False
        # When nobody is answered any longer, so that nothing is lost that somebody was told is stored.
        stack.callback(lambda: _save_the_last(cluster, place.saved) if is_up and place.saved is not None else None)
        host = Host(PROGRAM, CONTEXT, place.kubeconfig, place.port)
        await stack.enter_async_context(hosted(cluster, host, authority, token))
        if place.saved is not None:
            with writing(place.saved, "--save"):
                save(cluster, place.saved)
        is_up = True
        async with asyncio.TaskGroup() as tasks:
            node = node_client(cluster)
            work = [cluster.run(), unattended.tell(node)]
            if acts(KUBELET, place.controllers):
                work.append(nodes_of(node, programs, cluster.marks).run())
            if place.saved is not None:
                work.append(_saving(cluster, place.saved))
            started = [tasks.create_task(each) for each in work]
            # Read by another thread, so that the cluster answers meanwhile.
            operator = await asyncio.to_thread(import_module, "fairlead.cli.embedded.hosted_operator")
            is_copy = state is not None and state.marks.nodes is not None
            beside = await operator.neighbours(client, network, is_copy=is_copy)
            started += [tasks.create_task(each) for each in beside]
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
            print(f"fairlead: {folder} cannot be written ({why(error)}): it is tried again", file=sys.stderr)


def _save_the_last(cluster: Cluster, folder: Path) -> None:
    from kubesim.saving import save

    try:
        save(cluster, folder)
    except OSError as error:
        raise Unhostable(f"{folder} cannot be written ({why(error)}): the cluster's last changes are lost") from error


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Nobody else saves there meanwhile; to be taken before what is there is looked at."""
    with writing(folder, "--save"):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    try:
        if not _locked(handle):
            raise Unhostable(f"another `fairlead up` saves to {folder}: end it, or choose another --save")
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    """Whether it is this process's until it is closed."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
