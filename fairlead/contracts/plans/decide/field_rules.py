"""Rules of single fields that admission and verification share; each gives what is wrong, with the path."""

from __future__ import annotations

from collections.abc import Iterator

from fairlead.core.field_errors import invalid
from fairlead.core.names import is_name
from kubeloop.durations import go_nanoseconds


def duration(path: str, text: str) -> Iterator[str]:
    """An empty one counts as absent."""
    if not text:
        return
    try:
        length = go_nanoseconds(text)
    except ValueError as error:
        yield invalid(path, text, str(error))
        return
    if length <= 0:
        yield invalid(path, text, "must be longer than 0")


def at_least(path: str, value: int | None, least: int) -> Iterator[str]:
    if value is not None and value < least:
        yield invalid(path, value, f"must be greater than or equal to {least}")


def named(path: str, name: str) -> Iterator[str]:
    """What an object can be called; an empty name counts as absent."""
    if name and not is_name(name):
        yield invalid(path, name, "must be a name: up to 253 of a to z, 0 to 9, - and . inside")
