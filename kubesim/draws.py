"""Numbers that look random and are the same for the same seed, in every process."""

from __future__ import annotations

import hashlib

MASK = 0xFFFFFFFFFFFFFFFF
STEP = 0x94D049BB133111EB


def lot(seed: int, identity: int, nth: int) -> int:
    """A number of 64 bits that looks random and depends on the three alone (the finaliser of splitmix64)."""
    return mixed(stream(seed, identity) + nth * STEP)


def stream(seed: int, identity: int) -> int:
    """Where the numbers of an identity begin; the nth is `mixed` of this and n steps."""
    return (seed * 0x9E3779B97F4A7C15 + identity * 0xBF58476D1CE4E5B9) & MASK


def mixed(number: int) -> int:
    """Another number of 64 bits, in which every bit depends on every bit."""
    number &= MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & MASK
    return number ^ (number >> 31)


class Draws:
    """A stream of repeatable draws, named by its purpose so that streams do not disturb one another."""

    def __init__(self, seed: int | None, purpose: str) -> None:
        identity = int.from_bytes(hashlib.blake2b(purpose.encode(), digest_size=8).digest())
        self._place = stream(seed or 0, identity)

    def integer(self) -> int:
        """64 bits."""
        self._place = (self._place + STEP) & MASK
        return mixed(self._place)

    def below(self, limit: int) -> int:
        """At least 0, less than `limit`."""
        return self.integer() % limit

    def between(self, low: float, high: float) -> float:
        """At least `low`, less than `high`, or both when they are equal."""
        return low + (high - low) * (self.integer() / (MASK + 1))
