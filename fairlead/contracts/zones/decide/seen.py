"""What a pass over one group sees: everything its decision reads, and nothing that it concluded."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property

from msgspec import Struct

from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import HealthCheck
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answers
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod


class Snapshot(Struct, frozen=True, dict=True):
    """One group of one namespace, gathered generously: which pod belongs to which zone is decided, not gathered."""

    namespace: str
    group: str
    """Value of the group label."""
    statefulsets: tuple[StatefulSet, ...]
    """All of the group, in any order."""
    pods: tuple[Pod, ...]
    """At least every pod that any zone controls or whose labels any zone selects, in any order, each once."""
    answers: Answers = Answers()
    settings: Settings = Settings()
    budgets: tuple[DisruptionBudget, ...] = ()
    """The disruption budgets in force in the namespace."""
    checks: tuple[HealthCheck, ...] = ()
    """The health checks in force in the namespace."""
    since: Mapping[str, datetime] = {}
    """When this process first saw a wait, by `wait_key`; for waits that no fact dates."""

    @cached_property
    def conclusions(self) -> dict[object, tuple[datetime, object]]:
        """What `once` carries, with the moment it holds for; no part of the value."""
        return {}
