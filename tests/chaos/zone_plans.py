"""What a run starts with."""

from __future__ import annotations

from typing import Any

from msgspec import Struct


class ZonePlan(Struct, frozen=True):
    group: str
    name: str
    replicas: int = 3
    budget: str | None = None
    policy: str = "Parallel"


class Setting(Struct, frozen=True):
    """Zones, and how the cluster and its operators are."""

    zones: tuple[ZonePlan, ...]
    seed: int = 0
    latency: float = 0.0
    """Most seconds of a round trip."""
    lag: float = 0.0
    """Most seconds by which each event reaches watches late."""
    interval: float | None = None
    leased: bool = False
    operators: int = 1
    ready_after: float = 1.0
    gone_after: float = 0.1
    nodes: int = 3
    strict: bool = False
    """Nobody but operators disturbs pods, so that they are judged by the truth alone as well."""
    feature_gates: tuple[str, ...] = ()
    """Of the cluster, beyond those that are on by default."""


def three_zones(pods: int = 3, **changes: Any) -> Setting:
    """The zones of the acceptance scenarios."""
    zones = tuple(ZonePlan("ingester", f"ingester-zone-{letter}", pods) for letter in "abc")
    return Setting(zones, **changes)
