"""Prometheus: how one number is asked for, and what its answers come to.

A query is an instant one, whose result is a scalar or an instant vector of one element. Everything else is no number,
in words that say what to do: several series, a page of HTML, a word. Where there was nothing to measure, that is no
failure: `NoData`. Infinity is a number.
"""

from __future__ import annotations

from datetime import datetime
from math import isnan
from typing import TypeAlias
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from fairlead.core.ask import Answer, Bad, Http
from fairlead.core.times import format_rfc3339
from kubeloop.unreadable import UNREADABLE

QUERY_PATH = "/api/v1/query"
LARGEST = 2 * 1024 * 1024
"""Bytes of an answer. One number takes few; many queries are asked at once, and of servers that anybody may name."""
MOST_SAID = 200
"""Characters of what Prometheus says about a query, and of a number, which goes into messages and the next query."""


class Number(Struct, frozen=True):
    """As Prometheus wrote it, so that it goes into the next query unchanged."""

    text: str

    @property
    def value(self) -> float:
        return float(self.text)


class NoData(Struct, frozen=True):
    """There was nothing to measure."""


class QueryFailed(Struct, frozen=True):
    """No number came of the query."""

    why: str


Measured: TypeAlias = Number | NoData | QueryFailed


def address(text: str) -> str:
    """The address of a Prometheus without a slash at its end; ValueError says what it must be."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(character.isspace() for character in text):
        raise ValueError("must be an address that begins with http:// or https://")
    if parts.query or parts.fragment:
        raise ValueError("must end with its path, without ? or #")
    return text.rstrip("/")


def query_call(at: str, query: str, *, subject: str = "", moment: datetime | None = None) -> Http:
    """The query at this address, about this moment or else about now; it may be answered where Prometheus points to."""
    parameters = {"query": query} if moment is None else {"query": query, "time": format_rfc3339(moment)}
    return Http("GET", f"{at}{QUERY_PATH}?{urlencode(parameters)}", subject=subject, largest=LARGEST, follows=True)


def escaped(name: str) -> str:
    """In an expression of `matching`; names of Kubernetes have letters, digits, dashes and dots."""
    return name.replace(".", "\\.")


def matching(label: str, expression: str) -> str:
    """A matcher for series whose label is of this regular expression, as a whole."""
    # Inside of a PromQL string a backslash is written twice.
    return f'{label}=~"{expression}"'.replace("\\", "\\\\")


class _Sample(Struct, frozen=True):
    value: tuple[float, str]


class _Vector(Struct, frozen=True, tag_field="resultType", tag="vector"):
    result: tuple[_Sample, ...]


class _Scalar(Struct, frozen=True, tag_field="resultType", tag="scalar"):
    result: tuple[float, str]


class _Reply(Struct, frozen=True):
    data: _Vector | _Scalar


def measured(answer: Answer) -> Measured:
    """A scalar, or the only element of a vector; NaN is what a ratio of nothing to nothing gives."""
    if isinstance(answer, Bad):
        return QueryFailed(answer.text or answer.kind)
    try:
        data = msgspec.json.decode(answer.value, type=_Reply).data
    except UNREADABLE:
        return QueryFailed("the answer is not a number: the query must give a scalar or an instant vector")
    match data:
        case _Scalar(result=(_, text)):
            return _number(text)
        case _Vector(result=()):
            return NoData()
        case _Vector(result=(sample,)):
            return _number(sample.value[1])
    return QueryFailed(f"the query gives {len(data.result)} series and must give one: sum them up")


def _number(text: str) -> Number | NoData | QueryFailed:
    try:
        value = float(text)
    except ValueError:
        value = None
    # Python reads more as a number than Prometheus does: 1_000, and the digits of every script.
    if value is None or "_" in text or not text.isascii() or len(text) > MOST_SAID:
        return QueryFailed(f"{text[:MOST_SAID]!r} is not a number")
    return NoData() if isnan(value) else Number(text)


def is_one(number: Measured) -> bool:
    return isinstance(number, Number) and number.value == 1
