"""What decoding raises for bytes that somebody else wrote."""

from __future__ import annotations

import msgspec

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Other JSON than expected or none at all; bytes that are no UTF-8; more nesting than can be followed."""
