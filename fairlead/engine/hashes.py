"""Hashes by which a contract knows a rollout, of objects in files that nobody has applied yet."""

from __future__ import annotations

from collections.abc import Callable

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
