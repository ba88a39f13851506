"""A program that follows a namespace until it is told to end."""

from __future__ import annotations

import argparse
import asyncio
import signal
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import load


def main(program: str, description: str, follow: Callable[[HttpTransport, str], Coroutine[Any, Any, None]]) -> None:
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("--kubeconfig", type=Path, required=True, metavar="FILE")
    parser.add_argument("-n", "--namespace", required=True, metavar="NAME")
    given = parser.parse_args()
    with suppress(asyncio.CancelledError):
        asyncio.run(_serve(given.kubeconfig, lambda transport: follow(transport, given.namespace)))


async def _serve(kubeconfig: Path, follow: Callable[[HttpTransport], Coroutine[Any, Any, None]]) -> None:
    """Until a signal ends it."""
    loop = asyncio.get_running_loop()
    transport = HttpTransport(load([kubeconfig]))
    following = asyncio.create_task(follow(transport))
    cancel: Callable[[], object] = following.cancel
    for ending in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(ending, cancel)
    try:
        await following
    finally:
        await transport.close()
