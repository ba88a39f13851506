"""Feature gates of the release that are off unless somebody turns them on, and that the embedded cluster knows."""

from __future__ import annotations

from collections.abc import Iterable

MAX_UNAVAILABLE = "MaxUnavailableStatefulSet"
"""A rolling update of a StatefulSet may take several pods at once."""

KNOWN = (MAX_UNAVAILABLE,)


def turned_on(names: Iterable[str]) -> frozenset[str]:
    """The gates of these names; raises ValueError where one is not known."""
    found = frozenset(names)
    if strange := sorted(found.difference(KNOWN)):
        raise ValueError(f"unknown feature gate {strange[0]}: choose from {', '.join(KNOWN)}")
    return found
