"""Zones: rolling StatefulSets that are spread over availability zones, never disturbing two zones at once."""

from fairlead.decide.zones.explain import explain, wait_key
from fairlead.decide.zones.seen import Snapshot
from fairlead.decide.zones.sweep import RULES, decide

__all__ = ["RULES", "Snapshot", "decide", "explain", "wait_key"]
