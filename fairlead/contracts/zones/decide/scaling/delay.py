"""Section 3.8: a mirrored zone shrinks only some time after each pod that is to go was told.

Nothing is remembered here: pods answer each POST with the time of the first, so a restart loses none. What is decided
rests on answers of the same round alone (S12). The webhook prepare-downscale judges the change in the end (rule 34).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import TypeAlias
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Struct

from fairlead.contracts.zones.decide.addresses import pod_host, unaddressable
from fairlead.contracts.zones.decide.groups import Zone
from fairlead.contracts.zones.decide.rollout.max_unavailable import shown
from fairlead.contracts.zones.decide.scaling.scale_target import after, aside
from fairlead.contracts.zones.kinds import DELAY, DELAY_URL
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Http
from fairlead.core.decision import SideNote
from fairlead.core.ordinals import ordinal_of
from fairlead.core.reason import Reason
from fairlead.core.times import format_rfc3339
from kubeloop.durations import prometheus_nanoseconds
from kubeloop.unreadable import UNREADABLE
from kubeloop.urls import shown_url

MOST_PODS = 10_000
"""Of a zone whose pods are called; the number is a user's, and two thousand million are allowed."""
MOST_NAMED = 3
"""Pods whose failed calls are told in words."""
CANCEL_AGE = 5.0
"""Seconds for which a cancelled pod stays so, or the interval between passes where that is longer."""
NO_REPLY_MAX_AGE_SECONDS = 60.0
"""Seconds for which a pod that did not answer is not cancelled again: passes wait for these calls, and rollouts for
passes."""
SILENT_SECONDS = 20.0
"""The same of a pod that is to go, for whose answer a downscale waits as well. Silence only ever refuses one."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LARGEST = 2**63
"""Beyond it a number is no integer to the programs that share this contract."""

_NOT_IN_A_URL = re.compile(r"[\x00-\x20\x7f]")
_NOT_AN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Delay(Struct, frozen=True):
    nanoseconds: int
    text: str
    url: SplitResult


class UnusableDelay(Struct, frozen=True):
    """D1: annotations that say neither how long nor whom to call."""

    problem: str


class Calls(Struct, frozen=True):
    """To pods that stay, lowest ordinal first, and then to pods that are to go."""

    cancel: tuple[Ask, ...] = ()
    prepare: tuple[Ask, ...] = ()


class Granted(Struct, frozen=True):
    replicas: int


class DownscaleRefused(Struct, frozen=True):
    aside: SideNote


Ruling: TypeAlias = Granted | DownscaleRefused

NO_CALLS = Calls()


class _Prepared(Struct, frozen=True):
    timestamp: int = 0


def delay_of(zone: Zone) -> Delay | UnusableDelay | None:
    """None is D0: nothing is delayed."""
    annotations = zone.statefulset.metadata.annotations
    text, address = annotations.get(DELAY, ""), annotations.get(DELAY_URL, "")
    if not text or not address:
        return None
    try:
        nanoseconds = prometheus_nanoseconds(text)
    except ValueError as error:
        return UnusableDelay(f"{DELAY}: {error}")
    if nanoseconds == 0:
        return None
    url = parsed(address)
    if url is None:
        # Where a password ends is not to be told in what is no URL.
        what = "its value" if "@" in address else shown(address)
        return UnusableDelay(f"{DELAY_URL}: {what} is not a URL like http://pod:8080/path")
    return Delay(nanoseconds, text, url)


def parsed(text: str) -> SplitResult | None:
    """An absolute http or https URL with a host; None for anything else."""
    try:
        url = urlsplit(text)
        url.port  # noqa: B018  (raises for what is no port)
    except ValueError:
        return None
    if url.scheme not in ("http", "https") or not url.hostname:
        return None
    return None if _NOT_IN_A_URL.search(text) or _NOT_AN_ESCAPE.search(url.path) else url


def at_host(url: SplitResult, host: str) -> str:
    """Section 2.10: the URL with nothing but its host replaced (B-5)."""
    user, at, place = url.netloc.rpartition("@")
    port = place[place.rindex("]") + 1 :] if "]" in place else "".join(place.partition(":")[1:])
    return url._replace(netloc=f"{user}{at}{host}{port}", fragment="").geturl()


def calls_of(zone: Zone, wanted: int, settings: Settings) -> Calls:
    """Whom to call before the zone may go to so many replicas, or stay at them (rules 29, 32 and 33)."""
    delay, have = delay_of(zone), zone.statefulset.spec.replicas
    if not isinstance(delay, Delay) or unaddressable(zone.statefulset) or have > MOST_PODS:
        return NO_CALLS
    # At rest every pass cancels; a change of direction must reach pods that were prepared a moment ago.
    max_age = 0.0 if wanted > have else max(settings.reconcile_interval or 0.0, CANCEL_AGE)
    uids = uids_of(zone)

    def call(method: str, ordinal: int, max_age: float) -> Ask:
        url = at_host(delay.url, pod_host(zone.statefulset, ordinal, settings))
        http = Http(method, url, uids.get(ordinal, ""))
        # A zone that is to grow waits for its cancellations.
        silent = SILENT_SECONDS if method == "POST" else NO_REPLY_MAX_AGE_SECONDS if max_age else 0.0
        return Ask(http, True, settings.pods_timeout, max_age, silent)

    kept = min(wanted, have)
    return Calls(
        tuple(call("DELETE", ordinal, max_age) for ordinal in ordinals(zone, 0, kept)),
        tuple(call("POST", ordinal, 0.0) for ordinal in ordinals(zone, kept, have)),
    )


def ordinals(zone: Zone, first: int, end: int) -> range:
    """H-5: counted from where the zone's pods begin."""
    start = zone.statefulset.spec.ordinals.start
    return range(start + first, start + end)


