"""Metrics that decide whether a batch gets its approval (section 3.10)."""
