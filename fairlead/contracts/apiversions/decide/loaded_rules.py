"""Which rules of a definition are in force, from what is known of the sets that there are (section 2.6).

The set that counts is used once it has been found good. Until then, and where it is bad or gone, the one before stays
in force: as this process has it, or as the leader has kept it.
"""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from kubeloop.objects.meta import Ref


class State(Enum):
    LOADED = "loaded"
    LAST_GOOD = "last-good"
    REJECTED = "rejected"
    MISSING = "missing"


class RulesState(Enum):
    """What is known of a set."""

    NONE = "none"
    """There is none, or there is no definition to try it with."""
    TRIED = "tried"
    """It is being tried."""
    GOOD = "good"
    BAD = "bad"


class Use(Enum):
    SOURCE = "source"
    KEPT = "kept"
    """What the leader has kept."""
    HELD = "held"
    """What this process has in force."""
    NOTHING = "nothing"


class Ruling(Struct, frozen=True):
    use: Use
    state: State
    is_awaited: bool = False
    """Whether nothing is in force, and something may be in a moment."""
    is_renewed: bool = False
    """Whether what is in force may be followed by another in a moment."""


class Loaded(Struct, frozen=True, kw_only=True):
    """The rules of one definition in one process."""

    crd: str
    state: State
    versions: tuple[str, ...] = ()
    """Those that are converted, without their group."""
    uncovered: tuple[str, ...] = ()
    """Those of the definition that are not."""
    text: str = ""
    """Of the set in force that comes from its source and may be kept; empty otherwise."""
    wants_attachment: bool = False
    """What the set in force says of `attach`."""
    has_source: bool = False
    """Whether somebody has a set for the definition, good or not; else what is in force is only kept."""
    anyway: bool = False
    """Whether a person has said that objects are converted by it whatever version their fields are of."""
    source: Ref | None = None
    """The ConfigMap that the set comes from."""
    problem: str = ""
    """What is wrong with the set that counts."""
    definition: Ref | None = None
    """None: there is none."""


def ruled(source: RulesState, kept: RulesState, *, is_held: bool) -> Ruling:
    """What is used, by what is known of the set that counts, of the kept one, and whether rules are in force."""
    if source is RulesState.GOOD:
        return Ruling(Use.SOURCE, State.LOADED)
    is_tried = RulesState.TRIED in (source, kept)
    if source is RulesState.TRIED and is_held:
        return Ruling(Use.HELD, State.LAST_GOOD, is_renewed=True)
    if kept is RulesState.GOOD:
        return Ruling(Use.KEPT, State.LAST_GOOD)
    if is_held:
        return Ruling(Use.HELD, State.LAST_GOOD, is_renewed=is_tried)
    if is_tried:
        return Ruling(Use.NOTHING, State.MISSING, is_awaited=True)
    return Ruling(Use.NOTHING, State.REJECTED if source is RulesState.BAD else State.MISSING)
