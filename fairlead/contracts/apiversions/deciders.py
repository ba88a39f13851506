"""What decides the rounds of each controller of API versions, and from what, for whoever decides them again."""

from __future__ import annotations

from fairlead.contracts.apiversions import own_migrations
from fairlead.core.replay import Decider
from fairlead.engine.decide.given_certificate import GivenSnapshot, keep_published
from fairlead.engine.decide.job import JobSnapshot
from fairlead.engine.decide.rotation import rotate
from fairlead.engine.decide.rotation_snapshot import RotationSnapshot
from fairlead.engine.decide.storage_migration.journal import StorageJournal, StorageView

DECIDERS = {
    "certificates": Decider(RotationSnapshot, rotate),
    "given-certificates": Decider(GivenSnapshot, keep_published),
    own_migrations.NAME: Decider(JobSnapshot[StorageJournal, StorageView], own_migrations.decide),
}
