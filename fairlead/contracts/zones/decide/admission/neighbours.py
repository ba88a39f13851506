"""The other zones of a group, read live: who they are, and whether their pods are ready and updated (section 3.11)."""

from __future__ import annotations

from collections.abc import Sequence

from fairlead.contracts.zones.decide.admission import live_lists
from fairlead.contracts.zones.decide.membership import group_name
from fairlead.contracts.zones.kinds import GROUP_LABEL
from fairlead.core.ask import Answer, Ask, Bad, Listing
from fairlead.core.pod_readiness import is_ready
from kubeloop.objects.apps import STATEFULSETS, StatefulSet


def group_of(zone: StatefulSet) -> str:
    """Name of the group that a downscale of this zone concerns; empty for none (E-4)."""
    return group_name(zone) or ""


def zones_question(namespace: str, group: str) -> Ask:
    return Ask(Listing(STATEFULSETS, namespace, f"{GROUP_LABEL}={group}"))


def zones_in(answer: Answer) -> tuple[StatefulSet, ...] | str:
    """Zones of the group, in order of their names; a text says why they are not known."""
    if isinstance(answer, Bad):
        return f"the zones of its group could not be listed: {answer.text or answer.kind}"
    found = live_lists.zones_in(answer)
    return "the zones of its group could not be understood" if found is None else tuple(filter(group_of, found))


def unsettled(zones: Sequence[StatefulSet], answers: Sequence[Answer]) -> str:
    """Section 3.11 step 10: the first zone with pods that are not ready or not updated, with its counts; or empty."""
    for zone, answer in zip(zones, answers, strict=True):
        name, status = zone.metadata.name, zone.status
        if isinstance(answer, Bad):
            return f"the pods of {name} could not be listed: {answer.text or answer.kind}"
        pods = live_lists.pods_in(answer, zone)
        if pods is None:
            return f"the pods of {name} could not be understood"
        ready = sum(map(is_ready, pods))
        if status.replicas != ready or status.updated_replicas != ready:
            outdated, unready = status.replicas - status.updated_replicas, status.replicas - ready
            return (
                f"{name} has {outdated} non-updated and {unready} non-ready replicas: its status counts "
                f"{status.replicas}, of them {status.updated_replicas} updated, and {ready} pods are ready"
            )
    return ""
