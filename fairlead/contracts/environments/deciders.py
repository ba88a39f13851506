"""What decides the rounds of each controller of environments, and from what, for whoever decides them again."""

from __future__ import annotations

from fairlead.contracts.environments.decide import decide, decide_balancer, decide_console
from fairlead.contracts.environments.decide.seen import CompanionSnapshot, Snapshot
from fairlead.contracts.environments.kinds import Balancer, Console
from fairlead.core.replay import Decider
from fairlead.engine.decide.definition_rounds import DefinitionSnapshot, repair
from fairlead.engine.decide.job import JobSnapshot
from fairlead.engine.decide.migration_job import MigrationJournal, MigrationView
from fairlead.engine.decide.migration_job import decide as decide_migration

DECIDERS = {
    "environments": Decider(Snapshot, decide),
    "environments/balancer": Decider(CompanionSnapshot[Balancer], decide_balancer),
    "environments/console": Decider(CompanionSnapshot[Console], decide_console),
    "definitions": Decider(DefinitionSnapshot, repair),
    "storage-migration": Decider(JobSnapshot[MigrationJournal, MigrationView], decide_migration),
}
