"""`fairlead up`: a cluster in this process, the operator on it, and with `--demo` a rollout to look at.

With `--real` the cluster is an unmodified control plane in processes of its own, and its nodes are in this one.
It is served over HTTPS on a loopback port; a kubeconfig for it lets every other command, and kubectl, talk to it from
another terminal for as long as this one stays.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shlex
import shutil
import signal
import sys
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from fairlead.cli import exits
from fairlead.contracts import CONTRACTS, contracts
from fairlead.core.alternatives import alternatives
from kubesim.pace import FASTEST, speed_of

if TYPE_CHECKING:
    from fairlead.cli.embedded.apply_files import FileObject
    from fairlead.cli.embedded.host import HostFiles
    from fairlead.engine.contract import Room
    from fairlead.engine.demo import AnyDemo
    from kubeloop.client import Client
    from kubesim.copies import Copy


def add_arguments(parser: argparse.ArgumentParser) -> None:
    names = sorted(demos(), key=lambda name: name not in CONTRACTS)  # the rollout of each contract first
    parser.add_argument("--demo", type=_some, metavar="NAME", help=f"play something to look at: {alternatives(names)}")
    parser.add_argument("--until-done", action="store_true", help="leave when the demo is over")
    parser.add_argument(
        "--real",
        action="store_true",
        help="on etcd, kube-apiserver and kube-controller-manager, which `make control-plane` builds",
    )
    parser.add_argument(
        "-f",
        "--filename",
        type=_some,
        metavar="FILE",
        action="append",
        default=[],
        help="apply the objects of a file or a folder at the start; - is standard input; repeatable",
    )
    parser.add_argument(
        "--speed",
        type=speed_of,
        default=1.0,
        metavar="N",
        help=f"how many times as fast as real time it runs, at most {FASTEST:.0f}",
    )
    parser.add_argument("--save", type=_some, metavar="DIR", help="keep the state of the cluster in this folder")
    parser.add_argument(
        "--load",
        type=_some,
        metavar="PATH",
        nargs="+",
        action="extend",
        default=[],
        help="begin with the state that a folder keeps, or with a copy of a cluster from lists of its objects",
    )
    parser.add_argument(
        "--unread",
        type=_some,
        metavar="KIND",
        action="append",
        default=[],
        help="a kind that could not be listed for --load, as secrets or widgets.example.com; repeatable",
    )
    parser.add_argument(
        "--webhook",
        type=_webhook,
        metavar="NAME.NAMESPACE=URL",
        action="append",
        default=[],
        help="the address that answers for a Service of a copied cluster; repeatable",
    )
    parser.add_argument(
        "--controllers",
        type=_controllers,
        metavar="LIST",
        default=("*",),
        help="which act, as kube-controller-manager has it: * for all, name, -name; the kubelet is one of them",
    )
    parser.add_argument("--kubeconfig-out", type=_some, metavar="FILE", help="where to write the cluster's kubeconfig")
    parser.add_argument("--port", type=int, default=0, help="port of the cluster on 127.0.0.1; default any free one")
    parser.add_argument("--no-color", action="store_true", help="show no colours; so does the variable NO_COLOR")


def _some(text: str) -> str:
    """Not what is left of a variable that is not set."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return text


def _controllers(text: str) -> tuple[str, ...]:
    from kubesim.controllers.names import check

    wanted = tuple(each.strip() for each in text.split(",") if each.strip())
    try:
        check(wanted)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return wanted


def _webhook(text: str) -> tuple[str, str]:
    service, _, url = text.partition("=")
    if service.count(".") != 1 or not url.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"it must be as reviewer.shop=https://127.0.0.1:9443, not {text}")
    return service, url


def run(arguments: argparse.Namespace) -> int:
    from fairlead.cli.main import UsageError

    demo = _demo(arguments.demo) if arguments.demo else None
    if arguments.until_done and demo is None:
        raise UsageError("--until-done needs --demo: without a rollout nothing is ever done")
    if not 0 <= arguments.port <= 65535:
        raise UsageError(f"--port is {arguments.port}: set it to a port from 0 to 65535")
    if arguments.real and (unfit := _unfit(arguments)):
        raise UsageError(f"{unfit} is for the embedded cluster: leave out {unfit}, or --real")
    if arguments.unread and not arguments.load:
        raise UsageError("--unread needs --load: it says what the lists lack")
    return _attempt(arguments, demo)


