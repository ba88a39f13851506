"""Rules of what a CustomResourceDefinition shows in tables and lets be selected by."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesim.errors import Cause, required, wrong
from kubesim.schema.values import duplicate, too_many
from kubesim.store.versions import Tree

_TYPES = ("boolean", "date", "integer", "number", "string")
_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MOST_FIELDS = 8
_WORD = re.compile(r"[.\[]|[^.\[]+")
_SELECTABLE = (
    "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed."
)


def columns(found: list[Tree], at: str) -> Iterator[Cause]:
    """Broken rules of columns."""
    for index, column in enumerate(found):
        place = f"{at}[{index}]"
        if not column.get("name"):
            yield required(f"{place}.name")
        kind, words = column.get("type") or "", f"must be one of {','.join(_TYPES)}"
        if not kind:
            yield required(f"{place}.type", words)
        elif kind not in _TYPES:
            yield wrong(f"{place}.type", kind, words)
        if column.get("format") and column["format"] not in _FORMATS:
            yield wrong(f"{place}.format", column["format"], f"must be one of {','.join(_FORMATS)}")
        path = column.get("jsonPath") or ""
        if not path:
            yield required(f"{place}.JSONPath")
        elif not path.startswith("."):
            yield wrong(f"{place}.JSONPath", path, "must be a simple json path starting with .")


def selectable(found: list[Tree], schema: Tree, at: str) -> Iterator[Cause]:
    """Broken rules of fields by which objects are selected."""
    paths: list[str] = []
    for index, field in enumerate(found):
        place, path = f"{at}[{index}].jsonPath", field.get("jsonPath") or ""
        if not path:
            yield required(place)
            continue
        reached = _reached(path, schema)
        if isinstance(reached, str):
            yield wrong(place, path, f"is an invalid path: {reached}")
            continue
        if path.startswith(".metadata"):
            yield wrong(place, path, "must not point to fields in metadata")
        if reached.get("type") not in ("string", "boolean", "integer"):
            yield wrong(place, path, _SELECTABLE)
        if path in paths:
            yield duplicate(place, path)
        else:
            paths.append(path)
    if len(paths) > _MOST_FIELDS:
        yield too_many(at, len(paths), _MOST_FIELDS)


def _reached(path: str, schema: Tree) -> Tree | str:
    """The schema of a field, or why there is none."""
    words = _WORD.findall(path)
    while words:
        sign = words.pop(0)
        if sign == "[":
            return "array notation is not allowed"
        if sign != ".":
            return f"expected [ or . but got: {sign}"
        name = words.pop(0) if words else ""
        known = schema.get("properties") or {}
        if name not in known:
            return "does not refer to a valid field"
        schema = known[name]
    return schema
