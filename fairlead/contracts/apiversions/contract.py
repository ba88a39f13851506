"""API versions: any CRD converted without loss, what is stored moved, operators upgraded without surprise."""

from __future__ import annotations

from fairlead.contracts.apiversions.kinds import (
    INSTALLED_FOR,
    MIGRATION_NOUN,
    OWN_LABELS,
    PART,
    RIGHT_NOUN,
    ROTATION_NOUN,
)
from fairlead.engine.contract import Contract, Room, Root
from fairlead.engine.decide.storage_migration.names import JOURNAL_LABEL
from kubeloop.objects.core import CONFIGMAPS

CONTRACT = Contract(
    name=PART,
    about="versions of CRDs",
    labels=OWN_LABELS,
    part=Room("fairlead.contracts.apiversions.part", "part"),
    conversion=Room("fairlead.contracts.apiversions.conversion_listener", "shared_conversion"),
    deciders=Room("fairlead.contracts.apiversions.deciders", "DECIDERS"),
    rejoins=True,
    section=Room("fairlead.contracts.apiversions.section", "SECTION"),
    chart="fairlead",
    installed_for=INSTALLED_FOR,
    letting_go=Room("fairlead.contracts.apiversions.letting_go", "LETTING_GO"),
    install=Room("fairlead.contracts.apiversions.install.options", "INSTALL"),
    demos={"apiversions": Room("fairlead.contracts.apiversions.demo", "VERSIONS")},
    hosted=Room("fairlead.contracts.apiversions.demo", "HOSTED"),
    roots=(Root(CONFIGMAPS, MIGRATION_NOUN, labels=f"{JOURNAL_LABEL}=true", optional=True),),
    spoken=(ROTATION_NOUN, RIGHT_NOUN),
    look=Room("fairlead.contracts.apiversions.looks", "LOOK"),
    nothing="migration of a CRD",
    verbs=Room("fairlead.contracts.apiversions.verbs", "VERBS"),
    commands={"api": Room("fairlead.contracts.apiversions.commands", "API")},
)