def _unfit(arguments: argparse.Namespace) -> str:
    """The first option that the real control plane cannot follow; empty: there is none."""
    embedded = {
        "--speed": arguments.speed != 1.0,
        "--save": arguments.save,
        "--load": arguments.load,
        "--unread": arguments.unread,
        "--webhook": arguments.webhook,
        "--controllers": arguments.controllers != ("*",),
    }
    return next((option for option, given in embedded.items() if given), "")


def _demo(name: str) -> AnyDemo:
    from fairlead.cli.main import UsageError

    known = demos()
    if name not in known:
        raise UsageError(f'no demo is named "{name}": choose {alternatives(known)}')
    return known[name].get()


def demos() -> dict[str, Room[AnyDemo]]:
    """By name, those of all contracts."""
    return {name: demo for contract in contracts() for name, demo in contract.demos.items()}


def _attempt(arguments: argparse.Namespace, demo: AnyDemo | None) -> int:
    """Runs it; what a user can mend is said in a sentence."""
    from fairlead.cli.connect import fail
    from fairlead.cli.embedded.apply_files import ApplyRefused, found_in
    from fairlead.cli.embedded.host import held
    from fairlead.engine.object_files import UnreadableFile
    from kubesim.copies import Unusable
    from kubesim.hosting import Unhostable
    from kubesim.loading import state_in
    from kubesim.pace import PacedLoop

    try:
        with held(Path(arguments.save)) if arguments.save else nullcontext():
            state = state_in([Path(each) for each in arguments.load], arguments.unread) if arguments.load else None
            _keep(arguments.save, arguments.load)
            objects = found_in(arguments.filename)
            start = max(datetime.now(UTC), state.now) if state is not None else None
            with asyncio.Runner(loop_factory=lambda: PacedLoop(start=start)) as runner:
                return runner.run(_up(arguments, demo, state, objects))
    except (Unusable, UnreadableFile, Unhostable, OSError, ExceptionGroup) as problem:
        mendable, other = _sorted(problem, (Unusable, UnreadableFile, Unhostable, ApplyRefused, OSError))
        if other is not None or mendable is None:
            raise
        if isinstance(mendable, BrokenPipeError):
            raise mendable from None
        return fail(f"the cluster cannot go on: {mendable}" if isinstance(mendable, OSError) else str(mendable))


def _keep(save: str | None, load: list[str]) -> None:
    """Raises Unusable where a saved cluster would be lost."""
    from kubesim.copies import Unusable
    from kubesim.saving import FILE

    if save and (Path(save) / FILE).exists() and not any(Path(each).samefile(save) for each in load):
        raise Unusable(f"{save} keeps a cluster already: go on from it with --load {save}, or choose another --save")


def _sorted(problem: Exception, kinds: tuple[type[Exception], ...]) -> tuple[Exception | None, Exception | None]:
    """The first problem of these kinds, and the rest; those of tasks come together."""
    while isinstance(problem, ExceptionGroup):
        mendable, other = problem.split(kinds)
        if mendable is None or other is not None:
            return mendable, other
        problem = mendable.exceptions[0]
    return problem, None


async def _up(
    arguments: argparse.Namespace, demo: AnyDemo | None, state: Copy | None, objects: list[FileObject]
) -> int:
    from fairlead.cli.embedded.apply_files import apply_all
    from fairlead.cli.embedded.demo_player import play
    from fairlead.cli.embedded.host import HostFiles, own_log

    folder = _folder()
    kubeconfig = folder / "kubeconfig" if arguments.kubeconfig_out is None else _absolute(arguments.kubeconfig_out)
    saved = Path(arguments.save) if arguments.save else None
    offered = False
    stays = demo is None or (sys.stdout.isatty() and not arguments.until_done)
    _end_on_signals()
    try:
        with own_log(folder) as log:
            place = HostFiles(kubeconfig, log, arguments.port, saved, arguments.controllers, tuple(arguments.webhook))
            if state is not None and state.marks.nodes is not None:
                print(_told(state), flush=True)
            async with _cluster(arguments, place, state) as client:
                _hurry(arguments.speed)
                if objects:
                    print(f"Applied from files: {await apply_all(client, objects)}", flush=True)
                if demo is not None:
                    await play(demo, client, folder, color=not arguments.no_color)
                print(_farewell(demo, place, stays=stays), flush=True)
                if stays:
                    offered = True
                    await asyncio.Event().wait()
    except asyncio.CancelledError:
        print()
        return exits.OK if offered else exits.INTERRUPTED
    return exits.OK


