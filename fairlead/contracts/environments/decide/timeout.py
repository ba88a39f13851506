"""How long a rollout may wait before it is given up: `spec.rolloutRequestTimeout` (B1)."""

from __future__ import annotations

from kubeloop.durations import parse_human

DEFAULT = "24h"
DEFAULT_SECONDS = 86_400.0
"""The same."""


def timeout_seconds(text: object) -> float:
    """Of `90m`, `1h 30m`, `2 days`; 24 hours where nothing is given or what is given is no length of time."""
    if not isinstance(text, str):
        return DEFAULT_SECONDS
    try:
        seconds = parse_human(text)
    except ValueError:
        return DEFAULT_SECONDS
    return seconds if seconds >= 0 else DEFAULT_SECONDS
