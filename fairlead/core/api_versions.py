"""Names of API versions and their order: v1 is newer than v1beta2, and that than v1alpha3."""

from __future__ import annotations

import re

_NAME = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


def age(name: str) -> tuple[int, int, int, str]:
    """Sorts names from the oldest to the newest; what is no name of this form is older than all that are."""
    found = _NAME.fullmatch(name)
    if found is None:
        return (-1, 0, 0, name)
    return (_STAGES[found[2]], int(found[1]), int(found[3] or 0), "")
