"""One measurement: one subject rolls one case, on a cluster that is the same for every subject.

The namespace and the kubelet are new each time. The clock starts with the first change of a template and ends when the
observer has seen all pods ready at the new revision and, for operators that record it, the current revision of every
zone. CPU is taken over the same time; memory is the peak since the program started.
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct, structs

from bench import idle
from bench.cases import GONE_AFTER, READY_AFTER, Case, Zone
from bench.ground import Ground, Requests
from bench.idle import Idle
from bench.observer import Observer, observing
from bench.processes import Process, busy_seconds, cpu_seconds, peak_megabytes, running
from bench.replay import Verdict, judge
from bench.subjects import Subject, port_for, until_ready
from kubeloop.http_transport import HttpTransport

SETUP_LIMIT = 240.0
"""Seconds that any phase before or after the rollout may take."""
QUIET = 2.0
"""Seconds without a change after which statuses count as settled; leases are taken meanwhile, too."""


class Stuck(Exception):
    """A phase before or after the rollout took longer than its limit; the message tells how far it came."""


class Load(Struct, frozen=True):
    """CPU seconds by who used them."""

    subject: float = 0.0
    plane: float = 0.0
    kubelet: float = 0.0
    bench: float = 0.0
    machine: float = 0.0
    """All of the machine's, others' among them."""

    def since(self, before: Load) -> Load:
        return Load(*(getattr(self, name) - getattr(before, name) for name in Load.__struct_fields__))

    @property
    def others(self) -> float:
        """Of programs that have no part in the measurement: how noisy it was."""
        return max(0.0, self.machine - self.subject - self.plane - self.kubelet - self.bench)


class Figures(Struct, frozen=True):
    """What one subject took for one case."""

    subject: Subject
    finished: bool
    seconds: float
    load: Load
    megabytes: float
    requests: Requests
    verdict: Verdict
    idle: Idle | None = None


class Stage(Struct, frozen=True):
    """Everything a measurement needs while it runs."""

    ground: Ground
    case: Case
    subject: Subject
    namespace: str
    observer: Observer
    kubelet: Process

    @property
    def limit(self) -> float:
        """Seconds after which a rollout counts as failed: thirty groups share the machine with their control plane."""
        return (60.0 + 4.0 * self.case.bound + 0.1 * self.case.all_pods) * self.subject.patience

    def load(self, process: Process) -> Load:
        return Load(
            cpu_seconds([process.pid]),
            cpu_seconds(pid for name, pid in self.ground.plane.pids.items() if name != "guard"),
            cpu_seconds([self.kubelet.pid]),
            cpu_seconds([os.getpid()]),
            busy_seconds(),
        )


async def measure(ground: Ground, case: Case, subject: Subject, folder: Path, idle_seconds: int = 0) -> Figures:
    """Builds the case, rolls it, takes it down again."""
    async with staged(ground, case, subject, folder) as stage:
        port = port_for(subject)
        arguments = subject.arguments(ground.kubeconfig_of(subject.name), ground.plane.url, stage.namespace, port)
        async with running(subject.name, arguments, folder) as process:
            async with asyncio.timeout(SETUP_LIMIT):
                await until_ready(process, port)
            await asyncio.sleep(QUIET)
            figures = await _roll(stage, process)
            process.check()
            if idle_seconds and figures.finished:
                found = await idle.measure(ground, stage.namespace, subject.name, idle_seconds)
                figures = structs.replace(figures, idle=found)
            return figures


@asynccontextmanager
async def staged(
    ground: Ground, case: Case, subject: Subject, folder: Path, beside: Sequence[Zone] = ()
) -> AsyncIterator[Stage]:
    """A namespace with the case, and with zones beside it, all ready; afterwards it is empty again."""
    zones = (*case.all_zones(), *beside)
    namespace = f"bench-{case.key}-{subject.name}"
    async with asyncio.timeout(SETUP_LIMIT):
        await ground.open(namespace)
    transport = HttpTransport(ground.plane.config())  # the observer's own connections
    try:
        async with running("kubelet", _kubelet(ground, namespace), folder) as kubelet:
            try:
                async with observing(transport, namespace, zones) as observer:
                    stage = Stage(ground, case, subject, namespace, observer, kubelet)
                    await _settle(stage, zones)
                    yield stage
            finally:
                async with asyncio.timeout(SETUP_LIMIT):
                    await ground.empty(namespace)
    finally:
        await transport.close()


async def _settle(stage: Stage, zones: Sequence[Zone]) -> None:
    """Creates the case and returns when all its pods are ready and nothing changes any more."""
    observer = stage.observer
    try:
        async with asyncio.timeout(SETUP_LIMIT):
            observer.expect(await stage.ground.fill(zones, stage.namespace), records=True)
            await observer.finished()
            await observer.quiet_for(QUIET)
    except TimeoutError:
        stage.kubelet.check()
        raise Stuck(
            f"{len(observer.unfinished)} zones did not come up in {SETUP_LIMIT:.0f} s, among them "
            f"{observer.unfinished[:3]} with {observer.shown(observer.unfinished[:1])}; "
            f"the kubelet's last words:\n{stage.kubelet.last_words()}"
        ) from None


async def _roll(stage: Stage, process: Process) -> Figures:
    ground, case, subject, observer = stage.ground, stage.case, stage.subject, stage.observer
    requests = await ground.requests_of(subject.name)
    load = stage.load(process)
    begun = time.monotonic()
    # Until every new generation is known, no zone can be finished.
    observer.expect(dict.fromkeys(observer.revisions, sys.maxsize), records=subject.records)
    ended, finished = begun + stage.limit, False
    try:
        async with asyncio.timeout(stage.limit):
            observer.expect(await ground.change(case.all_zones(), stage.namespace), records=subject.records)
            ended, finished = await observer.finished(), True
    except TimeoutError:
        process.check()
    load = stage.load(process).since(load)
    await asyncio.sleep(QUIET)  # events about the last steps may follow them
    return Figures(
        subject,
        finished,
        ended - begun,
        load,
        peak_megabytes(process.pid),
        (await ground.requests_of(subject.name)).since(requests),
        judge(observer.events, case.all_zones(), observer.revisions),
    )


def _kubelet(ground: Ground, namespace: str) -> list[str]:
    times = ["--ready-after", str(READY_AFTER), "--gone-after", str(GONE_AFTER)]
    where = ["--kubeconfig", str(ground.plane.kubeconfig), "--namespace", namespace]
    return [sys.executable, "-m", "kubesim.kubelet", *where, *times]
