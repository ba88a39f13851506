"""Definitions that an installation must let go of before it is removed: without it, what it converts fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from kubeloop.client import Client


class Held(Struct, frozen=True):
    """A definition that names a Service of the installation."""

    name: str
    obstacles: tuple[str, ...] = ()
    """Why it cannot do without, each with what would clear it; none: it can."""
    fails: str = ""
    """What fails should it be left as it is."""

    def __str__(self) -> str:
        if not self.obstacles:
            return f"{self.name}: is detached, its objects are converted by nobody then"
        return f"{self.name}: cannot be detached: {'; '.join(self.obstacles)}"


class LettingGo(Struct, frozen=True):
    find: Callable[[Client, str, Sequence[str] | None], Awaitable[tuple[Held, ...]]]
    """What names one of these Services of the namespace, or any of them as far as the operator wrote that; sorted."""
    release: Callable[[Client, str, Sequence[Held]], Awaitable[None]]
    """Lets go of those that have no obstacles; what asks for them to be held, in that namespace, goes first."""
