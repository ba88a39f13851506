"""What sets ask for beyond the contract, and which of it cannot be used (sections 6.4 and 6.8)."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.contracts.leaderworker.decide.disruption_budget import allowance_of
from fairlead.contracts.leaderworker.decide.recreations import limits_of
from fairlead.contracts.leaderworker.decide.revisions import history_limit
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_SCOPE,
    PARALLEL_TEARDOWN,
    PAUSED,
    TEARDOWN,
    WITHIN_SET,
    LeaderWorkerSet,
)
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.core.progress_deadline import PROGRESS_DEADLINE, deadline_of

_ONE_VALUE = {PAUSED: "true", TEARDOWN: PARALLEL_TEARDOWN, EXCLUSIVE_SCOPE: WITHIN_SET}
"""The only value that means something."""


def problems_of(seen: LeaderWorkerSet, settings: Settings) -> tuple[str, ...]:
    """A sentence for each annotation that counts as absent because it cannot be used."""
    annotations = seen.metadata.annotations
    odd = (
        f"{name} is {annotations[name]!r}, and only {value!r} means something; it is ignored"
        for name, value in _ONE_VALUE.items()
        if annotations.get(name, value) != value
    )
    history = history_limit(seen, settings.history_limit).problem
    single = (allowance_of(seen).problem, history, _deadline(annotations))
    return (*odd, *limits_of(seen).problems, *filter(None, single))


def _deadline(annotations: Mapping[str, str]) -> str:
    problem = deadline_of(annotations)[1]
    return f"{PROGRESS_DEADLINE} cannot be used: {problem}; it is ignored" if problem else ""
