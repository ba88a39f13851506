"""JSON that is nested deeper than a decoder follows, without what lies too deep.

The API server takes objects that are nested thousands of levels deep from whoever may write any: it keeps
`managedFields` as they are given, whatever the kind. One of them must not keep everybody else's from being read.
"""

from __future__ import annotations

import re

import msgspec

DEEPEST = 256
"""Levels that are kept; schemas in definitions come to some sixty."""
MARK = b"what was here is nested too deeply (2f6c1d0e9ab74385)"
"""In the place of each value that lies deeper. Whoever writes it by hand has only that object taken for cut."""

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def shallow(data: bytes) -> bytes:
    """The same JSON with the mark for whatever lies too deep."""
    kept: list[bytes] = []
    depth = begun = 0
    for token in _TOKEN.finditer(data):
        match token[0]:
            case b"[" | b"{":
                depth += 1
                if depth == DEEPEST + 1:
                    kept += [data[begun : token.start()], b'"', MARK, b'"']
            case b"]" | b"}":
                if depth == DEEPEST + 1:
                    begun = token.end()
                depth -= 1
    return b"".join(kept if depth > DEEPEST else (*kept, data[begun:]))


def reaches(value: object) -> bool:
    """Whether what was decoded from shallow JSON lacks something that was there."""
    try:
        return MARK in msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError):
        return True
