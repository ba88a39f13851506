"""`make bench`: zone rollouts on the real control plane, against their bound and an ideal deleter.

Everything runs on loopback. Every phase has a limit of time, and every program that is started is ended.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import startup
from bench.cases import ONE_GROUP, QUICK, THIRTY_GROUPS, Case
from bench.ground import Ground
from bench.processes import Ended
from bench.rollout import Figures, Stuck, measure
from bench.subjects import FAIRLEAD, IDEAL, OURS, UPSTREAM, Subject, subjects
from bench.table import Result, checks, report
from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane

IDLE_SECONDS = 60
QUICK_IDLE_SECONDS = 10


async def run(cases: Sequence[Case], chosen: Sequence[Subject], idle_seconds: int) -> list[Result]:
    """All subjects on all cases, one after the other on one plane; fairlead idles after the last case."""
    async with Plane(build=True, say=say) as plane:
        ground = Ground(plane)
        try:
            await ground.prepare(subject.name for subject in chosen)
            results = []
            for case in cases:
                figures = []
                for subject in chosen:
                    idling = idle_seconds if subject is FAIRLEAD and case is cases[-1] else 0
                    figures.append(await attempt(ground, case, subject, idling))
                results.append(Result(case, [each for each in figures if each is not None]))
            return results
        finally:
            await ground.close()


async def attempt(ground: Ground, case: Case, subject: Subject, idle_seconds: int) -> Figures | None:
    """None, after saying why, when the subject cannot be measured: the others still can."""
    say(f"({case.key}) {case.title}: {subject.title}")
    figures = None
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        try:
            figures = await measure(ground, case, subject, Path(folder), idle_seconds)
            say(f"  {figures.seconds:.1f} s, {figures.verdict.violations} violations")
        except* (Ended, Stuck) as group:
            say(f"  {group.exceptions[0]}")
        except* TimeoutError:
            say("  given up: a phase before or after the rollout took longer than its limit")
    return figures


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.zones", description="Measures zone rollouts.")
    parser.add_argument("--quick", action="store_true", help="a small case only, to see that everything runs")
    parser.add_argument("--case", choices=("a", "b"), action="append", help="only this case; may be repeated")
    parser.add_argument(
        "--subject",
        choices=[subject.name for subject in (IDEAL, *OURS, UPSTREAM)],
        action="append",
        help="only this one; may be repeated. Budgets need the ideal one and both names of fairlead",
    )
    arguments = parser.parse_args()
    every = [QUICK] if arguments.quick else [ONE_GROUP, THIRTY_GROUPS]
    cases = [case for case in every if arguments.quick or case.key in (arguments.case or ("a", "b"))]
    names = arguments.subject or [subject.name for subject in (IDEAL, *OURS, UPSTREAM)]
    chosen = [subject for subject in subjects() if subject.name in names]
    started = startup.measure(5 if arguments.quick else startup.RUNS)
    try:
        results = asyncio.run(run(cases, chosen, QUICK_IDLE_SECONDS if arguments.quick else IDLE_SECONDS))
    except Unavailable as problem:
        say(f"there is no control plane to measure on: {problem}")
        return 1
    print(report(results, started, peer=UPSTREAM in chosen))
    return 0 if all(check.ok for check in checks(results, started)) else 1


if __name__ == "__main__":
    sys.exit(main())
