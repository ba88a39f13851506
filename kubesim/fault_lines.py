"""The language of faults: one line says which calls it means, when, and what becomes of them.

    CALLS: FAULT        CALLS is VERB [RESOURCE [NAMESPACE/NAME]] [#N or #N-M] [P%] [MOMENT]

The verb is one of role rules (get list watch create update patch delete deletecollection), a method (get post put),
`write` or `any`. A resource is a plural, alone or with its group (`leases.coordination.k8s.io`); without a subresource
it is that alone, `pods/*` has all of its subresources, `*` is everything. Namespace and name may have `*` in them.

`#3` is the third call that the line means, `#2-4` the second to the fourth, without a number every one; of those, `5%`
are struck, which ones is up to the seed. A moment is `after 30s`, a span is `30s-60s`, and `at 30s` is once: the first
call from then on. Calls outside of the moment do not count. Times are Go's (`500ms`, `1m30s`).

A fault that bends a watch (freeze, lag, end, break, and 410 with a moment) happens to watches that are open at that
moment as well as to those that are opened then; they are counted as they are opened.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from hashlib import blake2b
from typing import Literal, get_args

import msgspec
from msgspec import Struct

from kubeloop.clock import chance, monotonic
from kubeloop.durations import parse_go
from kubeloop.request import Request, name_in, place_of

Kind = Literal[
    "status", "lost-answer", "unanswered", "drop", "timeout", "delay", "duplicate", "freeze", "lag", "end", "break"
]  # fmt: skip
KINDS: tuple[str, ...] = get_args(Kind)
FOR_WATCHES = ("freeze", "lag", "end", "break")
NEED_SECONDS = ("delay", "lag")
TAKE_SECONDS = ("status", "delay", *FOR_WATCHES)
VERBS = (
    "any", "write", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "post", "put"
)  # fmt: skip
EXAMPLE = "delete pods #3: lost-answer"
RESOURCE = re.compile(r"[a-z*][a-z0-9.*/-]*")
NUMBERS = re.compile(r"#(\d+)(?:-(\d+))?")
SHARE = re.compile(r"(\d+(?:\.\d+)?)%")
SPAN = re.compile(r"(\d[\da-z.]*)-(\d[\da-z.]*)")


class Fault(Struct, frozen=True):
    kind: Kind
    seconds: float = 0.0
    status: int = 0
    since: float = 0.0
    until: float = math.inf
    """From when to when an open watch is bent, by the loop's clock."""

    @property
    def bends(self) -> bool:
        """Whether it happens to an open watch, not to a call."""
        return self.kind in FOR_WATCHES or (self.status == 410 and (self.since, self.until) != (0.0, math.inf))


Hook = Callable[[Request, int], Fault | tuple[Fault, ...] | None]
"""The fault of a request, given how many were sent up to it (the first is 1); of several the first counts, and all of
those that bend a watch."""


class Moment(Struct, frozen=True):
    """Seconds from the beginning."""

    since: float = 0.0
    until: float = math.inf
    once: bool = False

    @property
    def is_always(self) -> bool:
        return self == Moment()


class Calls:
    """The calls that one half of a line means, and how many of them there were."""

    def __init__(self, text: str, *, seed: str = "") -> None:
        """Raises ValueError with a sentence that begins after the line."""
        self.verb, *words = text.split() or [""]
        if self.verb not in VERBS:
            raise ValueError(f"begins with no verb of {', '.join(VERBS)}")
        resource = words.pop(0) if words and RESOURCE.fullmatch(words[0]) and words[0] not in ("at", "after") else "*"
        whole, _, self.subresource = resource.partition("/")
        self.plural, _, self.group = whole.partition(".")
        self.namespace = self.name = "*"
        self.first, self.last = 1, 0
        self.share = 1.0
        self.moment = Moment()
        self.matched = 0
        while words:
            self._take(words.pop(0), words)
        self._chance = chance(int.from_bytes(blake2b(seed.encode(), digest_size=8).digest()))

    def _take(self, word: str, rest: list[str]) -> None:
        if found := NUMBERS.fullmatch(word):
            self.first, self.last = int(found[1]), int(found[2] or found[1])
            if not 1 <= self.first <= self.last:
                raise ValueError(f"counts wrongly with {word}: calls are counted from #1, as in #2-4")
        elif found := SHARE.fullmatch(word):
            self.share = float(found[1]) / 100
            if not 0 < self.share <= 1:
                raise ValueError(f"means {word} of the calls: write more than 0% and at most 100%")
        elif found := SPAN.fullmatch(word):
            self.moment = Moment(seconds_of(found[1]), seconds_of(found[2]))
            if self.moment.since >= self.moment.until:
                raise ValueError(f"ends before it begins: write the earlier time of {word} first")
        elif word in ("at", "after") and rest:
            self.moment = Moment(seconds_of(rest.pop(0)), once=word == "at")
        elif "/" in word and not word.startswith("#"):
            self.namespace, _, self.name = word.partition("/")
        else:
            raise ValueError(f"is not a fault, {word!r} means nothing there: write it like {EXAMPLE!r}")

    def meet(self, request: Request, at: float = 0.0, *, bends: bool = False) -> bool:
        """Counts the call if it is one of those, and says whether it is struck; `at` is seconds from the beginning."""
        if not (self._mean_moment(at, bends) and self._mean_verb(request) and self._mean_object(request)):
            return False
        self.matched += 1
        # Of calls that of one moment is the first; of open watches all are there then.
        last = self.last or (1 if self.moment.once and not bends else self.matched)
        if not self.first <= self.matched <= last:
            return False
        return self.share == 1 or self._chance.random() < self.share

    def _mean_moment(self, at: float, bends: bool) -> bool:
        if bends:  # One that is opened earlier is bent when the time comes.
            return at < (self.moment.since if self.moment.once else self.moment.until)
        return self.moment.since <= at < self.moment.until

    def _mean_verb(self, request: Request) -> bool:
        if self.verb == "any":
            return True
        if self.verb == "write":
            return request.method != "GET"
        method = request.method.lower()
        return self.verb == request.verb or (request.verb != "watch" and self.verb == method)

    def _mean_object(self, request: Request) -> bool:
        place = place_of(request.path)
        if self.plural != "*" or self.subresource:
            wanted = self.subresource
            if self.plural not in ("*", place.plural) or self.group not in ("", place.group):
                return False
            if wanted != place.subresource and not (wanted == "*" and place.subresource):
                return False
        if self.namespace != "*" and not fnmatchcase(place.namespace, self.namespace):
            return False
        return self.name == "*" or fnmatchcase(place.name or name_in(request.body), self.name)


