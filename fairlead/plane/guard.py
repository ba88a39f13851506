"""Holds the programs of one control plane and lets none of them outlive the process that wanted them.

`python -m fairlead.plane.guard FOLDER` starts what is asked of it on standard input, one JSON line per program, and
tells on standard output, one JSON line each, which process a program became and with which code it ended.
When its standard input ends, which happens however the other side ends, it kills all of them and removes FOLDER.
So nothing depends on the other side getting a chance to clean up; killing this process itself is what it cannot help.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO

_speaking = threading.Lock()


def main(folder: Path, orders: TextIO) -> None:
    """Serves until `orders` ends; afterwards no program runs and FOLDER is gone."""
    leave = _Leave()
    signal.signal(signal.SIGTERM, leave)
    running: list[subprocess.Popen[bytes]] = []
    try:
        for line in orders:
            order = json.loads(line)
            with leave.put_off():
                process = _start(order["arguments"], Path(order["log"]))
                running.append(process)
            _announce(order["name"], process)
    finally:
        leave.wanted = False  # no second signal may cut this short
        # What they hold is thrown away, so there is nothing they would have to finish first.
        for process in reversed(running):
            process.kill()
        for process in running:
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


class _Leave:
    """SIGTERM ends the guard, but never between the start of a program and the note that it runs."""

    def __init__(self) -> None:
        self.wanted = True
        """Whether the signal is obeyed at all."""
        self._starting = False
        self._asked = False

    def __call__(self, _signal: int, _frame: object) -> None:
        self._asked = True
        if self.wanted and not self._starting:
            raise SystemExit(0)

    @contextmanager
    def put_off(self) -> Iterator[None]:
        self._starting = True
        try:
            yield
        finally:
            self._starting = False
        if self._asked:
            raise SystemExit(0)


def _start(arguments: list[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)


def _announce(name: str, process: subprocess.Popen[bytes]) -> None:
    _tell(name=name, pid=process.pid)
    # A signal that this thread took would not wake the one that waits for orders, and be heard of much later.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    try:
        threading.Thread(target=lambda: _tell(name=name, ended=process.wait()), daemon=True).start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _tell(**what: str | int) -> None:
    # Nobody may be listening any more; that is what this process is for.
    with _speaking, suppress(OSError):
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.stdin)
