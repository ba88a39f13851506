"""Plans: every workload in batches, with gates, hooks, metrics and traffic."""

from __future__ import annotations

from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION_DEPLOYMENTS,
    CORE_GROUP,
    HANDOVER_NOUN,
    INJECT_CA,
    INSTALLED_FOR,
    LEASE,
    NOUN,
    OWN_LABELS,
    PART,
    REVISION_NOUN,
    ROLLOUT_TRAITS,
    ROLLOUTS,
    SNAPSHOT_NOUN,
    STANDARD_GROUP,
)
from fairlead.engine.contract import Contract, Room, Root

CONTRACT = Contract(
    name=PART,
    about="workloads rolled in batches by a plan",
    labels=OWN_LABELS,
    groups=frozenset({STANDARD_GROUP, CORE_GROUP}),
    part=Room("fairlead.contracts.plans.part", "part"),
    home=lambda given: str(given.operator_namespace),
    lease=LEASE,
    registers=True,
    trust_labels=(INJECT_CA, INSTALLED_FOR),
    kinds=Room("fairlead.contracts.plans.install.definitions", "definitions"),
    chart="vela-core",
    installed_for=INSTALLED_FOR,
    install=Room("fairlead.contracts.plans.install.options", "INSTALL"),
    programs={"vela-core": Room("fairlead.contracts.plans.options", "PROGRAM")},
    section=Room("fairlead.contracts.plans.section", "SECTION"),
    roots=(
        Root(ROLLOUT_TRAITS, NOUN, optional=True),
        Root(APPLICATION_DEPLOYMENTS, HANDOVER_NOUN, optional=True),
        Root(ROLLOUTS, REVISION_NOUN, optional=True),
        Root(APP_ROLLOUTS, SNAPSHOT_NOUN, optional=True),
    ),
    nothing=ROLLOUT_TRAITS.kind,
    look=Room("fairlead.contracts.plans.looks", "LOOK"),
    demos={"plans": Room("fairlead.contracts.plans.demo", "ROLLOUT")},
    hosted=Room("fairlead.contracts.plans.demo", "HOSTED"),
    verbs=Room("fairlead.contracts.plans.verbs", "VERBS"),
    deciders=Room("fairlead.contracts.plans.deciders", "DECIDERS"),
)
