"""How a simulated pod behaves: annotations on the pod, usually from its template, which may change while it lives.

`wanted` is the whole life of a pod on a node as a pure function: from its annotations and what is known of it to the
shape it should have now and the moment when that may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from msgspec import Struct

from kubeloop.durations import parse_go

PREFIX = "fairlead.dev/sim-"

READY_AFTER = f"{PREFIX}ready-after"
"""A duration: from the start of the containers until they are ready."""

GONE_AFTER = f"{PREFIX}gone-after"
"""A duration: from the deletion until the pod is gone."""

HOLD = f"{PREFIX}hold"
""""true": not ready, for as long as the annotation says so."""

PENDING = f"{PREFIX}pending"
""""true": never bound to a node."""

CRASH_AFTER = f"{PREFIX}crash-after"
"""A duration: the containers crash this long after each start, and stay down as long before they start again."""

CRASH_TIMES = f"{PREFIX}crash-times"
"""A count: after so many crashes the containers stay up. Without it they crash for ever."""

IMAGE_PULL = f"{PREFIX}image-pull"
""""fail": the containers do not start."""

HANG_TERMINATING = f"{PREFIX}hang-terminating"
""""true": a deleted pod does not go, for as long as the annotation says so."""

FLAP = f"{PREFIX}flap"
"""A duration: once ready the pod turns not ready and ready again, each for this long."""


HTTP = f"{PREFIX}http"
"""Answers to HTTP calls, as `kubelet.answers` has them."""

ERROR_SHARE = f"{PREFIX}error-share"
"""A number from 0 to 1: of the requests that a stand-in gateway sends it, those that it answers with an error."""

LATENCY = f"{PREFIX}latency"
"""A duration: how long it takes for the answer to such a request."""

_DURATIONS = (READY_AFTER, GONE_AFTER, CRASH_AFTER, FLAP, LATENCY)
_SWITCHES = (HOLD, PENDING, HANG_TERMINATING)
_OTHERS = (CRASH_TIMES, IMAGE_PULL, HTTP, ERROR_SHARE)


class Defaults(Struct, frozen=True):
    """Seconds that hold where a pod has no annotation, or one that is no duration."""

    ready_after: float = 1.0
    gone_after: float = 0.1


class Behaviour(Struct, frozen=True):
    """What the annotations of one pod say, in seconds."""

    ready_after: float
    gone_after: float
    hold: bool = False
    pending: bool = False
    crash_after: float | None = None
    crash_times: int | None = None
    image_fails: bool = False
    hangs: bool = False
    flap: float | None = None

    @property
    def is_plain(self) -> bool:
        """Whether a pod only becomes ready, and stays so until it is deleted."""
        asks = self.hold or self.pending or self.image_fails
        return not asks and self.crash_after is None and self.flap is None


class Shape(Enum):
    """What a status says of a pod on a node."""

    NEW = "new"
    IMAGE = "waiting for its image"
    RUNNING = "running, not ready"
    READY = "running and ready"
    CRASHED = "waiting after a crash"


class Run(Struct, frozen=True, gc=False):
    """What is known of a pod: its shape, since when, when its containers last started, and how often they crashed."""

    shape: Shape
    since: float
    started: float
    crashes: int = 0
    down: float = 0.0
    """Seconds that its containers stay down after a crash of their own; those that annotations ask for say their own.
    """


class Wish(Struct, frozen=True, gc=False):
    """The shape a pod should have, and when that may change by itself; None: only with the annotations."""

    shape: Shape
    until: float | None = None


def behaviour_of(annotations: Mapping[str, str], defaults: Defaults) -> Behaviour:
    """Never fails: what cannot be read counts as absent, and `complaints` says so."""
    ready_after = _seconds(annotations, READY_AFTER)
    gone_after = _seconds(annotations, GONE_AFTER)
    times = annotations.get(CRASH_TIMES, "")
    return Behaviour(
        ready_after=defaults.ready_after if ready_after is None else ready_after,
        gone_after=defaults.gone_after if gone_after is None else gone_after,
        hold=annotations.get(HOLD) == "true",
        pending=annotations.get(PENDING) == "true",
        crash_after=_seconds(annotations, CRASH_AFTER) or None,
        crash_times=int(times) if times.isascii() and times.isdigit() else None,
        image_fails=annotations.get(IMAGE_PULL) == "fail",
        hangs=annotations.get(HANG_TERMINATING) == "true",
        flap=_seconds(annotations, FLAP) or None,
    )


def complaints(annotations: Mapping[str, str]) -> list[str]:
    """What cannot be read of the annotations, but for answers to calls, and how to write it."""
    found = []
    for key, value in annotations.items():
        if not key.startswith(PREFIX):
            continue
        if key in _DURATIONS and _seconds(annotations, key) is None:
            found.append(_ignored(key, value, "a duration like 500ms or 1m30s"))
        elif key in _SWITCHES and value not in ("true", "false"):
            found.append(_ignored(key, value, "true or false"))
        elif key == CRASH_TIMES and not (value.isascii() and value.isdigit()):
            found.append(_ignored(key, value, "a whole number"))
        elif key == ERROR_SHARE and not _is_share(value):
            found.append(_ignored(key, value, "a number from 0 to 1"))
        elif key == IMAGE_PULL and value != "fail":
            found.append(_ignored(key, value, "fail"))
        elif key not in (*_DURATIONS, *_SWITCHES, *_OTHERS):
            known = ", ".join(sorted(each.removeprefix(PREFIX) for each in (*_DURATIONS, *_SWITCHES, *_OTHERS)))
            found.append(f"{key} is ignored: after {PREFIX} there may be {known}")
    return found


def _is_share(value: str) -> bool:
    try:
        return 0 <= float(value) <= 1
    except ValueError:
        return False


def _ignored(key: str, value: str, form: str) -> str:
    return f'{key} is ignored: "{value}" cannot be read. Write {form}'


def wanted(behaviour: Behaviour, run: Run, now: float) -> Wish:
    """The shape of a pod that is on a node and not being deleted."""
    if behaviour.image_fails and run.shape in (Shape.NEW, Shape.IMAGE):
        return Wish(Shape.IMAGE)
    if run.shape is Shape.IMAGE:
        return Wish(Shape.RUNNING)
    crash = _crash_after(behaviour, run)
    if run.shape is Shape.CRASHED:
        restart = run.since + (crash if crash is not None else run.down)
        return Wish(Shape.CRASHED, restart) if now < restart else Wish(Shape.RUNNING)
    if crash is None:
        return _up(behaviour, run, now)
    end = run.started + crash
    if now >= end:
        return Wish(Shape.CRASHED)
    up = _up(behaviour, run, now)
    return Wish(up.shape, end if up.until is None else min(end, up.until))


def turned(run: Run, shape: Shape, now: float) -> Run:
    """What is known of the pod once it has taken another shape."""
    if shape is Shape.CRASHED:
        return Run(shape, now, run.started, run.crashes + 1)
    starts = shape is Shape.RUNNING and run.shape in (Shape.IMAGE, Shape.CRASHED)
    # A new pod has been starting since it came to its node, not since its status first said so.
    since = run.started if run.shape is Shape.NEW else now
    return Run(shape, since, now if starts else run.started, run.crashes)


def _up(behaviour: Behaviour, run: Run, now: float) -> Wish:
    """The shape of a pod whose containers run."""
    if behaviour.hold:
        return Wish(Shape.RUNNING)
    ready = run.started + behaviour.ready_after
    if behaviour.flap is None:
        return Wish(Shape.RUNNING, ready) if now < ready else Wish(Shape.READY)
    if run.shape is Shape.READY:
        down = run.since + behaviour.flap
        return Wish(Shape.READY, down) if now < down else Wish(Shape.RUNNING)
    if run.since > run.started:  # it has been ready before
        ready = max(ready, run.since + behaviour.flap)
    return Wish(Shape.RUNNING, ready) if now < ready else Wish(Shape.READY)


def _crash_after(behaviour: Behaviour, run: Run) -> float | None:
    """Seconds of a run until it crashes, and of a crash until the next run; None when no crash is left."""
    # The last crash, too, is followed by its time of being down.
    past = run.crashes - (run.shape is Shape.CRASHED)
    spent = behaviour.crash_times is not None and past >= behaviour.crash_times
    return None if spent else behaviour.crash_after


def _seconds(annotations: Mapping[str, str], key: str) -> float | None:
    try:
        return max(parse_go(annotations[key]), 0.0)
    except (KeyError, ValueError):
        return None
