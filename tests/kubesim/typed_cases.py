"""What a real API server (1.36) said to objects with one field changed: refusals, unknown fields, what it wrote.

The objects are those of `tests.e2e.typed_objects`; a place is a path with slashes. The cases are in `typed_cases.json`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct


class _Cases(Struct, frozen=True):
    refused: list[tuple[str, str, Any, str]]
    unknown: list[tuple[str, list[str], str]]
    written: list[tuple[str, str, Any, Any]]


_CASES = msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=_Cases)

REFUSED = _CASES.refused
"""Kinds, places, values, and why they were refused."""
UNKNOWN = _CASES.unknown
"""Kinds, places that there are none of, and what a strict server said."""
ABSENT = "absent"
WRITTEN = _CASES.written
"""Kinds, places, values, and what stood there in the answer."""
