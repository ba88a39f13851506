"""Which of the rollouts a command is about, and how they stand for the exit code."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.api.explain import Explain
from fairlead.cli.render import NAMELESS, name_of

COMPLETE = "Current"
BLOCKED = ("Blocked", "Paused")
"""Phases that end only when somebody acts on something else."""


def is_complete(seen: Explain) -> bool:
    return seen.stands.phase == COMPLETE


def is_blocked(seen: Explain) -> bool:
    return seen.stands.phase in BLOCKED


def named(seen: Sequence[Explain], name: str) -> list[Explain]:
    """The rollouts of this name, else those that have a lane of this name; two quotes name the group without a name."""
    wanted = "" if name == NAMELESS else name
    by_name = [one for one in seen if one.rollout == wanted]
    return by_name or [one for one in seen if any(lane.name == wanted for lane in one.stands.lanes)]


def places(namespaces: Sequence[str]) -> str:
    """The namespaces in words."""
    if "" in namespaces:
        return "all namespaces"
    return f"namespace{'s' * (len(namespaces) > 1)} {', '.join(namespaces)}"


def none_at_all(namespaces: Sequence[str]) -> str:
    return f"no StatefulSet with the label rollout-group in {places(namespaces)}"


def none_named(name: str, seen: Sequence[Explain], namespaces: Sequence[str]) -> str:
    """That there is no such rollout, with what may have been meant."""
    if not seen:
        return f"{name or NAMELESS} not found: {none_at_all(namespaces)}"
    from difflib import get_close_matches

    names = dict.fromkeys(name_of(one) for one in seen)
    known = [*names, *(lane.name for one in seen for lane in one.stands.lanes)]
    close = dict.fromkeys(get_close_matches(name, known, 3, 0.5))
    hint = f"did you mean {' or '.join(close)}?" if close else f"there are: {', '.join(names)}"
    return f"no rollout or StatefulSet named {name or NAMELESS} in {places(namespaces)}; {hint}"
