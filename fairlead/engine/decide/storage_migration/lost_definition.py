"""Whether a run that cannot go on has lost its definition: one that was deleted, or deleted and made again, meanwhile.

Its objects cannot be listed for a while then, and the definition says why.
"""

from __future__ import annotations

from datetime import datetime

from fairlead.core.ask import Bad, Need
from fairlead.engine.decide.migration import MigrationPlan, definition_asked, definition_found, difference
from fairlead.engine.decide.storage_migration.journal import (
    MigrationPhase,
    MigrationSnapshot,
    StepOutcome,
    StorageJournal,
    ended,
    stopped,
)

GONE = "it was deleted meanwhile"


def stopped_or_lost(
    journal: StorageJournal, plan: MigrationPlan, seen: MigrationSnapshot, now: datetime, problem: str
) -> StepOutcome:
    """A conflict where the definition is not that of the beginning any more, else the problem."""
    asked = definition_asked(seen.world.crd, "lost")
    if todo := seen.answers.lacking((asked,)):
        return Need(todo)
    answer = seen.answers[asked]
    if isinstance(answer, Bad):
        return (
            ended(journal, MigrationPhase.CONFLICT, now, GONE) if answer.kind == "absent" else stopped(journal, problem)
        )
    definition = definition_found(answer, seen.world.crd)
    why = "" if isinstance(definition, str) else difference(plan, definition)
    return ended(journal, MigrationPhase.CONFLICT, now, why) if why else stopped(journal, problem)
