"""JSON as Go's encoder writes it: what is hashed or compared byte by byte must be spelled alike everywhere."""

from __future__ import annotations

from functools import lru_cache

import msgspec

_REMEMBERED = 4096

# What Go's encoder escapes and others do not. None of them occurs outside of strings, so replacing bytes is safe.
_ESCAPES = (
    (b"<", rb"\u003c"),
    (b">", rb"\u003e"),
    (b"&", rb"\u0026"),
    ("\u2028".encode(), rb"\u2028"),
    ("\u2029".encode(), rb"\u2029"),
)


def go_json(tree: object) -> bytes:
    """Keys sorted, no spaces, and the escapes that make JSON safe inside of HTML."""
    text = msgspec.json.encode(tree, order="sorted")
    for plain, escaped in _ESCAPES:
        text = text.replace(plain, escaped)
    return text


@lru_cache(maxsize=_REMEMBERED)
def canonical(data: bytes) -> bytes:
    """The same JSON as `go_json` writes it."""
    return go_json(msgspec.json.decode(data))
