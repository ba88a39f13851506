"""The wire of a list and a watch: pages and lines become objects, and what cannot be read is set aside.

Objects are decoded from the server's bytes straight into their struct; the object of a watch line stays raw until its
type is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.decoding import decoded, why
from kubeloop.errors import ApiError, Garbled, Gone, ServerError, Throttled
from kubeloop.objects.meta import Resource
from kubeloop.objects.resource_versions import is_later
from kubeloop.request import Request
from kubeloop.shallow import MARK, reaches, shallow
from kubeloop.shared_events import SharedEvent
from kubeloop.store import Key, Named
from kubeloop.unreadable import UNREADABLE

FIRST_DELAY, LONGEST_DELAY = 0.8, 30.0
SHORTEST_WATCH, LONGEST_WATCH = 300, 600

_ADDED = b'{"type":"ADDED","object":'
_MODIFIED = b'{"type":"MODIFIED","object":'
_PRESENT = {_ADDED: len(_ADDED), _MODIFIED[: len(_ADDED)]: len(_MODIFIED)}
"""Where the object begins in a line that begins like this."""

_PLAIN = re.compile(r"!? *[\w./-]+|[\w./-]+ *==? *[\w.-]*", re.ASCII)
"""A requirement on labels without a set, an order or an inequality."""

T = TypeVar("T", bound=Named)
V = TypeVar("V")


def is_older(version: str, than: str) -> bool:
    """Whether one resource version comes before another; unknown, hence False, unless both are numbers."""
    return is_later(than, version) is True


_NAMED = "metadata.name="


class Selection(Struct, frozen=True):
    """Which objects to look at."""

    resource: Resource
    namespace: str = ""
    labels: str = ""
    fields: str = ""

    def may_hold(self, labels: Mapping[str, str]) -> bool:
        """False only where a plain requirement (`key`, `!key`, `key=value`) on labels rules such an object out."""
        if "(" in self.labels:
            return True
        return all(_may_meet(requirement.strip(), labels) for requirement in filter(None, self.labels.split(",")))

    def may_name(self, name: str) -> bool:
        """False only where the fields ask for an object of another name."""
        return not self.fields.startswith(_NAMED) or self.fields == f"{_NAMED}{name}"

    def page(self, limit: int, token: str) -> Request:
        """One page of the present objects; without a version, so the server may not answer from an old cache."""
        return request.list_page(self.resource, self.namespace, self.labels, self.fields, limit=limit, token=token)

    def glance(self) -> Request:
        """How far the server has come, at the price of the metadata of one object; nothing is converted for it."""
        return request.list_page(self.resource, self.namespace, self.labels, self.fields, limit=1, metadata_only=True)

    def watch(self, version: str, seconds: int) -> Request:
        """What happens after `version`."""
        return request.watch(self.resource, self.namespace, self.labels, self.fields, version, timeout_seconds=seconds)


def _may_meet(requirement: str, labels: Mapping[str, str]) -> bool:
    if not _PLAIN.fullmatch(requirement):
        return True
    key, equals, value = requirement.replace("==", "=").partition("=")
    if equals:
        return labels.get(key.strip()) == value.strip()
    return (key.lstrip("! ") in labels) != key.startswith("!")


class WatchLine(Struct, frozen=True):
    """One line of a watch."""

    type: str
    object: Raw


class _IdentityMeta(Struct, frozen=True, rename="camel"):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""


class Identity(Struct, frozen=True):
    """As much of any object as is needed to say which one it is, and in which version."""

    metadata: _IdentityMeta = _IdentityMeta()

    @classmethod
    def of(cls, namespace: str, name: str, uid: str, version: str) -> Identity:
        return cls(_IdentityMeta(name, namespace, uid, version))

    @property
    def key(self) -> Key:
        return self.metadata.namespace, self.metadata.name


class _Labels(Struct, frozen=True):
    labels: dict[str, str] = {}


class _Labelled(Struct, frozen=True):
    metadata: _Labels = _Labels()


class Unreadable(Exception):
    """An object that does not fit its struct; `key` and `version` say which one, `labels` what it belongs to."""

    def __init__(self, key: Key, version: str, why: str, labels: Mapping[str, str] = {}) -> None:
        super().__init__(f"{'/'.join(part for part in key if part)} cannot be read: {why}")
        self.key = key
        self.version = version
        self.why = why
        self.labels = labels


class _PageMeta(Struct, frozen=True, rename={"resource_version": "resourceVersion", "token": "continue"}):
    resource_version: str = ""
    token: str = ""


class _Page(Struct, Generic[V], frozen=True):
    metadata: _PageMeta = _PageMeta()
    items: list[V] | None = None


class Listing(Struct, Generic[T]):
    """All present objects by key, those that could not be read, and the version a watch may start at."""

    objects: dict[Key, T] = {}
    unreadable: dict[Key, Unreadable] = {}
    version: str = ""

    def add(self, item: T | Unreadable) -> None:
        if isinstance(item, Unreadable):
            self.objects.pop(item.key, None)
            self.unreadable[item.key] = item
        else:
            key = (item.metadata.namespace, item.metadata.name)
            self.unreadable.pop(key, None)
            self.objects[key] = item


class Codec(Generic[T]):
    """Bytes of the API to structs of one type."""

    def __init__(self, into: type[T]) -> None:
        self._into = into
        self._item = msgspec.json.Decoder(into)
        self._page = msgspec.json.Decoder(_Page[into])  # type: ignore[valid-type]
        self._raw_page = msgspec.json.Decoder(_Page[Raw])
        self._line = msgspec.json.Decoder(WatchLine)
        self._identity = msgspec.json.Decoder(Identity)

    def present(self, data: bytes) -> T | None:
        """The object of a line that tells what it is now, as servers write such lines.

        None for other lines and for what cannot be read, which are to be looked at in parts.
        """
        start = _PRESENT.get(data[: len(_ADDED)])
        if start is None:
            return None
        try:
            return self._item.decode(data[start : data.rindex(b"}")])
        except (ValueError, RecursionError):
            return None

    def shared(self, event: SharedEvent) -> T | None:
        """The same of an event that was decoded for others already."""
        try:
            return event.read(self._into)
        except (ValueError, RecursionError):
            return None

    def line(self, data: bytes) -> WatchLine:
        try:
            return self._line.decode(data)
        except RecursionError:
            return decoded(shallow(data), self._line, "a line of the watch")
        except UNREADABLE as error:
            raise Garbled(f"a line of the watch: the answer cannot be read: {why(error)}") from error

    def identity(self, data: bytes | Raw) -> Identity:
        return decoded(data, self._identity, "an object without readable metadata")

    def item(self, data: bytes | Raw) -> T | Unreadable:
        try:
            item = self._item.decode(data)
            if MARK not in bytes(data) or not reaches(item):
                return item
            raise RecursionError
        except UNREADABLE as error:
            which = self.identity(data)
            return Unreadable(which.key, which.metadata.resource_version, why(error), _labels_of(data))

    def page(self, data: bytes) -> tuple[list[T | Unreadable], str, str]:
        """Its objects, its version and the token of the next page."""
        try:
            page = self._page.decode(data)
            return list(page.items or ()), page.metadata.resource_version, page.metadata.token
        except msgspec.ValidationError:
            # Some object does not fit: take them one by one, so that only that one is left out.
            raw = self._raw_page.decode(data)
        except RecursionError:
            raw = self._raw_page.decode(shallow(data))
        items = [self.item(item) for item in raw.items or ()]
        return items, raw.metadata.resource_version, raw.metadata.token


def _labels_of(data: bytes | Raw) -> Mapping[str, str]:
    """As far as they can be read."""
    try:
        return msgspec.json.decode(data, type=_Labelled).metadata.labels
    except UNREADABLE:
        return {}


async def list_all(client: Client, selection: Selection, codec: Codec[T], limit: int) -> Listing[T]:
    """The present objects, page by page; all at once when the list changes too fast for its pages."""
    token = ""
    found: Listing[T] = Listing()
    while True:
        try:
            response = await client.call(selection.page(limit, token))
        except Gone:
            if not token:
                raise
            found, limit, token = Listing(), 0, ""
            continue
        try:
            items, found.version, token = codec.page(response.body)
        except UNREADABLE as error:
            raise Garbled(f"a list of {selection.resource.plural} cannot be read: {why(error)}") from error
        if not found.version:
            # Taken for a list, it would say that every object is gone.
            raise Garbled(
                f"a list of {selection.resource.plural} has no resource version: it is none of the API server's"
            )
        for item in items:
            found.add(item)
        if not token:
            return found


async def has_gone_back(client: Client, selection: Selection, version: str) -> bool:
    """Whether the server has not come as far as this version, which it once had: its data is that of a backup.

    A watch from there would be silent until it has come so far, and tell nothing of what was before. What is no answer
    says nothing, and neither does a refusal that the watch will meet as well.
    """
    try:
        found = await client.page(selection.glance(), Identity)
    except (Throttled, ServerError):
        raise
    except (ApiError, Garbled):
        return False
    return is_older(found.resource_version, than=version)


class WatchPace:
    """How long to wait before the next attempt, and for how long to ask a watch to stay open.

    Delays double from 0.8 to 30 seconds, each lengthened by up to its double, so that the informers of many processes
    do not come back at the same moment.
    """

    def __init__(self, seed: int | None) -> None:
        self._random = clock.chance(seed)
        self.failures = 0

    def reset(self) -> None:
        self.failures = 0

    def next_delay(self) -> float:
        delay = min(FIRST_DELAY * 2.0 ** min(self.failures, 60), LONGEST_DELAY)
        self.failures += 1
        return delay * (1 + self._random.random())

    def watch_seconds(self) -> int:
        return self._random.randint(SHORTEST_WATCH, LONGEST_WATCH)
