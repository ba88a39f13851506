"""Which of the rollouts a command is about, and how they stand for the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.cli.views.render import NAMELESS, name_of
from fairlead.cli.views.severity import WORST_FIRST, weight
from fairlead.contracts import contracts
from fairlead.core.alternatives import alternatives
from fairlead.core.explain import Explain
from fairlead.core.outcome import DONE, STOPPED

OWN_PHASE = "Blocked"
"""No condition has it: it is said where a condition's word would not tell that somebody must act."""


def is_complete(seen: Explain) -> bool:
    return seen.outcome == DONE


def is_blocked(seen: Explain) -> bool:
    """Whether it goes on only when somebody acts."""
    return seen.outcome in STOPPED


def is_over(seen: Explain) -> bool:
    """Whether nothing more comes of it: it is complete, or was given up."""
    return is_complete(seen) or seen.ended


def worst_of(seen: Iterable[Explain]) -> Explain | None:
    """Of those that go on only when somebody acts; None where there is none."""
    return min(filter(is_blocked, seen), key=lambda one: STOPPED.index(one.outcome), default=None)


def worst_first(seen: Iterable[Explain]) -> list[Explain]:
    """Those that are blocked, those that wait or go on, those that are complete; else in their order."""
    return sorted(seen, key=_rank)


def _rank(one: Explain) -> tuple[int, int]:
    if is_blocked(one):
        return 0, 0
    if is_complete(one):
        return 2, 0
    return 1, min(map(weight, one.blocked_by), default=len(WORST_FIRST) + 1)


def named(seen: Sequence[Explain], name: str) -> list[Explain]:
    """The rollouts of this name, else those that have a lane of this name; two quotes name the group without a name.

    The name of a part, or a noun, and a slash before it choose among them.
    """
    chosen, slash, rest = name.partition("/")
    if slash:
        return named([one for one in seen if chosen in (one.part, one.noun)], rest)
    wanted = "" if name == NAMELESS else name
    by_name = [one for one in seen if one.rollout == wanted]
    return by_name or [one for one in seen if any(lane.name == wanted for lane in one.stands.lanes)]


def several(found: Sequence[Explain], name: str) -> str:
    """That one must be chosen, and how."""
    namespaces = list(dict.fromkeys(one.namespace for one in found))
    if len(namespaces) > 1:
        return f"{name} is in several namespaces ({', '.join(namespaces)}): choose one with -n"
    is_told_by_part = len({one.part for one in found}) == len(found)
    choices = alternatives(f"{one.part if is_told_by_part else one.noun}/{name_of(one)}" for one in found)
    return f"{name} names several rollouts: choose {choices}"


def places(namespaces: Sequence[str]) -> str:
    """The namespaces in words."""
    if "" in namespaces:
        return "all namespaces"
    return f"namespace{'s' * (len(namespaces) > 1)} {', '.join(namespaces)}"


def none_at_all(namespaces: Sequence[str]) -> str:
    *others, last = [f"no {contract.nothing}" for contract in contracts() if contract.nothing]
    found = f"{', '.join(others)} and {last}" if others else last
    return f"{found} in {places(namespaces)}"


def none_named(name: str, seen: Sequence[Explain], namespaces: Sequence[str]) -> str:
    """That there is no such rollout, with what may have been meant."""
    if not seen:
        return f"{name or NAMELESS} not found: {none_at_all(namespaces)}"
    from difflib import get_close_matches

    names = dict.fromkeys(name_of(one) for one in seen)
    parts = {one.part for one in seen}
    lanes = {contract.name: contract.lane for contract in contracts() if contract.lane and contract.name in parts}
    known = [*names, *(lane.name for one in seen for lane in one.stands.lanes if one.part in lanes)]
    close = dict.fromkeys(get_close_matches(name, known, 3, 0.5))
    hint = f"did you mean {alternatives(close)}?" if close else f"there are: {', '.join(names)}"
    what = alternatives(dict.fromkeys(("rollout", *lanes.values())))
    return f"no {what} named {name or NAMELESS} in {places(namespaces)}; {hint}"


def phase_word(one: Explain) -> str:
    """A phase in a sentence."""
    phase = one.stands.phase
    stays = any(contract.phases_are_conditions for contract in contracts() if contract.name == one.part)
    return phase if stays and phase != OWN_PHASE else phase.lower()


def gone(what: str) -> str:
    """That what was watched is not there any longer."""
    ways = ["its objects were deleted", *(contract.gone for contract in contracts() if contract.gone)]
    return f"{what} is gone: {', or '.join(ways)}"
