"""Hypothesis strategies for any value of a type, made from its annotations."""

from __future__ import annotations

import types
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as some
from msgspec import NODEFAULT, Raw, Struct, structs

from kubeloop.sealed import Sealed
from kubeloop.sealing import seal

T = TypeVar("T")

_SIMPLE: dict[Any, some.SearchStrategy[Any]] = {
    str: some.text(max_size=8),
    int: some.integers(-(2**53), 2**53),
    bool: some.booleans(),
    float: some.floats(allow_nan=False),
    bytes: some.binary(max_size=8),
    type(None): some.none(),
    datetime: some.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=some.just(UTC)),  # noqa: DTZ001
    timedelta: some.timedeltas(timedelta(0), timedelta(days=400)),
    Raw: some.sampled_from((Raw(b"null"), Raw(b'{"a":  1.50}'))),
    Sealed: some.binary(max_size=8).map(seal),
}


def values_of(of: type[T]) -> some.SearchStrategy[T]:
    """Any value of the type; optional fields are left out at times."""
    return _values(of)


def _values(of: Any) -> some.SearchStrategy[Any]:
    if of in _SIMPLE:
        return _SIMPLE[of]
    origin, arguments = get_origin(of) or of, get_args(of)
    if origin in (Union, types.UnionType):
        return some.one_of(*map(_values, arguments))
    if origin is tuple and arguments[-1] is not Ellipsis:
        return some.tuples(*map(_values, arguments))
    if origin in (tuple, list, frozenset):
        return some.lists(_values(arguments[0]), max_size=3).map(origin)
    if origin in (dict, Mapping):
        return some.dictionaries(*map(_values, arguments), max_size=3)
    if issubclass(origin, Enum):
        return some.sampled_from(list(origin))
    if issubclass(origin, Struct):
        return some.deferred(lambda: _struct(origin))
    raise TypeError(f"no values of {of}")


def _struct(of: type[Struct]) -> some.SearchStrategy[Any]:
    hints = get_type_hints(of)
    fields = {each.name: _values(hints[each.name]) for each in structs.fields(of)}
    needed = [each.name for each in structs.fields(of) if each.default is each.default_factory is NODEFAULT]
    return some.fixed_dictionaries(
        {name: fields[name] for name in needed},
        optional={name: strategy for name, strategy in fields.items() if name not in needed},
    ).map(lambda given: of(**given))
