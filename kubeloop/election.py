"""Leadership by a Lease: at most one process at a time writes.

A candidate never trusts another machine's clock: it takes the lease when the record it sees has not changed for the
record's own duration, measured by its own clock from when it first saw it. A holder counts from the moment it *sent*
its last successful renewal, and stops writing after `renew_deadline` seconds, which is less than the duration. So a
write that is sent while `gate` is open and given up within `write_timeout` is over before another process may hold
the lease, even if this process was paused in between.

The client must have no gate of its own. The identity must be different for every process: a record with our identity
is taken for ours, unless it is none of the last that were sent, as after a restored backup. Not guarded against: a
lease deleted under its holder, with a candidate that never saw that lease.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta, Raw, Struct

from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.decoding import decoded
from kubeloop.errors import Conflict, Garbled, KubeError, NotFound, NotLeader
from kubeloop.objects.meta import Ref
from kubeloop.request import Request

STUCK_AFTER_SECONDS = 30.0
"""Seconds of failed attempts after which a candidate has a problem."""
JITTER = 1.2
"""Candidates wait between one and 1 + JITTER retry periods, so that they do not all ask at once."""


MOST_SENT = 64
"""More than a holder sends between a renewal that is carried out and the end of its lease."""
HURRY = 4
"""Part of the retry period after which a holder whose renewal failed tries again."""


class LostLease(KubeError):
    """The lease could not be renewed in time, or another process holds it."""


_Int32 = Annotated[int, Meta(ge=-(2**31), lt=2**31)]
"""As the API has them; with another number nothing could be computed."""


class _Record(Struct, rename="camel"):
    """The part of a lease's spec that an election reads."""

    holder_identity: str | None = None
    lease_duration_seconds: _Int32 | None = None
    lease_transitions: _Int32 | None = None
    acquire_time: str | None = None
    renew_time: str | None = None


class _Which(Struct, rename="camel"):
    name: str
    uid: str
    resource_version: str


class _Wire(Struct):
    metadata: Raw
    spec: Raw = Raw(b"{}")


class LeaseTerms(Protocol):
    """What a candidate reads in the annotations of a lease before it takes it, and leaves there when it has."""

    async def refusal(self, lease: Ref, annotations: Mapping[str, str]) -> str:
        """Why the candidate does not take the lease with these, which it could have; empty: it does."""

    def annotations(self, found: Mapping[str, str]) -> Mapping[str, str]:
        """Those that the holder gives a lease that has these; others stay as they are."""


class _Annotated(Struct):
    annotations: dict[str, str] | None = None


class _Lease(Struct):
    """A lease as read, with everything that must survive being written back."""

    metadata: Raw
    spec: dict[str, Raw]
    record: _Record

    @property
    def annotations(self) -> Mapping[str, str]:
        return msgspec.json.decode(self.metadata, type=_Annotated).annotations or {}

    @classmethod
    def of(cls, body: bytes, ref: Ref) -> _Lease:
        """Raises Garbled for what is not the lease of this name."""
        what = str(ref)
        wire = decoded(body, _Wire, what)
        which = decoded(wire.metadata, _Which, what)
        if which.name != ref.name or not which.uid or not which.resource_version:
            raise Garbled(f"{what}: the answer is about something else; does a proxy answer in the API server's place?")
        return cls(wire.metadata, decoded(wire.spec, dict[str, Raw], what), decoded(wire.spec, _Record, what))


