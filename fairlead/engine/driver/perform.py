"""Carrying out: writes in order, each noted in the ledger and the audit, stopping at the first that fails.

Nothing is chosen here. That an object vanished meanwhile is no failure: what the write wanted to change is gone, and
the cache must come to show it. An answer that does not say what became of the write (none at all, an error of the
server, a success that cannot be read) leaves its outcome unknown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Protocol, assert_never

import msgspec
from msgspec import Struct, structs

from fairlead.core.act import AnyWrite, Apply, Create, Delete, EventNote, Patch, Replace
from fairlead.core.audit import AuditLine
from fairlead.engine.driver.applied import Applied, mark_of
from fairlead.engine.driver.secrets import with_entries
from fairlead.engine.driver.slow_writes import SlowWrites
from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.decoding import decoded
from kubeloop.errors import AlreadyExists, ApiError, Conflict, KubeError, NotFound, ServerError, TransportError
from kubeloop.ledger import Ledger
from kubeloop.objects.meta import OwnerReference, Ref
from kubeloop.request import Request, Response
from kubeloop.unreadable import UNREADABLE

FRESH_SECONDS = 0.5
"""For so long writes rest on what was seen before the first of them.

What is left is decided again: a decision cannot say how long its own writes take, and meanwhile pods have failed or
somebody has paused the rollout. A Move promises that no write is sent without those before it, and not that all are
sent: after each of them the next round must decide the rest. What must not part is one write.
"""
EXISTS, CONFLICT, DRY_RUN = "exists", "conflict", "dry run"
ROUNDED = 0.001
"""Seconds by which a difference of two times may be off."""
FIRST_PAUSE = 0.05
"""Seconds until a write that the server failed at is sent again, doubling; as long as its facts are fresh."""


class Teller(Protocol):
    def __call__(self, tell: EventNote, /) -> None: ...


class Effects(Struct, frozen=True):
    """Where effects go."""

    client: Client
    ledger: Ledger
    audit: Callable[[AuditLine], None]
    tell: Teller
    timeout: float
    """Seconds until a write is given up; under a lease, so few that none outlives it."""
    applied: Applied | None = None
    """Told of every successful Apply and Replace."""
    slow: SlowWrites | None = None
    """Where writes may take longer that were seen to be slow."""
    failed: Callable[[AnyWrite, Round], None] = lambda *_: None
    """Told of the write whose failure ends a round, where that is no fact to decide on."""


class Round(Struct, frozen=True):
    """What every audit line of one round shares."""

    id: str
    key: str
    """The rollout."""
    rule: str
    reason: str
    seen_digest: str = ""
    scope: str = ""
    """In the ledger, of a write that names none."""


class WriteRefused(Exception):
    """A write whose refusal is a fact to decide on was refused; nothing after it was sent."""

    def __init__(self, write: AnyWrite, error: KubeError) -> None:
        super().__init__(str(error))
        self.write = write
        self.error = error


class _Meta(Struct, frozen=True, rename="camel"):
    resource_version: str = ""
    uid: str = ""
    generation: int = 0
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()


class _Written(Struct, frozen=True):
    metadata: _Meta = _Meta()


_WRITTEN = msgspec.json.Decoder(_Written)


def digest(versions: Iterable[str]) -> str:
    """Short name of what was seen: two rounds with the same digest saw the same objects in the same versions."""
    return blake2b("\n".join(versions).encode(), digest_size=8).hexdigest()


async def carry_out(writes: tuple[AnyWrite, ...], this: Round, effects: Effects) -> int:
    """How many of the writes, from the first, are done and noted; a failure is raised and the rest are not sent.

    The failure of an optional write is noted and nothing more; that of a refusable one is raised as WriteRefused.

    They are pending in the ledger from the first moment, so that nobody decides on what is about to change.
    When answers are so slow that the facts of the decision have grown old (FRESH_SECONDS), the rest is left to the next
    round, and so is what comes after a contested write that somebody else outran.
    """
    begun = clock.monotonic()
    with effects.ledger.in_flight([(scope_of(write, this), subject(write)) for write in writes]):
        for place, write in enumerate(writes):
            if place and clock.monotonic() - begun > FRESH_SECONDS:
                return place
            if not effects.ledger.is_clear(subject(write), write):
                return place
            try:
                outcome, version = await _persist(write, scope_of(write, this), effects, begun + FRESH_SECONDS)
            except KubeError as error:
                effects.audit(line_of(write, this, str(error)))
                if write.optional:
                    continue
                if write.refusable:
                    raise WriteRefused(write, error) from error
                effects.failed(write, this)
                raise
            effects.audit(line_of(write, this, outcome, version))
            if write.contested and outcome in (EXISTS, CONFLICT):
                return place
            if write.tell is not None and outcome == "ok":
                effects.tell(write.tell)
    return len(writes)


async def _persist(write: AnyWrite, scope: str, effects: Effects, until: float) -> tuple[str, str]:
    """Sends it, and a repeatable one again while the server fails at it and the facts are fresh.

    So a passing fault costs no round, and no wait for a list that tells what became of it.
    """
    pause = FIRST_PAUSE
    try:
        while True:
            try:
                return await _send(write, scope, effects)
            except (TransportError, ServerError) as error:
                asks_to_wait = isinstance(error, ServerError) and error.retry_after is not None
                if not write.repeatable or asks_to_wait or clock.monotonic() + pause > until:
                    raise
                if isinstance(write, Apply) and not write.resource_version:  # bound neither to a version nor to a UID
                    effects.ledger.travels(subject(write), write)
            await asyncio.sleep(pause)
            pause *= 2
    except (TransportError, ServerError, asyncio.CancelledError):
        if not write.dry_run:
            effects.ledger.unknown(scope, subject(write))
        raise


async def _send(write: AnyWrite, scope: str, effects: Effects) -> tuple[str, str]:
    ref, message = subject(write), request_for(write)
    try:
        answer = await _answered(structs.replace(message, retry_when_throttled=False), write, ref, effects)
        written = _written(answer.body, write, message.doing)
    except NotFound:
        if isinstance(write, Apply | Create):  # these need no object: its namespace or its kind is missing
            raise
        effects.ledger.deleted(scope, ref)
        return "gone", ""
    except AlreadyExists:
        # What exists may not be in the cache yet.
        if write.contested:
            effects.ledger.outrun(scope, ref, "")
        else:
            effects.ledger.unknown(scope, ref)
        return EXISTS, ""
    except Conflict:
        if isinstance(write, Delete) and not write.resource_version:  # the UID is another's: the one meant is gone
            effects.ledger.deleted(scope, ref)
            return "gone", ""
        if not write.contested:
            raise
        effects.ledger.outrun(scope, ref, _version_of(write))
        return CONFLICT, ""
    if write.dry_run:
        return DRY_RUN, ""
    if isinstance(write, Delete):
        effects.ledger.deleted(scope, ref)
    else:
        effects.ledger.wrote(scope, structs.replace(ref, uid=written.uid or ref.uid), written.resource_version)
        if isinstance(write, Apply | Replace) and effects.applied is not None:
            effects.applied.note(scope, ref, write.body, mark_of(written), written.resource_version)
    return "ok", written.resource_version


async def _answered(message: Request, write: AnyWrite, ref: Ref, effects: Effects) -> Response:
    slow, seconds = effects.slow, max(effects.timeout, write.min_timeout_seconds)
    client = effects.client.uncounted() if write.uncounted else effects.client
    if slow is not None:
        # The own rate limit says nothing about the server, and what waits for it longer rests on older facts.
        if client.limiter is not None:
            await client.limiter.take(message, clock.monotonic() + seconds)
        client, seconds = client.uncounted(), max(seconds, slow.seconds(ref))
    begun = clock.monotonic()
    try:
        answer = await client.call(structs.replace(message, timeout=seconds))
    except KubeError as error:
        _learn(slow, ref, error, clock.monotonic() - begun, seconds)
        raise
    _learn(slow, ref, None, clock.monotonic() - begun, seconds)
    return answer


def _learn(slow: SlowWrites | None, ref: Ref, error: KubeError | None, took: float, allowed: float) -> None:
    if slow is None:
        return
    if error is None or isinstance(error, ApiError):
        slow.answered(ref, took, is_done=error is None)
    elif isinstance(error, TransportError) and took > allowed - ROUNDED:
        slow.given_up(ref, allowed)


def _written(body: bytes, write: AnyWrite, doing: str) -> _Meta:
    """What the answer says of the object; that of a Delete need not be the object, any other must have its version."""
    metadata = decoded(body, _WRITTEN, doing).metadata
    if not metadata.resource_version and not isinstance(write, Delete):
        raise TransportError(f"{doing}: the answer has no resource version")
    return metadata


def version_in(body: bytes) -> str:
    """The resource version of the object that an answer holds; empty where it holds none."""
    try:
        return _WRITTEN.decode(body).metadata.resource_version
    except UNREADABLE:
        return ""


def scope_of(write: AnyWrite, this: Round) -> str:
    """What is not decided about again before the caches show the write; by default that of the round."""
    return write.scope or this.scope


def request_for(write: AnyWrite) -> Request:
    """The request that a write comes down to, its precondition included."""
    return request.dry(_stored_by(write)) if write.dry_run else _stored_by(write)


def _stored_by(write: AnyWrite) -> Request:
    match write:
        case Delete():
            return request.delete(write.ref, resource_version=write.resource_version, propagation=write.propagation)
        case Patch():
            body = with_entries(write.body, write.sealed)
            return request.patch(
                write.ref, write.kind.value, body, write.subresource, resource_version=write.resource_version
            )
        case Apply():
            return request.apply(
                write.ref,
                write.body,
                write.manager,
                force=write.force,
                subresource=write.subresource,
                resource_version=write.resource_version,
            )
        case Create():
            return request.create(
                write.resource, write.namespace, with_entries(write.body, write.sealed), manager=write.manager
            )
        case Replace():
            return request.replace(
                write.ref, with_entries(write.body, write.sealed), write.subresource, manager=write.manager
            )
        case _:
            assert_never(write)


def subject(write: AnyWrite) -> Ref:
    """What a write is about."""
    return Ref(write.resource, write.namespace, write.name) if isinstance(write, Create) else write.ref


def _version_of(write: AnyWrite) -> str:
    """The version that the write is bound to, empty when it is bound to none."""
    return write.resource_version if isinstance(write, Patch | Apply | Replace | Delete) else ""


def line_of(write: AnyWrite, this: Round, outcome: str, version: str = "") -> AuditLine:
    """The audit line of a write and what became of it."""
    bound = [f"uid={write.ref.uid}"] if isinstance(write, Delete) else []
    if version_bound := _version_of(write):
        bound.append(f"resourceVersion={version_bound}")
    return AuditLine(
        time=clock.now(),
        round=this.id,
        key=this.key,
        rule=this.rule,
        reason=this.reason,
        does=write.does.value,
        verb=type(write).__name__.lower(),
        subject=str(subject(write)),
        outcome=outcome,
        change_from=write.change_from,
        change_to=write.change_to,
        precondition=" ".join(bound),
        resource_version=version,
        seen_digest=this.seen_digest,
    )
