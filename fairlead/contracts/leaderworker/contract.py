"""Leaders and workers: groups of pods that live, fail and are updated as one."""

from __future__ import annotations

from fairlead.contracts.leaderworker.disaggregated.kinds import DISAGGREGATED_SETS
from fairlead.contracts.leaderworker.disaggregated.kinds import GROUP as DISAGGREGATED_GROUP
from fairlead.contracts.leaderworker.disaggregated.kinds import NOUN as DISAGGREGATED_NOUN
from fairlead.contracts.leaderworker.kinds import (
    GROUP,
    INSTALLED_FOR,
    LEADER_WORKER_SETS,
    LEASE,
    NOUN,
    OWN_LABELS,
    PART,
)
from fairlead.engine.contract import Contract, Room, Root

CONTRACT = Contract(
    name=PART,
    about="groups of a leader and its workers",
    labels=OWN_LABELS,
    groups=frozenset({GROUP, DISAGGREGATED_GROUP}),
    part=Room("fairlead.contracts.leaderworker.part", "part"),
    home=lambda given: str(given.operator_namespace),
    lease=LEASE,
    keeps_records=True,
    trust_names=("lws-mutating-webhook-configuration", "lws-validating-webhook-configuration"),
    kinds=Room("fairlead.contracts.leaderworker.install.definitions", "definitions"),
    chart="lws",
    installed_for=INSTALLED_FOR,
    install=Room("fairlead.contracts.leaderworker.install.options", "INSTALL"),
    programs={"lws-manager": Room("fairlead.contracts.leaderworker.options", "PROGRAM")},
    section=Room("fairlead.contracts.leaderworker.section", "SECTION"),
    roots=(Root(LEADER_WORKER_SETS, NOUN, optional=True), Root(DISAGGREGATED_SETS, DISAGGREGATED_NOUN, optional=True)),
    look=Room("fairlead.contracts.leaderworker.looks", "LOOK"),
    demos={"leaderworker": Room("fairlead.contracts.leaderworker.demo", "ROLLOUT")},
    hosted=Room("fairlead.contracts.leaderworker.demo", "HOSTED"),
    verbs=Room("fairlead.contracts.leaderworker.verbs", "VERBS"),
    nothing=LEADER_WORKER_SETS.kind,
    lane="Pod",
    deciders=Room("fairlead.contracts.leaderworker.deciders", "DECIDERS"),
)
