"""Hashes by which a contract knows a rollout, of objects in files that nobody has applied yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct


class Hashed(Struct, frozen=True):
    namespace: str
    name: str
    hash: str

    @property
    def place(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Hashes(Struct, frozen=True, kw_only=True):
    kind: str
    group: str
    about: str
    """What the hash is, and what it is for."""
    is_one: Callable[[object], bool]
    """Whether a document of a file is such an object, in any version."""
    hashed: Callable[[object], Hashed | str]
    """The hash, or why there is none."""
    number: int = 1
    """Of the way in which it is made."""
    rolled: Callable[[Mapping[str, Any]], str] = lambda _: ""
    """The hash of what was rolled last, as a live object records it; empty: nothing was, or nobody knows."""
