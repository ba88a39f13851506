"""Signals that come before a program heeds them: to the first process of a container the system delivers none of those.

A pod that is deleted while its program still loads its modules would be waited for until it is killed.
"""

from __future__ import annotations

import os
import signal
from types import FrameType

FIRST = 1
"""The number of the first process of a container. Every other one ends by SIGTERM without a word of its own."""


def heed_termination() -> None:
    """From now on SIGTERM ends the process at once, until somebody who has begun something takes it over."""
    if os.getpid() == FIRST and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)


def _end(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)  # nothing has begun that would have to be ended in order
