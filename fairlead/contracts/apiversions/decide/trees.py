"""JSON as it is told apart and copied here: 1, 1.0 and true are three values, and nothing is not null."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeAlias

Tree: TypeAlias = dict[str, Any]


class _Absent(Enum):
    ABSENT = "absent"


Absent = _Absent.ABSENT
"""Where there is no value, not even null."""


def same(one: Any, other: Any) -> bool:
    """Whether both are the same JSON, in whatever order keys are; an integer is no float."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def copied(value: Any) -> Any:
    """All containers are new; scalars are shared."""
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    if isinstance(value, list):
        return [copied(each) for each in value]
    return value
