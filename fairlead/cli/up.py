"""`fairlead up`: a cluster in this process, the operator on it, and with `--demo` a rollout to look at.

The cluster is served over HTTPS on a loopback port; a kubeconfig for it lets every other command, and kubectl, talk to
it from another terminal for as long as this one stays.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import signal
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli import exits

if TYPE_CHECKING:
    from fairlead.cli.applying import Found
    from fairlead.cli.demos import Demo
    from fairlead.cli.hosting import Place
    from fairlead.kube.client import Client
    from fairlead.sim.saving import Saved

FASTEST = 100.0
"""Beyond that the operator's lease, of fifteen seconds, is over before a busy machine has renewed it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--demo", metavar="NAME", default="", help="play a rollout: zones or environments")
    parser.add_argument("--until-done", action="store_true", help="leave when the demo's rollout is complete")
    parser.add_argument(
        "-f",
        "--filename",
        metavar="FILE",
        action="append",
        default=[],
        help="apply its objects at the start; - is standard input",
    )
    parser.add_argument(
        "--speed", type=float, default=1.0, metavar="N", help="how many times as fast as real time it runs"
    )
    parser.add_argument("--save", metavar="DIR", default="", help="keep the state of the cluster in this folder")
    parser.add_argument("--load", metavar="DIR", default="", help="begin with the state that this folder keeps")
    parser.add_argument("--kubeconfig-out", metavar="FILE", default="", help="where to write the cluster's kubeconfig")
    parser.add_argument("--port", type=int, default=0, help="port of the cluster on 127.0.0.1; default any free one")
    parser.add_argument("--no-color", action="store_true", help="show no colours; so does the variable NO_COLOR")


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.main import UsageError

    demo = _demo(arguments.demo) if arguments.demo else None
    if arguments.until_done and demo is None:
        raise UsageError("--until-done needs --demo: without a rollout nothing is ever done")
    if not 0 <= arguments.port <= 65535:
        raise UsageError(f"--port is {arguments.port}: set it to a port from 0 to 65535")
    if not 0 < arguments.speed <= FASTEST:
        raise UsageError(f"--speed must be more than 0 and at most {FASTEST:.0f}")
    return _attempt(arguments, demo)


def _demo(name: str) -> Demo:
    from fairlead.cli.demos import DEMOS
    from fairlead.cli.main import UsageError

    demo = DEMOS.get(name)
    if demo is None:
        raise UsageError(f'no demo is named "{name}": there is {", ".join(DEMOS)}')
    return demo


def _attempt(arguments: argparse.Namespace, demo: Demo | None) -> int:
    """Runs it; what a user can mend is said in a sentence."""
    from fairlead.cli.applying import Refused, found_in
    from fairlead.cli.connect import fail
    from fairlead.cli.hosting import NotOurs
    from fairlead.cli.inputs import Unreadable
    from fairlead.sim.pace import PacedLoop
    from fairlead.sim.saving import Unusable, read

    try:
        state = read(Path(arguments.load)) if arguments.load else None
        objects = found_in(arguments.filename)
        start = max(datetime.now(UTC), state.heading.now) if state is not None else None
        with asyncio.Runner(loop_factory=lambda: PacedLoop(start=start)) as runner:
            return runner.run(_up(arguments, demo, state, objects))
    except (Unusable, Unreadable, NotOurs, OSError, ExceptionGroup) as problem:
        mendable, other = _sorted(problem, (Unusable, Unreadable, NotOurs, Refused, OSError))
        if other is not None or mendable is None:
            raise
        return fail(_remedy(mendable) if isinstance(mendable, OSError) else str(mendable))


def _remedy(error: OSError) -> str:
    """A busy port, or a place that cannot be written to."""
    if error.filename is None:
        return f"the cluster cannot run: {error}; choose another --port"
    why = (error.strerror or str(error)).lower()
    return f"{error.filename} cannot be written ({why}): choose another --kubeconfig-out, --save or XDG_CACHE_HOME"