class FaultRule:
    """One line of a plan."""

    def __init__(self, line: str, *, seed: int = 0) -> None:
        self.line = line.strip()
        calls, colon, what = self.line.rpartition(":")
        try:
            if not colon or not what.strip():
                raise ValueError(f"is not a fault: write it like {EXAMPLE!r}")
            self.calls = Calls(calls, seed=f"{seed} {self.line}")
            self.fault = self._fitting(_fault(what.split()))
        except ValueError as error:
            raise ValueError(f"{self.line!r} {error}") from None

    def _fitting(self, fault: Fault) -> Fault:
        """The fault with its moment, if it makes sense for these calls."""
        moment, watched = self.calls.moment, self.calls.verb == "watch"
        if fault.kind in FOR_WATCHES and not watched:
            raise ValueError(f"does not begin with watch, and {fault.kind} is for watches only")
        if fault.kind == "freeze" and bool(fault.seconds) == (not moment.is_always):
            raise ValueError("needs a time or a span: 'watch pods: freeze 5s' or 'watch pods 30s-60s: freeze'")
        if fault.kind in ("freeze", "lag") and moment.once:
            raise ValueError(f"has one moment, and {fault.kind} needs a span: 'watch pods 30s-60s: {fault.kind} ...'")
        if not watched or moment.is_always or not (fault.kind in FOR_WATCHES or fault.status == 410):
            return fault
        until = moment.since if moment.once else moment.until
        return msgspec.structs.replace(fault, since=moment.since, until=until)

    def struck(self, request: Request, at: float = 0.0) -> Fault | None:
        """The fault, when the request is one of those that the line means, `at` seconds from the beginning."""
        return self.fault if self.calls.meet(request, at, bends=self.fault.bends) else None


class Plan:
    """Lines that are tried in order; times count from `start`, or else from the first call.

    `tell` hears of each line that strikes, with the request.
    """

    def __init__(self, rules: Iterable[FaultRule], tell: Callable[[str, Request], None] | None = None) -> None:
        self._rules = tuple(rules)
        self._tell = tell
        self._began: float | None = None

    def start(self, began: float) -> None:
        """Lets the times of the lines count from that moment of the loop's clock."""
        self._began = began

    def __call__(self, request: Request, _number: int) -> tuple[Fault, ...]:
        if not self._rules:
            return ()
        if self._began is None:
            self._began = monotonic()
        at = monotonic() - self._began
        # Every line counts, also behind one that strikes.
        struck = [(rule, fault) for rule in self._rules if (fault := rule.struck(request, at)) is not None]
        first = next((fault for _, fault in struck if not fault.bends), None)
        found = []
        for rule, fault in struck:
            if fault.bends or fault is first:
                found.append(self._timed(fault))
                if self._tell is not None:
                    self._tell(rule.line, request)
        return tuple(found)

    def _timed(self, fault: Fault) -> Fault:
        """The fault with its moment by the loop's clock."""
        if not fault.bends or (fault.since, fault.until) == (0.0, math.inf):
            return fault
        began = self._began or 0.0
        return msgspec.structs.replace(fault, since=began + fault.since, until=began + fault.until)


def planned(lines: str | Iterable[str], *, seed: int = 0) -> Plan:
    """The plan of a text or of lines; empty ones are nothing."""
    given = lines.splitlines() if isinstance(lines, str) else lines
    return Plan(FaultRule(line, seed=seed) for line in given if line.strip())


def seconds_of(text: str) -> float:
    """Seconds of a time that is not negative."""
    try:
        seconds = parse_go(text)
    except ValueError as error:
        raise ValueError(f"has a wrong time, {error}") from None
    if seconds < 0:
        raise ValueError(f"has a time before the beginning: write {text.lstrip('-')}")
    return seconds


def _fault(words: list[str]) -> Fault:
    what, *rest = words
    kind = "status" if what.isdigit() else what
    if kind not in KINDS or what == "status":
        raise ValueError(f"names no fault of {', '.join(KINDS[1:])} or a status")
    if len(rest) > 1:
        raise ValueError(f"is not a fault, {rest[1]!r} means nothing there: write it like {EXAMPLE!r}")
    if rest and kind not in TAKE_SECONDS:
        raise ValueError(f"has a time that {what} does not take: leave out {rest[0]}")
    seconds = seconds_of(rest[0]) if rest else 0.0
    if kind in NEED_SECONDS and not seconds:
        raise ValueError(f"needs a time: '{what} 2s'")
    if kind == "status" and not 400 <= int(what) <= 599:
        raise ValueError(f"answers with {what}: write a status of a failure, from 400 to 599")
    return Fault(msgspec.convert(kind, Kind), seconds, int(what) if kind == "status" else 0)
