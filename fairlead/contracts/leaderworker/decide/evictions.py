"""The review of evictions (section 6.8): pods of at most so many groups are away at once, and of those all may go.

An eviction that no budget is for costs no call: the cache tells. For others the set, its pods and the record of what
was let go are read live and together. Instead of a lock the record is swapped before the answer; whoever comes second
begins anew. A mark outlasts every review that has not seen it, so that it does not matter which of the three is read
first.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeVar

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.decide.disruption_budget import Allowance, allowance_of
from fairlead.contracts.leaderworker.decide.groups import is_running_and_ready
from fairlead.contracts.leaderworker.decide.members import members_of
from fairlead.contracts.leaderworker.kinds import (
    LARGEST_REPLICAS,
    LEADER_WORKER_SETS,
    NAME,
    SIZE,
    WORKER_INDEX,
    LeaderWorkerSet,
    Pod,
)
from fairlead.core import eviction_record
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Listing, Need, Read, ReadRecord, StartOver, SwapRecord
from fairlead.core.decision import Admit
from fairlead.core.eviction_record import Marks
from fairlead.core.eviction_request import is_dry_run, is_eviction, takes_nothing
from fairlead.core.integers import parse_integer
from fairlead.core.pod_readiness import is_terminating
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.objects.review import Review
from kubeloop.unreadable import UNREADABLE

T = TypeVar("T")

MOST_NAMED = 10
"""Groups that a denial names."""
TOO_MANY_REQUESTS, FAILED, BAD_REQUEST = 429, 500, 400


class EvictionSnapshot(Struct, frozen=True):
    """All that the answer to an eviction is made of."""

    review: Review
    pod: Pod | None = None
    """As the cache shows it."""
    set: LeaderWorkerSet | None = None
    """Whose name the pod carries, as the cache shows it."""
    is_watched: bool = True
    """Whether this operator looks after the namespace."""
    answers: Answers = Answers()


class _Pods(Struct, frozen=True):
    items: tuple[Pod, ...]


def judge(seen: EvictionSnapshot, now: datetime) -> Admit | Need | StartOver:
    """Whether the pod may be evicted; a pod that may is in the record when the answer is given."""
    review = seen.review
    if not is_eviction(review):
        return _denied("invalid-request", BAD_REQUEST, "only the creation of an eviction of a named pod can be judged")
    if not seen.is_watched:
        return _out_of_scope()
    name = _set_name(seen)
    if not isinstance(name, str):
        return name
    if not name or (seen.set is not None and not allowance_of(seen.set).bounds(seen.set.spec.replicas)):
        return _out_of_scope()
    questions = (_set_question(review, name), _pods_question(review, name), _record_question(review, name))
    if unread := seen.answers.lacking(questions):
        return Need(unread)
    asked, listed, recalled = (seen.answers[each] for each in questions)
    if isinstance(asked, Bad) and asked.kind == "absent":
        return _out_of_scope()
    given, pods = _read(asked, LeaderWorkerSet), _read(listed, _Pods)
    if given is None or pods is None or isinstance(recalled, Bad):
        failed = next((each for each in (asked, listed, recalled) if isinstance(each, Bad)), None)
        return _unread(f"LeaderWorkerSet {name}, its pods or the record of evictions", failed)
    if given.metadata.deletion_timestamp is not None or given.spec.replicas > LARGEST_REPLICAS:
        return _out_of_scope()
    return _judged(seen, given, pods.items, recalled, now)


def contested(seen: EvictionSnapshot) -> str:
    """The record that this eviction is going to be written into, as the cache tells; empty where none would be."""
    given, pod = seen.set, seen.pod
    if given is None or pod is None or takes_nothing(pod) or is_dry_run(seen.review):
        return ""
    is_bounded = allowance_of(given).bounds(given.spec.replicas)
    return _record(seen.review, given.metadata.name) if is_bounded else ""


def outpaced(_: EvictionSnapshot) -> Admit:
    text = "other evictions of the same LeaderWorkerSet were faster each time; try again"
    return _denied("outpaced", TOO_MANY_REQUESTS, text)


def _set_name(seen: EvictionSnapshot) -> str | Admit | Need:
    """Of the set that the pod is of; empty where it is of none."""
    if seen.pod is not None:
        return seen.pod.metadata.labels.get(NAME, "")
    asked = Ask(Read(Ref(PODS, seen.review.namespace, seen.review.name)), is_expected_to_fail=True)
    if unread := seen.answers.lacking((asked,)):
        return Need(unread)
    answer = seen.answers[asked]
    if isinstance(answer, Bad) and answer.kind == "absent":
        return ""  # the API server tells them that there is no such pod
    pod = _read(answer, Pod)
    if pod is None:
        return _unread(f"pod {seen.review.name}", answer if isinstance(answer, Bad) else None)
    return pod.metadata.labels.get(NAME, "")


def _judged(
    seen: EvictionSnapshot, given: LeaderWorkerSet, pods: Iterable[Pod], recalled: Good, now: datetime
) -> Admit | Need | StartOver:
    allowed, marks = allowance_of(given), eviction_record.recalled(recalled, now)
    members = members_of(given.metadata.name, pods)
    found = _place(members, seen.review.name)
    if found is None or allowed.groups is None or not allowed.bounds(given.spec.replicas):
        return _out_of_scope()
    index, pod = found
    away = disturbed(given, members, marks, now)
    if index not in away and len(away) >= allowed.groups:
        return _denied("denied", TOO_MANY_REQUESTS, _why(given, allowed, away))
    let_go = Admit(allowed=True, word="allowed", level="info")
    if is_dry_run(seen.review) or takes_nothing(pod):
        return let_go
    return _recorded(seen, given, pod, members, recalled, now) or let_go


def _recorded(
    seen: EvictionSnapshot,
    given: LeaderWorkerSet,
    pod: Pod,
    members: dict[int, list[Pod]],
    recalled: Good,
    now: datetime,
) -> Admit | Need | StartOver | None:
    """None once the record says that the pod was let go."""
    marks = eviction_record.mark((pod,), eviction_record.recalled(recalled, now), now)
    value = eviction_record.written(marks, (each for group in members.values() for each in group), now)
    record = _record(seen.review, given.metadata.name)
    swap = Ask(SwapRecord(record, recalled.version, value, eviction_record.LASTS), effect=True)
    if unsaid := seen.answers.lacking((swap,)):
        return Need(unsaid)
    match seen.answers[swap]:
        case Bad(kind="conflict"):
            return StartOver()
        case Bad() as failed:
            return _unread("the record of evictions", failed)
    return None


def disturbed(given: LeaderWorkerSet, members: dict[int, list[Pod]], marks: Marks, now: datetime) -> list[int]:
    """Groups that are wanted and not there, and those of which a pod is missing, not ready, going or was let go."""
    missing = [index for index in range(given.spec.replicas) if index not in members]
    broken = [index for index, pods in members.items() if not _is_whole(pods, marks, now)]
    return sorted((*missing, *broken))


def _is_whole(pods: list[Pod], marks: Marks, now: datetime) -> bool:
    leader = next((each for each in pods if each.metadata.labels.get(WORKER_INDEX) == "0"), None)
    if leader is None or len(pods) < _size(leader):
        return False
    return all(
        is_running_and_ready(each) and not is_terminating(each) and not eviction_record.is_marked(each, marks, now)
        for each in pods
    )


def _size(leader: Pod) -> int:
    try:
        return parse_integer(leader.metadata.annotations.get(SIZE, ""), bits=32)
    except ValueError:
        return 1


def _place(members: dict[int, list[Pod]], name: str) -> tuple[int, Pod] | None:
    return next(
        ((index, each) for index, group in members.items() for each in group if each.metadata.name == name), None
    )


def _why(given: LeaderWorkerSet, allowed: Allowance, away: list[int]) -> str:
    named = ", ".join(map(str, away[:MOST_NAMED])) + (", ..." if len(away) > MOST_NAMED else "")
    groups, verb = ("group", "is") if len(away) == 1 else ("groups", "are")
    return (
        f"{groups} {named} of LeaderWorkerSet {given.metadata.name} {verb} disturbed, and evictions may disturb"
        f" {allowed.groups} at once; try again when {'it is' if len(away) == 1 else 'they are'} ready"
    )


def _record(review: Review, name: str) -> str:
    return f"group-evictions/{review.namespace}/{name}"


def _record_question(review: Review, name: str) -> Ask:
    return Ask(ReadRecord(_record(review, name)))


def _set_question(review: Review, name: str) -> Ask:
    return Ask(Read(Ref(LEADER_WORKER_SETS, review.namespace, name)), is_expected_to_fail=True)


def _pods_question(review: Review, name: str) -> Ask:
    return Ask(Listing(PODS, review.namespace, f"{NAME}={name}"))


def _read(answer: Answer, kind: type[T]) -> T | None:
    if isinstance(answer, Bad):
        return None
    try:
        return msgspec.json.decode(answer.value, type=kind)
    except (*UNREADABLE, msgspec.MsgspecError):
        return None


def _unread(what: str, failed: Bad | None) -> Admit:
    why = "it is not what was expected" if failed is None else failed.text or failed.kind
    return _denied("unread", FAILED, f"{what} could not be read or written: {why}; try again")


def _out_of_scope() -> Admit:
    return Admit(allowed=True, word="pod-not-in-scope")


def _denied(word: str, code: int, message: str) -> Admit:
    return Admit(allowed=False, word=word, code=code, message=message, level="warn" if code == FAILED else "info")
