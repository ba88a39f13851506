"""Asking a person on the terminal."""

from __future__ import annotations

import signal
import sys
from typing import TextIO


def says_yes(question: str, shown_on: TextIO) -> bool:
    """Whether a person says yes; without a terminal nobody does. Ctrl-C ends the command at once.

    The event loop takes Ctrl-C as a wish to end at the next wait, and there is none while somebody is asked.
    """
    if not sys.stdin.isatty():
        return False
    print(f"{question} [y/N] ", end="", file=shown_on, flush=True)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    finally:
        signal.signal(signal.SIGINT, before)
