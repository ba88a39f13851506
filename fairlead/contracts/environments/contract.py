"""Environments: generations of an environment, promoted one after the other when the hash of its spec changes."""

from __future__ import annotations

from fairlead.contracts.environments.kinds import GROUP, LEASE, MATERIALIZES, OWN_LABELS
from fairlead.engine.contract import Contract, Room, Root

CONTRACT = Contract(
    name="environments",
    about="generations of Materialize environments",
    labels=OWN_LABELS,
    groups=frozenset({GROUP}),
    part=Room("fairlead.contracts.environments.part", "part"),
    home=lambda given: str(given.settings.operator_namespace),
    lease=LEASE,
    rejoins=True,
    registers=True,
    programs={"orchestratord": Room("fairlead.contracts.environments.options", "PROGRAM")},
    section=Room("fairlead.contracts.environments.options", "SECTION"),
    roots=(Root(MATERIALIZES, optional=True),),
    look=Room("fairlead.contracts.environments.looks", "LOOK"),
    nothing=MATERIALIZES.kind,
    verbs=Room("fairlead.contracts.environments.verbs", "VERBS"),
)
