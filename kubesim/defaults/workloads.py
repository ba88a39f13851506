"""Defaults of kinds that make pods: sets, Deployments, Jobs."""

from __future__ import annotations

from kubesim.defaults.pods import claim_spec, template
from kubesim.defaults.values import absent, child, has, items, unset
from kubesim.store.versions import Tree

_MOST = 2**31 - 1
TEMPLATES = "deprecated.daemonset.template.generation"


def stateful_set(tree: Tree, *, several_at_once: bool = False) -> None:
    """Of how many pods may be out during an update only where that gate is on; else it vanishes."""
    spec = child(tree, "spec")
    unset(spec, "podManagementPolicy", "OrderedReady")
    strategy = child(spec, "updateStrategy")
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        child(strategy, "rollingUpdate")
    rolling = strategy.get("rollingUpdate")
    if isinstance(rolling, dict):
        if not several_at_once:
            rolling.pop("maxUnavailable", None)
        if strategy["type"] == "RollingUpdate":
            absent(rolling, "partition", 0)
            if several_at_once:
                absent(rolling, "maxUnavailable", 1)
    retention = child(spec, "persistentVolumeClaimRetentionPolicy")
    unset(retention, "whenDeleted", "Retain")
    unset(retention, "whenScaled", "Retain")
    absent(spec, "replicas", 1)
    absent(spec, "revisionHistoryLimit", 10)
    absent(spec, "serviceName", "")
    template(spec)
    for claim in items(spec, "volumeClaimTemplates"):
        absent(claim, "kind", "PersistentVolumeClaim")
        absent(claim, "apiVersion", "v1")
        child(claim, "metadata")
        claim_spec(child(claim, "spec"))
        unset(child(claim, "status"), "phase", "Pending")


def deployment(tree: Tree) -> None:
    spec = child(tree, "spec")
    absent(spec, "replicas", 1)
    strategy = child(spec, "strategy")
    unset(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = child(strategy, "rollingUpdate")
        absent(rolling, "maxUnavailable", "25%")
        absent(rolling, "maxSurge", "25%")
    absent(spec, "revisionHistoryLimit", 10)
    absent(spec, "progressDeadlineSeconds", 600)
    template(spec)


def replica_set(tree: Tree) -> None:
    spec = child(tree, "spec")
    absent(spec, "replicas", 1)
    template(spec)


def daemon_set(tree: Tree) -> None:
    spec = child(tree, "spec")
    strategy = child(spec, "updateStrategy")
    unset(strategy, "type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = child(strategy, "rollingUpdate")
        absent(rolling, "maxUnavailable", 1)
        absent(rolling, "maxSurge", 0)
    absent(spec, "revisionHistoryLimit", 10)
    template(spec)
    # A field of the server's own, which becomes this annotation; it is counted from the creation on.
    absent(child(tree["metadata"], "annotations"), TEMPLATES, "0")


def replication_controller(tree: Tree) -> None:
    """Selector and labels are those of its template, unless it has its own."""
    spec = child(tree, "spec")
    absent(spec, "replicas", 1)
    if not has(spec, "template"):
        return
    template(spec)
    if labels := spec["template"]["metadata"].get("labels"):
        unset(spec, "selector", dict(labels))
        unset(tree["metadata"], "labels", dict(labels))


def pod_template(tree: Tree) -> None:
    template(tree)


def job(tree: Tree) -> None:
    spec = child(tree, "spec")
    _job(spec)
    if labels := spec["template"]["metadata"].get("labels"):
        unset(tree["metadata"], "labels", labels)  # the very same, which get more when the Job is made


def _job(spec: Tree) -> None:
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    absent(spec, "parallelism", 1)
    absent(spec, "backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else _MOST)
    absent(spec, "completionMode", "NonIndexed")
    absent(spec, "suspend", False)
    absent(spec, "podReplacementPolicy", "Failed" if has(spec, "podFailurePolicy") else "TerminatingOrFailed")
    absent(spec, "manualSelector", False)
    for rule in items(spec.get("podFailurePolicy") or {}, "rules"):
        for pattern in items(rule, "onPodConditions"):
            unset(pattern, "status", "True")
    template(spec)


def cron_job(tree: Tree) -> None:
    """The Jobs of a template get their own defaults when they are made."""
    spec = child(tree, "spec")
    absent(spec, "schedule", "")
    unset(spec, "concurrencyPolicy", "Allow")
    absent(spec, "suspend", False)
    absent(spec, "successfulJobsHistoryLimit", 3)
    absent(spec, "failedJobsHistoryLimit", 1)
    made = child(spec, "jobTemplate")
    child(made, "metadata")
    template(child(made, "spec"))
