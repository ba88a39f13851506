"""How many of something, as people write it."""

from __future__ import annotations


def counted(count: int, one: str, more: str = "") -> str:
    """`1 object`, `2 objects`; `more` where that is not `one` with an s."""
    return f"{count} {one if count == 1 else more or f'{one}s'}"
