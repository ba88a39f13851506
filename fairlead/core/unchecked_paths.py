"""Paths that cluster validation leaves alone unless it is told otherwise."""

from __future__ import annotations

UNCHECKED_PATHS = ("admission/", "pods/eviction")
"""Whatever the API server calls: it never says where its calls belong."""
