"""Rules for labels and annotations, and for selectors; and what a selector selects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kubesim.errors import Cause, not_allowed, required, wrong
from kubesim.schema.values import each, label_value, qualified, too_long
from kubesim.store.versions import Tree

_MOST_ANNOTATIONS = 256 * 1024


def labels(values: dict[str, str] | None, at: str) -> list[Cause]:
    """Causes in the order of the keys; the server has them in none."""
    causes: list[Cause] = []
    for key, value in (values or {}).items():
        if problems := qualified(key):
            causes += [wrong(at, key, text) for text in problems]
        if problems := label_value(value):
            causes += [wrong(at, value, text) for text in problems]
    return causes


def annotated(values: dict[str, str] | None, at: str) -> list[Cause]:
    if not values:
        return []
    causes = [wrong(at, key, text) for key in sorted(values) for text in qualified(key.lower())]
    if sum(len(key.encode()) + len((value or "").encode()) for key, value in values.items()) > _MOST_ANNOTATIONS:
        causes.append(too_long(at, _MOST_ANNOTATIONS))
    return causes


def selector(found: Tree | None, at: str) -> list[Cause]:
    """Broken rules of a selector with labels and expressions."""
    if not found:
        return []
    causes = labels(found.get("matchLabels"), f"{at}.matchLabels")
    for index, expression in enumerate(found.get("matchExpressions") or []):
        causes += requirement(expression, f"{at}.matchExpressions[{index}]")
    return causes


def requirement(expression: Tree, at: str, *, checks_values: bool = True, compares: bool = False) -> Iterator[Cause]:
    """Broken rules of one expression of a selector; that of nodes also compares numbers."""
    values: Sequence[str] = expression.get("values") or []
    match expression.get("operator") or "":
        case "In" | "NotIn":
            if not values:
                yield required(f"{at}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            if values:
                text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                yield not_allowed(f"{at}.values", text)
        case "Gt" | "Lt" if compares:
            if len(values) != 1:
                yield required(f"{at}.values", "must be specified single value when `operator` is 'Lt' or 'Gt'")
        case operator:
            yield wrong(f"{at}.operator", operator, "not a valid selector operator")
    yield from each(qualified, expression.get("key") or "", f"{at}.key")
    if checks_values:
        for index, value in enumerate(values):
            yield from each(label_value, value, f"{at}.values[{index}]")


def is_sound(found: Tree) -> bool:
    """Whether a selector can be applied at all."""
    return not selector(found, "")


def in_order(values: dict[str, str] | None) -> dict[str, str] | None:
    """Labels as the server prints them."""
    return None if values is None else dict(sorted(values.items()))


def selects(found: Tree | None, values: dict[str, str]) -> bool:
    """Whether labels match a selector that can be applied; no selector matches nothing, an empty one everything."""
    if found is None:
        return False
    for key, value in (found.get("matchLabels") or {}).items():
        if values.get(key) != value:
            return False
    return all(_holds(expression, values) for expression in found.get("matchExpressions") or [])


def _holds(expression: Tree, values: dict[str, str]) -> bool:
    value = values.get(expression.get("key") or "")
    match expression.get("operator"):
        case "In":
            return value in expression["values"]
        case "NotIn":
            return value not in expression["values"]
        case "Exists":
            return value is not None
        case _:
            return value is None


def selector_in_order(found: Tree | None) -> Tree | None:
    """A selector as the server prints it."""
    if not found or not found.get("matchLabels"):
        return found
    return found | {"matchLabels": in_order(found["matchLabels"])}
