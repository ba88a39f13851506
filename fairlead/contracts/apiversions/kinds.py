"""Names of what API versions keep on objects (section 2.4)."""

from __future__ import annotations

PART = "apiversions"
DOMAIN = "fairlead.dev"
CARRY_PREFIX = f"carry.{DOMAIN}/"
"""Of annotations, each with one leaf that another version holds and this one cannot."""
MOST_ANNOTATIONS = 262_144
"""Bytes of all annotations of an object with their keys, which the API server takes."""
