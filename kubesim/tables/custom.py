"""Rows of custom resources: the columns that their definition names, or the age where it names none."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from kubesim.store.versions import Tree
from kubesim.tables.jsonpath import compiled
from kubesim.tables.printing import NAME, UNKNOWN, Cells, Column, Printer, moment_of, name_of, since

AGE: Tree = {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}
_WHOLE = 1e21
_SMALL = 1e-4


def printer(columns: Sequence[Tree]) -> Printer:
    """The printer of a version with these columns."""
    wanted = list(columns) or [AGE]
    finders = [(each["type"], compiled(each["jsonPath"])) for each in wanted]

    def cells(tree: Tree) -> Cells:
        return [name_of(tree), *(_cell(kind, find(tree)) for kind, find in finders)]

    return Printer((NAME, *(_column(each, is_own=bool(columns)) for each in wanted)), cells)


def _column(said: Tree, *, is_own: bool) -> Column:
    described = f"Custom resource definition column (in JSONPath format): {said['jsonPath']}" if is_own else ""
    return Column(
        said["name"],
        said["type"],
        said.get("priority") or 0,
        said.get("format") or "",
        said.get("description") or described,
    )


def _cell(kind: str, found: list[Any]) -> Any:
    """The first value that was found, if it is of the column's type."""
    if not found:
        return None
    convert = _CONVERSIONS.get(kind)
    return None if convert is None else convert(found[0])


def _integer(value: Any) -> int | None:
    return int(value) if _is_number(value) else None


def _number(value: Any) -> float | int | None:
    return value if _is_number(value) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    if not value:
        return UNKNOWN
    return "<invalid>" if moment_of(value) is None else since(value)


def _string(value: Any) -> str:
    if isinstance(value, dict | list):
        return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float(value)
    return "<no value>" if value is None else str(value)


def _float(value: float) -> str:
    if value and not _SMALL <= abs(value) < _WHOLE:
        mantissa, _, exponent = f"{value!r}".partition("e")
        return f"{mantissa}e{int(exponent):+03d}" if exponent else f"{value:g}"
    return str(int(value)) if value.is_integer() else repr(value)


_CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "boolean": _boolean,
    "date": _date,
    "integer": _integer,
    "number": _number,
    "string": _string,
}
