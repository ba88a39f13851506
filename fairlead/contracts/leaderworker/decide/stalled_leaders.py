"""Leaders that are to be replaced, are not ready, and are replaced by nobody (section 3.10 point 9).

With the feature `MaxUnavailableStatefulSet` the StatefulSet controller takes no leader while as many as may be
unavailable are, be it those that it should take: the revision that mends them never reaches them. Without the feature
the API server drops the field, and the controller does not wait for those that it replaces.
"""

from __future__ import annotations

from collections.abc import Iterable

from fairlead.contracts.leaderworker.decide import notes
from fairlead.contracts.leaderworker.decide.groups import (
    is_observed,
    is_running_and_ready,
    partition_of,
    replicas_of,
)
from fairlead.contracts.leaderworker.decide.seen import SetSeen
from fairlead.contracts.leaderworker.decide.trees import part
from fairlead.contracts.leaderworker.kinds import Pod, StatefulSet
from fairlead.core.act import Delete, Does
from fairlead.core.ordinals import ordinal_of
from kubeloop.objects.apps import REVISION_LABEL


def stalled(seen: SetSeen) -> tuple[Delete, ...]:
    """Their deletions, the highest first, each bound to what was seen of the pod: one that became ready stays."""
    leaders = seen.leaders
    if leaders is None or not leaders.status.update_revision or not is_observed(leaders):
        return ()
    found = _by_index(leaders, seen.pods)
    available = sum(_is_available(each) for each in found.values())
    if not 0 < _most_unavailable(leaders) <= replicas_of(leaders) - available:
        return ()
    return tuple(
        _deleted(seen, leader)
        for index, leader in sorted(found.items(), reverse=True)
        if index >= partition_of(leaders) and _is_to_go(leaders, leader)
    )


def _by_index(leaders: StatefulSet, pods: Iterable[Pod]) -> dict[int, Pod]:
    own = (each for each in pods if each.metadata.controller_uid == leaders.metadata.uid)
    placed = ((ordinal_of(each.metadata.name, leaders.metadata.name), each) for each in own)
    return {index: each for index, each in placed if index is not None and index < replicas_of(leaders)}


def _is_available(leader: Pod) -> bool:
    return is_running_and_ready(leader) and leader.metadata.deletion_timestamp is None


def _most_unavailable(leaders: StatefulSet) -> int:
    """0 where the StatefulSet does not say."""
    most = part(leaders.spec, "updateStrategy", "rollingUpdate").get("maxUnavailable")
    return most if isinstance(most, int) else 0


def _is_to_go(leaders: StatefulSet, leader: Pod) -> bool:
    is_outdated = leader.metadata.labels.get(REVISION_LABEL) != leaders.status.update_revision
    return is_outdated and leader.metadata.deletion_timestamp is None and not is_running_and_ready(leader)


def _deleted(seen: SetSeen, leader: Pod) -> Delete:
    """In the scope of its group, whose rounds may want to delete it, too."""
    given = leader.metadata
    return Delete(
        ref=notes.pod_ref(given),
        resource_version=given.resource_version,
        does=Does.REPLACE_LEADER,
        scope=given.uid,
        contested=True,
        refusable=True,
        tell=notes.replaced(seen.set, given),
    )
