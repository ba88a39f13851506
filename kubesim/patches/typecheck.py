"""Whether an applied configuration fits the schema of its kind, in the words of structured merging.

Applying is stricter than other writes: what the schema does not know is refused whatever the request wishes, and items
of a list that cannot be told apart are too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kubesim.errors import quoted
from kubesim.patches import comparing, field_sets
from kubesim.patches.places import LIST, MAP, MergePlace
from kubesim.store.versions import Tree

_REPEATED = "duplicate entries for key"
_TYPES = {bool: "bool", float: "float64", int: "int64", str: "string", dict: "map[string]interface {}"}


def fits(place: MergePlace, tree: Tree) -> bool:
    """Whether an object has the types of its schema; items of its lists may be the same."""
    return all(_REPEATED in each for each in _problems(place, tree, ""))


def problem(place: MergePlace, tree: Tree) -> str:
    """What is wrong with a configuration; empty when nothing is."""
    found = list(_problems(place, tree, ""))
    if len(found) <= 1:
        return found[0] if found else ""
    return "\n".join(["errors:", *(f"  {each}" for each in found)])


def _problems(place: MergePlace, value: Any, path: str) -> Iterator[str]:
    shape = place.shape(value)
    if value is None:
        return
    if shape == MAP:
        if isinstance(value, dict):
            yield from _in_map(place, value, path)
        else:
            yield _said(path, f"expected map, got &{{{_go(value)}}}")
    elif shape == LIST:
        if isinstance(value, list):
            yield from _in_list(place, value, path)
        else:
            yield _said(path, f"expected list, got &{{{_go(value)}}}")
    elif why := _mistaken(place.scalar, value):
        yield _said(path, why)


def _in_map(place: MergePlace, value: Tree, path: str) -> Iterator[str]:
    for key in sorted(value):
        child = place.child(key)
        if child is None:
            yield _said(f"{path}.{key}", "field not declared in schema")
            return
        yield from _problems(child, value[key], f"{path}.{key}")


def _in_list(place: MergePlace, value: list[Any], path: str) -> Iterator[str]:
    assert place.items is not None  # noqa: S101  every list has a place for its items
    seen: set[str] = set()
    for index, each in enumerate(value):
        name = f"[{index}]"
        if not place.atomic_list:
            if why := _nameless(place, each):
                yield _said(path, f"element {index}: {why}")
                return
            word = comparing.word(place, each)
            name = field_sets.printed((word,))
            if word in seen:
                yield _said(path, f"{_REPEATED} {name}")
            seen.add(word)
        yield from _problems(place.items, each, path + name)


def _nameless(place: MergePlace, item: Any) -> str:
    """Why an item cannot be told apart from others."""
    if place.keys:
        if item is None:
            return "associative list with keys may not have a null element"
        if not isinstance(item, dict):
            return "associative list with keys may not have non-map elements"
        if not any(key in item or key in place.defaults for key in place.keys):
            keys = " ".join(quoted(key) for key in place.keys)
            why = "(and doesn't have default values for any key fields)"
            return f"associative list with keys has an element that omits all key fields [{keys}] {why}"
    elif isinstance(item, dict):
        return "associative list without keys has an element that's a map type"
    elif isinstance(item, list):
        return "not supported: associative list with lists as elements"
    elif item is None:
        return "associative list without keys has an element that's an explicit null"
    return ""


def _mistaken(scalar: str, value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match scalar:
        case "numeric" if not is_number:
            return f"expected numeric (int or float), got {_TYPES.get(type(value), '[]interface {}')}"
        case "string" if not isinstance(value, str):
            return f"expected string, got &value.valueUnstructured{{Value:{_go_source(value)}}}"
        case "boolean" if not isinstance(value, bool):
            return f"expected boolean, got &{{{_go(value)}}}"
        case "untyped" if isinstance(value, dict | list):
            return f"expected any scalar, got &{{{_go(value)}}}"
        case _:
            return ""


def _said(path: str, why: str) -> str:
    return f"{path}: {why}" if path else why


def _go(value: Any) -> str:
    """As Go prints a value it knows nothing about."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_go(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(_go(each) for each in value)}]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "<nil>" if value is None else str(value)


def _go_source(value: Any) -> str:
    """As a value is written in Go."""
    match value:
        case dict():
            fields = ", ".join(f"{quoted(key)}:{_go_source(value[key])}" for key in sorted(value))
            return f"map[string]interface {{}}{{{fields}}}"
        case list():
            return f"[]interface {{}}{{{', '.join(map(_go_source, value))}}}"
        case str():
            return quoted(value)
        case None:
            return "interface {}(nil)"
        case _:
            return _go(value)
