"""Specs and statuses as Structs, whatever somebody wrote into them.

A value of another kind than its field asks for reads as absent and is told in one sentence with its path; null counts
as absent. Fields that are not known are left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import Struct, inspect

from fairlead.contracts.plans.decide.seen import RolloutObject
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


def trait_spec(rollout: RolloutObject) -> tuple[TraitSpec, tuple[str, ...]]:
    """The spec, and a sentence for each value that is of another kind than its field."""
    return read(TraitSpec, rollout.spec, "spec")


def rollout_plan(tree: object, path: str = "spec.rolloutPlan") -> tuple[RolloutPlan, tuple[str, ...]]:
    return read(RolloutPlan, tree, path)


def rollout_status(tree: object) -> RolloutStatus:
    """What is half written or of another kind reads as absent: a status has no author who could correct it."""
    return read(RolloutStatus, tree, "status")[0]


def read(kind: type[S], tree: object, path: str) -> tuple[S, tuple[str, ...]]:
    wrong: list[str] = []
    found = _struct(_info(kind), tree, path, wrong)
    return (found if isinstance(found, kind) else kind()), tuple(wrong)


def written(value: Struct) -> dict[str, Any]:
    """As it is stored: nothing absent or empty, and every number."""
    return dict(_kept(value))


def _kept(value: Struct) -> Iterator[tuple[str, Any]]:
    for field in msgspec.structs.fields(value):
        stored = _stored(getattr(value, field.name))
        if stored not in (None, "", (), {}):
            yield field.encode_name, stored


def _stored(value: Any) -> Any:
    match value:
        case Struct():
            return written(value)
        case tuple():
            return [_stored(each) for each in value] or None
        case bool() | int() | float() | str() | list() | None:
            return value
        case dict():
            return value or None
    return format_rfc3339(value) if value.microsecond == 0 else msgspec.to_builtins(value)


@cache
def _info(kind: type[Struct]) -> inspect.Type:
    return inspect.type_info(kind)


def _struct(info: inspect.Type, tree: object, path: str, wrong: list[str]) -> object:
    if not isinstance(info, inspect.StructType) or tree is None:
        return _Absent
    if not isinstance(tree, dict):
        return _refused(info, tree, path, wrong)
    given = {}
    for field in info.fields:
        value = tree.get(field.encode_name)
        if value is None:
            continue
        found = _value(field.type, value, f"{path}.{field.encode_name}", wrong)
        if found is not _Absent:
            given[field.name] = found
    return info.cls(**given)


def _value(info: inspect.Type, given: object, path: str, wrong: list[str]) -> object:
    match info, given:
        case inspect.AnyType(), _:
            return given
        case inspect.UnionType(), _:
            return _one_of(info, given, path, wrong)
        case inspect.StructType(), _:
            return _struct(info, given, path, wrong)
        case inspect.VarTupleType(), list():
            return _entries(info, given, path, wrong)
        case inspect.DictType(value_type=inspect.AnyType()), dict():
            return given
        case inspect.DictType(), dict() if all(isinstance(each, str) for each in given.values()):
            return given
        case (inspect.BoolType(), bool()) | (inspect.StrType(), str()):
            return given
        case inspect.IntType(), int() if not isinstance(given, bool) and -_LARGEST <= given <= _LARGEST:
            return given
        case inspect.DateTimeType(), str():
            try:
                return parse_rfc3339(given)
            except ValueError:
                return _refused(info, given, path, wrong)
    return _refused(info, given, path, wrong)


def _one_of(info: inspect.UnionType, given: object, path: str, wrong: list[str]) -> object:
    """A field that may be absent, or a number that may be written as a text."""
    kinds = [each for each in info.types if not isinstance(each, inspect.NoneType)]
    if len(kinds) == 1:
        return _value(kinds[0], given, path, wrong)
    if isinstance(given, str):
        return given
    number = next(each for each in kinds if isinstance(each, inspect.IntType))
    return _value(number, given, path, wrong)


def _entries(info: inspect.VarTupleType, given: list[Any], path: str, wrong: list[str]) -> tuple[object, ...]:
    found = []
    for place, each in enumerate(given):
        inside = f"{path}[{place}]"
        value = _refused(info.item_type, each, inside, wrong) if each is None else None
        value = _value(info.item_type, each, inside, wrong) if value is None else value
        if value is not _Absent:
            found.append(value)
    return tuple(found)


def _refused(info: inspect.Type, given: object, path: str, wrong: list[str]) -> object:
    wrong.append(invalid(path, given, _OTHER_KIND[type(info)]))
    return _Absent
