"""Real time at another pace, for a cluster that people talk to: sockets work, and a wait of ten minutes takes one."""

from __future__ import annotations

import argparse
import asyncio
import selectors
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

FASTEST = 100.0
"""Beyond that time-outs of seconds are over before a busy machine has answered."""


def speed_of(text: str) -> float:
    """What `--speed` is given."""
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed <= FASTEST:
        raise argparse.ArgumentTypeError(f"it must be a number above 0 and at most {FASTEST:.0f}, not {text}")
    return speed


class PacedLoop(asyncio.SelectorEventLoop):
    """An event loop on which every second takes a `speed`-th of one; the time of day runs on from `start`."""

    def __init__(self, speed: float = 1.0, *, start: datetime | None = None) -> None:
        self._hurried = _Hurried(speed)
        self._began = self._since = self._passed = time.monotonic()
        self._start = start or datetime.now(UTC)
        super().__init__(self._hurried)

    def run_at(self, speed: float) -> None:
        """Goes on at another speed from now."""
        self._passed = self.time()
        self._since = time.monotonic()
        self._hurried.speed = speed

    def time(self) -> float:
        """Seconds that only grow."""
        return self._passed + (time.monotonic() - self._since) * self._hurried.speed

    def wall(self) -> datetime:
        """Time of day."""
        return self._start + timedelta(seconds=self.time() - self._began)


class _Hurried(selectors.BaseSelector):
    """Waits for files as long as the loop means it: its seconds are shorter."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._selector = selectors.DefaultSelector()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._selector.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._selector.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._selector.modify(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return self._selector.select(None if timeout is None else timeout / self.speed)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._selector.get_map()

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._selector.get_key(fileobj)

    def close(self) -> None:
        self._selector.close()
