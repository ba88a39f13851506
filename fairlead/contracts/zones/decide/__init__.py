"""Zones: rolling StatefulSets that are spread over availability zones, never disturbing two zones at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairlead.contracts.zones.decide.seen import Snapshot

if TYPE_CHECKING:
    from fairlead.contracts.zones.decide.rollout.group_pass import RULES, decide

__all__ = ["RULES", "Snapshot", "decide"]


def __getattr__(name: str) -> object:
    """The rules are loaded when somebody decides: commands that show the operator's word need a few types of them."""
    if name not in ("RULES", "decide"):
        raise AttributeError(f"module {__name__} has no attribute {name}")
    from fairlead.contracts.zones.decide.rollout import group_pass  # noqa: PLC0415

    return getattr(group_pass, name)
