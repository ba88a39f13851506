"""Where plans are measured: a namespace with pairs, a kubelet, an observer, and one who rolls them."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from bench.audit import AuditLog
from bench.cases import GONE_AFTER, READY_AFTER
from bench.ground import Ground
from bench.managers import DEFINITIONS, served
from bench.moved import Phase
from bench.orchestrator import load_of
from bench.pair_cases import Case, Tree, deployments, rollout
from bench.pairs import Ending, Observer, observing
from bench.processes import Process, running, while_running
from bench.rollout import Stuck
from bench.subjects import until_ready
from bench.watching import answered
from fairlead.contracts.plans.install.definitions import definitions
from fairlead.contracts.plans.kinds import ROLLOUT_TRAITS
from fairlead.plane.launch import free_port
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.meta import Resource
from kubeloop.request import Request, path_of

T = TypeVar("T")
PEER = "PEER_VELA_CORE"
"""Names the program of the upstream Go operator."""
LIMIT = 180.0
"""Seconds after which a phase counts as failed."""
SETTING_UP = 1800.0
"""The same for what many rollouts take to come to rest, which is not measured."""
QUIET = 2.0
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
READY_PATH = "/readyz"
_AT_ONCE = 20
"""Requests of the set-up that are under way at the same time."""


class Subject(Struct, frozen=True):
    """One who rolls pairs. The name is its user name, too."""

    name: str
    title: str
    ending: Ending = Ending.SUCCEEDED
    """With what its rollouts end."""
    module: str = ""
    """Where it is one of ours that only measurements have."""

    def command(self, kubeconfig: Path, namespace: str, port: int) -> list[str]:
        if self.module:
            return [sys.executable, "-m", self.module, "--kubeconfig", str(kubeconfig), "-n", namespace]
        usual = [f"--kubeconfig={kubeconfig}", f"--health-addr=127.0.0.1:{port}", "--metrics-addr=127.0.0.1:0"]
        if self is UPSTREAM:
            return [os.environ[PEER], *usual]
        return [str(Path(sys.executable).with_name("vela-core")), *usual[:2], "--metrics-addr=0", "--kube-api-qps=0"]


BARE = Subject("bare", "bare scaler", Ending.MOVED, "bench.scaler")
IDEAL = Subject("ideal", "ideal operator", module="bench.recording_scaler")
FAIRLEAD = Subject("vela-core", "fairlead as vela-core")
UPSTREAM = Subject("upstream", "upstream operator")


class Stage(Struct, frozen=True):
    """Everything a measurement needs while it runs."""

    ground: Ground
    case: Case
    namespace: str
    observer: Observer
    kubelet: Process
    log: AuditLog
    folder: Path

    async def prepare(self, names: Sequence[str], case: Case | None = None, limit: float = LIMIT) -> None:
        """Pairs whose sources are ready and whose targets have no pods."""
        case = case or self.case
        made = [(DEPLOYMENTS, each) for name in names for each in deployments(name, case)]
        await _all(made, lambda one: self.ground.create(*one, self.namespace))
        await self.seen(names, Ending.PREPARED, case.size, limit)

    async def seen(self, names: Sequence[str], ending: Ending, size: int | None = None, limit: float = LIMIT) -> None:
        """Returns when the observer has; what takes too long, or fails, ends the measurement."""
        self.observer.expect(names, ending, size)
        try:
            async with asyncio.timeout(limit):
                await while_running(self.kubelet, self.observer.complete())
        except TimeoutError:
            few = ", ".join(self.observer.unfinished[:3])
            raise Stuck(f"{len(self.observer.unfinished)} pairs, among them {few}: not {ending.name}") from None
        if self.observer.failed:
            raise Stuck(f"failed: {', '.join(sorted(self.observer.failed)[:3])}")

    async def roll(self, trees: Iterable[Tree]) -> None:
        await _all(list(trees), lambda tree: self.ground.create(ROLLOUT_TRAITS, tree, self.namespace))

    async def phase(self, process: Process, names: Sequence[str], ending: Ending, hook: str = "") -> Phase:
        """From the first rollout that is created to the last one that is over."""
        self.log.since_last()
        load, begun = load_of(self.ground, process, self.kubelet), time.monotonic()
        self.observer.expect(names, ending)
        ended, finished = begun + LIMIT, False
        try:
            async with asyncio.timeout(LIMIT):
                await self.roll(rollout(name, self.case, hook) for name in names)
                ended, finished = await while_running(process, self.observer.complete()), True
        except TimeoutError:
            self.kubelet.check()
        load = load_of(self.ground, process, self.kubelet).since(load)
        await asyncio.sleep(QUIET)  # Events about the last steps may follow them
        return Phase(ended - begun, finished and not self.observer.failed, load, self.log.since_last())

    async def cleared(self, process: Process, names: Sequence[str]) -> None:
        """Nothing is left of the rollouts; whoever put a finalizer on them takes it off."""
        process.check()
        await answered(self.ground.transport, Request("DELETE", path_of(ROLLOUT_TRAITS, self.namespace)))
        await self.seen(names, Ending.GONE)


async def _all(items: Sequence[T], send: Callable[[T], Awaitable[None]]) -> None:
    """A few at a time, so that the set-up does not outrun those who are measured."""
    waiting = iter(items)

    async def one_after_the_other() -> None:
        for item in waiting:
            await send(item)

    await asyncio.gather(*(one_after_the_other() for _ in range(_AT_ONCE)))


async def installed(ground: Ground, users: Sequence[str]) -> None:
    """The kinds of the contract, and the rights of the subjects."""
    await ground.prepare(users)
    for definition in definitions():
        await ground.create(DEFINITIONS, definition)
    async with asyncio.timeout(LIMIT):
        for definition in definitions():
            await served(ground.transport, definition["spec"])


@asynccontextmanager
async def staged(ground: Ground, case: Case, namespace: str, log: AuditLog, folder: Path) -> AsyncIterator[Stage]:
    """An empty namespace, which is empty again afterwards."""
    await ground.open(namespace)
    transport = HttpTransport(ground.plane.config())  # the observer's own connections
    times = ["--ready-after", str(READY_AFTER), "--gone-after", str(GONE_AFTER)]
    where = ["--kubeconfig", str(ground.plane.kubeconfig), "--namespace", namespace]
    try:
        async with (
            running("kubelet", [sys.executable, "-m", "kubesim.kubelet", *where, *times], folder) as kubelet,
            observing(transport, namespace, case) as observer,
        ):
            yield Stage(ground, case, namespace, observer, kubelet, log, folder)
    finally:
        await transport.close()
        async with asyncio.timeout(SETTING_UP):
            await ground.empty(namespace, (DEPLOYMENTS, REPLICA_SETS))


@asynccontextmanager
async def rolling(stage: Stage, subject: Subject) -> AsyncIterator[Process]:
    """While the subject is at work."""
    port = 0 if subject.module else free_port()
    command = subject.command(stage.ground.kubeconfig_of(subject.name), stage.namespace, port)
    async with running(subject.name, command, stage.folder) as process:
        async with asyncio.timeout(LIMIT):
            await until_ready(process, port, READY_PATH)
        yield process
