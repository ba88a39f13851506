"""Names of what API versions keep on objects (section 2.4)."""

from __future__ import annotations

PART = "apiversions"
DOMAIN = "fairlead.dev"
CARRY_PREFIX = f"carry.{DOMAIN}/"
"""Of annotations, each with one leaf that another version holds and this one cannot."""
MOST_ANNOTATIONS = 262_144
"""Bytes of all annotations of an object with their keys, which the API server takes."""
PAYLOAD_VERSION = f"{DOMAIN}/payload-version"
"""The version that the operator last knew the fields of an object to be of."""
PAYLOAD_HASH = f"{DOMAIN}/payload-hash"
"""Of the spec at that time: tells whether somebody has written it since."""
