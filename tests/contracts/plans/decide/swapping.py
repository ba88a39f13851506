"""A rollout whose target and source are exchanged, and the states that it went through."""

from __future__ import annotations

from fairlead.contracts.plans.kinds import Json
from tests.contracts.plans.decide.cluster import Cluster

HOOK: Json = {"type": "finalize-rollout", "name": "last", "url": "http://hooks/last"}


def swap(cluster: Cluster) -> None:
    cluster.change(targetRef=cluster.reference("d1"), sourceRef=[cluster.reference("d2")])


def states_of(cluster: Cluster) -> list[str]:
    found = [each.state for each in cluster.history]
    return [state for place, state in enumerate(found) if place == 0 or found[place - 1] != state]
