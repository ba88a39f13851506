"""Which partition a pod belongs to: one group of an expression in RE2 syntax, matched against its whole name.

The expressions are matched by RE2 itself: Python's `re` accepts what RE2 refuses, refuses what RE2 accepts, and can be
made to run for ever by an expression that RE2 matches in linear time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol

MOST_MEMORY = 1 << 20
"""Bytes that one compiled expression may take."""


class _Match(Protocol):
    def group(self, number: int, /) -> str | None: ...


class Expression(Protocol):
    """A compiled expression."""

    @property
    def groups(self) -> int: ...

    def fullmatch(self, text: str, /) -> _Match | None: ...


@lru_cache(maxsize=256)
def compiled(text: str) -> Expression:
    """The expression; ValueError says what RE2 has against it."""
    import re2  # noqa: PLC0415  (5 ms and 3 MB, spent only where an expression is in use)

    if _takes_single_bytes(text):
        raise ValueError(r"it has \C, which would cut characters into bytes")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MOST_MEMORY
    try:
        expression: Expression = re2.compile(text, options)
    except re2.error as error:
        raise ValueError(_sentence(error)) from None
    except UnicodeEncodeError:
        raise ValueError("it is not valid Unicode") from None
    return expression


def partition(expression: Expression, group: int, name: str) -> str:
    """What the group took from the name; empty when the name does not match as a whole or the group took nothing."""
    found = expression.fullmatch(name)
    return (found.group(group) or "") if found is not None else ""


def _takes_single_bytes(text: str) -> bool:
    r"""Whether `\C` stands in the expression as an operator, not between `\Q` and `\E`."""
    at = 0
    while (at := text.find("\\", at)) >= 0:
        match text[at + 1 : at + 2]:
            case "C":
                return True
            case "Q":
                end = text.find("\\E", at + 2)
                at = len(text) if end < 0 else end + 2
            case _:
                at += 2
    return False


def _sentence(error: Exception) -> str:
    told = error.args[0] if error.args else ""
    return told.decode(errors="replace") if isinstance(told, bytes) else str(told)
