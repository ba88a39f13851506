"""The explain document: what is rolling, where it stands, what comes next and what it waits for.

The command line, the dashboard, Events and logs are views of this one document.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import UNSET, Struct, UnsetType, field


class Block(Struct, frozen=True, rename="camel"):
    """One wait: which rule holds, because of which object, since when, and what would clear it."""

    rule: str
    reason: str
    object: str
    text: str
    clears: str
    since: datetime | None = None
    since_exact: bool = False
    kind: str = "waiting"
    """Who can end it: `waiting`, `held`, `blocked`, `invalid` or `failed`."""
    advice: tuple[str, ...] = ()
    """What a person can do now, the first first: sentences, or commands that can be copied."""


class Cell(Struct, frozen=True, rename="camel"):
    """One pod (or other unit) of a lane."""

    name: str
    ordinal: int
    state: str
    """`ready`, `notReady`, `terminating`, `missing` or `stuck`."""
    revision: str
    """`new`, `old`, or `none` for a pod that is missing."""
    restarts: int = 0
    """Of the container that was restarted most often."""


class Lane(Struct, frozen=True, rename="camel"):
    """One zone, generation, batch or group of a rollout."""

    name: str
    phase: str
    done: int
    total: int
    from_revision: str = ""
    to_revision: str = ""
    budget: int = 0
    cells: tuple[Cell, ...] = ()
    waits: tuple[Block, ...] = ()
    from_images: tuple[str, ...] = ()
    """Of the containers whose image differs from one revision to the other; empty where that is not known."""
    to_images: tuple[str, ...] = ()


class Stands(Struct, frozen=True, rename="camel"):
    phase: str
    done: int
    total: int
    unit: str
    lanes: tuple[Lane, ...] = ()


class End(Struct, frozen=True, rename="camel"):
    """What a rollout leaves, or what it goes to, where one name does not say it all."""

    generation: int
    image: str
    hash: str
    """Empty where it is not known."""


class Explain(Struct, frozen=True, rename="camel"):
    part: str
    namespace: str
    rollout: str
    stands: Stands
    next: tuple[str, ...] = ()
    blocked_by: tuple[Block, ...] = ()
    again: datetime | None = None
    leaves: End | UnsetType = field(default=UNSET, name="from")
    goes_to: End | UnsetType = field(default=UNSET, name="to")
