"""Records what the real API server answers to the cases of `tests/exchanges`, and tells what changed.

    python -m tools.exchanges [AREA...]
    python -m tools.exchanges --check [AREA...]

The first starts the pinned control plane without controllers, plays every case of the areas on it, prints how the
answers differ from those that are committed, and writes them. The second needs no control plane: it plays the cases on
the embedded cluster and prints each one that differs from what is recorded.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import ssl
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from aiohttp import ClientError

from fairlead.plane.build import Unavailable
from fairlead.plane.launch import ADMINISTRATOR, MASTERS, Plane
from kubeloop.auth import Credential
from kubeloop.http_transport import tls_context
from kubeloop.request import Request
from kubesim.time import run
from tests.exchanges import recordings
from tests.exchanges.case import Case
from tests.exchanges.cases import AREAS
from tests.exchanges.recordings import Answers
from tests.exchanges.running import NotReady, clear, play
from tests.exchanges.worlds import InProcess, OverHttp, handlers_served

AT_ONCE = 8
"""Cases that are played beside one another: most of their time is waiting."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Answers with 1 when the embedded cluster differs, or when there is no control plane to record."""
    wishes = _wishes(arguments)
    areas = wishes.areas or sorted(AREAS)
    if wishes.check:
        return check(areas)
    try:
        with Plane(controllers=False, accounts=True) as plane:
            release, found = asyncio.run(record(plane, areas))
    except Unavailable as problem:
        sys.stderr.write(f"{problem}\n")
        return 1
    for area in areas:
        _, was = recordings.load(area)
        for line in recordings.changes(was, found[area]):
            sys.stdout.write(f"{area}: {line}\n")
        recordings.save(area, release, found[area])
        sys.stdout.write(f"{recordings.path_of(area)}: {len(found[area])} cases\n")
    return 0


def _wishes(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.exchanges", description=__doc__.partition("\n")[0])
    parser.add_argument("areas", nargs="*", metavar="AREA", choices=[[], *sorted(AREAS)], help=", ".join(sorted(AREAS)))
    parser.add_argument("--check", action="store_true", help="compare the embedded cluster with what is recorded")
    return parser.parse_args(arguments)


def check(areas: Iterable[str]) -> int:
    """Prints every case whose answers on the embedded cluster differ from those that are recorded."""
    differing = total = 0
    for area in areas:
        _, recorded = recordings.load(area)
        for case in AREAS[area]:
            total += 1
            if text := difference(case, recorded.get(case.name, [])):
                differing += 1
                sys.stdout.write(f"{area}: {case.name}\n{text}\n\n")
    sys.stdout.write(f"{differing} of {total} cases differ\n")
    return 1 if differing else 0


def difference(case: Case, recorded: Answers) -> str:
    """How the embedded cluster differs; a failure of it is a difference too."""
    try:
        return recordings.differences(recorded, embedded(case))
    except Exception as problem:  # noqa: BLE001  the other cases are to be told as well
        return f"{type(problem).__name__}: {problem}"


def embedded(case: Case) -> Answers:
    """The answers of an embedded cluster, in virtual time."""

    async def played() -> Answers:
        return await play(case, InProcess())

    return run(played())


async def record(plane: Plane, areas: Iterable[str]) -> tuple[str, dict[str, dict[str, Answers]]]:
    """The release, and the answers of its API server by area and case."""
    async with handlers_served() as hooks:
        world = OverHttp(plane.url, contexts(plane), hooks)
        try:
            version = await world.send(Request("GET", "/version"), "", ())
            found = {area: await played(AREAS[area], world) for area in areas}
        finally:
            await world.close()
    return json.loads(version.body)["gitVersion"], found


async def played(cases: Sequence[Case], world: OverHttp) -> dict[str, Answers]:
    """The answers to the cases, some of which are under way at once."""
    free = asyncio.Semaphore(AT_ONCE)
    answers: dict[str, Answers] = {}
    problems: list[str] = []

    async def one(case: Case) -> None:
        async with free:
            try:
                answers[case.name] = await play(case, world)
            except (NotReady, ClientError) as problem:
                problems.append(f"{case.name}: {problem}")
            finally:
                await clear(case, world)

    async with asyncio.TaskGroup() as group:
        for case in cases:
            group.create_task(one(case))
    if problems:
        raise Unavailable("\n".join(problems))
    return {case.name: answers[case.name] for case in cases}


def contexts(plane: Plane) -> Callable[[str, Sequence[str]], ssl.SSLContext]:
    """How to connect as a user; the administrator has no name."""

    @cache
    def context(user: str, groups: tuple[str, ...]) -> ssl.SSLContext:
        config = plane.config_as(user or ADMINISTRATOR, groups if user else (MASTERS,))
        return tls_context(config, Credential(certificate=config.certificate, key=config.key))

    return lambda user, groups: context(user, tuple(groups))


if __name__ == "__main__":
    sys.exit(main())
