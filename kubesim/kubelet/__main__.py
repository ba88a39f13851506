"""The kubelet as a process of its own, for a control plane without nodes; ends on SIGTERM and SIGINT."""

from __future__ import annotations

import argparse
import asyncio
import signal
from contextlib import AsyncExitStack, suppress
from importlib import import_module
from pathlib import Path

from kubeloop.client import Client
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import load
from kubesim.kubelet.agent import Kubelet
from kubesim.kubelet.answers import answering
from kubesim.kubelet.programs import Programs
from kubesim.kubelet.serving import serve as serve_endpoints


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m kubesim.kubelet", description="Runs pods that do nothing.")
    parser.add_argument("--kubeconfig", type=Path, required=True, metavar="FILE")
    parser.add_argument("--namespace", default="", help="whose pods to run; all without it")
    parser.add_argument("--ready-after", type=float, default=1.0, metavar="SECONDS")
    parser.add_argument("--gone-after", type=float, default=0.1, metavar="SECONDS")
    parser.add_argument("--nodes", type=int, default=3, metavar="COUNT")
    parser.add_argument(
        "--endpoints",
        type=int,
        metavar="PORT",
        help="answer for pods at 127.0.0.1:PORT/NAMESPACE/SERVICE and as a proxy; 0 takes a free port, which is told",
    )
    parser.add_argument(
        "--program",
        metavar="MODULE:CLASS",
        help="what pods run that are its own, made without arguments; the endpoints answer for it",
    )
    parser.add_argument("--coarse", action="store_true", help="bind pods when they are ready, and write one status")
    parser.add_argument("--events", action="store_true", help="tell of pods' lives in Events")
    with suppress(asyncio.CancelledError):
        asyncio.run(serve(parser.parse_args()))


def programs_of(name: str | None) -> Programs:
    """What pods answer: those of the named program with it, all others as they always do."""
    if name is None:
        return Programs(answering)
    module, _, kind = name.partition(":")
    program = getattr(import_module(module), kind)()
    return Programs(program.make, answering, extra=program.record)


async def serve(arguments: argparse.Namespace) -> None:
    """Until a signal ends it."""
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None  # noqa: S101
    for ending in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(ending, task.cancel)
    client = Client(HttpTransport(load([arguments.kubeconfig])), user_agent="fairlead-kubelet")
    async with AsyncExitStack() as stack:
        stack.push_async_callback(client.close)
        programs = None
        if arguments.endpoints is not None:
            programs = programs_of(arguments.program)
            address = await stack.enter_async_context(serve_endpoints(programs, port=arguments.endpoints))
            print(f"endpoints {address}", flush=True)
        kubelet = Kubelet(
            client,
            namespace=arguments.namespace,
            ready_after=arguments.ready_after,
            gone_after=arguments.gone_after,
            nodes=arguments.nodes,
            programs=programs,
            events=arguments.events,
            coarse=arguments.coarse,
        )
        await kubelet.run()


if __name__ == "__main__":
    main()
