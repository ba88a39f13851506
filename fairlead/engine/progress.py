"""How far a run is, told while it goes on: for people on a terminal, in plain lines, or as a line of JSON each."""

from __future__ import annotations

import shutil
from typing import TextIO

import msgspec
from msgspec import Struct, structs

from kubeloop import clock

SECONDS_BETWEEN = 2.0
"""Between two lines at most, and on a terminal a quarter of it."""


class RunProgress(Struct, frozen=True, kw_only=True):
    """Where a run stands."""

    subject: str
    """What it is about: the name of a CRD."""
    phase: str
    done: int = 0
    skipped: int = 0
    failed: int = 0
    total: int | None = None
    """Of objects, about; None where nobody knows."""
    cursor: str = ""


class ProgressLine(Struct, frozen=True, rename={"eta_seconds": "etaSeconds"}):
    crd: str
    phase: str
    done: int
    skipped: int
    failed: int
    rate: float
    """Objects a second in this phase."""
    cursor: str
    total: int | msgspec.UnsetType = msgspec.UNSET
    eta_seconds: int | msgspec.UnsetType = msgspec.UNSET


class ProgressReporter:
    """Tells of a run on a stream: at every change of its phase, and every SECONDS_BETWEEN seconds at most."""

    def __init__(self, form: str, stream: TextIO) -> None:
        """`form` is `auto`, `plain`, `json` or `none`."""
        self._stream = stream
        self._form = form if form != "auto" else ("terminal" if stream.isatty() else "plain")
        self._every = SECONDS_BETWEEN / 4 if self._form == "terminal" else SECONDS_BETWEEN
        self._told: tuple[str, str] | None = None
        self._told_at = 0.0
        self._begun: tuple[float, int] = (0.0, 0)
        """When the phase began, and how many were done then."""
        self._is_open = False
        """Whether the line on the terminal may be written over."""

    def show(self, tally: RunProgress) -> None:
        """Told of every step, and whenever time has passed."""
        if self._form == "none":
            return
        now, place = clock.monotonic(), (tally.subject, tally.phase)
        if is_new := place != self._told:
            self._told, self._begun = place, (now, tally.done + tally.skipped + tally.failed)
        if not is_new and now - self._told_at < self._every:
            return
        self._told_at = now
        line = self._line(tally, now)
        if self._form == "json":
            self._print(msgspec.json.encode(line).decode() + "\n")
        elif self._form == "plain":
            self._print(f"{text_of(line)}\n")
        else:
            width = shutil.get_terminal_size().columns
            self._print(f"\r\x1b[K{text_of(line)[: width - 1]}")
            self._is_open = True

    def close(self) -> None:
        """Takes away the line that is written over and over: what comes next is the result."""
        if self._is_open:
            self._print("\r\x1b[K")
            self._is_open = False

    def _line(self, tally: RunProgress, now: float) -> ProgressLine:
        since, before = self._begun
        gone = tally.done + tally.skipped + tally.failed
        rate = round((gone - before) / (now - since), 1) if now > since and gone > before else 0.0
        line = ProgressLine(tally.subject, tally.phase, tally.done, tally.skipped, tally.failed, rate, tally.cursor)
        if tally.total is None:
            return line
        line = structs.replace(line, total=max(tally.total, gone))
        left = max(tally.total - gone, 0)
        return structs.replace(line, eta_seconds=round(left / rate)) if rate else line

    def _print(self, text: str) -> None:
        """What cannot be told is not worth the work: from then on nothing is."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._form = "none"


def text_of(line: ProgressLine) -> str:
    """`widgets.example.test: Rewrite 512 of 1200, 48.0/s, 14 s left (2 skipped, 1 failed)`."""
    parts = [f"{line.crd}: {line.phase}"]
    if gone := line.done + line.skipped + line.failed:
        parts[0] += f" {gone}" + (f" of {line.total}" if line.total is not msgspec.UNSET else "")
    if line.rate:
        parts.append(f"{line.rate:g}/s")
    if line.eta_seconds is not msgspec.UNSET and line.eta_seconds:
        parts.append(f"{line.eta_seconds} s left")
    beside = [f"{count} {word}" for count, word in ((line.skipped, "skipped"), (line.failed, "failed")) if count]
    return ", ".join(parts) + (f" ({', '.join(beside)})" if beside else "")