def uids_of(zone: Zone) -> dict[int, str]:
    found = ((ordinal_of(pod.metadata.name, zone.name), pod.metadata.uid) for pod in zone.pods)
    return {ordinal: uid for ordinal, uid in found if ordinal is not None}


def ruling(zone: Zone, wanted: int, calls: Calls, answers: Answers, now: datetime) -> Ruling:
    """D0 to D6 with B-6: how far the zone may go towards this number of replicas, which it does not have.

    Of 5 replicas and 1 wanted after 1h, with pods 4, 3, 2, 1 prepared 70, 75, 30 and 75 minutes ago: 4 and 3 may go
    and 2 may not, so it gets 3; that pod 1 is old enough does not help before pod 2 is.
    """
    delay, have = delay_of(zone), zone.statefulset.spec.replicas
    if isinstance(delay, UnusableDelay):
        return DownscaleRefused(aside(zone, Reason.DELAY_INVALID, delay.problem, instead_of=wanted))
    if delay is None or wanted > have:
        return Granted(wanted)
    if not zone.statefulset.spec.service_name:
        detail = "without spec.serviceName its pods have no DNS name"
        return DownscaleRefused(aside(zone, Reason.PREPARE_FAILED, detail, instead_of=wanted))
    if problem := unaddressable(zone.statefulset):
        return DownscaleRefused(aside(zone, Reason.DELAY_INVALID, problem, instead_of=wanted))
    if have > MOST_PODS:
        detail = f"a delayed downscale calls at most {MOST_PODS} pods"
        return DownscaleRefused(aside(zone, Reason.TOO_MANY_PODS, detail, instead_of=wanted))
    if refused := unprepared(zone, wanted, calls, answers):
        return DownscaleRefused(refused)
    timestamps = [timestamp_of(answers[ask]) for ask in reversed(calls.prepare)]
    ripe = takewhile(lambda timestamp: elapsed(timestamp, delay.nanoseconds, now), timestamps)
    gone = sum(1 for _ in ripe)
    return Granted(have - gone) if gone else DownscaleRefused(not_elapsed(zone, wanted, timestamps[0], delay))


def unprepared(zone: Zone, wanted: int, calls: Calls, answers: Answers) -> SideNote | None:
    """D4: why the pods that are to go do not all count as prepared."""
    bad = [(ask, problem) for ask in calls.prepare if (problem := problem_of(answers[ask]))]
    if not bad:
        return None
    if any(isinstance(answer := answers[ask], Bad) and answer.kind == "not-sent" for ask, _ in bad):
        detail = (
            f"the operator asks {len(calls.prepare)} pods when they were prepared, with POST to {url_of(bad[0][0])}"
        )
        return aside(zone, Reason.NEEDS_ANSWER, detail, instead_of=wanted)
    return aside(zone, Reason.PREPARE_FAILED, listed(bad), instead_of=wanted)


def problem_of(answer: Answer) -> str:
    if isinstance(answer, Bad):
        return answer.text or answer.kind
    return "" if timestamp_of(answer) else "its answer has no timestamp, which must be a whole number of seconds"


def timestamp_of(answer: Answer) -> int:
    """Unix seconds; 0 for an answer that gives none."""
    if not isinstance(answer, Good):
        return 0
    try:
        timestamp = msgspec.json.decode(answer.value, type=_Prepared).timestamp
    except UNREADABLE:
        return 0
    return timestamp if -LARGEST <= timestamp < LARGEST else 0


def elapsed(timestamp: int, nanoseconds: int, now: datetime) -> bool:
    """Whether so much time has passed; never for a moment ahead of us (E-19). In whole numbers, whatever their size."""
    passed = (now - EPOCH) // timedelta(microseconds=1) * 1000 - timestamp * 1_000_000_000
    return passed >= nanoseconds


def not_elapsed(zone: Zone, wanted: int, timestamp: int, delay: Delay) -> SideNote:
    """D5: until when the last pod, which goes first, is waited for."""
    last = ordinals(zone, 0, zone.statefulset.spec.replicas)[-1]
    until = after(EPOCH, timestamp * 1_000_000_000 + delay.nanoseconds)
    when = format_rfc3339(until) if until is not None else "a time that no calendar has"
    detail = f"{zone.name}-{last} must have been prepared for {delay.text}, until {when}"
    return aside(zone, Reason.DELAY_NOT_ELAPSED, detail, instead_of=wanted, until=until)


def listed(calls: Sequence[tuple[Ask, str]]) -> str:
    """The first calls with what became of them, the rest counted."""
    each = [f"POST to {url_of(ask)}: {text}" for ask, text in calls]
    more = f"; and {len(each) - MOST_NAMED} more" if len(each) > MOST_NAMED else ""
    return "; ".join(each[:MOST_NAMED]) + more


def url_of(ask: Ask) -> str:
    return shown_url(ask.to.url) if isinstance(ask.to, Http) else ""
