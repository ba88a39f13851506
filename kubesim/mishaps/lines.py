"""The language of mishaps: what becomes of programs, of the clock and of the cluster, beside the faults of calls.

    operators: 2                       so many at once; otherwise there is one
    operator: crash at 30s             killed; all of them at once
    operator 2: crash at 30s           the second alone
    operator: crash at delete pods #3  killed when that is carried out, before its answer comes
    operator: crash before write #3    killed before that is sent
    operator: restart after 5s         how long it takes until one that ended is started again; `restart never`
    operator 2 watch pods 30s-60s: freeze   a fault of `kubesim.faults` for one of them
    clock: jump 2h at 10s              the time of day is set forward; `-2h` sets it back
    cluster: disconnect at 30s         all watches end
    cluster: compact at 30s            all watches end, and cannot be resumed
    delete pods #3: lost-answer        a fault of `kubesim.faults`, for all of them together

Times count from the beginning of a play. Calls at which an operator crashes are counted over all of its lives.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from kubeloop.durations import parse_go
from kubesim.fault_lines import Calls, FaultRule, seconds_of

RESTART_AFTER = 5.0
"""Seconds, about what a Deployment takes to replace a pod that is there already."""
MOST_OPERATORS = 100
CLUSTER = ("compact", "disconnect")
BEFALLS = "'crash at 30s', 'crash at delete pods #3', 'crash before write #3', 'restart after 5s' or 'restart never'"
_DURATION = re.compile(r"-?\d[\da-z.]*")


class Crash(Struct, frozen=True):
    """The end of an operator at a moment, or at a call."""

    line: str
    operator: int | None
    at: float | None = None
    calls: str = ""
    before: bool = False


class Jump(Struct, frozen=True):
    """The time of day is set."""

    line: str
    seconds: float
    at: float


class Upset(Struct, frozen=True):
    """Something that the cluster does to all."""

    line: str
    what: str
    at: float


class Script(Struct):
    """What a list of lines asks for; where an operator's number is None, all are meant."""

    operators: int = 1
    crashes: list[Crash] = []
    restarts: dict[int | None, float | None] = {}
    """Seconds until an operator is started again, None for never."""
    jumps: list[Jump] = []
    upsets: list[Upset] = []
    faults: list[tuple[int | None, FaultRule]] = []

    def restart_of(self, operator: int) -> float | None:
        """Seconds until it is started again; None when it is not."""
        return self.restarts.get(operator, self.restarts.get(None, RESTART_AFTER))

    def faults_of(self, operator: int) -> list[FaultRule]:
        return [rule for number, rule in self.faults if number in (None, operator)]

    def crashes_of(self, operator: int) -> list[Crash]:
        return [crash for crash in self.crashes if crash.operator in (None, operator)]


def read(lines: str | Iterable[str], *, seed: int = 0) -> Script:
    """The script of a text or of lines; raises ValueError with a sentence that says what would be right."""
    script = Script()
    given = lines.splitlines() if isinstance(lines, str) else lines
    for line in (each.strip() for each in given):
        if line:
            try:
                _take(script, line, seed)
            except _Wrong as wrong:
                raise ValueError(f"{line!r} {wrong}") from None
    meant: Sequence[int | None] = (
        *(crash.operator for crash in script.crashes),
        *script.restarts,
        *(number for number, _ in script.faults),
    )
    for number in meant:
        if number is not None and not 1 <= number <= script.operators:
            raise ValueError(f"operator {number} does not exist: add the line 'operators: {number}'")
    return script


class _Wrong(Exception):
    """The rest of a sentence that begins with the line."""


def _take(script: Script, line: str, seed: int) -> None:
    left, _, right = line.rpartition(":")
    words, what = left.split(), right.split()
    match words:
        case ["operators"]:
            script.operators = _count(what)
        case ["operator"]:
            _take_operator(script, line, None, what)
        case ["operator", number] if number.isdigit():
            _take_operator(script, line, int(number), what)
        case ["operator", number, *calls] if number.isdigit():
            script.faults.append((int(number), FaultRule(f"{' '.join(calls)}:{right}", seed=seed)))
        case ["clock"]:
            script.jumps.append(_jump(line, what))
        case ["cluster"]:
            script.upsets.append(_upset(line, what))
        case ["operators" | "operator" | "clock" | "cluster", *_]:
            raise _Wrong("is not understood: write it like 'operator 2: crash at 30s' or 'operator 2 watch pods: 410'")
        case _:
            script.faults.append((None, FaultRule(line, seed=seed)))


def _count(what: list[str]) -> int:
    match what:
        case [number] if number.isdigit() and 1 <= int(number) <= MOST_OPERATORS:
            return int(number)
    raise _Wrong(f"needs a number from 1 to {MOST_OPERATORS}: 'operators: 2'")


def _take_operator(script: Script, line: str, number: int | None, what: list[str]) -> None:
    match what:
        case ["crash", "at", moment] if _DURATION.fullmatch(moment):
            script.crashes.append(Crash(line, number, at=_seconds(moment)))
        case ["crash", "at" | "before" as word, *calls] if calls:
            text = " ".join(calls)
            _check_calls(text)
            script.crashes.append(Crash(line, number, calls=text, before=word == "before"))
        case ["restart", "never"]:
            script.restarts[number] = None
        case ["restart", "after", moment]:
            script.restarts[number] = _seconds(moment)
        case _:
            raise _Wrong(f"says nothing that befalls an operator: {BEFALLS}")


def _check_calls(text: str) -> None:
    try:
        Calls(text)
    except ValueError as error:
        raise _Wrong(f"crashes at no call: {text!r} {error}") from None


def _jump(line: str, what: list[str]) -> Jump:
    match what:
        case ["jump", by, "at", moment]:
            try:
                return Jump(line, parse_go(by), _seconds(moment))
            except ValueError as error:
                raise _Wrong(f"has a wrong time, {error}") from None
    raise _Wrong("says nothing that befalls a clock: 'clock: jump 2h at 10s' or 'clock: jump -2h at 10s'")


def _upset(line: str, what: list[str]) -> Upset:
    match what:
        case [word, "at", moment] if word in CLUSTER:
            return Upset(line, word, _seconds(moment))
    raise _Wrong("says nothing that befalls a cluster: 'cluster: disconnect at 30s' or 'cluster: compact at 30s'")


def _seconds(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise _Wrong(str(error)) from None
