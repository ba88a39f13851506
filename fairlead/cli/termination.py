"""SIGTERM, for commands: it ends them as Ctrl-C does, so that what is under way is given up in order.

A journal stays where it is, a Lease is given back, and the exit code says whether the command goes on when it is run
again.
"""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Coroutine
from typing import Any


def run(work: Coroutine[Any, Any, int]) -> int:
    """What the work comes to; where it says nothing of its end itself, a sentence does, and KeyboardInterrupt rises."""
    terminated = False

    async def ended_by_signal() -> int:
        nonlocal terminated
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        if task is None or threading.current_thread() is not threading.main_thread():
            return await work  # signals are the main thread's

        def end() -> None:
            nonlocal terminated
            terminated = True
            task.cancel()

        loop.add_signal_handler(signal.SIGTERM, end)
        try:
            return await work
        finally:
            loop.remove_signal_handler(signal.SIGTERM)

    try:
        return asyncio.run(ended_by_signal())
    except asyncio.CancelledError:
        if not terminated:
            raise
        print("fairlead: ended by SIGTERM before it was done; run the command again", file=sys.stderr)
        raise KeyboardInterrupt from None
