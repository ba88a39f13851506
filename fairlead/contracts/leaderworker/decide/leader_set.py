"""The StatefulSet of the leaders, as it is applied (section 3.3)."""

from __future__ import annotations

from fairlead.contracts.leaderworker.decide.budgets import Budget
from fairlead.contracts.leaderworker.decide.made_parts import (
    FOLLOWING,
    claim_parts,
    decorated,
    metadata,
    owned_by_set,
    template_annotations,
)
from fairlead.contracts.leaderworker.decide.planner import Plan
from fairlead.contracts.leaderworker.decide.set_view import SetView
from fairlead.contracts.leaderworker.decide.trees import texts
from fairlead.contracts.leaderworker.kinds import (
    NAME,
    OLD_SUBGROUP_SIZE,
    REPLICAS,
    REVISION_KEY,
    ROLLING_UPDATE,
    SUBDOMAIN_POLICY,
    UNIQUE_PER_REPLICA,
    WORKER_INDEX,
    Json,
    LeaderWorkerSet,
    StatefulSet,
)
from kubeloop.objects.apps import STATEFULSETS

_PREFIX = NAME.removesuffix("name")
_TEMPLATE = ("template", "metadata")


def leader_set(
    seen: LeaderWorkerSet, view: SetView, key: str, drawn: Plan, allowed: Budget, existing: StatefulSet | None
) -> Json:
    """What is applied: the template of the selected revision, the numbers of the plan, the live set's placement."""
    labels = {NAME: seen.metadata.name, WORKER_INDEX: "0", REVISION_KEY: key}
    annotations = template_annotations(seen, view)
    if view.subdomain_policy == UNIQUE_PER_REPLICA:
        annotations[SUBDOMAIN_POLICY] = UNIQUE_PER_REPLICA
    if existing is not None and texts(existing.spec, *_TEMPLATE, "labels").get(REVISION_KEY) == key:
        labels = held(labels, texts(existing.spec, *_TEMPLATE, "labels"))
        annotations = held(annotations, texts(existing.spec, *_TEMPLATE, "annotations"))
    return {
        "apiVersion": STATEFULSETS.api_version,
        "kind": STATEFULSETS.kind,
        "metadata": {
            **metadata(
                seen.metadata.name,
                seen,
                {NAME: seen.metadata.name, REVISION_KEY: key},
                {REPLICAS: str(seen.spec.replicas)},
            ),
            "ownerReferences": [owned_by_set(seen)],
        },
        "spec": {
            "serviceName": seen.metadata.name,
            "replicas": drawn.replicas,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {NAME: seen.metadata.name, WORKER_INDEX: "0"}},
            "updateStrategy": {
                "type": ROLLING_UPDATE,
                "rollingUpdate": {
                    "maxUnavailable": allowed.max_unavailable_leaders,
                    "partition": drawn.partition,
                },
            },
            "template": decorated(view.leader_template, labels, annotations),
            **claim_parts(seen, view),
        },
    }


def held(ours: dict[str, str], existing: dict[str, str]) -> dict[str, str]:
    """Ours, under the keys that the template has already: another set of keys would replace every leader.

    An earlier release wrote fewer, a later one may write more; the next revision brings the keys of this one. Values
    are ours where both have the key.
    """
    kept = {key: value for key, value in existing.items() if _is_controllers(key) and key not in FOLLOWING}
    mine = {key: value for key, value in ours.items() if key in existing or key in FOLLOWING}
    return {**kept, **mine}


def _is_controllers(key: str) -> bool:
    return key.startswith(_PREFIX) or key == OLD_SUBGROUP_SIZE
