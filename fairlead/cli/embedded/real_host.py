"""The cluster of `fairlead up --real`: an unmodified control plane in processes of its own, and the rest in this one.

etcd, kube-apiserver and kube-controller-manager are those of `fairlead.plane`, which end with this process whatever
ends it. Here are the kubelet, what stands in for programs of others, and the operator.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fairlead.cli.embedded import hosted_operator, operator_pod
from fairlead.cli.embedded.egress import Egress
from fairlead.cli.embedded.host import CONTEXT, PROGRAM, HostFiles
from fairlead.cli.embedded.real_operator import OperatorSurroundings, served
from fairlead.cli.embedded.stand_ins import stand_in
from fairlead.plane.build import Unavailable
from fairlead.plane.launch import API_SERVER, ATTEMPTS, Plane, PortTaken
from kubeloop.client import Client
from kubeloop.errors import KubeError, NotFound
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import get
from kubesim.hosting import KUBECONFIG_OPTION, Host, Unhostable, give_way, nodes_of, write_kubeconfig, writing
from kubesim.kubelet.answers import answering
from kubesim.kubelet.programs import Programs
from kubesim.network import Network

ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
LOOK_EVERY = 0.05
CHECK_EVERY = 1.0
"""Seconds between two looks whether the control plane is still there."""


@asynccontextmanager
async def running(place: HostFiles) -> AsyncIterator[Client]:
    """Everything, all ready; yields an administrator's client."""
    host = Host(PROGRAM, CONTEXT, place.kubeconfig, place.port)
    with writing(host.kubeconfig, KUBECONFIG_OPTION):
        await asyncio.to_thread(give_way, host)
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(_started(place.port))
        network = Network()
        programs, egress = Programs(stand_in(), answering), Egress(network)
        network.ask(programs.find)
        await stack.enter_async_context(egress.listening(plane.egress_socket))
        config = plane.config()
        transport = HttpTransport(config)
        stack.push_async_callback(transport.close)
        client = Client(transport)
        with writing(host.kubeconfig, KUBECONFIG_OPTION):
            write_kubeconfig(host, plane.url, plane.ca, config.token)
        async with asyncio.TaskGroup() as tasks, explained(plane):
            started = [tasks.create_task(each) for each in (_watched(plane), nodes_of(client, programs).run())]
            beside = await hosted_operator.neighbours(client, network, is_copy=False)
            started += [tasks.create_task(each) for each in beside]
            around = OperatorSurroundings(client, transport, network, egress, plane.folder, place.log)
            operator = await stack.enter_async_context(served(around))
            started.append(tasks.create_task(operator.manager.run()))
            await operator.manager.ready.wait()
            await hosted_operator.apply_ours(client, operator.configurations)
            await _accounted(client, operator_pod.POD.namespace)
            await operator_pod.show_operator(client, network, operator.manager)
            try:
                yield client
            finally:
                for task in started:
                    task.cancel()


@asynccontextmanager
async def _started(port: int) -> AsyncIterator[Plane]:
    plane = Plane(port=port, egress=True)
    try:
        await plane.__aenter__()
    except PortTaken as error:
        raise Unhostable(_taken(port, error)) from error
    except Unavailable as error:
        raise Unhostable(f"the real control plane cannot be started: {error}") from error
    try:
        yield plane
    finally:
        await plane.__aexit__(None, None, None)


def _taken(port: int, taken: PortTaken) -> str:
    """Which port it was: only the API server's is the user's to choose."""
    if port and taken.program == API_SERVER:
        return f"port {port} cannot be listened on (address already in use): choose another --port"
    return (
        f"the real control plane cannot be started: others listen on each of the {ATTEMPTS} free ports that were tried "
        f"for {taken.program} (address already in use): try again"
    )


@asynccontextmanager
async def explained(plane: Plane) -> AsyncIterator[None]:
    """What fails because a program of the control plane has ended is told as that, and not as a request that failed."""
    try:
        yield
    except KubeError as error:
        await asyncio.sleep(CHECK_EVERY)  # the guard may hear of it later than whoever asks the API server
        if lost := plane.lost():
            raise Unhostable(f"the cluster cannot go on: {lost}") from error
        raise


async def _watched(plane: Plane) -> None:
    """Until a program of the control plane has ended by itself."""
    while True:
        await asyncio.sleep(CHECK_EVERY)
        if lost := plane.lost():
            raise Unhostable(f"the cluster cannot go on: {lost}")


async def _accounted(client: Client, namespace: str) -> None:
    """Pods are refused before their namespace has its account, which a controller makes."""
    while True:
        try:
            await client.call(get(Ref(ACCOUNTS, namespace, "default")))
        except NotFound:
            await asyncio.sleep(LOOK_EVERY)
        else:
            return
