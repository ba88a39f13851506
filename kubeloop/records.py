"""Records: small values with a version, replaced by compare-and-swap; marks that hold between requests and replicas.

Whoever must not act at the same time as another reads the record before anything else and writes it before acting; of
two that read the same version one is told that it came too late. There are no locks to be left behind.
A version never comes back, also not that of a record which was removed: who read "there is none" and finds none again
would otherwise not learn that somebody began and ended meanwhile. What is left of a removed record goes when nobody can
be at work any more who read before it was made (`record_sweep`).
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Annotated, Protocol

import msgspec
from msgspec import Meta, Struct, structs

from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.decoding import decoded
from kubeloop.errors import Conflict, NotFound
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubeloop.request import Request

LARGEST = 200_000
"""Bytes of a value; the API server takes no more than 256 KiB of annotations."""
LONGEST = 2**31 - 1
"""Seconds that a Lease can say; what lasts longer stays."""
MOST_REMOVED = 4096
"""Removed records whose own version is remembered; beyond that they share the version of the newest one forgotten."""
MOST_AGES = 4096
"""Records of which it is remembered since when they have their version; one that was forgotten counts as new."""
FRESH = 300.0
"""Seconds for which it holds that there was no record; who comes later reads again. What is left of a removed record
stays for longer, so that one who read before it was made finds it, or comes too late anyway."""

KEY = "fairlead.dev/record"
VALUE = "fairlead.dev/value"
_ABSENT = "absent at "


class Outdated(Exception):
    """The record has changed since it was read."""


class TooLarge(Exception):
    """The value does not fit into a record."""


class ReadOnly(Exception):
    """What holds the record is never written any more; the text says what helps."""


class Recorded(Struct, frozen=True, eq=False):
    value: bytes = b""
    """Empty when there is no such record."""
    version: str = ""
    age: float | None = None
    """Seconds for which the record is known here to have this version: it has had it for as long, or for longer. By the
    loop's clock, so that it tells how old a mark is whatever time of day its writer had. None: nobody has counted."""

    def __eq__(self, other: object) -> bool:
        """What is recorded is the same, however long each has been known."""
        return isinstance(other, Recorded) and (self.value, self.version) == (other.value, other.version)

    def __hash__(self) -> int:
        return hash((self.value, self.version))


class Records(Protocol):
    async def get(self, key: str) -> Recorded: ...

    async def swap(self, key: str, version: str, value: bytes, lasts: int = 0) -> str:
        """Replaces the record if it still has this version and returns the next; raises Outdated otherwise.

        An empty value removes it; TooLarge is raised for one of more than LARGEST bytes. With `lasts` the value counts
        for nothing after so many seconds, and some time after that the record may be gone.
        """


class VersionAges:
    """Since when each record is known to have its version; the records that were read longest ago are forgotten."""

    def __init__(self, most: int = MOST_AGES) -> None:
        self._known: dict[str, tuple[str, float]] = {}
        self._most = most

    def of(self, key: str, version: str) -> float:
        """Seconds since the record was first read or written here in this version; 0.0 for the first time."""
        now = clock.monotonic()
        known = self._known.pop(key, None)
        if known is None or known[0] != version:
            known = version, now
        self._known[key] = known
        if len(self._known) > self._most:
            del self._known[next(iter(self._known))]
        return now - known[1]


class MemoryRecords:
    """Of one process: for an operator that runs as a single replica."""

    def __init__(self, most_removed: int = MOST_REMOVED) -> None:
        self._kept: dict[str, Recorded] = {}
        self._removed: dict[str, Recorded] = {}
        self._most_removed = most_removed
        self._never = Recorded()
        """What a key without a trace stands at: at least as new as every removal that was forgotten."""
        self._versions = 0
        self._ends: dict[str, float] = {}
        """When what lasts for a while has run out."""
        self._ages = VersionAges()

    async def get(self, key: str) -> Recorded:
        now = clock.monotonic()
        for ended in [each for each, end in self._ends.items() if end <= now]:
            self._put(ended, b"")
        found = self._kept.get(key) or self._removed.get(key, self._never)
        return structs.replace(found, age=self._ages.of(key, found.version)) if found.value else found

    async def swap(self, key: str, version: str, value: bytes, lasts: int = 0) -> str:
        _check_size(key, value)
        if (await self.get(key)).version != version:
            raise Outdated(f"record {key} has changed")
        self._ends.pop(key, None)
        if value and lasts > 0:
            self._ends[key] = clock.monotonic() + lasts + FRESH
        written = self._put(key, value)
        self._ages.of(key, written)
        return written

    def _put(self, key: str, value: bytes) -> str:
        self._versions += 1
        recorded = Recorded(value, str(self._versions))
        self._kept.pop(key, None)
        self._removed.pop(key, None)
        if value:
            self._kept[key] = recorded
        else:
            self._ends.pop(key, None)
            self._removed[key] = recorded
            if len(self._removed) > self._most_removed:
                self._never = self._removed.pop(next(iter(self._removed)))
        return recorded.version


