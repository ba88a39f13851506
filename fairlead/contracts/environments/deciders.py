"""What decides the rounds of each controller of environments, and from what, for whoever decides them again."""

from __future__ import annotations

from fairlead.contracts.environments import migration, shared_listener
from fairlead.contracts.environments.decide import decide, decide_balancer, decide_console
from fairlead.contracts.environments.decide.seen import CompanionSnapshot, Snapshot
from fairlead.contracts.environments.kinds import Balancer, Console
from fairlead.core.replay import Decider
from fairlead.engine.decide.definition_rounds import DefinitionSnapshot, repair
from fairlead.engine.decide.job import JobSnapshot
from fairlead.engine.decide.owned_rounds import repair_owned
from fairlead.engine.decide.storage_migration.journal import StorageJournal, StorageView

DECIDERS = {
    "environments": Decider(Snapshot, decide),
    "environments/balancer": Decider(CompanionSnapshot[Balancer], decide_balancer),
    "environments/console": Decider(CompanionSnapshot[Console], decide_console),
    "definitions": Decider(DefinitionSnapshot, repair),
    shared_listener.NAME: Decider(DefinitionSnapshot, repair_owned),
    migration.NAME: Decider(JobSnapshot[StorageJournal, StorageView], migration.decide),
}
