"""`python -m kubesim`: a cluster for kubectl and for any operator, on a loopback port, until it is interrupted."""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import shlex
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from kubeloop.http_caller import HttpCaller
from kubesim import unattended
from kubesim.hosting import Host, Unhostable, hosted, new_cluster, node_client, nodes_of
from kubesim.kubelet.answers import answering
from kubesim.kubelet.programs import Programs
from kubesim.network import Network
from kubesim.pace import FASTEST, PacedLoop, speed_of
from kubesim.pki import Authority

PROGRAM, CONTEXT = "python -m kubesim", "kubesim"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=PROGRAM, description="Serves a Kubernetes that is in memory, with nodes, until it is interrupted."
    )
    parser.add_argument("--kubeconfig-out", type=Path, metavar="FILE", help="where to write the cluster's kubeconfig")
    parser.add_argument("--port", type=_port, default=0, help="port on 127.0.0.1; default any free one")
    parser.add_argument("--seed", type=int, help="the same gives the same names and UIDs; default another each time")
    parser.add_argument(
        "--speed", type=speed_of, default=1.0, metavar="N", help=f"times as fast as real time, at most {FASTEST:.0f}"
    )
    parser.add_argument(
        "--end-with-stdin", action="store_true", help="end with standard input, too: nothing outlives who started it"
    )
    given = parser.parse_args(arguments)
    try:
        host = Host(PROGRAM, CONTEXT, (given.kubeconfig_out or _default()).absolute(), given.port)
        seed = secrets.randbits(32) if given.seed is None else given.seed
        with asyncio.Runner(loop_factory=PacedLoop) as runner:
            runner.run(_up(host, seed, given.speed, end_with_stdin=given.end_with_stdin))
    except Unhostable as problem:
        print(f"kubesim: {problem}", file=sys.stderr)
        return 1
    return 0


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"it must be a port from 0 to 65535, not {text}")
    return int(text)


def _default() -> Path:
    """Where the kubeconfig is that nobody has given a place."""
    given = os.environ.get("XDG_CACHE_HOME")
    try:
        cache = Path(given) if given else Path.home() / ".cache"
    except RuntimeError as error:
        raise Unhostable("nobody knows where your home folder is: set HOME, or give --kubeconfig-out") from error
    return cache / "kubesim" / "kubeconfig"


async def _up(host: Host, seed: int, speed: float, *, end_with_stdin: bool) -> None:
    """Until a signal ends it."""
    ended, loop = asyncio.Event(), asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, ended.set)
    if end_with_stdin:
        # A thread, because not every kind of input can be waited for by a loop.
        threading.Thread(target=_read, args=(lambda: loop.call_soon_threadsafe(ended.set),), daemon=True).start()
    caller, network, programs, authority = HttpCaller(), Network(), Programs(answering), Authority()
    network.ask(programs.find)
    cluster = new_cluster(seed, network, caller, authority)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(caller.close)
        server = await stack.enter_async_context(hosted(cluster, host, authority, secrets.token_urlsafe(24)))
        async with asyncio.TaskGroup() as tasks:
            node = node_client(cluster)
            work = (cluster.run(), nodes_of(node, programs).run(), unattended.tell(node))
            started = [tasks.create_task(each) for each in work]
            if isinstance(loop, PacedLoop):
                loop.run_at(speed)
            print(f"{server.url} is up. In another terminal:", flush=True)
            print(f"  export KUBECONFIG={shlex.quote(str(host.kubeconfig))}\n  kubectl get nodes", flush=True)
            print("Press Ctrl-C to end it.", flush=True)
            await ended.wait()
            for task in started:
                task.cancel()


def _read(ended: Callable[[], object]) -> None:
    """Calls when standard input has ended."""
    with suppress(OSError):  # it was closed from the start
        while os.read(0, 4096):
            continue
    ended()


if __name__ == "__main__":
    sys.exit(main())
