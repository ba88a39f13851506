"""The explain document: what is rolling, where it stands, what comes next and what it waits for.

The command line, the dashboard, Events and logs are views of this one document. Programs read it as JSON: what is here
is only added to within one API version, and `docs/explain.schema.json` is its schema.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field

from fairlead.core.outcome import OUTCOMES

Version = Literal["fairlead.dev/v1alpha1"]
API_VERSION: Version = "fairlead.dev/v1alpha1"
KINDS = ("waiting", "held", "blocked", "invalid", "failed")
STATES = ("ready", "notReady", "terminating", "missing", "stuck")
REVISIONS = ("new", "old", "none")
ROLES = ("source", "target")


class Block(Struct, frozen=True, rename="camel"):
    """One wait: which rule holds, because of which object, since when, and what would clear it."""

    rule: str
    reason: str
    object: str
    text: str
    clears: str
    since: datetime | None = None
    since_exact: bool = False
    kind: Annotated[str, Meta(extra_json_schema={"enum": list(KINDS)})] = "waiting"
    """Who can end it: `waiting`, `held`, `blocked`, `invalid` or `failed`."""
    advice: tuple[str, ...] = ()
    """What a person can do now, the first first: sentences, or commands that can be copied."""


def wait_key(block: Block) -> str:
    """Under which a Snapshot's `since` remembers when this wait was first seen."""
    return key_of_wait(block.reason, block.object)


def key_of_wait(reason: str, about: str) -> str:
    return f"{reason}:{about}"


class Cell(Struct, frozen=True, rename="camel"):
    """One pod (or other unit) of a lane."""

    name: str
    ordinal: int
    state: Annotated[str, Meta(extra_json_schema={"enum": list(STATES)})]
    """`ready`, `notReady`, `terminating`, `missing` or `stuck`."""
    revision: Annotated[str, Meta(extra_json_schema={"enum": list(REVISIONS)})]
    """`new`, `old`, or `none` for a pod that is missing."""
    restarts: int = 0
    """Of the container that was restarted most often."""


class Check(Struct, frozen=True, rename="camel"):
    """A value that must be within its bounds before a lane counts as done."""

    name: str
    low: str = ""
    """As it was written; empty: no bound."""
    high: str = ""
    value: str = ""
    """The last one; empty while there is none."""
    at: datetime | None = None
    """When it was measured."""
    outcome: str = ""
    """What was made of it, in one word of the contract; empty while there is none."""
    decides: bool = True
    """Whether it is more than told."""


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
    goal: int | UnsetType = UNSET
    """Of lanes that follow one another: how many units there are once this one is done, those before it included."""
    weight: int | UnsetType = UNSET
    """The share of traffic in percent that goes to what is new, once this one is done."""
    hooks: tuple[str, ...] | UnsetType = UNSET
    """Who is asked before it begins or after it is done."""
    checks: tuple[Check, ...] | UnsetType = UNSET


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


class Workload(Struct, frozen=True, rename="camel"):
    """An object whose pods come or go in a rollout between objects."""

    role: Annotated[str, Meta(extra_json_schema={"enum": list(ROLES)})]
    """`source` where pods go, `target` where they come."""
    object: str
    """As `deployment/web-v2`."""
    size: int | None = None
    """How many pods it is to have now; None where it is not there."""
    ready: int = 0
    before: int | None = None
    """How many it was to have when the rollout began; None where that is not known."""
    after: int | None = None
    """How many it is to have in the end; None where that is not known."""
    images: tuple[str, ...] = ()


class Source(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Whose word a document is."""

    by: Literal["operator", "command"]
    name: str = ""
    """Of the operator that was asked."""
    decided_at: datetime | None = None
    """When the operator made the decision that the document tells."""
    observed: dict[str, int] = {}
    """By object, `metadata.generation` of the spec that it is about."""
    why: str = ""
    """Of a command: why the operator's word is not shown."""


class Explain(Struct, frozen=True, rename="camel", kw_only=True):
    api_version: Version = API_VERSION
    kind: Literal["Rollout"] = "Rollout"
    part: str
    noun: str = ""
    """What is rolled, in one word as in `NOUN/NAME`: with it no two rollouts of a namespace have one name. Empty in
    documents of a release that did not tell it."""
    namespace: str
    rollout: str
    outcome: Annotated[str, Meta(extra_json_schema={"enum": list(OUTCOMES)})] = ""
    """How it stands, in a word that all contracts share; empty in documents of a release that did not tell it."""
    ended: bool = False
    """Whether it was given up, so that nothing more comes of it unless a person changes it or asks for it again."""
    stands: Stands
    next: tuple[str, ...] = ()
    blocked_by: tuple[Block, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences about what holds beside the rollout and keeps nothing from going on."""
    again: datetime | None = None
    """When the operator looks at it without being woken; only the operator knows."""
    leaves: End | UnsetType = field(default=UNSET, name="from")
    goes_to: End | UnsetType = field(default=UNSET, name="to")
    workloads: tuple[Workload, ...] | UnsetType = UNSET
    source: Source | UnsetType = UNSET


class RolloutList(Struct, frozen=True, rename="camel", kw_only=True):
    api_version: Version = API_VERSION
    kind: Literal["RolloutList"] = "RolloutList"
    items: tuple[Explain, ...] = ()


class Undecided(Struct, frozen=True, rename="camel"):
    """A rollout about which the operator has not come to a decision."""

    part: str
    namespace: str
    rollout: str
    noun: str = ""
    failure: str = ""
    """Why its last pass failed; empty when there was none yet."""


class OperatorReport(Struct, frozen=True, rename="camel", kw_only=True):
    """What an operator answers when it is asked about its rollouts."""

    api_version: Version = API_VERSION
    kind: Literal["OperatorReport"] = "OperatorReport"
    process: str
    version: str
    leads: bool
    """Only who leads decides; of another replica there is nothing to tell."""
    leaves: str = ""
    """Why this replica leaves the lead alone although nobody has it; empty where nothing keeps it from taking it."""
    items: tuple[Explain, ...] = ()
    undecided: tuple[Undecided, ...] = ()