def _sorted(problem: Exception, kinds: tuple[type[Exception], ...]) -> tuple[Exception | None, Exception | None]:
    """The first problem of these kinds, and the rest; those of tasks come together."""
    while isinstance(problem, ExceptionGroup):
        mendable, other = problem.split(kinds)
        if mendable is None or other is not None:
            return mendable, other
        problem = mendable.exceptions[0]
    return problem, None


async def _up(arguments: argparse.Namespace, demo: Demo | None, state: Saved | None, objects: list[Found]) -> int:
    from fairlead.cli.applying import apply_all
    from fairlead.cli.hosting import Place, running
    from fairlead.plane.build import cache

    folder = cache() / "up"
    folder.mkdir(parents=True, exist_ok=True)
    kubeconfig = Path(arguments.kubeconfig_out) if arguments.kubeconfig_out else folder / "kubeconfig"
    saved = Path(arguments.save) if arguments.save else None
    place = Place(kubeconfig, folder / "operator.log", arguments.port, saved)
    stays = demo is None or (sys.stdout.isatty() and not arguments.until_done)
    _end_on_signals()
    try:
        async with running(place, state) as client:
            _hurry(arguments.speed)
            await apply_all(client, objects)
            if demo is not None:
                await _play(demo, client, color=not arguments.no_color)
            print(_farewell(demo, place, stays=stays), flush=True)
            if stays:
                await asyncio.Event().wait()
    except asyncio.CancelledError:  # Ctrl-C, the way out that was offered
        print()
    return exits.OK


def _end_on_signals() -> None:
    """Whatever asks for the end gets the orderly one of Ctrl-C, which saves the state."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101  a coroutine that runs has a task
    for each in (signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(each, task.cancel)


def _hurry(speed: float) -> None:
    """From here on: until everything is ready, limits are those of real programs on a real machine."""
    from fairlead.sim.pace import PacedLoop

    loop = asyncio.get_running_loop()
    if isinstance(loop, PacedLoop):
        loop.run_at(speed)


async def _play(demo: Demo, client: Client, *, color: bool) -> None:
    from fairlead.cli.connect import Cluster
    from fairlead.cli.screens import screen
    from fairlead.cli.watch import Wanted, follow
    from fairlead.cli.witness import Witness

    cluster = Cluster(client, (demo.namespace,))
    print(f"{demo.story}\n", flush=True)
    await demo.create(client)
    with screen(color=color) as shown:
        await follow(cluster, Wanted(demo.rollout), shown)
        await demo.change(client)
        witness = Witness(shown)
        begun = asyncio.get_running_loop().time()
        await follow(cluster, Wanted(demo.rollout), witness)
        took = asyncio.get_running_loop().time() - begun
    print(f"\nDone in {took:.0f} s: {demo.summary(witness)}", flush=True)


def _farewell(demo: Demo | None, place: Place, *, stays: bool) -> str:
    fairlead = _program()
    if demo is None:
        commands = [
            "kubectl create deployment web --image=example.test/web:1.0 --replicas=3",
            "kubectl get pods --watch",
            f"{fairlead} watch -A --forever",
        ]
    else:
        where = f"-n {demo.namespace}"
        commands = [
            f"{fairlead} get {where}",
            f"{fairlead} explain {demo.rollout} {where}",
            f"{fairlead} watch {where} --forever",
        ]
    lines = "\n".join(f"  {command}" for command in (f"export KUBECONFIG={place.kubeconfig}", *commands))
    then = "Press Ctrl-C to end it." if stays else "The cluster ends now; in a terminal it stays until Ctrl-C."
    return f"""
Try next, in another terminal:
{lines}

The operator's log: {place.log}
{then}"""


def _program() -> str:
    """How this program is called from here."""
    called = Path(sys.argv[0])
    if shutil.which("fairlead") or not called.exists():
        return "fairlead"
    return os.path.relpath(called) if called.is_relative_to(Path.cwd()) else str(called)
