"""Rules of the API server for the kinds that this cluster serves: which rules hold for which kind, and when.

Every rule answers with causes; none raises. Texts are those of the release, because clients show and tests match them.
What is stored has been checked, so of a change only what it changes is looked at.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable

from kubesim.bodies.equality import identical
from kubesim.crds import rules as crd_rules
from kubesim.crds.custom import Custom
from kubesim.errors import Cause
from kubesim.kinds.registry import EVENTS
from kubesim.rules import autoscalers as rules_autoscalers
from kubesim.rules import claims as rules_claims
from kubesim.rules import cluster as rules_cluster
from kubesim.rules import events as rules_events
from kubesim.rules import jobs as rules_jobs
from kubesim.rules import labels as rules_labels
from kubesim.rules import metadata as rules_metadata
from kubesim.rules import network as rules_network
from kubesim.rules import pods as rules_pods
from kubesim.rules import policies as policies_rules
from kubesim.rules import roles, stored, webhooks
from kubesim.rules import services as rules_services
from kubesim.rules import storage as rules_storage
from kubesim.rules import workloads as rules_workloads
from kubesim.store.versions import Tree
from kubesim.strategies import pod_parts

Rule = Callable[[Tree], Iterable[Cause]]
ChangeRule = Callable[[Tree, Tree], Iterable[Cause]]

_ALWAYS: dict[str, Rule] = {
    "CronJob": rules_jobs.cron_job,
    "ControllerRevision": rules_cluster.revision,
    "DaemonSet": rules_workloads.daemon_set,
    "Deployment": rules_workloads.deployment,
    "EndpointSlice": rules_network.endpoint_slice,
    "Endpoints": rules_network.endpoints,
    "Event": rules_events.event,
    "HorizontalPodAutoscaler": rules_autoscalers.autoscaler,
    "Ingress": rules_network.ingress,
    "IngressClass": rules_network.ingress_class,
    "LimitRange": rules_cluster.limit_range,
    "Namespace": rules_cluster.namespace,
    "NetworkPolicy": rules_network.network_policy,
    "Node": rules_cluster.node,
    "PersistentVolume": rules_storage.volume,
    "PersistentVolumeClaim": rules_claims.claim,
    "Pod": rules_pods.pod,
    "PodTemplate": rules_workloads.pod_template,
    "PriorityClass": rules_cluster.priority_class,
    "ReplicaSet": rules_workloads.replica_set,
    "ReplicationController": rules_workloads.replication_controller,
    "ResourceQuota": rules_cluster.quota,
    "StorageClass": rules_storage.storage_class,
    **stored.RULES,
    **dict.fromkeys(roles.KINDS, roles.broken),
    **dict.fromkeys(webhooks.KINDS, webhooks.broken),
    **policies_rules.RULES,
}
_NEW: dict[str, Rule] = _ALWAYS | {
    "ControllerRevision": rules_cluster.new_revision,
    "CronJob": rules_jobs.new_cron_job,
    "CustomResourceDefinition": crd_rules.on_create,
    "Job": rules_jobs.new_job,
    "Pod": rules_pods.new_pod,
    "Service": rules_services.service,
    "StatefulSet": rules_workloads.new_stateful_set,
}
# What must not change; of some kinds the rules for the whole are among them, because they come in between.
_CHANGED: dict[str, ChangeRule] = {
    "ConfigMap": stored.changed_data,
    "ControllerRevision": rules_cluster.changed_revision,
    "CustomResourceDefinition": crd_rules.on_update,
    "DaemonSet": rules_workloads.changed_selector,
    "Deployment": rules_workloads.changed_selector,
    "EndpointSlice": rules_network.changed_slice,
    "IngressClass": rules_network.changed_ingress_class,
    "Job": rules_jobs.changed_job,
    "Node": rules_cluster.changed_node,
    "PersistentVolume": rules_storage.changed_volume,
    "PersistentVolumeClaim": rules_claims.changed_claim,
    "Pod": rules_pods.changed_pod,
    "PriorityClass": rules_cluster.changed_priority_class,
    "ReplicaSet": rules_workloads.changed_selector,
    "ResourceQuota": rules_cluster.changed_quota,
    "Secret": stored.changed_data,
    "Service": rules_services.changed_service,
    "StatefulSet": rules_workloads.changed_stateful_set,
    "StorageClass": rules_storage.changed_class,
    **dict.fromkeys(roles.KINDS, roles.changed),
}
_CHANGE_FIRST = ("DaemonSet", "IngressClass")
# In whose fields there may be any JSON.
_FREE = ("ControllerRevision", "CustomResourceDefinition")
_CHANGE_ONLY = ("PriorityClass",)
_STATUS: dict[str, ChangeRule] = {
    "DaemonSet": rules_workloads.daemon_set_status,
    "Deployment": rules_workloads.replica_status,
    "HorizontalPodAutoscaler": rules_autoscalers.status,
    "Job": rules_jobs.status,
    "Node": rules_cluster.node_status,
    "Pod": rules_pods.pod_status,
    "PodDisruptionBudget": lambda _old, new: stored.budget_status(new.get("status") or {}),
    "ReplicaSet": rules_workloads.replica_status,
    "ReplicationController": rules_workloads.replica_status,
    "Service": rules_services.status,
    "StatefulSet": rules_workloads.stateful_set_status,
}


def on_create(tree: Tree, custom: Custom | None = None, *, group: str = "") -> list[Cause]:
    """Broken rules of a new object, defaults filled in; `group` is that of the request."""
    if custom is not None:
        return [*rules_metadata.of_new(tree, built_in=False), *custom.on_create(tree)]
    rule = _NEW.get(tree["kind"]) if group != EVENTS.group else rules_events.new_in_own_group
    if rule is None:
        return list(rules_metadata.of_new(tree))
    if tree["kind"] in rules_metadata.LOOSE:
        return list(rule(tree)) or list(rules_metadata.of_new(tree))
    return [*rules_metadata.of_new(tree), *rule(tree)]


def on_update(old: Tree, new: Tree, subresource: str, custom: Custom | None = None, *, group: str = "") -> list[Cause]:
    """Broken rules of a change; `new` is complete, with what the subresource may not touch taken from `old`."""
    causes = rules_metadata.of_changed(old, new, built_in=custom is None, whole=not subresource)
    if custom is not None:
        return causes + custom.on_update(old, new, subresource)
    kind = new["kind"]
    if subresource == "status":
        status = _STATUS.get(kind)
        return causes if status is None else [*causes, *status(old, new)]
    if subresource in pod_parts.PARTS:
        return [*causes, *pod_parts.causes(old, new, subresource)]
    equal = identical if kind in _FREE else operator.eq
    if all(equal(old.get(key), new.get(key)) for key in {**old, **new} if key not in ("metadata", "status")):
        return causes
    if group == EVENTS.group:
        return [*causes, *rules_events.changed_in_own_group(old, new)]
    whole, changed = _ALWAYS.get(kind), _CHANGED.get(kind)
    wholly = whole(new) if whole is not None and kind not in _CHANGE_ONLY else ()
    partly = changed(old, new) if changed is not None else ()
    return [*causes, *partly, *wholly] if kind in _CHANGE_FIRST else [*causes, *wholly, *partly]


def label_causes(values: dict[str, str]) -> list[Cause]:
    """Broken rules of labels that conversion gives an object."""
    return rules_labels.labels(values, "metadata.labels")


def annotation_causes(values: dict[str, str]) -> list[Cause]:
    """Broken rules of annotations that conversion gives an object."""
    return rules_labels.annotated(values, "metadata.annotation")
