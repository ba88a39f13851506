"""Zones: StatefulSets that are spread over availability zones, rolled without ever disturbing two zones at once."""

from __future__ import annotations

from fairlead.contracts.zones.kinds import API_GROUP, GROUP_LABEL, INJECT_CA, NAMESPACE, NOUN, OWN_LABELS
from fairlead.engine.contract import Contract, Room, Root
from kubeloop.objects.apps import STATEFULSETS

CONTRACT = Contract(
    name="zones",
    about="groups of StatefulSets over zones",
    labels=OWN_LABELS,
    groups=frozenset({API_GROUP}),
    part=Room("fairlead.contracts.zones.part", "part"),
    keeps_records=True,
    trust_labels=(INJECT_CA, NAMESPACE),
    kinds=Room("fairlead.contracts.zones.install.definitions", "definitions"),
    chart="rollout-operator",
    installed_for=NAMESPACE,
    install=Room("fairlead.contracts.zones.install.options", "INSTALL"),
    programs={"rollout-operator": Room("fairlead.contracts.zones.options", "PROGRAM")},
    section=Room("fairlead.contracts.zones.section", "SECTION"),
    demos={
        "zones": Room("fairlead.contracts.zones.demo", "ROLLOUT"),
        "drain": Room("fairlead.contracts.zones.demo", "DRAIN"),
    },
    hosted=Room("fairlead.contracts.zones.demo", "HOSTED"),
    roots=(Root(STATEFULSETS, NOUN, GROUP_LABEL, names=(GROUP_LABEL,)),),
    look=Room("fairlead.contracts.zones.looks", "LOOK"),
    verbs=Room("fairlead.contracts.zones.verbs", "VERBS"),
    nothing=f"StatefulSet with the label {GROUP_LABEL}",
    lane=STATEFULSETS.kind,
    gone="StatefulSets lost their label",
    deciders=Room("fairlead.contracts.zones.deciders", "DECIDERS"),
)
