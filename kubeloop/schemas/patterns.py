"""Regular expressions that users supply: read, matched and refused as the server's engine does it.

RE2 is that engine's twin: the same syntax, the same matches, time linear in the length of the text whatever the
expression. The few expressions that the two read differently are found beforehand, and what is wrong with one is told
in the words of Go.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

MOST_MEMORY = 32 << 20
"""Bytes that one compiled expression may take; more means that it is too large."""
_REMEMBERED = 4096
_TROUBLES = (
    ("missing )", "missing closing )"),
    ("missing ]", "missing closing ]"),
    ("no argument for repetition operator", "missing argument to repetition operator"),
    ("bad repetition operator", "invalid nested repetition operator"),
    ("invalid repetition size", "invalid repeat count"),
    ("invalid perl operator", "invalid or unsupported Perl syntax"),
    ("invalid named capture group", "invalid named capture"),
)
_OWN = re.compile(
    r"""\\Q.*?(?:\\E|\Z)         # text, whatever is in it
      | (?P<byte>\\C)            # one byte: cuts characters into pieces
      | \\.                      # any other escape
      | \[\^?\]?(?:\\.|[^\\\]])* # a class
      | (?P<group>\(\?P?<)(?P<name>[^>]*)(?P<end>>?)
    """,
    re.DOTALL | re.VERBOSE,
)
_NAME = re.compile(r"[0-9A-Za-z_]+")
_CONTINUES = 0x80, 0xBF
"""The bytes of a character in UTF-8 after its first."""


class BadPattern(ValueError):
    """No regular expression; the text says why, as Go does."""

    def __init__(self, trouble: str, at: str) -> None:
        super().__init__(f"error parsing regexp: {trouble}: `{at}`")


class Pattern:
    """A compiled expression."""

    __slots__ = ("_expression",)

    def __init__(self, expression: Any) -> None:
        self._expression = expression

    def is_in(self, text: str) -> bool:
        return self._expression.search(_bytes(text)) is not None

    def first(self, text: str) -> str | None:
        """The leftmost match."""
        found = self._expression.search(_bytes(text))
        return None if found is None else found.group().decode()

    def every(self, text: str) -> Iterator[str]:
        """Matches that do not overlap; an empty one that touches the one before it is none."""
        whole, last = _bytes(text), -1
        for found in self._expression.finditer(whole):
            start, end = found.span()
            if start == end and (start == last or _is_inside(whole, start)):
                continue
            last = end
            yield found.group().decode()


class Parts:
    """A compiled expression whose named groups are wanted."""

    __slots__ = ("_expression", "names")

    def __init__(self, expression: Any) -> None:
        self._expression = expression
        self.names: tuple[str, ...] = tuple(name.decode() for name in expression.groupindex)

    def of(self, text: str) -> dict[str, str] | None:
        """What the groups hold, those that took part; None where the text as a whole does not match."""
        found = self._expression.fullmatch(_bytes(text))
        if found is None:
            return None
        return {name.decode(): value.decode() for name, value in found.groupdict().items() if value is not None}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _is_inside(text: bytes, at: int) -> bool:
    low, high = _CONTINUES
    return at < len(text) and low <= text[at] <= high


@lru_cache(_REMEMBERED)
def compiled(pattern: str) -> Pattern:
    """The expression; raises BadPattern."""
    import re2  # noqa: PLC0415  (5 ms and 3 MB, spent only where an expression is in use)

    options = re2.Options()
    options.log_errors = False
    options.max_mem = MOST_MEMORY
    options.never_capture = True
    try:
        expression = re2.compile(_bytes(pattern), options)
    except re2.error as error:
        told: bytes = error.args[0]
        raise _differing(pattern) or _in_words_of_go(told.decode()) from None
    if trouble := _differing(pattern):
        raise trouble
    return Pattern(expression)


@lru_cache(_REMEMBERED)
def parts(pattern: str) -> Parts:
    """The expression with its groups; raises BadPattern."""
    import re2  # noqa: PLC0415  (as above)

    compiled(pattern)
    options = re2.Options()
    options.max_mem = MOST_MEMORY
    return Parts(re2.compile(_bytes(pattern), options))


def _in_words_of_go(told: str) -> BadPattern:
    if told.startswith("trailing \\"):
        return BadPattern("trailing backslash at end of expression", "")
    if told.startswith("pattern too large"):
        return BadPattern("expression too large", "")
    for word, trouble in _TROUBLES:
        if told.startswith(word):
            return BadPattern(trouble, told.removeprefix(f"{word}: "))
    trouble, _, at = told.partition(": ")
    return BadPattern(trouble, at)


def _differing(pattern: str) -> BadPattern | None:
    """What Go has against an expression that RE2 accepts, or is against for another reason."""
    for found in _OWN.finditer(pattern):
        if found["byte"]:
            return BadPattern("invalid escape sequence", r"\C")
        if not found["group"]:
            continue
        if not found["end"]:
            return BadPattern("invalid named capture", pattern[found.start() :])
        if not _NAME.fullmatch(found["name"]):
            return BadPattern("invalid named capture", found[0])
    return None
