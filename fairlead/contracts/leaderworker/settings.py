"""What an operator of LeaderWorkerSets is told, beside what the sets say themselves."""

from __future__ import annotations

from msgspec import Struct


class Settings(Struct, frozen=True):
    history_limit: int = 0
    """How many old revisions stay where a set does not say (section 6.4)."""
    gang_scheduler: str = ""
    """Whose PodGroups are made; empty: nobody's (section 6.2)."""
    operator_namespace: str = ""
    """Of the Lease, the Secret and the Service of webhooks; empty: the one that the operator runs in."""
    keeps_budgets: bool = False
    """Whether PodDisruptionBudgets are kept for sets that ask for a budget (section 6.8)."""
    reviews_evictions: bool = False
    """Whether evictions are reviewed, so that no PodDisruptionBudget is needed (section 6.8)."""
