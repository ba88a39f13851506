"""Environments on the real control plane: many that rest, one that is rolled alone, many that are rolled at once.

    python -m bench.environments [--quick] [--environments N] [--at-once N]

Pods are a stand-in kubelet's, and so is environmentd, whose leader API the operator asks as it would the real one.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec
from msgspec import Struct

from bench import idle
from bench.cases import GONE_AFTER, READY_AFTER
from bench.estate import QUICK, SECOND, Estate, environment, secret, with_image
from bench.generations import Observer, observing
from bench.ground import Ground
from bench.idle import ROLLED_KINDS
from bench.orchestrator import USER, Operator, load_of, operating
from bench.processes import Ended, Process, cpu_seconds, peak_megabytes, present_megabytes, running
from bench.promoted import Figures, Phase, Rest, checks, report
from bench.promotions import Call, judge
from bench.rollout import Stuck
from bench.watching import answered
from fairlead.contracts.environments.kinds import BALANCERS, CONSOLES, ENVIRONMENT_CHILDREN, MATERIALIZES
from fairlead.contracts.environments.stand_in.environmentd import CALLS, PROGRAM
from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.apps import DEPLOYMENTS
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, patch

NAMESPACE = "bench-environments"
KINDS = (MATERIALIZES, BALANCERS, CONSOLES, DEPLOYMENTS, *ENVIRONMENT_CHILDREN, *ROLLED_KINDS)
"""Whatever belongs to environments."""
START_LIMIT = 60.0
LIMIT = 900.0
"""Seconds after which a phase counts as failed."""
QUIET = 2.0
_LOOK_EVERY = 0.05


class Stage(Struct, frozen=True):
    """Everything a measurement needs while it runs."""

    ground: Ground
    estate: Estate
    operator: Operator
    observer: Observer
    kubelet: Process
    endpoints: str
    """Where the stand-ins for environmentd answer."""


async def measure(ground: Ground, estate: Estate, folder: Path) -> Figures:
    """Builds the environments, lets them rest, rolls them."""
    async with _staged(ground, estate, folder) as stage:
        pid = stage.operator.process.pid
        created = await _phase(stage, "created", estate.names, 1, lambda: _fill(stage))
        _say_phase(created)
        rest = await _rested(stage)
        alone = [await _changed(stage, "changed alone", [name]) for name in estate.changed_alone]
        at_once = await _changed(stage, f"{estate.at_once} changed at once", estate.changed_at_once)
        await idle.calmed(ground, USER)
        verdict = judge(stage.observer.events, await _calls(stage), estate.generations)
        return Figures(estate, created, rest, alone, at_once, peak_megabytes(pid), verdict)


@asynccontextmanager
async def _staged(ground: Ground, estate: Estate, folder: Path) -> AsyncIterator[Stage]:
    """An empty namespace, a kubelet with its stand-ins, and the operator at work."""
    await ground.open(NAMESPACE)
    await ground.create(SECRETS, secret(), NAMESPACE)
    transport = HttpTransport(ground.plane.config())  # the observer's own connections
    try:
        async with running("kubelet", _kubelet(ground), folder) as kubelet:
            address = await _address(kubelet)
            flags = (
                "--create-balancers",
                "--create-console",
                "--startup-log-filter=warn",
                f"--environmentd-url-template={address}/{{namespace}}/{{service}}",
            )
            async with (
                operating(ground, NAMESPACE, folder, flags) as operator,
                observing(transport, NAMESPACE) as observer,
            ):
                yield Stage(ground, estate, operator, observer, kubelet, address)
    finally:
        await transport.close()


async def _address(kubelet: Process) -> str:
    async with asyncio.timeout(START_LIMIT):
        while True:
            kubelet.check()
            words = kubelet.last_words().split()
            if "endpoints" in words and len(words) > words.index("endpoints") + 1:
                return words[words.index("endpoints") + 1]
            await asyncio.sleep(_LOOK_EVERY)


async def _fill(stage: Stage) -> None:
    made = (environment(name, index) for index, name in enumerate(stage.estate.names))
    await asyncio.gather(*(stage.ground.create(MATERIALIZES, each, NAMESPACE) for each in made))


async def _changed(stage: Stage, what: str, names: Sequence[str]) -> Phase:
    """Gives these environments another image, once the ones before have nothing left to do."""
    await idle.calmed(stage.ground, USER)

    async def change() -> None:
        body, transport = with_image(SECOND), stage.ground.transport
        refs = [Ref(MATERIALIZES, NAMESPACE, name) for name in names]
        await asyncio.gather(*(answered(transport, patch(ref, MERGE_PATCH, body)) for ref in refs))

    phase = await _phase(stage, what, names, 2, change)
    _say_phase(phase)
    return phase


async def _phase(
    stage: Stage, what: str, names: Sequence[str], generation: int, begin: Callable[[], Awaitable[None]]
) -> Phase:
    """From the first change until all of them are promoted; the events about that are counted, too."""
    ground, observer = stage.ground, stage.observer
    requests = await ground.requests_of(USER)
    load, begun = load_of(ground, stage.operator.process, stage.kubelet), time.monotonic()
    observer.expect(dict.fromkeys(names, generation))
    ended, finished = begun + LIMIT, False
    try:
        async with asyncio.timeout(LIMIT):
            await begin()
            ended, finished = await observer.promoted(), True
    except TimeoutError:
        for process in (stage.operator.process, stage.kubelet):
            process.check()
        if generation == 1:
            raise Stuck(
                f"{len(observer.unfinished)} environments did not come up in {LIMIT:.0f} s, among them "
                f"{observer.unfinished[:3]}; the operator's last words:\n{stage.operator.process.last_words()}"
            ) from None
    load = load_of(ground, stage.operator.process, stage.kubelet).since(load)
    await asyncio.sleep(QUIET)
    requests = (await ground.requests_of(USER)).since(requests)
    return Phase(what, len(names), ended - begun, finished, load, requests)


async def _rested(stage: Stage) -> Rest:
    pid, seconds = stage.operator.process.pid, stage.estate.idle_seconds
    calm_after = await idle.calmed(stage.ground, USER)
    before = cpu_seconds([pid])
    found = await idle.watched(stage.ground, NAMESPACE, USER, seconds, KINDS, calm_after)
    spent = cpu_seconds([pid]) - before
    say(f"  idle: {found.writes} writes, {spent:.2f} s of CPU")
    return Rest(found, spent, present_megabytes(pid))


async def _calls(stage: Stage) -> list[Call]:
    async with aiohttp.ClientSession() as session, session.get(f"{stage.endpoints}{CALLS}") as response:
        return msgspec.json.decode(await response.read(), type=list[Call])


def _kubelet(ground: Ground) -> list[str]:
    # The API server takes no endpoints on the loopback interface, and controllers would try again and again.
    times = ["--ready-after", str(READY_AFTER), "--gone-after", str(GONE_AFTER)]
    where = ["--kubeconfig", str(ground.plane.kubeconfig), "--namespace", NAMESPACE, "--endpoints", "0"]
    return [sys.executable, "-m", "kubesim.kubelet", *where, *times, "--program", PROGRAM]


async def run(estate: Estate) -> Figures | None:
    """None, after saying why, when it cannot be measured."""
    async with Plane(build=True, say=say) as plane:
        ground = Ground(plane)
        try:
            await ground.prepare((USER,))
            say(f"{estate.environments} environments, {estate.at_once} changed at once")
            with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
                return await measure(ground, estate, Path(folder))
        except* (Ended, Stuck) as group:
            say(f"  {group.exceptions[0]}")
        except* TimeoutError:
            say("  given up: a phase took longer than its limit")
        finally:
            await ground.close()
    return None


def _say_phase(phase: Phase) -> None:
    say(f"  {phase.what}: {phase.seconds:.1f} s, {phase.load.subject:.2f} s of CPU")


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    usual = Estate()
    parser = argparse.ArgumentParser(prog="python -m bench.environments", description="Measures environments.")
    parser.add_argument("--quick", action="store_true", help="a few environments, to see that everything runs")
    parser.add_argument("--environments", type=int, default=usual.environments, metavar="N", help="how many there are")
    parser.add_argument("--at-once", type=int, default=usual.at_once, metavar="N", help="how many change at once")
    given = parser.parse_args(arguments)
    estate = QUICK if given.quick else Estate(environments=given.environments, at_once=given.at_once)
    if estate.alone + estate.at_once > estate.environments:
        parser.error(f"{estate.alone} environments change alone, {estate.at_once} at once: make more of them")
    try:
        figures = asyncio.run(run(estate))
    except Unavailable as problem:
        say(f"there is no control plane to measure on: {problem}")
        return 1
    if figures is None:
        return 1
    print(report(figures))
    return 0 if all(check.ok for check in checks(figures)) else 1


if __name__ == "__main__":
    sys.exit(main())
