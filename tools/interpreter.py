"""`python3 tools/interpreter.py`: the Python that `make setup` takes; prints its path, and says why on standard error.

A machine often has several, and one that was compiled with optimizations of the whole program, as distributions do,
takes a fifth less CPU than one that was not. How it was compiled does not always show in what it tells of itself, so
each does a little work, several times by turns, and its CPU is compared. The `python3` of the user's shell is taken
unless another is clearly faster, or it is too old, or lacks a module.

Whatever `python3` there is runs this, so it is written for Python 3.7.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

OLDEST, NEWEST = (3, 11), (3, 13)
"""Tests run with these; a newer one is taken only as the `python3` of the shell."""
CLEARLY = 0.9
"""Who takes at most so much of another's time is faster: times differ by a few percent from run to run."""
NEEDED = ("asyncio", "bz2", "ctypes", "lzma", "sqlite3", "ssl", "zlib")
"""Modules that are left out where a library was missing when Python was compiled, and that we or our tools import."""
PLACES = ("/usr/bin/python3", "/usr/local/bin/python3", "/opt/homebrew/bin/python3")
WAIT_SECONDS = 30
TURNS = 7
"""How often each is asked how long it takes, a tenth of a second or two each time."""

PROBE = """
import importlib, json, os, sys, time
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
missing = []
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError:
        missing.append(name)

class Item:
    def __init__(self, number):
        self.number = number
    def text(self, before):
        return before + str(self.number)

def work():
    found = {}
    for number in range(4000):
        item = Item(number)
        found[item.text("item-")] = [each for each in (number, number % 7, None) if each]
    return sorted(found, key=len)

def spent():
    begun = time.process_time()
    work()
    return time.process_time() - begun

seconds = 0.0 if missing or sys.version_info < (3, 11) else min(spent() for _ in range(25))
print(json.dumps([sys.executable, list(sys.version_info[:3]), missing, seconds]))
"""


class Found(NamedTuple):
    """A Python of this machine."""

    path: str
    version: tuple[int, ...]
    missing: tuple[str, ...] = ()
    seconds: float = 0.0
    """Of CPU, for a little work; where several are compared, of what the first took."""

    @property
    def name(self) -> str:
        return f"{self.path} ({'.'.join(map(str, self.version))})"

    @property
    def lack(self) -> str:
        """Why it cannot be taken; empty: it can."""
        if self.version[:2] < OLDEST:
            return "is too old"
        return f"lacks {', '.join(self.missing)}" if self.missing else ""


def choose(shells: Found | None, others: Iterable[Found]) -> tuple[Found | None, str]:
    """Which to take, and why; `shells` is the `python3` of the user's shell. None: no Python will do."""
    sound = [each for each in others if not each.lack and each.version[:2] <= NEWEST]
    best = shells if shells is not None and not shells.lack else None
    for each in sound:
        best = each if best is None or each.seconds <= CLEARLY * best.seconds else best
    if best is None:
        return None, ""
    if shells is None or shells.lack:
        return best, f"{shells.name} {shells.lack}" if shells else "the shell has no python3"
    if best is not shells:
        return best, f"takes {100 * best.seconds / shells.seconds:.0f} % of the CPU of {shells.name}"
    return best, "no other is clearly faster" if sound else "there is no other"


def candidates() -> list[str]:
    """Files that may be another Python; of links what they lead to."""
    names = ["python3", *(f"python{OLDEST[0]}.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1))]
    on_path = [str(Path(folder, name)) for folder in os.get_exec_path() for name in names]
    return list(dict.fromkeys(map(_file, filter(_is_program, (*on_path, *PLACES)))))


def _is_program(path: str) -> bool:
    return os.access(path, os.X_OK)


def _file(path: str) -> str:
    return str(Path(path).resolve())


def ask(command: str) -> Found | None:
    """What a Python tells of itself; None: it is none, or does not run, as a name that a version manager keeps."""
    try:
        said = subprocess.check_output([command, "-c", PROBE, *NEEDED], stderr=subprocess.DEVNULL, timeout=WAIT_SECONDS)
        path, version, missing, seconds = json.loads(said)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None
    return Found(path, tuple(version), tuple(missing), seconds)


def known() -> tuple[Found | None, list[Found]]:
    """The `python3` of the shell, and all others, each once."""
    command = shutil.which("python3")
    shells = ask(command) if command else None
    seen = {_file(shells.path)} if shells else set()
    others: list[Found] = []
    for path in candidates():
        found = ask(path) if path not in seen else None
        if found is not None and _file(found.path) not in seen:
            seen.add(_file(found.path))
            others.append(found)
    measured = compared([shells, *others] if shells else others)
    return (measured[0], measured[1:]) if shells else (None, measured)


def compared(found: Sequence[Found]) -> list[Found]:
    """Each with how long it takes beside the first, by turns.

    Other work on the machine, or beside it, makes a second of one of its cores twice as long as the next. So all are
    asked one right after the other, on the same core, and of what each took of the first's time the median counts.
    """
    parts: list[list[float]] = [[] for _ in found]
    for _ in range(TURNS):
        again = [None if each.lack else ask(each.path) for each in found]
        first = next((each for each in again if each is not None), None)
        for number, each in enumerate(again):
            if first is not None and each is not None:
                parts[number].append(each.seconds / first.seconds)
    return [
        each._replace(seconds=median(parts[number])) if parts[number] else each for number, each in enumerate(found)
    ]


def main() -> int:
    shells, others = known()
    best, why = choose(shells, others)
    if best is None:
        for each in (shells, *others):
            if each is not None:
                print(f"  {each.name} {each.lack or 'is newer than all that tests ran with'}", file=sys.stderr)
        return 1
    print(f"  Python: {best.name}; {why}", file=sys.stderr)
    print(best.path)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
