"""A folder and programs that cannot outlive this process: our side of the guard.

The guard's standard input is a pipe whose other end only we hold; it ends when we do, whatever ends us.
A folder in use carries a lock that we and the guard share, so that a folder left behind when both were killed at once
(a container's end) can be told apart and removed by the next one.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import IO, cast

PREFIX = "fairlead-plane-"
_ROOM = 1 << 30


class GuardEnded(Exception):
    """Somebody ended the guard; its programs may still run."""


class Held:
    """Programs started with `run` and the folder for their files, until `close`."""

    def __init__(self) -> None:
        parent = _parent()
        sweep(parent)
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
        self.pids: dict[str, int] = {}
        """Processes by program, as far as `ended` has heard of them; the guard's own among them."""
        self._heard = b""
        try:
            lock = _lock(self.folder)
            try:
                self._guard = _start_guard(self.folder, lock)
            finally:
                os.close(lock)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.pids["guard"] = self._guard.pid
        self._orders = cast("IO[bytes]", self._guard.stdin)
        self._news = cast("IO[bytes]", self._guard.stdout)
        os.set_blocking(self._news.fileno(), False)

    def run(self, name: str, arguments: list[str]) -> None:
        order = {"name": name, "arguments": arguments, "log": str(self._log(name))}
        try:
            self._orders.write(json.dumps(order).encode() + b"\n")
            self._orders.flush()
        except BrokenPipeError as error:
            raise GuardEnded from error

    def ended(self) -> tuple[tuple[str, int], ...]:
        """Programs that ended since the last call, with their exit codes; does not wait."""
        self._listen()
        *lines, self._heard = self._heard.split(b"\n")
        news = [json.loads(line) for line in lines]
        self.pids.update({one["name"]: one["pid"] for one in news if "pid" in one})
        return tuple((one["name"], one["ended"]) for one in news if "ended" in one)

    def last_words(self, name: str, lines: int = 15) -> str:
        """The end of a program's log."""
        try:
            return "\n".join(self._log(name).read_text(errors="replace").splitlines()[-lines:])
        except FileNotFoundError:
            return ""

    def close(self) -> None:
        """Afterwards no program runs and the folder is gone."""
        with suppress(BrokenPipeError):
            self._orders.close()
        self._guard.wait()
        self._news.close()

    def _listen(self) -> None:
        while True:
            try:
                said = os.read(self._news.fileno(), 65536)
            except BlockingIOError:
                return
            if not said:
                raise GuardEnded
            self._heard += said

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


def sweep(parent: Path) -> None:
    """Removes the folders in `parent` that nobody holds any more."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            with (folder / "held").open() as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # held, about to be held, gone by now, or another user's
            continue


def _lock(folder: Path) -> int:
    """The folder is in use while the descriptor is open, here or in a process that inherited it."""
    descriptor = os.open(folder / "taking", os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    (folder / "taking").rename(folder / "held")  # nobody ever sees it unlocked
    return descriptor


def _start_guard(folder: Path, lock: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "fairlead.plane.guard", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the one who started us
        pass_fds=(lock,),
    )


def _parent() -> Path:
    memory = Path("/dev/shm")  # noqa: S108  the folder in it is made by mkdtemp
    if os.access(memory, os.W_OK | os.X_OK) and shutil.disk_usage(memory).free > _ROOM:
        return memory
    return Path(tempfile.gettempdir())
