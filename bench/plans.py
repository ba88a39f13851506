"""Plans on the real control plane: pairs of Deployments in batches, beside an ideal operator in the same run.

    python -m bench.plans [--quick] [--case KEY]

Pods are a stand-in kubelet's. Who is measured runs as a process of its own.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from msgspec import Struct

from bench.audit import AuditLog
from bench.ground import Ground
from bench.hooks import answering
from bench.moved import Beside, Compared, Figures, Rest, Rolled, checks, report
from bench.pair_cases import Case, rollout
from bench.pairs import Ending, judge
from bench.plan_stage import (
    BARE,
    FAIRLEAD,
    IDEAL,
    PEER,
    SETTING_UP,
    UPSTREAM,
    Stage,
    Subject,
    installed,
    rolling,
    staged,
)
from bench.processes import Ended, Process, cpu_seconds, peak_megabytes
from bench.rollout import Stuck
from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane

T = TypeVar("T")
KEYS = ("a", "b", "c", "d")
CALM = 8.0
"""Seconds without a write after which a process counts as settled."""
CALM_LIMIT = 60.0
_LOOK_EVERY = 0.5


class Sizes(Struct, frozen=True):
    """What is measured."""

    one: Case = Case("a", pairs=1, size=30, batches=10)
    many: Case = Case("b", pairs=50, size=10, batches=5)
    over: Case = Case("c", pairs=500, size=1, batches=1)
    gated: Case = Case("c", pairs=50, size=2, batches=2)
    idle: int = 60
    sound: Case = Case("d", pairs=20, size=10, batches=5)
    """As many have dead hooks."""


QUICK = Sizes(
    one=Case("a", pairs=1, size=6, batches=3),
    many=Case("b", pairs=4, size=4, batches=2),
    over=Case("c", pairs=6, size=1, batches=1),
    gated=Case("c", pairs=3, size=2, batches=2),
    idle=6,
    sound=Case("d", pairs=4, size=4, batches=2),
)
WARM = Case("warm", pairs=1, size=1, batches=1)


class Bench:
    """One plane, on which one measurement follows the other."""

    def __init__(self, ground: Ground, folder: Path) -> None:
        self._ground, self._folder = ground, folder
        self._log = AuditLog(ground.plane.audit_log)

    async def compared(self, case: Case, order: Sequence[Subject]) -> Compared:
        found: dict[str, list[Rolled]] = {}
        for number, subject in enumerate(order):
            say(f"({case.key}) {case.title}: {subject.title}")
            rolled = await attempt(partial(self._rolled, case, subject, number))
            found.setdefault(subject.name, []).extend([rolled] if rolled else [])
        return Compared(case, *(found.get(each.name, ()) for each in (BARE, IDEAL, FAIRLEAD, UPSTREAM)))

    async def _rolled(self, case: Case, subject: Subject, number: int) -> Rolled:
        names, place = case.names(), f"{case.key}-{number}-{subject.name}"
        async with self._staged(case, place) as stage, self._warmed(stage, subject) as process:
            await stage.prepare(names)
            phase = await stage.phase(process, names, subject.ending)
            verdict = judge(stage.observer.events, names, case)
            megabytes = peak_megabytes(process.pid)
            say(f"  {phase.seconds:.1f} s, {phase.written.writes} writes, {phase.load.subject:.2f} s of CPU")
            await stage.cleared(process, (*names, *WARM.names("warm")))
        return Rolled(subject.name, subject.title, phase, megabytes, verdict)

    async def beside(self, case: Case) -> Beside:
        """Sound rollouts alone, then dead ones that hang at their hooks, then as many sound ones again."""
        say(f"(d) {case.title}, alone and beside as many with dead hooks")
        alone, beside, dead = (case.names(word) for word in ("alone", "beside", "dead"))
        async with (
            answering() as hooks,
            self._staged(case, "d") as stage,
            self._warmed(stage, FAIRLEAD) as process,
        ):
            await stage.prepare((*alone, *beside, *dead))
            first = await stage.phase(process, alone, Ending.SUCCEEDED, hooks.sound)
            say(f"  alone: {first.seconds:.1f} s")
            await stage.roll(rollout(name, case, hooks.dead) for name in dead)
            async with asyncio.timeout(CALM_LIMIT):
                await hooks.hanging(len(dead))
            second = await stage.phase(process, beside, Ending.SUCCEEDED, hooks.sound)
            say(f"  beside {len(dead)} with dead hooks: {second.seconds:.1f} s")
            moved = stage.observer.moved(dead)
            await stage.cleared(process, (*alone, *beside, *dead, *WARM.names("warm")))
        return Beside(case, len(dead), first, second, moved)

    async def rest(self, sizes: Sizes) -> Rest:
        """A process rolls all of them to where they rest; the one that is measured finds them there."""
        over, gated, late = sizes.over.names("over"), sizes.gated.names("gated"), WARM.names("late")
        say(f"(c) {len(over)} rollouts at rest and {len(gated)} at gates")
        async with self._staged(sizes.over, "c") as stage:
            async with rolling(stage, FAIRLEAD) as process:
                await stage.prepare(over, limit=SETTING_UP)
                await stage.prepare(gated, sizes.gated, SETTING_UP)
                await stage.roll(rollout(name, sizes.over) for name in over)
                await stage.roll(rollout(name, sizes.gated, gate=0) for name in gated)
                await stage.seen(over, Ending.SUCCEEDED, limit=SETTING_UP)
                await stage.seen(gated, Ending.AT_GATE, limit=SETTING_UP)
                await self._calmed()
            await stage.prepare(late, WARM)
            await stage.roll(rollout(name, WARM) for name in late)
            before = dict(stage.observer.rollout_changes)
            stage.observer.expect(late, Ending.TAKEN_UP)
            begun = time.monotonic()
            async with rolling(stage, FAIRLEAD) as process:
                start = await stage.observer.complete() - begun
                await stage.seen(late, Ending.SUCCEEDED, WARM.size)
                await self._calmed()
                return await self._idled(stage, process, sizes, start, before)

    async def _idled(self, stage: Stage, process: Process, sizes: Sizes, start: float, before: dict[str, int]) -> Rest:
        spent = cpu_seconds([process.pid])
        await asyncio.sleep(sizes.idle)
        process.check()
        written, spent = self._log.since_last(), cpu_seconds([process.pid]) - spent
        changed = stage.observer.rollout_changes
        disturbed = sum(
            changed[name] != before[name] for name in (*sizes.over.names("over"), *sizes.gated.names("gated"))
        )
        megabytes = peak_megabytes(process.pid)
        say(f"  first step after {start:.1f} s, {written.writes + written.events} writes, {megabytes:.0f} MB")
        return Rest(sizes.over.pairs, sizes.gated.pairs, start, disturbed, sizes.idle, written, spent, megabytes)

    async def _calmed(self) -> None:
        """Returns when nothing was written for a while, or at the limit."""
        self._log.since_last()
        begun = last = time.monotonic()
        while (now := time.monotonic()) < min(last + CALM, begun + CALM_LIMIT):
            await asyncio.sleep(_LOOK_EVERY)
            written = self._log.since_last()
            if written.writes or written.events:
                last = now

    def _staged(self, case: Case, name: str) -> AbstractAsyncContextManager[Stage]:
        return staged(self._ground, case, f"bench-{name}", self._log, self._folder)

    @asynccontextmanager
    async def _warmed(self, stage: Stage, subject: Subject) -> AsyncIterator[Process]:
        """While the subject is at work; it has rolled one pair, so that connections and caches are there."""
        names = WARM.names("warm")
        async with rolling(stage, subject) as process:
            await stage.prepare(names, WARM)
            await stage.roll(rollout(name, WARM) for name in names)
            await stage.seen(names, subject.ending, WARM.size)
            yield process


async def run(sizes: Sizes, keys: Sequence[str]) -> Figures:
    """The one at rest comes last: nobody clears away what it leaves.

    Many pairs go there and back, so that a control plane that grows slower counts for both.
    """
    subjects = [BARE, IDEAL, FAIRLEAD, *([UPSTREAM] if os.environ.get(PEER) else [])]
    users = [each.name for each in subjects]
    there_and_back = [BARE, IDEAL, FAIRLEAD, FAIRLEAD, IDEAL]
    compared: list[Compared] = []
    beside: list[Beside | None] = []
    rest: list[Rest | None] = []
    async with Plane(build=True, say=say, audited_users=users) as plane:
        ground = Ground(plane)
        try:
            await installed(ground, users)
            with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
                bench = Bench(ground, Path(folder))
                if "a" in keys:
                    compared.append(await bench.compared(sizes.one, subjects))
                if "b" in keys:
                    compared.append(await bench.compared(sizes.many, there_and_back))
                if "d" in keys:
                    beside.append(await attempt(lambda: bench.beside(sizes.sound)))
                if "c" in keys:
                    rest.append(await attempt(lambda: bench.rest(sizes)))
        finally:
            await ground.close()
    return Figures(compared, beside, rest)


async def attempt(measure: Callable[[], Awaitable[T]]) -> T | None:
    """None, after saying why, when it cannot be measured: the others still can."""
    found = None
    try:
        found = await measure()
    except* (Ended, Stuck) as group:
        say(f"  {group.exceptions[0]}")
    except* TimeoutError:
        say("  given up: a phase took longer than its limit")
    return found


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.plans", description="Measures plans.")
    parser.add_argument("--quick", action="store_true", help="small cases only, to see that everything runs")
    parser.add_argument("--case", choices=KEYS, action="append", help="only this one")
    given = parser.parse_args(arguments)
    try:
        figures = asyncio.run(run(QUICK if given.quick else Sizes(), given.case or KEYS))
    except Unavailable as problem:
        say(f"there is no control plane to measure on: {problem}")
        return 1
    print(report(figures, bool(os.environ.get(PEER))))
    return 0 if all(check.ok for check in checks(figures)) else 1


if __name__ == "__main__":
    sys.exit(main())