_Text = Annotated[str, Meta(min_length=1)]


class _Meta(Struct, rename="camel"):
    """Without a version an answer must not be taken for a record: the next swap would replace whatever is there."""

    resource_version: _Text
    uid: _Text
    annotations: dict[str, str] | None = None


class _Lease(Struct):
    metadata: _Meta


class LeaseRecords:
    """Of all replicas: each record is the annotation of a Lease of its own, in one namespace.

    No leadership is needed to write one, so the client must have no gate. A removed record leaves its Lease behind,
    whose version tells that there was one, until it is swept away.
    """

    def __init__(self, client: Client, namespace: str, prefix: str, labels: Mapping[str, str] = {}) -> None:
        self._client = client
        self._namespace = namespace
        self._prefix = prefix
        self._labels = labels
        self._ages = VersionAges()

    async def get(self, key: str) -> Recorded:
        began = clock.monotonic()
        try:
            return self._aged(key, _recorded(await self._send(request.get(self._ref(key)))))
        except NotFound:
            return Recorded(version=f"{_ABSENT}{began!r}")

    async def swap(self, key: str, version: str, value: bytes, lasts: int = 0) -> str:
        _check_size(key, value)
        try:
            written = _recorded(await self._send(self._write(key, version, value, lasts)))
        except (Conflict, NotFound) as error:
            raise Outdated(f"record {key} has changed: {error}") from error
        return self._aged(key, written).version

    def _aged(self, key: str, found: Recorded) -> Recorded:
        return structs.replace(found, age=self._ages.of(key, found.version)) if found.value else found

    def _write(self, key: str, version: str, value: bytes, lasts: int) -> Request:
        ref = self._ref(key)
        annotations = {KEY: key, **({VALUE: value.decode()} if value else {})}
        metadata: dict[str, object] = {
            "name": ref.name,
            "namespace": ref.namespace,
            "labels": self._labels,
            "annotations": annotations,
        }
        spec = {"leaseDurationSeconds": lasts} if value and 0 < lasts <= LONGEST else {}
        lease = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata, "spec": spec}
        if version.startswith(_ABSENT):
            if clock.monotonic() - float(version.removeprefix(_ABSENT)) > FRESH:
                raise Outdated(f"record {key} was read too long ago")
            return request.create(LEASES, self._namespace, msgspec.json.encode(lease))
        # The UID as well: a Lease is made by a PUT where there is none, whatever version that asks for.
        metadata["resourceVersion"], _, metadata["uid"] = version.partition(":")
        if not metadata["uid"]:
            raise Outdated(f"record {key} was not read")
        return request.replace(ref, msgspec.json.encode(lease))

    async def _send(self, message: Request) -> _Lease:
        """A write is not repeated: who is asked to come back later reads the record anew."""
        response = await self._client.call(structs.replace(message, retry_when_throttled=message.method == "GET"))
        return decoded(response.body, _Lease, message.doing)

    def _ref(self, key: str) -> Ref:
        return Ref(LEASES, self._namespace, lease_name(self._prefix, key))


def lease_name(prefix: str, key: str) -> str:
    """Any key becomes a name that the API server takes, and no two of them the same."""
    return f"{prefix}-{blake2b(key.encode(), digest_size=16).hexdigest()}"


def _recorded(lease: _Lease) -> Recorded:
    annotations = lease.metadata.annotations or {}
    version = f"{lease.metadata.resource_version}:{lease.metadata.uid}"
    return Recorded(annotations.get(VALUE, "").encode(), version)


def _check_size(key: str, value: bytes) -> None:
    if len(value) > LARGEST:
        raise TooLarge(f"record {key} would have {len(value)} bytes, and {LARGEST} is the most that can be kept")
