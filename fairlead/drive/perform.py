"""Carrying out: writes in order, each noted in the ledger and the audit, stopping at the first that fails.

Nothing is chosen here. That an object vanished meanwhile is no failure: what the write wanted to change is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Protocol, assert_never

import msgspec
from msgspec import Struct, structs

from fairlead.api.audit import Line
from fairlead.api.meta import Ref
from fairlead.decide.act import AnyWrite, Apply, Create, Delete, Patch, Replace, Tell
from fairlead.kube import clock, request
from fairlead.kube.client import Client
from fairlead.kube.errors import AlreadyExists, Conflict, KubeError, NotFound, TransportError
from fairlead.kube.ledger import Ledger
from fairlead.kube.request import Request

WRITE_TIMEOUT = 4.0
"""Seconds; below a lease's duration minus its renew deadline, so that no write outlives the lease it was sent under."""


class Teller(Protocol):
    def __call__(self, tell: Tell, /) -> None: ...


class Effects(Struct, frozen=True):
    """Where effects go."""

    client: Client
    ledger: Ledger
    audit: Callable[[Line], None]
    tell: Teller


class Round(Struct, frozen=True):
    """What every audit line of one round shares."""

    id: str
    scope: str
    rule: str
    reason: str
    seen_digest: str = ""


class _Written(msgspec.Struct):
    class _Meta(msgspec.Struct, rename="camel"):
        resource_version: str = ""
        uid: str = ""

    metadata: _Meta = msgspec.field(default_factory=_Meta)


_WRITTEN = msgspec.json.Decoder(_Written)


def digest(seen: object) -> str:
    """Short name of a Snapshot: two rounds with the same digest saw the same facts."""
    return blake2b(repr(seen).encode(), digest_size=8).hexdigest()


async def carry_out(writes: tuple[AnyWrite, ...], this: Round, effects: Effects) -> None:
    """All writes are done and noted when this returns; the first failure is raised and the rest are not sent."""
    for write in writes:
        try:
            outcome, version = await _send(write, this.scope, effects)
        except KubeError as error:
            effects.audit(_line(write, this, str(error)))
            raise
        effects.audit(_line(write, this, outcome, version))
        if write.tell is not None and outcome == "ok":
            effects.tell(write.tell)


async def _send(write: AnyWrite, scope: str, effects: Effects) -> tuple[str, str]:
    ref = subject(write)
    try:
        answer = await effects.client.call(structs.replace(request_for(write), timeout=WRITE_TIMEOUT))
    except NotFound:
        return "gone", ""
    except AlreadyExists:
        effects.ledger.unknown(scope, ref)  # what exists may not be in the cache yet
        return "exists", ""
    except Conflict:
        if isinstance(write, Delete):  # the UID is another's: the one meant is gone
            return "gone", ""
        raise
    except TransportError:
        effects.ledger.unknown(scope, ref)
        raise
    written = _WRITTEN.decode(answer.body).metadata
    if isinstance(write, Delete):
        effects.ledger.deleted(scope, ref)
    else:
        effects.ledger.wrote(scope, structs.replace(ref, uid=written.uid or ref.uid), written.resource_version)
    return "ok", written.resource_version


def request_for(write: AnyWrite) -> Request:
    """The request that a write comes down to, its precondition included."""
    match write:
        case Delete():
            return request.delete(write.ref, propagation=write.propagation)
        case Patch():
            return request.patch(write.ref, write.kind.value, write.body, write.subresource)
        case Apply():
            return request.apply(write.ref, write.body, write.manager, force=write.force)
        case Create():
            return request.create(write.resource, write.namespace, write.body)
        case Replace():
            return request.replace(write.ref, write.body, write.subresource)
        case _:
            assert_never(write)


def subject(write: AnyWrite) -> Ref:
    """What a write is about."""
    return Ref(write.resource, write.namespace, write.name) if isinstance(write, Create) else write.ref


def _line(write: AnyWrite, this: Round, outcome: str, version: str = "") -> Line:
    precondition = ""
    if isinstance(write, Delete):
        precondition = f"uid={write.ref.uid}"
    elif isinstance(write, Replace):
        precondition = f"resourceVersion={write.resource_version}"
    return Line(
        time=clock.now(),
        round=this.id,
        key=this.scope,
        rule=this.rule,
        reason=this.reason,
        does=write.does.value,
        verb=type(write).__name__.lower(),
        subject=str(subject(write)),
        outcome=outcome,
        change_from=write.change_from,
        change_to=write.change_to,
        precondition=precondition,
        resource_version=version,
        seen_digest=this.seen_digest,
    )
