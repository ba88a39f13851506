"""The JSONPath that definitions write for their columns: `.spec.tags[0]`, `.conditions[?(@.type=="Ready")].status`.

A path is compiled once into steps, each a function from the values found so far to those found next. What cannot be
read, or does not fit the object, finds nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias

Step: TypeAlias = Callable[[list[Any]], list[Any]]

_FIELD = re.compile(r"\.?((?:[^\s\\.\[\]|,()?@=!<>'\"]|\\.)+)")
_SLICE = re.compile(r"(-?\d*)(?::(-?\d*))?(?::(-?\d*))?")
_KEY = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_COMPARED = re.compile(r"\s*(.+?)\s*(==|!=|<=|>=|<|>)\s*(.+?)\s*")
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
}


class Misfit(Exception):
    """The path cannot be read, or asks something of a value that it has not got."""


@cache
def compiled(path: str) -> Callable[[Any], list[Any]]:
    """A function that finds what a path names in an object, in order."""
    steps = list(_steps(path))

    def find(tree: Any) -> list[Any]:
        found = [tree]
        try:
            for step in steps:
                found = step(found)
        except (Misfit, TypeError):
            return []
        return found

    return find


def _steps(path: str) -> Iterator[Step]:
    at = 0
    while at < len(path):
        if path.startswith("..", at):
            yield _everything
            at += 1 if path[at + 2 : at + 3] not in ("", "[") else 2
        elif path[at] == "[":
            end = _closing(path, at)
            yield _bracket(path[at + 1 : end].strip())
            at = end + 1
        elif path.startswith(".*", at):
            yield _wildcard
            at += 2
        else:
            match = _FIELD.match(path, at)
            if match is None:
                raise_on_use = Misfit(f"cannot read {path[at:]}")
                yield _failing(raise_on_use)
                return
            yield _field(re.sub(r"\\(.)", r"\1", match[1]))
            at = match.end()


def _closing(path: str, start: int) -> int:
    """Where a bracket ends; quoted brackets do not count."""
    depth, quote = 0, ""
    for at in range(start, len(path)):
        sign = path[at]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign == "[":
            depth += 1
        elif sign == "]":
            depth -= 1
            if not depth:
                return at
    return len(path)


def _failing(error: Misfit) -> Step:
    def fail(_: list[Any]) -> list[Any]:
        raise error

    return fail


def _field(name: str) -> Step:
    return lambda values: [each[name] for each in values if isinstance(each, dict) and name in each]


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return value if isinstance(value, list) else []


def _wildcard(values: list[Any]) -> list[Any]:
    return [child for each in values for child in _children(each)]


def _everything(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for each in values:
        if children := _children(each):
            found += [each, *_everything(children)]
    return found


def _bracket(inside: str) -> Step:
    if inside == "*":
        return _wildcard
    if inside.startswith("?(") and inside.endswith(")"):
        return _filter(inside[2:-1])
    if "," in inside:
        steps = [_bracket(part.strip()) for part in inside.split(",")]
        return lambda values: [found for step in steps for found in step(values)]
    if (key := _KEY.fullmatch(inside)) is not None:
        return _joined(list(_steps(f".{key[1] or key[2] or ''}")))
    if (numbers := _SLICE.fullmatch(inside)) is not None and inside:
        return _slice(numbers)
    return _failing(Misfit(f"cannot read [{inside}]"))


def _joined(steps: list[Step]) -> Step:
    def walk(values: list[Any]) -> list[Any]:
        for step in steps:
            values = step(values)
        return values

    return walk


def _slice(numbers: re.Match[str]) -> Step:
    first, second, third = numbers.groups()

    def cut(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for each in values:
            if each is None:
                continue
            if not isinstance(each, list):
                raise Misfit("not a list")
            start = int(first or 0) + (len(each) if first.startswith("-") else 0)
            if second is None:
                end = start + 1
            else:
                end = int(second or len(each)) + (len(each) if second.startswith("-") else 0)
            if start == end:
                continue
            if not 0 <= start < len(each) or end > len(each) or start > end:
                raise Misfit("out of bounds")
            found += each[start : end : int(third or 1) or 1]
        return found

    return cut


def _filter(condition: str) -> Step:
    compared = _COMPARED.fullmatch(condition)
    left = _operand(compared[1] if compared else condition.strip())
    right = _operand(compared[3]) if compared else None
    compare = _COMPARISONS[compared[2]] if compared else None

    def holds(value: Any) -> bool:
        lefts = left(value)
        if right is None or compare is None:
            return bool(lefts)
        rights = right(value)
        if len(lefts) > 1 or len(rights) > 1:
            raise Misfit("can only compare one element at a time")
        return bool(lefts and rights) and _is_comparable(lefts[0], rights[0]) and compare(lefts[0], rights[0])

    def choose(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for each in values:
            if not isinstance(each, list):
                raise Misfit("not a list")
            found += [item for item in each if holds(item)]
        return found

    return choose


def _is_comparable(left: Any, right: Any) -> bool:
    """Values of different kinds fit no comparison."""
    if type(left) is type(right) or (isinstance(left, int | float) and isinstance(right, int | float)):
        return True
    raise Misfit("cannot compare values of different kinds")


def _operand(text: str) -> Callable[[Any], list[Any]]:
    """One side of a comparison: a path from the item, or a value."""
    if text.startswith("@"):
        walk = _joined(list(_steps(text[1:])))
        return lambda value: walk([value])
    if (key := _KEY.fullmatch(text)) is not None:
        literal: Any = key[1] if key[1] is not None else key[2]
    elif text in ("true", "false"):
        literal = text == "true"
    else:
        try:
            literal = float(text) if "." in text else int(text)
        except ValueError:
            return _failing(Misfit(f"cannot read {text}"))
    return lambda _: [literal]
