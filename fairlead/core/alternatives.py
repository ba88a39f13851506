"""Words to choose from, in a sentence."""

from __future__ import annotations

from collections.abc import Iterable


def alternatives(words: Iterable[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *others, last = words
    return f"{', '.join(others)} or {last}" if others else last
