"""The StatefulSet of a group's workers, as it is created for one leader pod (section 3.5)."""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.leaderworker.decide.made_parts import (
    claim_parts,
    decorated,
    metadata,
    owned_by_pod,
    template_annotations,
)
from fairlead.contracts.leaderworker.decide.set_view import SetView
from fairlead.contracts.leaderworker.decide.tpu import requests_tpus
from fairlead.contracts.leaderworker.decide.trees import part
from fairlead.contracts.leaderworker.kinds import (
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_NAME,
    LEADER_REQUESTS_TPUS,
    NAME,
    REVISION_KEY,
    SHARED,
    Json,
    LeaderWorkerSet,
)
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Meta


class Topology(Struct, frozen=True):
    """Where an exclusively placed leader runs: the label of its node."""

    key: str
    value: str


def worker_set(seen: LeaderWorkerSet, view: SetView, leader: Meta, topology: Topology | None = None) -> Json:
    """Everything that rolls is of the revision that the leader was made of, `view`."""
    selector = {
        GROUP_INDEX: leader.labels.get(GROUP_INDEX, ""),
        NAME: seen.metadata.name,
        GROUP_KEY: leader.labels.get(GROUP_KEY, ""),
    }
    labels = {**selector, REVISION_KEY: leader.labels.get(REVISION_KEY, "")}
    annotations = {**template_annotations(seen, view), LEADER_NAME: leader.name}
    if _asks_for_tpus(view.leader_template):
        annotations[LEADER_REQUESTS_TPUS] = "true"
    template = decorated(view.worker_template, labels, annotations)
    if topology is not None:
        nodes = {**part(template, "spec", "nodeSelector"), topology.key: topology.value}
        template["spec"] = {**part(template, "spec"), "nodeSelector": nodes}
    return {
        "apiVersion": STATEFULSETS.api_version,
        "kind": STATEFULSETS.kind,
        "metadata": {**metadata(leader.name, seen, labels, {}), "ownerReferences": [owned_by_pod(leader)]},
        "spec": {
            "serviceName": seen.metadata.name if view.subdomain_policy == SHARED else leader.name,
            "replicas": view.size - 1,
            "podManagementPolicy": "Parallel",
            "ordinals": {"start": 1},
            "selector": {"matchLabels": selector},
            "template": template,
            **claim_parts(seen, view),
        },
    }


def _asks_for_tpus(template: Json) -> bool:
    spec = part(template, "spec")
    lists = (spec.get(name) for name in ("containers", "initContainers"))
    return any(requests_tpus(each) for found in lists if isinstance(found, list) for each in found)
