"""Environments: generations of an environment, promoted one after the other when the hash of its spec changes."""

from __future__ import annotations

from fairlead.contracts.environments.kinds import FINALIZER, GROUP, INSTALLED_FOR, LEASE, MATERIALIZES, OWN_LABELS
from fairlead.engine.contract import Contract, Mark, Room, Root

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
    kinds=Room("fairlead.contracts.environments.install.definitions", "definitions"),
    about_kinds="The kinds of environments come without `conversion`, which holds the address of the running operator "
    "and the authority of its certificate: the operator adds it when it starts, and brings the kinds if they are "
    "missing. Until then use one version only.",
    chart="materialize-operator",
    installed_for=INSTALLED_FOR,
    holds_data=True,
    mark=Mark(MATERIALIZES, FINALIZER),
    install=Room("fairlead.contracts.environments.install.options", "INSTALL"),
    hashes=Room("fairlead.contracts.environments.hashes", "HASHES"),
    programs={"orchestratord": Room("fairlead.contracts.environments.options", "PROGRAM")},
    section=Room("fairlead.contracts.environments.options", "SECTION"),
    demos={"environments": Room("fairlead.contracts.environments.demo", "ROLLOUT")},
    hosted=Room("fairlead.contracts.environments.demo", "HOSTED"),
    roots=(Root(MATERIALIZES, "materialize", optional=True),),
    look=Room("fairlead.contracts.environments.looks", "LOOK"),
    nothing=MATERIALIZES.kind,
    phases_are_conditions=True,
    verbs=Room("fairlead.contracts.environments.verbs", "VERBS"),
    rule_sets={"materialize-v1": Room("fairlead.contracts.environments.materialize_v1", "RULE_SET")},
    deciders=Room("fairlead.contracts.environments.deciders", "DECIDERS"),
)
