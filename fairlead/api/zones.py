"""The zone contract's words on the wire, and the settings of the part."""

from __future__ import annotations

from msgspec import Struct

GROUP_LABEL = "rollout-group"
NAME_LABEL = "name"
MAX_UNAVAILABLE = "rollout-max-unavailable"
PAUSED = "grafana.com/rollout-paused"


class Settings(Struct, frozen=True):
    """What the flags of the zone contract say about deciding and pacing."""

    reconcile_interval: float | None = None
    """Least seconds between two passes of a group; None: a pass follows the facts at once."""
