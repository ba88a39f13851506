"""LeaderWorkerSets under upstream's manager and under ours, in one run, on a fresh control plane each.

    python -m bench.leaderworker [--quick] [--case KEY] [--times N]

Both managers are processes with upstream's installation, its account and its defaults. Pods are a stand-in kubelet's.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from bench import pod_load
from bench.audit import AuditLog
from bench.cases import GONE_AFTER, READY_AFTER
from bench.compared import MAX_UNAVAILABLE, Admitted, Case, Figures, Phase, Rest, Result, checks, report
from bench.ground import Ground
from bench.groups import SETS, Goal, Observer, most_down, observing
from bench.managers import (
    ACCOUNT,
    ACCOUNT_GROUPS,
    AT_WORK,
    OURS,
    SECRET,
    SERVED_NAME,
    UPSTREAM,
    Installation,
    Tree,
    installed,
    secret_of,
)
from bench.orchestrator import load_of
from bench.processes import Ended, Process, children, cpu_seconds, peak_megabytes, running, while_running
from bench.rollout import Load, Stuck
from bench.watching import answered
from fairlead.plane import lws
from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request, create, delete, get, patch

NAMESPACE = "bench"
FIRST, SECOND = "example.test/main:1", "example.test/main:2"
LIMIT = 300.0
"""Seconds after which a phase counts as failed."""
QUIET = 2.0
RATE = 200
ROLLED = Case("A", sets=1, replicas=20, size=4, unavailable=2, rolls=True, load=30)
CASES = (
    ROLLED,
    msgspec.structs.replace(ROLLED, key="A+", gates=(MAX_UNAVAILABLE,), load=0),
    Case("B", sets=100, replicas=2, size=2, unavailable=1, rolls=False, rests=60),
)
QUICK = (
    Case("quick A", sets=1, replicas=4, size=2, unavailable=2, rolls=True, load=2),
    Case("quick B", sets=5, replicas=2, size=2, unavailable=1, rolls=False, rests=5),
)
_LOOK_EVERY = 0.05


class Stage(Struct, frozen=True):
    """Everything a measurement needs while it runs."""

    ground: Ground
    case: Case
    subject: str
    installation: Installation
    observer: Observer
    kubelet: Process
    log: AuditLog
    folder: Path

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"set-{number}" for number in range(self.case.sets))

    def load(self, process: Process) -> Load:
        return load_of(self.ground, process, self.kubelet)

    async def complete(self, names: Sequence[str], groups: int, size: int, image: str) -> float:
        self.observer.expect(Goal(tuple(names), groups * size, image))
        return await self.observer.complete()


async def measure(case: Case, subject: str, folder: Path) -> Figures:
    """One subject on one case, on a control plane of its own."""
    async with Plane(build=True, say=say, audited_users=(ACCOUNT,), gates=case.gates) as plane:
        ground = Ground(plane)
        try:
            async with _staged(ground, case, subject, folder) as stage:
                return await _measured(stage)
        finally:
            await ground.close()


@asynccontextmanager
async def _staged(ground: Ground, case: Case, subject: str, folder: Path) -> AsyncIterator[Stage]:
    kubeconfig = ground.plane.kubeconfig_for(ACCOUNT, ACCOUNT_GROUPS)
    installation = await installed(kubeconfig, ground.transport, folder)
    await ground.open(NAMESPACE)
    transport = HttpTransport(ground.plane.config())  # the observer's own connections
    times = ["--ready-after", str(READY_AFTER), "--gone-after", str(GONE_AFTER)]
    where = ["--kubeconfig", str(ground.plane.kubeconfig), "--namespace", NAMESPACE]
    try:
        async with (
            running("kubelet", [sys.executable, "-m", "kubesim.kubelet", *where, *times], folder) as kubelet,
            observing(transport, NAMESPACE) as observer,
        ):
            log = AuditLog(ground.plane.audit_log)
            yield Stage(ground, case, subject, installation, observer, kubelet, log, folder)
    finally:
        await transport.close()


async def _measured(stage: Stage) -> Figures:
    case = stage.case
    async with _managing(stage) as process:
        await _warmed(stage)
        phase = await (_rolled if case.rolls else _created)(stage, process)
        down = most_down(stage.observer.events, case.replicas, case.size)
        megabytes = peak_megabytes(process.pid)
        admitted = await _admitted(stage, process) if case.load else None
    rest = await _rested(stage) if case.rests else None
    return Figures(stage.subject, phase, megabytes, down, rest, admitted)


@asynccontextmanager
async def _managing(stage: Stage) -> AsyncIterator[Process]:
    """While the manager leads; afterwards nobody does."""
    name, transport = stage.subject, stage.ground.transport
    async with running(name, stage.installation.command(name), stage.folder) as process:
        async with asyncio.timeout(LIMIT):
            await stage.installation.mounted(transport)
            while AT_WORK[name] not in process.log.read_text(errors="replace"):
                process.check()
                await asyncio.sleep(_LOOK_EVERY)
        yield process
    await stage.installation.vacated(transport)


async def _warmed(stage: Stage) -> None:
    """One object first, so that connections, caches and webhooks are there; then nothing is left of it."""
    transport = stage.ground.transport
    async with asyncio.timeout(LIMIT):
        await _answered_with(transport, _create("warm", 1, 2), 201)  # refused until its webhooks are trusted
        await stage.complete(("warm",), 1, 2, FIRST)
        await answered(transport, delete(Ref(SETS, NAMESPACE, "warm"), propagation="Foreground"))
        await _answered_with(transport, get(Ref(SETS, NAMESPACE, "warm")), 404)
    await asyncio.sleep(QUIET)
    stage.observer.events.clear()
    stage.log.since_last()


async def _answered_with(transport: HttpTransport, request: Request, status: int) -> None:
    """Sends it until that is the answer."""
    while True:
        if (await transport.send(request)).status == status:
            return
        await asyncio.sleep(_LOOK_EVERY)


async def _created(stage: Stage, process: Process) -> Phase:
    case = stage.case

    async def begin() -> None:
        requests = [_create(name, case.replicas, case.size, case.unavailable) for name in stage.names]
        await asyncio.gather(*(answered(stage.ground.transport, each) for each in requests))

    return await _phase(stage, process, begin, FIRST)


async def _rolled(stage: Stage, process: Process) -> Phase:
    """The sets come up first, which is not measured."""
    if not (first := await _created(stage, process)).finished:
        raise Stuck(f"{stage.observer.unfinished} did not come up in {first.seconds:.0f} s")

    async def begin() -> None:
        containers = [{"name": "main", "image": SECOND}]
        template = {"workerTemplate": {"spec": {"containers": containers}}}
        body = msgspec.json.encode({"spec": {"leaderWorkerTemplate": template}})
        for name in stage.names:
            await answered(stage.ground.transport, patch(Ref(SETS, NAMESPACE, name), MERGE_PATCH, body))

    return await _phase(stage, process, begin, SECOND)


async def _phase(stage: Stage, process: Process, begin: Callable[[], Awaitable[None]], image: str) -> Phase:
    case = stage.case
    stage.log.since_last()
    load, begun = stage.load(process), time.monotonic()
    ended, finished = begun + LIMIT, False
    try:
        async with asyncio.timeout(LIMIT):
            await begin()
            waiting = stage.complete(stage.names, case.replicas, case.size, image)
            ended, finished = await while_running(process, waiting), True
    except TimeoutError:
        stage.kubelet.check()
    load = stage.load(process).since(load)
    await asyncio.sleep(QUIET)  # Events about the last steps may follow them
    return Phase(ended - begun, finished, load, stage.log.since_last())


async def _rested(stage: Stage) -> Rest:
    """A new process, from its start on."""
    await asyncio.sleep(QUIET)
    stage.log.since_last()
    async with _managing(stage) as process:
        await asyncio.sleep(stage.case.rests)
        process.check()
        spent = cpu_seconds([process.pid, *children(process.pid)])
        return Rest(stage.case.rests, stage.log.since_last(), spent)


async def _admitted(stage: Stage, process: Process) -> Admitted:
    secret = secret_of(await answered(stage.ground.transport, get(SECRET)))
    order = pod_load.Order(stage.installation.webhooks, SERVED_NAME, secret["ca.crt"].decode(), RATE, stage.case.load)
    asked, got = stage.folder / "order.json", stage.folder / "result.json"
    asked.write_bytes(msgspec.json.encode(order))
    spent = cpu_seconds([process.pid])
    async with running("load", [sys.executable, "-m", "bench.pod_load", str(asked), str(got)], stage.folder) as load:
        async with asyncio.timeout(LIMIT):
            await load.handle.wait()
    if not got.exists():
        raise Stuck(f"the load ended early: {load.last_words()}")
    spent = cpu_seconds([process.pid]) - spent
    result = msgspec.json.decode(got.read_bytes(), type=pod_load.Result)
    times = sorted(each * 1000 for each in result.latencies) or [0.0]
    p99 = times[min(len(times) - 1, round(len(times) * 0.99))]
    return Admitted(len(times), statistics.median(times), p99, spent, result.wrong + result.lost)


def _create(name: str, replicas: int, size: int, unavailable: int = 1) -> Request:
    return create(SETS, NAMESPACE, msgspec.json.encode(a_set(name, replicas, size, unavailable)))


def a_set(name: str, replicas: int, size: int, unavailable: int) -> Tree:
    template = {"spec": {"containers": [{"name": "main", "image": FIRST}]}}
    return {
        "apiVersion": SETS.api_version,
        "kind": SETS.kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "replicas": replicas,
            "rolloutStrategy": {"rollingUpdateConfiguration": {"maxUnavailable": unavailable}},
            "leaderWorkerTemplate": {"size": size, "workerTemplate": template},
        },
    }


async def run(cases: Sequence[Case], times: int) -> list[Result]:
    """Both subjects in turn."""
    results = []
    for case in cases:
        found = [await attempt(case, subject) for _ in range(times) for subject in (UPSTREAM, OURS)]
        results.append(Result(case, [each for each in found if each is not None]))
    return results


async def attempt(case: Case, subject: str) -> Figures | None:
    """None, after saying why, when the subject cannot be measured: the others still can."""
    say(f"({case.key}) {case.title}: {subject}")
    figures = None
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        try:
            figures = await measure(case, subject, Path(folder))
            phase = figures.phase
            say(f"  {phase.seconds:.1f} s, {phase.written.writes} writes, {phase.load.subject:.2f} s of CPU")
        except* (Ended, Stuck) as group:
            say(f"  {group.exceptions[0]}")
        except* TimeoutError:
            say("  given up: a phase took longer than its limit")
    return figures


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.leaderworker", description="Measures LeaderWorkerSets.")
    parser.add_argument("--quick", action="store_true", help="small cases only, to see that everything runs")
    parser.add_argument("--case", choices=[case.key for case in CASES], action="append", help="only this one")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="how often; medians are held against budgets")
    given = parser.parse_args(arguments)
    cases = QUICK if given.quick else [each for each in CASES if not given.case or each.key in given.case]
    try:
        lws.find(say)
        results = asyncio.run(run(cases, given.times))
    except Unavailable as problem:
        say(f"there is nothing to measure on: {problem}")
        return 1
    print(report(results))
    return 0 if all(check.ok for check in checks(results)) else 1


if __name__ == "__main__":
    sys.exit(main())
