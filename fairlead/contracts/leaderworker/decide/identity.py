"""How pods of a set are told apart: leaders and ordinals by name, groups and subgroups by keys (section 2.7)."""

from __future__ import annotations

import re
from hashlib import sha1

_PLACED = re.compile(r"(.*)-([0-9]+)")
_LARGEST_ORDINAL = 2**31 - 1


def parent_and_ordinal(pod: str) -> tuple[str, int | None]:
    """`a-0-3` is pod 3 of `a-0`; a name without an ordinal has no parent, one too large for a set is none."""
    found = _PLACED.fullmatch(pod)
    if found is None:
        return "", None
    digits = found[2].lstrip("0") or "0"
    ordinal = int(digits) if len(digits) <= len(str(_LARGEST_ORDINAL)) else _LARGEST_ORDINAL + 1
    return found[1], ordinal if ordinal <= _LARGEST_ORDINAL else None


def group_key(namespace: str, leader: str) -> str:
    return _digest(f"{namespace}/{leader}")


def subgroup_key(leader: str, index: str) -> str:
    return _digest(f"{leader}/{index}")


def _digest(text: str) -> str:
    return sha1(text.encode(), usedforsecurity=False).hexdigest()
