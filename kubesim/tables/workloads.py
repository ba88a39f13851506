"""Rows of what keeps pods running, and of what watches over their numbers."""

from __future__ import annotations

from typing import Any

from kubeloop import clock
from kubesim.store.versions import Tree
from kubesim.tables.printing import (
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Cells,
    Column,
    Printer,
    age,
    at,
    between,
    columns,
    containers,
    duration,
    has_condition,
    items,
    labels,
    moment_of,
    name_of,
    number,
    selector,
    since,
    text,
)

_COUNTS = ("spec", "replicas"), ("status", "replicas"), ("status", "readyReplicas")
_DAEMON_COUNTS = (
    "desiredNumberScheduled",
    "currentNumberScheduled",
    "numberReady",
    "updatedNumberScheduled",
    "numberAvailable",
)
_JOB_STATES = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)
"""Conditions of a Job and the word for each, the first that holds; the nameless one is that it is being deleted."""
_MOST_METRICS = 2


def _pod_spec(tree: Tree) -> Any:
    return at(tree, "spec", "template", "spec")


def _replica_set(tree: Tree) -> Cells:
    shown = selector(at(tree, "spec", "selector")) or NONE
    return [name_of(tree), *(number(tree, *path) for path in _COUNTS), age(tree), *containers(_pod_spec(tree)), shown]


def _replication_controller(tree: Tree) -> Cells:
    return [*_replica_set(tree)[:-1], labels(at(tree, "spec", "selector"))]


def _deployment(tree: Tree) -> Cells:
    return [
        name_of(tree),
        f"{number(tree, 'status', 'readyReplicas')}/{number(tree, 'spec', 'replicas')}",
        number(tree, "status", "updatedReplicas"),
        number(tree, "status", "availableReplicas"),
        age(tree),
        *containers(_pod_spec(tree)),
        selector(at(tree, "spec", "selector")),
    ]


def _stateful_set(tree: Tree) -> Cells:
    ready = f"{number(tree, 'status', 'readyReplicas')}/{number(tree, 'spec', 'replicas')}"
    return [name_of(tree), ready, age(tree), *containers(_pod_spec(tree))]


def _daemon_set(tree: Tree) -> Cells:
    return [
        name_of(tree),
        *(number(tree, "status", count) for count in _DAEMON_COUNTS),
        labels(at(_pod_spec(tree), "nodeSelector")),
        age(tree),
        *containers(_pod_spec(tree)),
        selector(at(tree, "spec", "selector")) or NONE,
    ]


def _job(tree: Tree) -> Cells:
    succeeded, wanted = number(tree, "status", "succeeded"), at(tree, "spec", "completions")
    at_once = number(tree, "spec", "parallelism")
    if wanted is not None:
        completions = f"{succeeded}/{wanted}"
    else:
        completions = f"{succeeded}/1 of {at_once}" if at_once > 1 else f"{succeeded}/1"
    return [
        name_of(tree),
        _job_state(tree),
        completions,
        _took(at(tree, "status", "startTime"), at(tree, "status", "completionTime")),
        age(tree),
        *containers(_pod_spec(tree)),
        selector(at(tree, "spec", "selector")) or NONE,
    ]


def _job_state(tree: Tree) -> str:
    is_going = at(tree, "metadata", "deletionTimestamp") is not None
    for condition, word in _JOB_STATES:
        if has_condition(tree, condition) if condition else is_going:
            return word
    return "Running"


def _took(start: Any, end: Any) -> str:
    """How long it took, or takes since; nothing is said of what has not begun."""
    begun = moment_of(start)
    if begun is None:
        return ""
    return duration(clock.now() - begun) if end is None else between(start, end)


def _cron_job(tree: Tree) -> Cells:
    suspended, last = at(tree, "spec", "suspend"), at(tree, "status", "lastScheduleTime")
    pod = at(tree, "spec", "jobTemplate", "spec", "template", "spec")
    return [
        name_of(tree),
        text(tree, "spec", "schedule"),
        text(tree, "spec", "timeZone") or NONE,
        UNSET if suspended is None else str(suspended),
        len(items(tree, "status", "active")),
        NONE if last is None else since(last),
        age(tree),
        *containers(pod),
        selector(at(tree, "spec", "jobTemplate", "spec", "selector")) or NONE,
    ]


def _revision(tree: Tree) -> Cells:
    controller = NONE
    for owner in items(tree, "metadata", "ownerReferences"):
        if owner.get("controller"):
            group = text(owner, "apiVersion").rpartition("/")[0]
            kind = f"{text(owner, 'kind')}.{group}" if group else text(owner, "kind")
            controller = f"{kind.lower()}/{text(owner, 'name')}"
            break
    return [name_of(tree), controller, number(tree, "revision"), age(tree)]