def micro_time(moment: datetime) -> str:
    """As the API writes times with microseconds."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Election:
    """One candidacy; all durations are by the loop's clock."""

    def __init__(
        self,
        client: Client,
        lease: Ref,
        identity: str,
        *,
        duration: float = 15,
        renew_deadline: float = 10,
        retry_period: float = 2,
        seed: int | None = None,
        labels: Mapping[str, str] = {},
        waits: Callable[[str, KubeError | None], None] | None = None,
        stuck: Callable[[str], None] | None = None,
        terms: LeaseTerms | None = None,
    ) -> None:
        """While the lease is waited for, `waits` hears who holds it or why it cannot be taken, each time that changes.

        `stuck` hears once why there has been no way to ask for it for STUCK_AFTER_SECONDS, and nothing
        when there is one.
        A lease that is made here gets the labels. By its terms a candidate may leave alone a lease that is free.
        """
        if not duration > renew_deadline > retry_period * JITTER > 0:
            raise ValueError(
                f"a lease needs duration > renew deadline > {JITTER} x retry period > 0, "
                f"not {duration:g}, {renew_deadline:g}, {retry_period:g}"
            )
        self.last_error: KubeError | None = None
        """Why the last attempt failed, for messages."""
        self._client = client
        self._ref = lease
        self._identity = identity
        self._duration = duration
        self._renew_deadline = renew_deadline
        self._retry_period = retry_period
        self._random = clock.chance(seed)
        self._waits = waits
        self._stuck = stuck
        self._failing_since: float | None = None
        """Since when every attempt has failed; that another process holds the lease is no failure."""
        self._told_stuck = False
        self._labels = labels
        self._terms = terms
        self._seen: _Lease | None = None
        """The lease as last read or written; its record counts on when the lease is deleted."""
        self._absent = False
        """Whether the lease has been seen to be deleted."""
        self._seen_at = 0.0
        """When its record was first seen to be as it is, or the lease to be deleted."""
        self._renewed_at: float | None = None
        """When the last successful write of our own record was sent; None when we do not hold the lease."""
        self.led_until = -math.inf
        """Loop time until which another process was seen to hold the lease before we took it; before all time: none."""
        self._wrote = False
        """Whether a write was sent that may have made us the holder."""
        self._last_failure: KubeError | None = None
        """Of the attempts that fail now."""
        self._sent: deque[str] = deque(maxlen=MOST_SENT)
        """When the last records of ours were renewed, as they say: one of them may be what the lease holds."""

    @property
    def holder(self) -> str:
        """Who holds the lease as far as we know; empty when nobody does."""
        return (self._seen.record.holder_identity or "") if self._seen is not None else ""

    @property
    def write_timeout(self) -> float:
        """Seconds within which every write must be given up: less than what the deadline leaves of the duration."""
        return 0.8 * (self._duration - self._renew_deadline)

    @property
    def problem(self) -> str:
        """Why every attempt of the last STUCK_AFTER_SECONDS failed; another process with the lease is no failure."""
        since = self._failing_since
        if since is None or clock.monotonic() - since < STUCK_AFTER_SECONDS:
            return ""
        seconds = clock.monotonic() - since
        return f"cannot acquire the Lease {self._ref.name} for {seconds:.0f} seconds: {self._last_failure}"

    def gate(self) -> None:
        """Raises NotLeader unless the lease is held and was renewed less than `renew_deadline` seconds ago."""
        if self._renewed_at is None:
            raise NotLeader(f"{self._ref} is held by {self.holder or 'nobody'}, not by {self._identity}")
        age = clock.monotonic() - self._renewed_at
        if age >= self._renew_deadline:
            raise NotLeader(f"{self._ref} was not renewed for {age:.1f} seconds")

    async def run(self, lead: Callable[[], Awaitable[None]]) -> None:
        """Waits for the lease and runs `lead` while it is held.

        Returns when `lead` does and raises what it raises; raises LostLease, with `lead` cancelled and ended, when the
        lease is lost. Gives the lease back at the end if it is still ours.
        """
        try:
            await self._acquire()
            await self._lead(lead)
        finally:
            self._renewed_at = None
            if self._wrote:
                await self._release()

    async def look(self) -> None:
        """Reads the lease again and again until cancelled, and does not take it: how long its record has not changed
        is then known when it is stood for."""
        while True:
            with suppress(KubeError):
                self._take_in(await self._read())
            await self._pause()

    async def _pause(self) -> None:
        await asyncio.sleep(self._retry_period * (1 + JITTER * self._random.random()))

    async def _acquire(self) -> None:
        told = None
        while True:
            self.last_error = None
            if await self._attempt():
                return
            if self._waits is not None and told != (now := (self.holder, str(self.last_error))):
                told = now
                self._waits(self.holder, self.last_error)
            await self._pause()

    async def _lead(self, lead: Callable[[], Awaitable[None]]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                holding = group.create_task(self._hold(), name="lease")
                try:
                    await lead()
                finally:
                    # Renewed until the leader's work has ended, so that nobody else starts beside it.
                    holding.cancel()
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None  # LostLease, if there is one, came before what it made of `lead`

    async def _hold(self) -> None:
        """Renews the lease; ends only by LostLease.

        A renewal that failed is tried again sooner: with few tries until the deadline, a server that fails now and then
        would cost the lease, and all work with it.
        """
        pause = self._retry_period
        while self._renewed_at is not None:
            try:
                async with asyncio.timeout_at(self._renewed_at + self._renew_deadline):
                    await asyncio.sleep(pause)
                    renewed = await self._attempt()
                    pause = self._retry_period if renewed else self._retry_period / HURRY
            except TimeoutError:
                self._renewed_at = None
                why = f": {self.last_error}" if self.last_error is not None else ""
                raise LostLease(f"{self._ref} was not renewed for {self._renew_deadline:g} seconds{why}") from None
        raise LostLease(f"{self._ref} is held by {self.holder}")

    async def _attempt(self) -> bool:
        """Tries once to take or renew the lease; whether it succeeded."""
        taken, error = await self._tried()
        if error is None:
            self._failing_since = self._last_failure = None
        else:
            self.last_error = self._last_failure = error
            self._failing_since = clock.monotonic() if self._failing_since is None else self._failing_since
        if self._stuck is not None and self._told_stuck != bool(problem := self.problem):
            self._told_stuck = not self._told_stuck
            self._stuck(problem)
        return taken

    async def _tried(self) -> tuple[bool, KubeError | None]:
        try:
            if self._renewed_at is not None and self._seen is not None:
                with suppress(Conflict, NotFound):
                    return await self._write(self._seen), None
            with suppress(Conflict):
                return await self._look_and_write(), None
            # Somebody else was quicker: see who, since it may be the new holder.
            return await self._look_and_write(), None
        except KubeError as error:
            return False, error

    async def _look_and_write(self) -> bool:
        found = await self._read()
        self._take_in(found)
        if self._is_taken() or await self._is_refused(found):
            self._renewed_at = None
            return False
        return await self._write(found)

    async def _is_refused(self, found: _Lease | None) -> bool:
        """Whether the terms forbid to take it; who holds it has been let have it."""
        if self._terms is None or found is None or self.holder == self._identity:
            return False
        which = decoded(found.metadata, _Which, str(self._ref))
        return bool(await self._terms.refusal(msgspec.structs.replace(self._ref, uid=which.uid), found.annotations))

    async def _read(self) -> _Lease | None:
        try:
            return await self._send(request.get(self._ref))
        except NotFound:
            return None

    def _take_in(self, found: _Lease | None) -> None:
        if found is not None:
            self._observe(found)
        elif not self._absent:
            self._absent, self._seen_at = True, clock.monotonic()

    def _observe(self, found: _Lease) -> None:
        if self._seen is None or self._absent or self._seen.record != found.record:
            self._seen_at = clock.monotonic()
        self._seen, self._absent = found, False

    def _is_taken(self) -> bool:
        """Whether another process may hold the lease as far as we know."""
        if self._seen is None:
            return False
        record = self._seen.record
        if self._absent:
            # Somebody may have taken or renewed it after we last looked, and learns only by the next renewal.
            ours, seconds = self._renewed_at is not None, max(self._duration, record.lease_duration_seconds or 0)
        else:
            # An older one of ours comes of a restored backup: who has led since may still do so.
            ours = not self.holder or (self.holder == self._identity and self._may_have_sent(record))
            seconds = float(record.lease_duration_seconds or 0)
        return not ours and clock.monotonic() < self._seen_at + seconds

    def _may_have_sent(self, record: _Record) -> bool:
        return not self._sent or record.renew_time in self._sent

    async def _write(self, found: _Lease | None) -> bool:
        """Makes us the holder of the lease as found, or of a new one; raises Conflict if it changed meanwhile."""
        sent_at = clock.monotonic()
        self._wrote = True
        record = found.record if found is not None else _Record()
        now = micro_time(clock.now())
        spec: dict[str, object] = dict(found.spec) if found is not None else {}
        spec |= {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": math.ceil(self._duration),
            "renewTime": now,
        }
        if record.holder_identity != self._identity:
            spec["acquireTime"] = now
            spec["leaseTransitions"] = (record.lease_transitions or 0) + 1 if found is not None else 0
        self._sent.append(now)
        written = await self._send(self._as_request(found, spec, holds=True))
        if (written.record.holder_identity, written.record.renew_time) != (self._identity, now):
            # Whoever answers with anything else has not stored what was sent.
            raise Garbled(f"{self._ref}: the answer to our renewal does not show it")
        if found is not None and record.holder_identity != self._identity:
            self.led_until = self._seen_at
        self._observe(written)
        self._renewed_at = sent_at
        self.last_error = None
        return True

    async def _release(self) -> None:
        """Leaves the lease to whoever comes next, if it is ours; gives up after `write_timeout`."""
        try:
            async with asyncio.timeout(self.write_timeout):
                found = await self._read()
                if found is None:
                    return
                self._observe(found)
                if self.holder != self._identity:
                    return
                now = micro_time(clock.now())
                spec = {**found.spec, "holderIdentity": "", "leaseDurationSeconds": 1}
                self._observe(await self._send(self._as_request(found, spec | {"renewTime": now, "acquireTime": now})))
        except (KubeError, TimeoutError) as error:
            # It will run out by itself.
            self.last_error = error if isinstance(error, KubeError) else KubeError(f"{self._ref} was not released")

    def _as_request(self, found: _Lease | None, spec: dict[str, object], *, holds: bool = False) -> Request:
        resource = self._ref.resource
        kind = {"apiVersion": resource.api_version, "kind": resource.kind}
        given = found.annotations if found is not None else {}
        noted = dict(self._terms.annotations(given)) if self._terms is not None and holds else {}
        if found is not None:
            kept: object = found.metadata
            if noted.items() - given.items():
                kept = msgspec.json.decode(found.metadata) | {"annotations": {**given, **noted}}
            return request.replace(self._ref, msgspec.json.encode({**kind, "metadata": kept, "spec": spec}))
        metadata: dict[str, object] = {"name": self._ref.name, "namespace": self._ref.namespace, "labels": self._labels}
        if noted:
            metadata["annotations"] = noted
        body = msgspec.json.encode({**kind, "metadata": metadata, "spec": spec})
        return request.create(resource, self._ref.namespace, body)

    async def _send(self, message: Request) -> _Lease:
        response = await self._client.call(msgspec.structs.replace(message, timeout=self.write_timeout))
        return _Lease.of(response.body, self._ref)
