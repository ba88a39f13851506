"""The words of a contract for one reason or one write."""

from __future__ import annotations

from msgspec import Struct


class Words(Struct, frozen=True):
    level: str
    """`debug`, `info`, `warn` or `error`."""
    message: str
    """Constant, so that logs can be searched by it; what differs goes into keys."""
    text: str = ""
    """For people: `{object}` is what it is about, `{detail}` is what is known of it."""