def _budget(tree: Tree) -> Cells:
    limits = (at(tree, "spec", key) for key in ("minAvailable", "maxUnavailable"))
    shown = ["N/A" if limit is None else str(limit) for limit in limits]
    return [name_of(tree), *shown, number(tree, "status", "disruptionsAllowed"), age(tree)]


def _autoscaler(tree: Tree) -> Cells:
    target, least = at(tree, "spec", "scaleTargetRef"), at(tree, "spec", "minReplicas")
    return [
        name_of(tree),
        f"{text(target, 'kind')}/{text(target, 'name')}",
        _metrics(items(tree, "spec", "metrics"), items(tree, "status", "currentMetrics")),
        UNSET if least is None else str(least),
        number(tree, "spec", "maxReplicas"),
        number(tree, "status", "currentReplicas"),
        age(tree),
    ]


def _metrics(wanted: list[Tree], found: list[Tree]) -> str:
    if not wanted:
        return NONE
    shown = [_metric(each, found[index] if index < len(found) else {}) for index, each in enumerate(wanted)]
    text_ = ", ".join(shown[:_MOST_METRICS])
    return f"{text_} + {len(shown) - _MOST_METRICS} more..." if len(shown) > _MOST_METRICS else text_


def _metric(wanted: Tree, found: Tree) -> str:
    """What is found of a metric and what is wanted; values are of the one for all pods, or of the average pod."""
    match wanted.get("type"):
        case "Resource":
            return _resource_metric(wanted.get("resource"), found.get("resource"))
        case "ContainerResource":
            return _resource_metric(wanted.get("containerResource"), found.get("containerResource"))
        case "Pods":
            return _value_metric(wanted.get("pods"), found.get("pods"), "averageValue")
        case "External" | "Object" as kind:
            ours, theirs = wanted.get(kind.lower()), found.get(kind.lower())
            if at(ours, "target", "averageValue") is not None:
                return f"{_value_metric(ours, theirs, 'averageValue')} (avg)"
            return _value_metric(ours, theirs, "value")
        case _:
            return "<unknown type>"


def _value_metric(wanted: Any, found: Any, key: str) -> str:
    return f"{text(found, 'current', key) or UNKNOWN}/{text(wanted, 'target', key)}"


def _resource_metric(wanted: Any, found: Any) -> str:
    name = text(wanted, "name")
    if at(wanted, "target", "averageValue") is not None:
        return f"{name}: {_value_metric(wanted, found, 'averageValue')}"
    used, target = (at(found, "current", "averageUtilization"), at(wanted, "target", "averageUtilization"))
    return f"{name}: {UNKNOWN if used is None else f'{used}%'}/{'<auto>' if target is None else f'{target}%'}"


def _scale(tree: Tree) -> Cells:
    return [name_of(tree), number(tree, "spec", "replicas"), number(tree, "status", "replicas"), age(tree)]


CUSTOM_SCALE = Printer(
    (NAME, Column("Desired", "integer"), Column("Available", "integer"), Column("Age", "date")), _scale
)
"""Of custom resources; the types of the columns are all that differs."""

_SETS = columns("Desired:integer,Current:integer,Ready:integer,Age", "Containers,Images,Selector")

PRINTERS = {
    "ControllerRevision": Printer(columns("Controller,Revision,Age"), _revision),
    "CronJob": Printer(
        columns(
            "Schedule,Timezone,Suspend:boolean,Active:integer,Last Schedule,Age",
            "Containers,Images,Selector",
        ),
        _cron_job,
    ),
    "DaemonSet": Printer(
        columns(
            "Desired:integer,Current:integer,Ready:integer,Up-to-date:integer,Available:integer,Node Selector,Age",
            "Containers,Images,Selector",
        ),
        _daemon_set,
    ),
    "Deployment": Printer(columns("Ready,Up-to-date,Available,Age", "Containers,Images,Selector"), _deployment),
    "HorizontalPodAutoscaler": Printer(columns("Reference,Targets,MinPods,MaxPods,Replicas,Age"), _autoscaler),
    "Job": Printer(columns("Status,Completions,Duration,Age", "Containers,Images,Selector"), _job),
    "PodDisruptionBudget": Printer(columns("Min Available,Max Unavailable,Allowed Disruptions:integer,Age"), _budget),
    "ReplicaSet": Printer(_SETS, _replica_set),
    "ReplicationController": Printer(_SETS, _replication_controller),
    "Scale": Printer((Column("Name"), *columns("Desired:integer,Available:integer,Age")[1:]), _scale),
    "StatefulSet": Printer(columns("Ready,Age", "Containers,Images"), _stateful_set),
}
