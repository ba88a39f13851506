"""What a step on workloads comes to: done, writes, waiting or failed; and what verifying finds out."""

from __future__ import annotations

from datetime import datetime
from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from fairlead.contracts.plans.decide.notes import Note
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.kinds import Json, SourceSize
from kubeloop.objects.meta import Ref


class Purpose(Enum):
    CLAIM = "claim"
    RESIZE = "resize"
    ADVANCE = "advance"
    """A partition lets more pods be updated."""
    RELEASE = "release"


class WorkloadChange(Struct, frozen=True):
    """A merge patch of one workload, bound to the version that was read (R-4)."""

    ref: Ref
    resource_version: str
    body: Json
    purpose: Purpose
    change_from: str = ""
    change_to: str = ""


class Removal(Struct, frozen=True):
    """A pod that is deleted by its UID, so that it is made again."""

    ref: Ref
    of: Ref
    """The workload whose pod it is."""


class Done(Struct, frozen=True):
    """Nothing is left to write."""

    start_target_size: int | None = None
    """The size that the target starts from, where this step settled it."""


class Writes(Struct, frozen=True):
    changes: tuple[WorkloadChange | Removal, ...]
    completes: bool = False
    """Whether nothing is left to write after these."""
    start_target_size: int | None = None
    """As of Done."""
    left: int | None = None
    """Of a batch that takes pods from its sources: how many stay."""
    takes: bool = False
    """Of going back: whether pods go that may serve."""


class Stamp(Struct, frozen=True):
    """The next instance may go: that is stored and seen before it goes (R-22)."""

    upgraded: int
    """How many instances went before it."""


class Retry(Struct, frozen=True):
    why: Why
    text: str
    until: datetime | None = None
    """When it is over by itself, where that is known."""


class Fail(Struct, frozen=True):
    why: Why
    text: str


class Verified(Struct, frozen=True, kw_only=True):
    target_size: int
    original_size: int
    identifier: str
    """Of the new pod template."""
    sizes: tuple[int, ...]
    sources: tuple[SourceSize, ...] = ()
    notes: tuple[Note, ...] = ()


Step: TypeAlias = Done | Writes | Stamp | Retry | Fail
