"""Schedulers that place a group as a whole or not at all, and how they know its pods (section 6.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct

VOLCANO = "volcano"
VOLCANO_GROUP = "scheduling.k8s.io/group-name"


class PodMarks(Struct, frozen=True):
    """What a scheduler wants to read on every pod of a group."""

    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class GangScheduler(Protocol):
    def pod_marks(self, group: str) -> PodMarks:
        """For the pods of this group."""


class _Volcano:
    def pod_marks(self, group: str) -> PodMarks:
        return PodMarks(annotations={VOLCANO_GROUP: group})


GANG_SCHEDULERS: Mapping[str, GangScheduler] = {VOLCANO: _Volcano()}
"""By the name that a configuration has for them."""


def pod_group_name(set_name: str, group_index: str, key: str) -> str:
    """A new revision is a new group: `lws-1-dd6699c7c`."""
    return f"{set_name}-{group_index}-{key}"
