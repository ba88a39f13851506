"""Equality of JSON, in which true is not 1: Python says that they are equal, and what is equal is not written."""

from __future__ import annotations

from typing import Any

import msgspec


def identical(left: Any, right: Any) -> bool:
    """Whether two values are the same JSON; their text tells it fast where they also have the same order."""
    if left is right:
        return True
    return bool(left == right) and (msgspec.json.encode(left) == msgspec.json.encode(right) or same(left, right))


def same(left: Any, right: Any) -> bool:
    """The same where most values are small; 1 is not 1.0 either."""
    if type(left) is not type(right):
        return isinstance(left, dict) and isinstance(right, dict) and _same_map(left, right)
    if isinstance(left, dict):
        return _same_map(left, right)
    if isinstance(left, list):
        return len(left) == len(right) and all(same(*pair) for pair in zip(left, right, strict=True))
    return bool(left == right)


def _same_map(left: dict[str, Any], right: dict[str, Any]) -> bool:
    return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)


def alike(left: Any, right: Any) -> bool:
    """The same, but that numbers are compared by their value."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(alike(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(alike(*pair) for pair in zip(left, right, strict=True))
    return bool(left == right)
