"""Placeholders in a text that somebody wrote: a name between an opening and a closing mark.

Found in one walk from the left: a regular expression with something between two marks looks from each opening one to
the end of the text, which takes minutes for a hundred thousand of them without an end.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct


class Placeholder(Struct, frozen=True):
    """Where it stands, with its marks."""

    start: int
    end: int
    name: str
    """As it is written, with its spaces."""


def placeholders_in(text: str, opening: str, closing: str) -> Iterator[Placeholder]:
    """In their order; an opening mark belongs to the next closing one, whatever is between them."""
    start = text.find(opening)
    while start >= 0:
        inside = start + len(opening)
        end = text.find(closing, inside)
        if end < 0:
            return
        yield Placeholder(start, end + len(closing), text[inside:end])
        start = text.find(opening, end + len(closing))
