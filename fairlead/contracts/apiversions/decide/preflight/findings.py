"""Findings: what somebody must know before a definition or a release is applied (section 3.11)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

Severity = Literal["block", "warn", "info"]
ORDER: tuple[Severity, ...] = ("block", "warn", "info")
SHOWN_OBJECTS = 5


class Finding(Struct, frozen=True, kw_only=True, omit_defaults=True):
    code: str
    severity: Severity
    crd: str
    version: str = ""
    path: str = ""
    message: str
    fix: str = ""
    """The command that removes it; empty where there is none."""
    count: int | None = None
    """Live objects that it is about; None where objects do not matter, or nobody could look."""
    objects: tuple[str, ...] = ()
    """The first of them."""
    leaves: tuple[str, ...] = ()
    """What would be lost."""
    context: str = ""
    """Of the kubeconfig, where several clusters are looked at."""


def is_blocked(findings: Iterable[Finding]) -> bool:
    return any(each.severity == "block" for each in findings)


def sorted_findings(findings: Iterable[Finding]) -> list[Finding]:
    """What blocks first; then by where it is."""
    return sorted(
        findings,
        key=lambda each: (ORDER.index(each.severity), each.context, each.crd, each.code, each.version, each.path),
    )
