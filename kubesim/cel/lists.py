"""Functions of lists that the server adds to CEL."""

from __future__ import annotations

from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from kubesim.cel.standard import STANDARD
from kubesim.cel.types import Library
from kubesim.cel.values import NONE, Failed, NoOverload, compared, equal, optional, type_name

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_SUMMED = ("int", "uint", "double", "duration")
_add = STANDARD.does["_+_"]
_MOST_ITEMS = 250_000


def _sum(items: list[Any]) -> Any:
    if not items:
        return 0
    total = items[0]
    for each in items[1:]:
        total = _add(total, each)
    return total


def _extreme(items: list[Any], name: str, sign: int) -> Any:
    if not items:
        raise Failed(f"{name} called on empty list")
    found = items[0]
    for each in items[1:]:
        if type_name(each) == type_name(found) and compared(each, found) * sign > 0:
            found = each
    return found


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise Failed(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise Failed(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise Failed(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def _flatten(items: list[Any], levels: int = 1) -> list[Any]:
    if levels < 0:
        raise Failed("level must be non-negative")
    flat: list[Any] = []
    for each in items:
        flat += _flatten(each, levels - 1) if levels and isinstance(each, list) else [each]
    return flat


def _sorted(items: list[Any]) -> list[Any]:
    try:
        return sorted(items, key=cmp_to_key(compared))
    except NoOverload:
        raise Failed("list elements must have the same type") from None


def _distinct(items: list[Any]) -> list[Any]:
    kept: list[Any] = []
    for each in items:
        if not any(equal(each, other) for other in kept):
            kept.append(each)
    return kept


def _range(count: int) -> list[int]:
    if count > _MOST_ITEMS:
        raise Failed("operation cancelled: actual cost limit exceeded")
    return list(range(count))


def _contains_all(items: list[Any], others: list[Any]) -> bool:
    return all(any(equal(each, item) for item in items) for each in others)


def _intersects(items: list[Any], others: list[Any]) -> bool:
    return any(equal(each, other) for each in items for other in others)


_FIXED = """
list(A):indexOf(A) -> int
list(A):lastIndexOf(A) -> int
list(A):slice(int, int) -> list(A)
list(list(A)):flatten() -> list(A)
list(dyn):flatten(int) -> list(dyn)
list(A):reverse() -> list(A)
list(A):distinct() -> list(A)
list(A):first() -> optional_type(A)
list(A):last() -> optional_type(A)
lists.range(int) -> list(int)
sets.contains(list(A), list(A)) -> bool
sets.equivalent(list(A), list(A)) -> bool
sets.intersects(list(A), list(A)) -> bool
"""
_DECLARED = (
    *_FIXED.splitlines(),
    *(f"list({kind}):isSorted() -> bool" for kind in _COMPARABLE),
    *(f"list({kind}):{name}() -> {kind}" for name in ("min", "max") for kind in _COMPARABLE),
    *(f"list({kind}):sum() -> {kind}" for kind in _SUMMED),
    *(f"list({kind}):sort() -> list({kind})" for kind in _COMPARABLE),
)

LISTS = Library(
    _DECLARED,
    {
        "isSorted": lambda items: all(compared(before, after) <= 0 for before, after in pairwise(items)),
        "min": lambda items: _extreme(items, "min", -1),
        "max": lambda items: _extreme(items, "max", 1),
        "sum": _sum,
        "slice": _slice,
        "flatten": _flatten,
        "sort": _sorted,
        "reverse": lambda items: items[::-1],
        "distinct": _distinct,
        "first": lambda items: optional(items[0]) if items else NONE,
        "last": lambda items: optional(items[-1]) if items else NONE,
        "lists.range": _range,
        "sets.contains": _contains_all,
        "sets.equivalent": lambda left, right: _contains_all(left, right) and _contains_all(right, left),
        "sets.intersects": _intersects,
    },
)
