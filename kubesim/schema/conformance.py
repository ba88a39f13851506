"""Whether a value conforms to a schema: every broken rule is a cause in the words of the API server.

On an update, what did not change is not complained about: a schema that became stricter does not hold up writes to
other fields. Items of lists are compared with their predecessors by key where the list is a map, else not at all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from msgspec import UNSET

from kubeloop.schemas.structural import Node, Number
from kubesim.bodies.equality import same
from kubesim.errors import Cause, required, shown, unsupported, wrong
from kubesim.schema.formats import fits_format, known_format
from kubesim.store.versions import Tree

_NOWHERE = "<nil>"
_INT32 = 2**31
_INT64 = 2**63
_TOLERANCE = 1e-9
_LARGEST_WHOLE = 2**53 - 1
"""Beyond which no number with a fraction counts as a whole one."""


def _is_whole(value: float) -> bool:
    """Whether a float counts as an integer: a positive one may be a little above it."""
    if abs(value) > _LARGEST_WHOLE:
        return False
    below = math.trunc(value)
    return value == below or (below > 0 and (value - below) / (value + below) < _TOLERANCE)


def _is_multiple(value: Number, factor: Number) -> bool:
    if isinstance(value, int):
        return value % factor == 0
    return _is_whole(1 / factor * value if factor < 1 else value / factor)


def _bound(bound: Number | None, value: Number) -> Number | None:
    """A bound as the server compares it: it cuts the fraction off that of an integer."""
    if bound is None:
        return None
    return int(bound) if isinstance(value, int) else float(bound)


class Checker:
    """Collects the causes of one value; `prefix` is where the value lies, while texts speak of the path inside it."""

    def __init__(self, prefix: str = "") -> None:
        self.causes: list[Cause] = []
        self._prefix = prefix

    @property
    def different(self) -> list[Cause]:
        """The causes, each once: what a schema and an alternative in it both say is told by the server once."""
        return list(dict.fromkeys(self.causes))

    def _field(self, path: str) -> str:
        path = path.removeprefix(".")
        if self._prefix:
            return f"{self._prefix}.{path}" if path else self._prefix
        return path or _NOWHERE

    def _wrong(self, path: str, value: object, rule: str) -> None:
        self.causes.append(wrong(self._field(path), value, f"{path} in body {rule}"))

    def _loose(self, sentence: str) -> None:
        """A rule that the server ties to no field."""
        self.causes.append(wrong(self._prefix or _NOWHERE, "", sentence))

    def _mistyped(self, path: str, expected: str, found: str) -> None:
        rule = f'{path} in body must be of type {expected}: "{found}"'
        cause = Cause("FieldValueTypeInvalid", f"Invalid value: {shown(found)}: {rule}", self._field(path))
        self.causes.append(cause)

    def check(self, value: Any, node: Node, path: str = "", old: Any = UNSET) -> bool:
        """Notes every broken rule; True when there was none."""
        if old is not UNSET and same(value, old):
            return True
        before = len(self.causes)
        if value is None:
            if node.types and not node.nullable:
                self._mistyped(path, ",".join(node.types), "null")
            self._enum(value, node, path)
            return len(self.causes) == before
        self._type(value, node, path)
        self._combinations(value, node, path)
        if isinstance(value, str):
            self._string(value, node, path)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self._number(value, node, path)
        elif isinstance(value, list):
            self._list(value, node, path, old)
        self._enum(value, node, path)
        if isinstance(value, dict):
            self._object(value, node, path, old)
        return len(self.causes) == before

    def _type(self, value: Any, node: Node, path: str) -> None:
        found, wide = _kind(value)
        fits = (
            found in node.types
            or (found == "number" and "integer" in node.types and _is_whole(value))
            or (found == "integer" and "number" in node.types)
        )
        known = known_format(node)
        if found not in ("string", "array") and known and not fits:
            self._mistyped(path, known, wide)
        elif node.types and not fits and not (known and node.types == ("string",)):
            self._mistyped(path, ",".join(node.types), found)

    def _combinations(self, value: Any, node: Node, path: str) -> None:
        if node.any_of and not any(_conforms(value, each) for each in node.any_of):
            self._loose(f'"{path}" must validate at least one schema (anyOf)')
            self._best(value, node.any_of, path)
        if node.one_of:
            valid = sum(_conforms(value, each) for each in node.one_of)
            if valid != 1:
                found = "Found none valid" if valid == 0 else f"Found {valid} valid alternatives"
                self._loose(f'"{path}" must validate one and only one schema (oneOf). {found}')
            if valid == 0:
                self._best(value, node.one_of, path)
        if node.all_of:
            valid = sum([self.check(value, each, path) for each in node.all_of])
            if valid != len(node.all_of):
                self._loose(f'"{path}" must validate all the schemas (allOf){"" if valid else ". None validated"}')
        if node.negated is not None and _conforms(value, node.negated):
            self._loose(f'"{path}" must not validate the schema (not)')

    def _best(self, value: Any, nodes: Iterable[Node], path: str) -> None:
        """The complaints of the alternative that has fewest."""
        attempts: list[list[Cause]] = []
        for node in nodes:
            attempt = Checker(self._prefix)
            attempt.check(value, node, path)
            attempts.append(attempt.different)
        fewest = min(len(causes) for causes in attempts)
        self.causes += next(causes for causes in attempts if len(causes) == fewest)

    def _string(self, value: str, node: Node, path: str) -> None:
        length = len(value)
        if node.max_length is not None and length > node.max_length:
            unit = "byte" if node.max_length == 1 else "bytes"
            text = f"Too long: may not be more than {node.max_length} {unit}"
            self.causes.append(Cause("FieldValueTooLong", text, self._field(path)))
        elif node.min_length is not None and length < node.min_length:
            self._wrong(path, value, f"should be at least {node.min_length} chars long")
        elif node.expression is not None and not node.expression.is_in(value):
            self._wrong(path, value, f"should match '{node.pattern}'")
        if node.format and node.types in ((), ("string",)) and not fits_format(value, node.format):
            self._mistyped(path, node.format, value)

    def _number(self, value: Number, node: Node, path: str) -> None:
        if node.types == ("integer",) and not _in_range(value, node.format):
            known = node.format in ("int32", "int64")
            kind = f"integer with format {node.format}" if known else "integer (default format)"
            self._loose(f"Checked value must be of type {kind} in {path}")
        if node.multiple_of is not None:
            self._multiple(value, node.multiple_of, path)
        low, high = (_bound(each, value) for each in (node.minimum, node.maximum))
        if low is not None and (value < low or (node.exclusive_minimum and value == low)):
            rule = "greater than" if node.exclusive_minimum else "greater than or equal to"
            self._wrong(path, value, f"should be {rule} {shown(low)}")
        if high is not None and (value > high or (node.exclusive_maximum and value == high)):
            rule = "less than" if node.exclusive_maximum else "less than or equal to"
            self._wrong(path, value, f"should be {rule} {shown(high)}")

    def _multiple(self, value: Number, factor: Number, path: str) -> None:
        # The server cuts the fraction off the factor of an integer, and then complains if nothing is left of it.
        used = int(factor) if isinstance(value, int) else factor
        if used == 0:
            text = f"factor MultipleOf declared for {path} must be positive: 0"
            self.causes.append(wrong(self._field(path), 0, text))
        elif not _is_multiple(value, used):
            self._wrong(path, value, f"should be a multiple of {shown(used)}")

    def _list(self, value: list[Any], node: Node, path: str, old: Any) -> None:
        if node.items is not None:
            known = by_key(old, node)
            for index, item in enumerate(value):
                before = known.get(key_of(item, node), UNSET) if known else UNSET
                self.check(item, node.items, f"{path}[{index}]", before)
        if node.min_items is not None and len(value) < node.min_items:
            self._wrong(path, len(value), f"should have at least {node.min_items} items")
        if node.max_items is not None and len(value) > node.max_items:
            self._too_many(path, len(value), node.max_items)

    def _too_many(self, path: str, found: int, most: int) -> None:
        text = f"Too many: {found}: must have at most {most} {'item' if most == 1 else 'items'}"
        self.causes.append(Cause("FieldValueTooMany", text, self._field(path)))

    def _enum(self, value: Any, node: Node, path: str) -> None:
        # The server never finds null in the list, even where it stands there.
        known = [] if value is None else node.enum or ()
        if not node.enum or any(same(value, each) or _same_number(value, each) for each in known):
            return
        values = [each if isinstance(each, str) else shown(each) for each in node.enum]
        self.causes.append(unsupported(self._field(path), value, values, named=False))

    def _object(self, value: Tree, node: Node, path: str, old: Any) -> None:
        if node.min_properties is not None and len(value) < node.min_properties:
            self._wrong(path, len(value), f"should have at least {node.min_properties} properties")
        if node.max_properties is not None and len(value) > node.max_properties:
            self._too_many(path, len(value), node.max_properties)
        known: Tree = old if isinstance(old, dict) else {}
        for key in sorted(value):
            child = node.properties.get(key)
            if child is not None:
                self.check(value[key], child, f"{path}.{key}" if path else key, known.get(key, UNSET))
            elif isinstance(node.additional, Node):
                self.check(value[key], node.additional, f"{path}.{key}", known.get(key, UNSET))
            elif node.additional is False:
                self.causes.append(wrong(self._field(path), key, f"{path}.{key} in body is a forbidden property"))
        for key in node.required:
            if key not in value:
                self.causes.append(required(self._field(f"{path}.{key}")))


def _conforms(value: Any, node: Node) -> bool:
    return Checker().check(value, node)


def _kind(value: Any) -> tuple[str, str]:
    """The JSON type of a value, and the name of the machine's type for numbers."""
    if isinstance(value, bool):
        return "boolean", ""
    if isinstance(value, int):
        return "integer", "int64"
    if isinstance(value, float):
        return "number", "float64"
    if isinstance(value, str):
        return "string", ""
    return ("array", "") if isinstance(value, list) else ("object", "")


