"""Decisions about DisaggregatedSets: roles that are LeaderWorkerSets each, and are rolled together (section 6.7)."""
