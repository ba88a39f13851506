"""Stored versions as structs: one object per version and type, shared by everybody in the process who reads it.

That is safe because the structs are frozen (`is_shareable` says whether those of a type are). Bodies that are kept in
parts are decoded part by part, so that a part which many objects share is decoded once for all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct, inspect, structs
from msgspec.structs import force_setattr

from kubeloop.objects.meta import Meta, OwnerReference
from kubesim.store.versions import Event, Head, Version

T = TypeVar("T")

REMEMBERED = 2048
"""At least so many of the last objects of a type are kept for others who read the same."""
PARTS = ("metadata", "spec", "status")


class PartReader:
    """Reads one part of objects into its struct."""

    __slots__ = ("_fields", "decode")

    def __init__(self, into: type[Struct]) -> None:
        self.decode: Callable[[bytes], Any] = msgspec.json.Decoder(into).decode
        self._fields = {each.encode_name: each.name for each in structs.fields(into)}

    def field(self, name: str) -> str | None:
        """What the struct calls a field of the API; None where it does not have it."""
        return self._fields.get(name)


class Reader(Generic[T]):
    """Decodes versions into one type."""

    def __init__(self, into: type[T]) -> None:
        self.is_shareable = is_shareable(into)
        self._into = into
        self._whole = msgspec.json.Decoder(into).decode
        self._parts = _parts_of(into)
        self._shares = _shares_of(into)
        self._lately: dict[Version, T] = {}
        self._before: dict[Version, T] = {}
        """As `_lately` was when it had grown to its size."""

    def __call__(self, version: Version) -> T:
        """Not to be changed by whoever gets it; raises as a decoder does."""
        return self._remembered(version) or self._kept(version, self._decoded(version))

    def of(self, event: Event) -> T:
        """What an event shows, made from what was before where that is remembered."""
        if event.old is None:
            return self(event.new)
        seen = self._remembered(event.old)
        return self(event.new) if seen is None else self.after(event.new, event.old, seen)

    def after(self, version: Version, old: Version, seen: T) -> T:
        """The object, made from what the one before was read as: parts that are still the same are not decoded."""
        found = self._remembered(version)
        if found is not None:
            return found
        new, before = version.kept, old.kept
        if self._parts is None or isinstance(new, bytes) or isinstance(before, bytes):
            return self._kept(version, self._decoded(version))
        parts: dict[str, Any] = {}
        for name, part, reader in self._parts:
            known: Any = getattr(seen, name)
            if part == "metadata":
                parts[name] = self._meta(version, reader, known if new.metadata is before.metadata else None)
            elif part == "status":
                parts[name] = known if new.status is before.status else reader.decode(new.status)
            else:
                parts[name] = known if new.has_spec_of(before) else new.spec_read(version, reader)
        return self._kept(version, self._into(**parts))

    def _remembered(self, version: Version) -> T | None:
        return self._lately.get(version) or self._before.get(version)

    def _kept(self, version: Version, item: T) -> T:
        if len(self._lately) >= REMEMBERED:
            self._before, self._lately = self._lately, {}
        self._lately[version] = item
        return item

    def _decoded(self, version: Version) -> T:
        kept = version.kept
        if self._parts is None or isinstance(kept, bytes):
            item = self._whole(version.body)
            if self._shares:
                self._share(item.metadata, version.head)  # type: ignore[attr-defined]  # which makes it one that shares
            return item
        parts: dict[str, Any] = {}
        for name, part, reader in self._parts:
            if part == "metadata":
                parts[name] = self._meta(version, reader, None)
            elif part == "status":
                parts[name] = reader.decode(kept.status)
            else:
                parts[name] = kept.spec_read(version, reader)
        return self._into(**parts)

    def _meta(self, version: Version, reader: PartReader, known: Any) -> Any:
        """The metadata of a version; those of another version that differ in nothing else may be known."""
        if known is not None and self._shares:
            meta = known.__copy__()
            force_setattr(meta, "resource_version", str(version.revision))
            return meta
        meta = reader.decode(b'{"resourceVersion":"%d",%b' % (version.revision, version.kept.metadata))  # type: ignore[union-attr]
        if self._shares:
            self._share(meta, version.head)
        return meta

    def _share(self, meta: Meta, head: Head) -> None:
        """Has the metadata hold what the store holds anyway, and not another copy of it."""
        force_setattr(meta, "name", head.name)
        force_setattr(meta, "namespace", head.namespace)
        force_setattr(meta, "uid", head.uid)
        force_setattr(meta, "labels", head.labels)
        if meta.owner_references:
            force_setattr(meta, "owner_references", _shared(meta.owner_references))


_readers: dict[type, Reader[Any]] = {}


def reader_of(into: type[T]) -> Reader[T]:
    """The one reader of this type."""
    found = _readers.get(into)
    if found is None:
        found = _readers[into] = Reader(into)
    return found


def _parts_of(into: type) -> tuple[tuple[str, str, PartReader], ...] | None:
    """The fields of the type, the parts they hold and how these are read; None where there are others."""
    if not issubclass(into, Struct):
        return None
    fields = structs.fields(into)
    if not all(each.encode_name in PARTS and _is_struct(each.type) for each in fields):
        return None
    return tuple((each.name, each.encode_name, PartReader(each.type)) for each in fields)


def _shares_of(into: type) -> bool:
    """Whether its metadata holds what a head holds."""
    if not issubclass(into, Struct):
        return False
    meta = next((each.type for each in structs.fields(into) if each.name == "metadata"), None)
    if not (isinstance(meta, type) and issubclass(meta, Meta)):
        return False
    return any(each.name == "labels" and each.type == dict[str, str] for each in structs.fields(meta))


@lru_cache(maxsize=10_000)
def _shared(owners: tuple[OwnerReference, ...]) -> tuple[OwnerReference, ...]:
    """One copy for all that have the same owners."""
    return owners


def _is_struct(type_: object) -> bool:
    return isinstance(type_, type) and issubclass(type_, Struct)


def is_shareable(into: type) -> bool:
    """Whether nobody can change an object of the type, as far as its structs go; what a mapping holds is not looked at.

    A mapping is no more than labels or annotations, which everybody who shares a view shares already.
    """
    seen: set[type] = set()

    def is_fixed(info: inspect.Type) -> bool:
        match info:
            case inspect.StructType(cls=cls):
                if cls in seen:
                    return True
                seen.add(cls)
                return cls.__struct_config__.frozen and all(is_fixed(field.type) for field in info.fields)
            case inspect.UnionType(types=types):
                return all(is_fixed(each) for each in types)
            case inspect.VarTupleType(item_type=item):
                return is_fixed(item)
            case inspect.TupleType(item_types=items):
                return all(is_fixed(each) for each in items)
            case inspect.DictType(value_type=value):
                return is_fixed(value)
            case _:
                return not isinstance(info, _CHANGEABLE)

    return is_fixed(inspect.type_info(into))


_CHANGEABLE = (inspect.ListType, inspect.SetType, inspect.AnyType, inspect.ByteArrayType, inspect.CustomType)
