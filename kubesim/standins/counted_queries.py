"""The part of Prometheus' query language that asks about rates of requests: enough where there is no Prometheus.

Known are numbers, `+ - * /`, `or`, parentheses, `vector`, `rate` and `increase` of a selector with a range, `sum` with
and without `by`, and `histogram_quantile`. Anything else is refused in a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import inf, nan
from typing import TypeAlias

from kubeloop.durations import parse_go

Labels: TypeAlias = tuple[tuple[str, str], ...]
Vector: TypeAlias = dict[Labels, float]
Increase: TypeAlias = Callable[[str, float], Vector]
"""By how much each series of a name grew in so many seconds."""
Value: TypeAlias = float | Vector

_TOKEN = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[a-zA-Z_][a-zA-Z0-9_]*|[0-9.]+[a-z]+|[0-9.]+|=~|!~|!=|[-+*/=(){}\[\],])')
_TESTS: dict[str, Callable[[str, str], bool]] = {
    "=": lambda found, wanted: found == wanted,
    "!=": lambda found, wanted: found != wanted,
    "=~": lambda found, wanted: re.fullmatch(wanted, found) is not None,
    "!~": lambda found, wanted: re.fullmatch(wanted, found) is None,
}
_MATHS: dict[str, Callable[[float, float], float]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": lambda one, other: one / other if other else (nan if not one else inf if one > 0 else -inf),
}


class QueryError(Exception):
    """What cannot be answered of a query."""


def evaluated(query: str, increase: Increase) -> Vector:
    """What the query comes to; a number has no labels."""
    reader = _Reader(_tokens(query), increase)
    value = reader.alternatives()
    if reader.rest:
        raise QueryError(f"unexpected {reader.rest[0]} in the query")
    return value if isinstance(value, dict) else {(): value}


def _tokens(query: str) -> list[str]:
    found, place, query = [], 0, query.rstrip()
    while place < len(query):
        token = _TOKEN.match(query, place)
        if token is None:
            raise QueryError(f"unexpected {query[place:].lstrip()[0]} in the query")
        found.append(token.group(1))
        place = token.end()
    return found


class _Reader:
    """Evaluates while it reads."""

    def __init__(self, tokens: list[str], increase: Increase) -> None:
        self.rest = tokens
        self._increase = increase

    def _take(self, *wanted: str) -> str:
        if not self.rest or (wanted and self.rest[0] not in wanted):
            raise QueryError(
                f"the query needs {' or '.join(wanted) or 'more'} where it has {self.rest[:1] or 'its end'}"
            )
        return self.rest.pop(0)

    def _is_next(self, *wanted: str) -> bool:
        return bool(self.rest) and self.rest[0] in wanted

    def alternatives(self) -> Value:
        value = self._sums()
        while self._is_next("or"):
            self._take()
            other = self._sums()
            if isinstance(value, float) or isinstance(other, float):
                raise QueryError("`or` is between vectors")
            value = {**other, **value}
        return value

    def _sums(self) -> Value:
        value = self._products()
        while self._is_next("+", "-"):
            value = _combined(self._take(), value, self._products())
        return value

    def _products(self) -> Value:
        value = self._single()
        while self._is_next("*", "/"):
            value = _combined(self._take(), value, self._single())
        return value

    def _single(self) -> Value:
        word = self._take()
        match word:
            case "(":
                value = self.alternatives()
                self._take(")")
                return value
            case "vector":
                return {(): self._number_inside()}
            case "rate" | "increase":
                return self._growth(word)
            case "sum":
                return self._sum()
            case "histogram_quantile":
                self._take("(")
                quantile = self._number()
                self._take(",")
                value = self.alternatives()
                self._take(")")
                return _quantile(quantile, value)
        self.rest.insert(0, word)
        return self._number()

    def _number(self) -> float:
        token = self._take()
        try:
            return float(token)
        except ValueError:
            raise QueryError(f"{token} is not known here") from None

    def _number_inside(self) -> float:
        self._take("(")
        found = self._number()
        self._take(")")
        return found

    def _growth(self, function: str) -> Vector:
        self._take("(")
        name, tests = self._take(), []
        if self._is_next("{"):
            self._take()
            while not self._is_next("}"):
                label, test = self._take(), self._take(*_TESTS)
                tests.append((label, _TESTS[test], _text(self._take())))
                if self._is_next(","):
                    self._take()
            self._take("}")
        self._take("[")
        window = self._take()
        self._take("]")
        self._take(")")
        try:
            seconds = parse_go(window)
        except ValueError:
            raise QueryError(f"{window} is not a duration such as 1m") from None
        found = self._increase(name, seconds)
        per = seconds if function == "rate" else 1.0
        return {
            labels: value / per
            for labels, value in found.items()
            if all(test(dict(labels).get(label, ""), wanted) for label, test, wanted in tests)
        }

    def _sum(self) -> Value:
        kept = self._by()
        self._take("(")
        value = self.alternatives()
        self._take(")")
        kept = kept or self._by()
        if isinstance(value, float):
            raise QueryError("`sum` is of a vector")
        found: Vector = {}
        for labels, each in value.items():
            key = tuple(pair for pair in labels if pair[0] in kept)
            found[key] = found.get(key, 0.0) + each
        return found

    def _by(self) -> tuple[str, ...]:
        if not self._is_next("by"):
            return ()
        self._take()
        self._take("(")
        found = []
        while not self._is_next(")"):
            found.append(self._take())
            if self._is_next(","):
                self._take()
        self._take(")")
        return tuple(found)


def _text(token: str) -> str:
    if not token.startswith('"'):
        raise QueryError(f"{token} must be in quotes")
    return re.sub(r"\\(.)", r"\1", token[1:-1])


def _combined(sign: str, one: Value, other: Value) -> Value:
    apply = _MATHS[sign]
    match one, other:
        case dict(), dict():
            return {labels: apply(value, other[labels]) for labels, value in one.items() if labels in other}
        case dict(), float():
            return {labels: apply(value, other) for labels, value in one.items()}
        case float(), dict():
            return {labels: apply(one, value) for labels, value in other.items()}
        case float(), float():
            return apply(one, other)
    raise AssertionError(sign)


def _quantile(quantile: float, value: Value) -> Vector:
    """Within the bucket that it falls into, in proportion; above the last bound it is that bound."""
    if isinstance(value, float):
        raise QueryError("`histogram_quantile` is of a vector")
    groups: dict[Labels, list[tuple[float, float]]] = {}
    for labels, count in value.items():
        bound = dict(labels).get("le", "")
        key = tuple(pair for pair in labels if pair[0] != "le")
        groups.setdefault(key, []).append((inf if bound == "+Inf" else float(bound or "nan"), count))
    return {labels: _within(quantile, sorted(buckets)) for labels, buckets in groups.items()}


def _within(quantile: float, buckets: Sequence[tuple[float, float]]) -> float:
    total = buckets[-1][1]
    if not total:
        return nan
    rank, low, before = quantile * total, 0.0, 0.0
    for bound, count in buckets:
        if count >= rank:
            if bound == inf:
                return low
            return low + (bound - low) * (rank - before) / (count - before) if count > before else bound
        low, before = bound, count
    return low
