"""Labels that somebody has edited on what was made for a group: it counts for nothing until they are back."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.contracts.leaderworker.decide.groups import template_key
from fairlead.contracts.leaderworker.kinds import NAME, REVISION_KEY, StatefulSet


def edited(found: Mapping[str, str], wanted: Mapping[str, str], of: str = "") -> dict[str, str]:
    """By label, a sentence for each that is not as it should be; `of` is whose it is, where that must be said."""
    return {
        label: _said(f"the label {label} of {of}" if of else f"its label {label}", found.get(label), value)
        for label, value in wanted.items()
        if found.get(label) != value
    }


def _said(label: str, found: str | None, wanted: str) -> str:
    said = "is missing" if found is None else f"is {found}"
    return f"{label} {said} and should be {wanted}: somebody has changed it"


def labels_of_workers(name: str, workers: StatefulSet) -> dict[str, str]:
    """By which the workers of a set of this name are found, and counted; their template has the key they came with."""
    key = template_key(workers)
    return {NAME: name, **({REVISION_KEY: key} if key else {})}
