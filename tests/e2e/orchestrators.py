"""The environment operator beside a scenario, from the same command line on every cluster.

On the embedded cluster it runs in this process, in the cluster's time, and the API server reaches its webhook by the
cluster's network. Elsewhere it is the program, and the Service of its webhook stands for this machine, so that the
definitions are registered as in any cluster.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

import aiohttp
import structlog
from msgspec import structs
from structlog.types import EventDict, FilteringBoundLogger, WrappedLogger

from fairlead.cli.flags.clap import parse
from fairlead.contracts.environments.options import PROGRAM, options_of
from fairlead.engine.assembly import assemble
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.serving.routes import dispatching
from fairlead.plane.launch import free_port
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.objects.core import SERVICES
from kubeloop.request import Request, Transport
from kubesim.faults import Fault, Faulty
from kubesim.pki import Authority
from tests.e2e.clusters import SimGround, Site
from tests.e2e.history import Tree
from tests.e2e.operators import POD_CALL_FAILED, OperatorMistake
from tests.e2e.processes import started, trusting
from tests.e2e.served import ServedGround
from tests.operator_parts import converting

SERVICE = "orchestratord"
LOCAL = "127.0.0.1"
_JSON = (("Content-Type", "application/json"),)


class Certificates:
    """The three files of the webhook."""

    def __init__(self, folder: Path, host: str) -> None:
        self.folder = folder
        self._host = host
        self.authority = Authority()
        self.write(self.authority)

    def write(self, authority: Authority) -> None:
        """A new certificate of this authority, which takes the place of the one before."""
        pair = authority.server((self._host,))
        self.authority = authority
        for name, content in (
            ("tls.crt", pair.certificate),
            ("tls.key", pair.key),
            ("ca.crt", authority.certificate),
        ):
            (self.folder / name).write_bytes(content)

    @property
    def flags(self) -> Sequence[str]:
        named = (("tls-ca", "ca.crt"), ("tls-cert", "tls.crt"), ("tls-key", "tls.key"))
        return [f"--{flag}={self.folder / name}" for flag, name in named]


class Orchestratord:
    """An operator that can be started, killed and started again; `flags` may change in between."""

    def __init__(self, site: Site, folder: Path, template: str, flags: Sequence[str]) -> None:
        self.flags = list(flags)
        self.host = f"{SERVICE}.{site.namespace}.svc"
        self.certificates = Certificates(folder, self.host)
        self.port = 8001
        self.log: list[str] = []
        self.metrics = Metrics()
        """What its last life counts, where it runs in this process."""
        self._site = site
        self._template = template
        self._task: asyncio.Task[None] | None = None
        self.is_dead = False
        self.faults: Sequence[str] = ()
        """What becomes of its calls to the cluster from its next start on, where it runs in this process."""
        self.through: Callable[[Transport], Transport] = lambda transport: transport
        """What its calls go through from its next start on, where it runs in this process."""
        self._left = 0
        """Calls until it dies; 0: it does not."""
        self._last = Fault("drop")

    @property
    def arguments(self) -> list[str]:
        return [
            "--cloud-provider=local",
            "--region=here",
            "--console-image-tag-default=v1",
            f"--webhook-service-name={SERVICE}",
            f"--webhook-service-namespace={self._site.namespace}",
            f"--webhook-service-port={self.port}",
            f"--webhook-listen-address={LOCAL}:{self.port}",
            f"--metrics-listen-address={LOCAL}:0",
            "--leader-election-identity=the-operator",  # who is killed and comes back need not wait for its own lease
            f"--environmentd-url-template={self._template}",
            "--startup-log-filter=debug",
            *self.certificates.flags,
            *self.flags,
        ]

    async def start(self) -> None:
        """Returns when its kinds are served and it acts."""
        self.is_dead, self._left = False, 0
        begun: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        ground = self._site.ground
        if isinstance(ground, SimGround):
            self._task = self._site.start(self._within(ground, begun))
        else:
            await self._name_this_machine()
            if isinstance(ground, ServedGround):
                ground.cluster.network.serve(self.host, self._forward)
            self._task = self._site.start(self._program(begun))
        async with asyncio.timeout(180):
            await begun

    async def kill(self) -> None:
        """At once, where it runs: nothing of it reaches the cluster any more, not even the release of its lease."""
        self.is_dead = True
        if self._task is not None:
            await self._site.stop(self._task)

    def die_at(self, calls: int, *, after: bool) -> None:
        """Dies with so many calls to the cluster from now on, `after` the last one was carried out or before it was.

        Where it runs in this process; the scenario kills what is left of it.
        """
        self._left, self._last = calls, Fault("lost-answer" if after else "drop")

    def said(self, text: str) -> list[str]:
        return [line for line in self.log if text in line]

    async def ask(self, path: str, body: Tree) -> Tree:
        """What its webhook answers to a body of JSON, asked as the API server asks."""
        call = Call(method="POST", url=path, headers=_JSON, body=json.dumps(body).encode(), timeout=10.0)
        ground = self._site.ground
        if isinstance(ground, SimGround):
            reply = await ground.cluster.network.call(structs.replace(call, url=f"https://{self.host}{path}"))
        else:
            reply = await self._forward(call)
        answered: Tree = json.loads(reply.body)
        return answered

    async def _forward(self, call: Call) -> Reply:
        """Over TLS to where the program listens, under the name of its Service."""
        tls = trusting(self.certificates.authority.certificate)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls)) as session:
            url = f"https://{LOCAL}:{self.port}{call.url}"
            try:
                async with session.post(url, data=call.body, headers=_JSON, server_hostname=self.host) as answer:
                    return Reply(answer.status, await answer.read(), _JSON)
            except aiohttp.ClientError as error:
                raise NoReply(f"{call.shown}: {error}") from error

    async def _name_this_machine(self) -> None:
        """A Service whose name stands for the loopback; the API server sees to the port and to TLS by the Service."""
        if await self._site.get(SERVICES, SERVICE) is None:
            self.port = free_port()
            spec = {"type": "ExternalName", "externalName": LOCAL}
            await self._site.create(SERVICES, {"metadata": {"name": SERVICE}, "spec": spec})

    async def _program(self, begun: asyncio.Future[None]) -> None:
        command = ("orchestratord", f"--kubeconfig={self._site.server.kubeconfig}", *self.arguments)
        async with started(command) as program:
            program.lines = self.log
            since = len(self.log)
            await program.said("msg=ready", since)
            begun.set_result(None)
            code = await program.process.wait()
        raise AssertionError(f"the operator ended with {code}:\n" + "\n".join(self.log[since:]))

    async def _within(self, ground: SimGround, begun: asyncio.Future[None]) -> None:
        words = options_of(parse(PROGRAM.name, PROGRAM.flags, self.arguments, {}, PROGRAM.variables), {})
        network = ground.cluster.network
        wire = self.through(Faulty(Faulty(ground.transport("admin"), self.faults), self._strike))
        self.metrics = Metrics()
        manager = await assemble(words, self._site.namespace, wire, self.metrics, self._logger(), network.call)
        (server,) = manager.servers
        await server.secured.certificates.start()
        network.serve(self.host, dispatching({"/convert": converting(manager)}))
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(server.secured.certificates.run())
                tasks.create_task(_announcing(manager, begun))
                await manager.run()
        finally:
            network.withdraw(self.host)

    def _strike(self, _request: Request, _number: int) -> Fault | None:
        if self.is_dead:
            return Fault("drop")
        if self._left:
            self._left -= 1
            if not self._left:
                self.is_dead = True
                self._site.history.wake()
                return self._last
        return None

    def _logger(self) -> FilteringBoundLogger:
        logger = structlog.wrap_logger(
            None, processors=[self._take], wrapper_class=structlog.make_filtering_bound_logger(10)
        )
        return cast("FilteringBoundLogger", logger)

    def _take(self, _: WrappedLogger, method: str, event: EventDict) -> EventDict:
        self.log.append(" ".join((f"level={method}", *(f"{key}={value}" for key, value in event.items()))))
        self._site.history.wake()
        if method == "error" and event["event"] != POD_CALL_FAILED:
            raise OperatorMistake(self.log[-1]) from event.get("exc_info")
        raise structlog.DropEvent


async def _announcing(manager: Manager, begun: asyncio.Future[None]) -> None:
    await manager.leading.wait()
    begun.set_result(None)
