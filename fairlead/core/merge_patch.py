"""JSON merge patches: what turns one value into another."""

from __future__ import annotations


def merge_patch(before: object, after: object) -> object:
    """What a merge patch must hold for a value to become another: objects are merged, and null takes away."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return after
    gone = {key: None for key in before if key not in after}
    kept = {key: merge_patch(before.get(key), value) for key, value in after.items() if before.get(key) != value}
    return {**gone, **kept}
