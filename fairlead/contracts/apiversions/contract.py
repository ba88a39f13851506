"""API versions: any CRD converted without loss, what is stored moved, operators upgraded without surprise."""

from __future__ import annotations

from fairlead.contracts.apiversions.kinds import INSTALLED_FOR, PART
from fairlead.engine.contract import Contract, Room

CONTRACT = Contract(
    name=PART,
    about="versions of CRDs",
    part=Room("fairlead.contracts.apiversions.part", "part"),
    rejoins=True,
    versions=lambda settings: settings.upgrades.policy,
    section=Room("fairlead.contracts.apiversions.section", "SECTION"),
    chart="fairlead",
    installed_for=INSTALLED_FOR,
    install=Room("fairlead.contracts.apiversions.install.options", "INSTALL"),
    commands={"api": Room("fairlead.contracts.apiversions.commands", "API")},
)
