"""Short names for contents: FNV-1 of 32 bits, spelled in letters that make no words."""

from __future__ import annotations

from functools import lru_cache

SAFE_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels and without digits that look like them."""

_REMEMBERED = 4096
_OFFSET = 0x811C9DC5
_PRIME = 0x01000193
_BITS = 0xFFFFFFFF


def fnv1(data: bytes) -> int:
    """FNV-1, which multiplies first, and not FNV-1a."""
    value = _OFFSET
    for byte in data:
        value = (value * _PRIME & _BITS) ^ byte
    return value


@lru_cache(maxsize=_REMEMBERED)
def safe_hash(data: bytes) -> str:
    """The decimal digits of the hash, each as a safe letter: `{}` is `5894b84845`."""
    return "".join(SAFE_LETTERS[ord(digit) % len(SAFE_LETTERS)] for digit in str(fnv1(data)))
