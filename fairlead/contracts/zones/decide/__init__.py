"""Zones: rolling StatefulSets that are spread over availability zones, never disturbing two zones at once."""

from fairlead.contracts.zones.decide.rollout.group_pass import RULES, decide
from fairlead.contracts.zones.decide.seen import Snapshot

__all__ = ["RULES", "Snapshot", "decide"]
