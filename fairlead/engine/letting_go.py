"""Definitions that an installation must let go of before it is removed: without it, what it converts fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from kubeloop.client import Client


class LeavingInstallation(Struct, frozen=True, kw_only=True):
    """An installation that is about to go."""

    namespace: str
    services: tuple[str, ...] | None
    """Its Services that go; None: none does, and what its operator has written is meant."""
    stay: frozenset[str] = frozenset()
    """Services of the namespace that stay; what the operator has written and names another is left over."""
    own: frozenset[str] = frozenset()
    """Definitions that its operator registers, and so writes again for as long as it runs."""
    attached: bool = True
    """Without `services`: whether definitions are meant that rules have attached to it."""
    union: bool = False
    """Whether definitions get union schemas where they could not do without it otherwise."""


class HeldDefinition(Struct, frozen=True):
    """A definition that names a Service of the installation."""

    name: str
    obstacles: tuple[str, ...] = ()
    """Why it cannot do without, each with what would clear it; none: it can."""
    fails: str = ""
    """What fails should it be left as it is."""
    notes: tuple[str, ...] = ()
    """What union schemas cannot keep."""

    def __str__(self) -> str:
        if self.obstacles:
            return f"{self.name}: cannot be detached: {'; '.join(self.obstacles)}"
        kept = f" ({'; '.join(self.notes)})" if self.notes else ""
        return f"{self.name}: is detached, its objects are converted by nobody then{kept}"


class LettingGo(Struct, frozen=True):
    find: Callable[[Client, LeavingInstallation], Awaitable[tuple[HeldDefinition, ...]]]
    """What names a Service of the installation; sorted."""
    release: Callable[[Client, LeavingInstallation, Sequence[HeldDefinition]], Awaitable[None]]
    """Lets go of those that have no obstacles; what asks for them to be held, in its namespace, goes first."""
