"""What the objects of an environment are called; all but three begin with `mz{resource id}-`."""

from __future__ import annotations

LONGEST_NUMBER = 19
"""Digits; the API server has 64 bits for a number."""


def prefixed(resource_id: str, name: str) -> str:
    return f"mz{resource_id}-{name}"


def environmentd_service_name(resource_id: str) -> str:
    """Of the public Service, which selects the serving generation."""
    return prefixed(resource_id, "environmentd")


def environmentd_name(resource_id: str, generation: int) -> str:
    """Of a generation's StatefulSet and of its Service, and what selects its pods."""
    return prefixed(resource_id, f"environmentd-{generation}")


def pubsub_service_name(resource_id: str, generation: int) -> str:
    return prefixed(resource_id, f"persist-pubsub-{generation}")


def listeners_name(resource_id: str, generation: int) -> str:
    return prefixed(resource_id, f"listeners-{generation}")


def balancerd_name(resource_id: str) -> str:
    """Of the Deployment and the Service."""
    return prefixed(resource_id, "balancerd")


def number_in(name: str) -> int | None:
    """The number that a name ends with, as names of generations do; None where it ends with none."""
    digits = name.rpartition("-")[2]
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= LONGEST_NUMBER
    return int(digits) if is_number and str(int(digits)) == digits else None
