"""How much the rules of a schema may cost: each one, and all together.

A rule is evaluated as often as there are values at its place. Where lists and maps around it are bounded, that is at
most the product of their bounds; else as often as the shortest such value fits into a request.
"""

from __future__ import annotations

from kubesim.cel.sizes import LARGEST_REQUEST, Sizes, capped
from kubesim.errors import Cause, not_allowed
from kubesim.versions import Tree

_MOST, _MOST_TOGETHER = 10_000_000, 100_000_000
_WORTH_TELLING = _MOST_TOGETHER // 100
_TOLD = 4
_FACTOR_TOLD = 100
_FACTOR_ROUNDED = 1.5
_ADVICE = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared"
)
_CONTRIBUTED = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
_TOGETHER = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"


class Budget:
    """What the rules of one schema have cost so far."""

    def __init__(self) -> None:
        self._spent = 0
        self._largest: list[tuple[int, str]] = []

    def spend(self, what: str, at: str, cost: int) -> list[Cause]:
        """Notes the cost of one expression; it may be too much by itself."""
        self._spent = capped(self._spent + cost)
        if cost >= _WORTH_TELLING:
            self._largest = sorted([*self._largest, (cost, at)], key=lambda each: -each[0])[:_TOLD]
        return [_too_costly(what, at, cost, _MOST)] if cost > _MOST else []

    def overdrawn(self, at: str) -> list[Cause]:
        """What is to be said of all rules together."""
        if self._spent <= _MOST_TOGETHER:
            return []
        told = [not_allowed(place, _CONTRIBUTED) for _, place in self._largest]
        return [*told, _too_costly(_TOGETHER, at, self._spent, _MOST_TOGETHER)]


def _too_costly(what: str, at: str, cost: int, most: int) -> Cause:
    factor = cost / most
    if factor > _FACTOR_TOLD:
        told = "more than 100x"
    else:
        told = f"{factor:f}x" if factor < _FACTOR_ROUNDED else f"{factor:.1f}x"
    return not_allowed(at, f"{what} exceeds budget by factor of {told} ({_ADVICE})")


def times_of(schema: Tree, times: int | None) -> int | None:
    """How often values are there inside of one place, given how often that is there; None means without bound."""
    bound: int | None = 1
    if schema.get("type") == "array":
        bound = schema.get("maxItems")
    elif schema.get("type") == "object" and schema.get("additionalProperties") is not None:
        bound = schema.get("maxProperties")
    return None if times is None or bound is None else capped(times * max(bound, 0))


def repeated(cost: int, times: int | None, sizes: Sizes) -> int:
    """The cost of a rule at all its places."""
    if times is None:
        times = LARGEST_REQUEST // (sizes.shortest + 1)  # a comma
    return capped(cost * times)