def _same_number(value: Any, known: Any) -> bool:
    """Whether a number is one of a list; the server cuts the fraction off where that one is whole."""
    numbers = [each for each in (value, known) if isinstance(each, int | float) and not isinstance(each, bool)]
    if len(numbers) < 2:
        return False
    return value == known or (isinstance(known, int) and int(value) == known)


def _in_range(value: Number, format_name: str) -> bool:
    limit = _INT32 if format_name == "int32" else _INT64
    return float(value).is_integer() and -limit <= value < limit


def key_of(item: Any, node: Node) -> str:
    """What tells an item of a list that is a map from the others."""
    keys = {key: item[key] for key in node.list_keys if key in item} if isinstance(item, dict) else None
    return json.dumps(keys, sort_keys=True)


def by_key(old: Any, node: Node) -> dict[str, Any]:
    """The items of a list that is a map; none of another list."""
    if node.list_type != "map" or not isinstance(old, list):
        return {}
    return {key_of(item, node): item for item in old}


# Lists that are sets or maps, objects inside objects


def list_causes(value: Any, node: Node, path: str = "") -> list[Cause]:
    """Duplicates in lists that are sets or maps."""
    causes: list[Cause] = []
    if isinstance(value, dict):
        for key, item in value.items():
            child = node.properties.get(key)
            if child is not None:
                causes += list_causes(item, child, f"{path}.{key}" if path else key)
            elif node.rest is not None:
                causes += list_causes(item, node.rest, f"{path}[{key}]")
    elif isinstance(value, list):
        if node.list_type == "set":
            causes += _duplicates(value, path)
        elif node.list_type == "map":
            causes += _map_causes(value, node, path)
        if node.items is not None:
            for index, item in enumerate(value):
                causes += list_causes(item, node.items, f"{path}[{index}]")
    return causes


def _map_causes(value: list[Any], node: Node, path: str) -> list[Cause]:
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            return [wrong(f"{path}[{index}]", item, "must be an object for an array of list-type map")]
    keys = [{key: item[key] for key in sorted(node.list_keys) if key in item} if item else {} for item in value]
    return _duplicates(keys, path)


def _duplicates(items: list[Any], path: str) -> list[Cause]:
    """A cause for the second of its kind, not for a third."""
    seen: dict[str, int] = {}
    causes: list[Cause] = []
    for index, item in enumerate(items):
        text = json.dumps(item, sort_keys=True)
        seen[text] = seen.get(text, 0) + 1
        if seen[text] == 2:
            causes.append(Cause("FieldValueDuplicate", f"Duplicate value: {shown(item)}", f"{path}[{index}]"))
    return causes
