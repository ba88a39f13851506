"""Specs and statuses as Structs, whatever somebody wrote into them.

A value of another kind than its field asks for reads as absent and is told in one sentence with its path; null counts
as absent. Fields that are not known are left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec import Struct, inspect

from fairlead.contracts.plans.kinds import RolloutPlan, RolloutStatus, TraitSpec
from fairlead.core.field_errors import invalid
from fairlead.core.times import format_rfc3339, parse_rfc3339

S = TypeVar("S", bound=Struct)

_LARGEST = 2**31 - 1
_OTHER_KIND = {
    inspect.IntType: "must be a whole number of 32 bits",
    inspect.StrType: "must be a text",
    inspect.BoolType: "must be true or false",
    inspect.DateTimeType: "must be a time such as 2026-03-01T12:00:00Z",
    inspect.DictType: "must be an object of texts",
    inspect.VarTupleType: "must be a list",
    inspect.StructType: "must be an object",
}


class _Absent:
    """Of a value that cannot be used: the default of its field holds."""


def trait_spec(tree: object) -> tuple[TraitSpec, tuple[str, ...]]:
    """The spec, and a sentence for each value that is of another kind than its field."""
    return read(TraitSpec, tree, "spec")


def rollout_plan(tree: object, path: str = "spec.rolloutPlan") -> tuple[RolloutPlan, tuple[str, ...]]:
    return read(RolloutPlan, tree, path)


def rollout_status(tree: object) -> RolloutStatus:
    """What is half written or of another kind reads as absent: a status has no author who could correct it."""
    return read(RolloutStatus, tree, "status")[0]


def read(kind: type[S], tree: object, path: str) -> tuple[S, tuple[str, ...]]:
    wrong: list[str] = []
    found = _Absent if tree is None else _reader_of(kind)(tree, path, "", wrong)
    return (found if isinstance(found, kind) else kind()), tuple(wrong)


def written(value: Struct) -> dict[str, Any]:
    """As it is stored: nothing absent or empty, and every number."""
    found: dict[str, Any] = {}
    for name, stored_as in _names(type(value)):
        given = getattr(value, name)
        if type(given) in _PLAIN:  # most of them: a status is written many times a second
            if given is not None and given != "":
                found[stored_as] = given
        elif (stored := _stored(given)) not in (None, "", (), {}):
            found[stored_as] = stored
    return found


_PLAIN = frozenset({str, int, bool, float, type(None)})


@cache
def stored_names(kind: type[Struct]) -> frozenset[str]:
    """What its fields are called where they are stored."""
    return frozenset(stored_as for _, stored_as in _names(kind))


def _stored(value: Any) -> Any:
    match value:
        case bool() | int() | float() | str() | list() | None:
            return value
        case Struct():
            return written(value)
        case tuple():
            return [_stored(each) for each in value] or None
        case dict():
            return value or None
    return format_rfc3339(value) if value.microsecond == 0 else msgspec.to_builtins(value)


@cache
def _names(kind: type[Struct]) -> tuple[tuple[str, str], ...]:
    """Of its fields, here and as they are stored."""
    return tuple((field.name, field.encode_name) for field in msgspec.structs.fields(kind))


class _Reader(Protocol):
    """Reads a value that is not null; `place` is its own part of the path, with what separates it."""

    def __call__(self, given: Any, path: str, place: str, wrong: list[str], /) -> object: ...


@cache
def _reader_of(kind: type[Struct]) -> _Reader:
    return _reader(inspect.type_info(kind))


def _reader(info: inspect.Type) -> _Reader:
    """Made once for every kind: a status is read many times a second, and its fields do not change."""
    match info:
        case inspect.AnyType():
            return lambda given, _path, _place, _wrong: given
        case inspect.UnionType():
            return _one_of(info)
        case inspect.StructType():
            return _struct(info)
        case inspect.VarTupleType():
            return _entries(info)
        case inspect.DateTimeType():
            return _moment(info)
    return _plain(info, _FITS[type(info)](info))


def _plain(info: inspect.Type, fits: Callable[[Any], bool]) -> _Reader:
    """A value that stays what it is."""

    def read_plain(given: Any, path: str, place: str, wrong: list[str]) -> object:
        return given if fits(given) else _refused(info, given, path + place, wrong)

    return read_plain


def _is_text(given: Any) -> bool:
    return isinstance(given, str)


def _is_number(given: Any) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and -_LARGEST <= given <= _LARGEST


def _is_object(given: Any) -> bool:
    return isinstance(given, dict)


def _is_object_of_texts(given: Any) -> bool:
    return isinstance(given, dict) and all(isinstance(each, str) for each in given.values())


_FITS: dict[type[inspect.Type], Callable[[Any], Callable[[Any], bool]]] = {
    inspect.BoolType: lambda _: lambda given: isinstance(given, bool),
    inspect.StrType: lambda _: _is_text,
    inspect.IntType: lambda _: _is_number,
    inspect.DictType: lambda info: _is_object if isinstance(info.value_type, inspect.AnyType) else _is_object_of_texts,
}


def _moment(info: inspect.Type) -> _Reader:
    def read_moment(given: Any, path: str, place: str, wrong: list[str]) -> object:
        try:
            return parse_rfc3339(given)
        except (TypeError, ValueError):
            return _refused(info, given, path + place, wrong)

    return read_moment


def _struct(info: inspect.StructType) -> _Reader:
    kind = info.cls
    fields = [(each.name, each.encode_name, f".{each.encode_name}", _reader(each.type)) for each in info.fields]

    def read_struct(given: Any, path: str, place: str, wrong: list[str]) -> object:
        here = path + place
        if not isinstance(given, dict):
            return _refused(info, given, here, wrong)
        found = {}
        for name, stored_as, inside, reader in fields:
            value = given.get(stored_as)
            if value is not None and (known := reader(value, here, inside, wrong)) is not _Absent:
                found[name] = known
        return kind(**found)

    return read_struct


def _one_of(info: inspect.UnionType) -> _Reader:
    """A field that may be absent, or a number that may be written as a text."""
    kinds = [each for each in info.types if not isinstance(each, inspect.NoneType)]
    if len(kinds) == 1:
        return _reader(kinds[0])
    number = _reader(next(each for each in kinds if isinstance(each, inspect.IntType)))

    def read_either(given: Any, path: str, place: str, wrong: list[str]) -> object:
        return given if isinstance(given, str) else number(given, path, place, wrong)

    return read_either


def _entries(info: inspect.VarTupleType) -> _Reader:
    reader = _reader(info.item_type)

    def read_entries(given: Any, path: str, place: str, wrong: list[str]) -> object:
        here = path + place
        if not isinstance(given, list):
            return _refused(info, given, here, wrong)
        found = []
        for number, each in enumerate(given):
            inside = f"[{number}]"
            known = (
                _refused(info.item_type, each, here + inside, wrong)
                if each is None
                else reader(each, here, inside, wrong)
            )
            if known is not _Absent:
                found.append(known)
        return tuple(found)

    return read_entries


def _refused(info: inspect.Type, given: object, path: str, wrong: list[str]) -> object:
    wrong.append(invalid(path, given, _OTHER_KIND[type(info)]))
    return _Absent
