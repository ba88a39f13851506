"""Reading trees that anybody may have written: what is missing, null or of another kind reads as absent."""

from __future__ import annotations

from fairlead.contracts.leaderworker.kinds import Json


def part(tree: object, *names: str) -> Json:
    """The object at this place; an empty one where there is none."""
    for name in names:
        tree = tree.get(name) if isinstance(tree, dict) else None
    return tree if isinstance(tree, dict) else {}


def text(tree: Json, name: str) -> str:
    """Empty where there is none."""
    found = tree.get(name)
    return found if isinstance(found, str) else ""


def texts(tree: object, *names: str) -> dict[str, str]:
    """Labels or annotations, those that are texts."""
    return {key: value for key, value in part(tree, *names).items() if isinstance(value, str)}