def _cluster(
    arguments: argparse.Namespace, place: HostFiles, state: Copy | None
) -> AbstractAsyncContextManager[Client]:
    if not arguments.real:
        from fairlead.cli.embedded.host import running

        return running(place, state)
    from fairlead.cli.embedded import real_host
    from fairlead.plane.build import ETCD, KUBERNETES

    print(f"etcd {ETCD} and Kubernetes {KUBERNETES} are started, which takes some seconds.\n", flush=True)
    return real_host.running(place)


def _told(copy: Copy) -> str:
    """What was loaded of another cluster, and what is to be known of it."""
    lines = [f"Loaded: {copy.size} objects as of {copy.now:%Y-%m-%d %H:%M:%S} UTC.", *copy.remarks]
    return "\n  ".join(lines)


def _folder() -> Path:
    """Where things are that nobody has given a place."""
    from fairlead.plane.build import cache
    from kubesim.hosting import Unhostable

    try:
        return cache().absolute() / "up"
    except RuntimeError as error:
        raise Unhostable("nobody knows where your home folder is: set HOME, or XDG_CACHE_HOME") from error


def _absolute(name: str) -> Path:
    """As another terminal needs it."""
    return Path(name).absolute()


def _end_on_signals() -> None:
    """Whatever asks for the end, and however often, gets the orderly one, which saves the state."""
    task = asyncio.current_task()
    assert task is not None  # noqa: S101  a coroutine that runs has a task
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is signal.SIG_IGN:
            continue  # whoever started it wants it so, as nohup does
        asyncio.get_running_loop().add_signal_handler(each, task.cancel)


def _hurry(speed: float) -> None:
    """From here on: until everything is ready, limits are those of real programs on a real machine."""
    from kubesim.pace import PacedLoop

    loop = asyncio.get_running_loop()
    if isinstance(loop, PacedLoop):
        loop.run_at(speed)


def _farewell(demo: AnyDemo | None, place: HostFiles, *, stays: bool) -> str:
    fairlead = typed_here()
    if demo is None:
        commands = [
            "kubectl create deployment web --image=example.test/web:1.0 --replicas=3",
            "kubectl get pods --watch",
            f"{fairlead} watch -A --forever",
        ]
    else:
        where = f"-n {demo.namespace}"
        followed = [
            f"{fairlead} get {where}",
            f"{fairlead} explain {demo.rollout} {where}",
            f"{fairlead} watch {where} --forever",
        ]
        commands = [
            *(followed if demo.rollout else ()),
            *(re.sub("^fairlead ", f"{fairlead} ", tried) for tried in demo.tries),
        ]
    lines = "\n".join(
        f"  {command}" for command in (f"export KUBECONFIG={shlex.quote(str(place.kubeconfig))}", *commands)
    )
    kept = f"The cluster is kept in {place.saved}; --load {place.saved} goes on from it.\n" if place.saved else ""
    log = f"{kept}The operator's log: {place.log.name}"
    if stays:
        return f"\nTry next, in another terminal:\n{lines}\n\n{log}\nPress Ctrl-C to end it."
    return f"""
The cluster ends now.
In a terminal, without --until-done, it stays for these commands in another one:
{lines}

{log}"""


def typed_here() -> str:
    """How this program is called from here."""
    called = Path(sys.argv[0])
    if shutil.which("fairlead") or not called.exists():
        return "fairlead"
    if called.name == "__main__.py":
        return f"{_typed(Path(sys.executable))} -m fairlead"
    return _typed(called)


def _typed(program: Path) -> str:
    return os.path.relpath(program) if program.is_relative_to(Path.cwd()) else str(program)
