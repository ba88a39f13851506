"""Which group a StatefulSet is in: by its label, unless it is excluded."""

from __future__ import annotations

from fairlead.contracts.zones.kinds import EXCLUDE, GROUP_LABEL
from kubeloop.objects.apps import StatefulSet


def group_name(statefulset: StatefulSet) -> str | None:
    """None when it is in none; the empty name is a group like any other."""
    if statefulset.metadata.annotations.get(EXCLUDE) == "true":
        return None
    return statefulset.metadata.labels.get(GROUP_LABEL)
