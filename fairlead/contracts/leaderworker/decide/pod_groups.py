"""PodGroups, by which a scheduler places a group as a whole or not at all (section 6.2)."""

from __future__ import annotations

from fairlead.contracts.leaderworker.decide.made_parts import owned_by_pod
from fairlead.contracts.leaderworker.decide.pod_requests import added, pod_requests
from fairlead.contracts.leaderworker.decide.set_view import SetView
from fairlead.contracts.leaderworker.kinds import (
    GROUP_INDEX,
    LEADER_READY,
    NAME,
    POD_GROUPS,
    REVISION_KEY,
    Json,
    LeaderWorkerSet,
)
from kubeloop.objects.meta import Meta

_COPIED = "volcano.sh/"
_QUEUE = "scheduling.volcano.sh/queue-name"


def volcano_pod_group(name: str, seen: LeaderWorkerSet, view: SetView, leader: Meta) -> Json:
    """Of one group, with the size and the requests of its own revision.

    With `LeaderReady` the leader must be able to start alone, but not where the workers would find no room.
    """
    requests = added(pod_requests(view.leader_template), pod_requests(view.worker_template), max(0, view.size - 1))
    spec: Json = {
        "minMember": 1 if seen.spec.startup_policy == LEADER_READY else view.size,
        "minResources": requests,
    }
    if queue := seen.metadata.annotations.get(_QUEUE):
        spec["queue"] = queue
    return {
        "apiVersion": POD_GROUPS.api_version,
        "kind": POD_GROUPS.kind,
        "metadata": {
            "name": name,
            "namespace": seen.metadata.namespace,
            "labels": {
                NAME: seen.metadata.name,
                GROUP_INDEX: leader.labels.get(GROUP_INDEX, ""),
                REVISION_KEY: leader.labels.get(REVISION_KEY, ""),
            },
            "annotations": {key: value for key, value in seen.metadata.annotations.items() if key.startswith(_COPIED)},
            "ownerReferences": [owned_by_pod(leader)],
        },
        "spec": spec,
    }
