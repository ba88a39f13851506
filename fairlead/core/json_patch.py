"""JSON patches: the operations that turn one tree into another, and nothing about what stays as it is.

Objects are followed field by field, lists of one length entry by entry; a list that grows or shrinks is replaced as a
whole. What both trees share as one object is not looked into, so a change costs what it touches.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

Operation: TypeAlias = dict[str, Any]


def json_patch(before: object, after: object) -> list[Operation]:
    """Empty where nothing differs; the order of fields is no difference, whether a number is written as 1 or 1.0 is."""
    return [*_operations(before, after, "")]


def _operations(before: object, after: object, path: str) -> Iterator[Operation]:
    if before is after:
        return
    match before, after:
        case dict(), dict():
            for key in before:
                if key not in after:
                    yield {"op": "remove", "path": _inside(path, key)}
            for key, value in after.items():
                if key in before:
                    yield from _operations(before[key], value, _inside(path, key))
                else:
                    yield {"op": "add", "path": _inside(path, key), "value": value}
        case list(), list() if len(before) == len(after):
            for place, (old, new) in enumerate(zip(before, after, strict=True)):
                yield from _operations(old, new, f"{path}/{place}")
        case _ if type(before) is not type(after) or before != after:
            yield {"op": "replace", "path": path, "value": after}


def _inside(path: str, key: str) -> str:
    return f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
