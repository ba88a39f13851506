"""Rows of the cluster's own objects: nodes, namespaces, events, roles, storage, admission."""

from __future__ import annotations

from typing import Any

from kubesim.store.versions import Tree
from kubesim.tables.printing import (
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    WIDE,
    Cells,
    Column,
    Printer,
    age,
    at,
    columns,
    items,
    name_of,
    number,
    quantity,
    since,
    text,
)

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE = "kubernetes.io/role"
_ACCESS = (
    ("ReadWriteOnce", "RWO"),
    ("ReadOnlyMany", "ROX"),
    ("ReadWriteMany", "RWX"),
    ("ReadWriteOncePod", "RWOP"),
)
_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_CLASS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _node(tree: Tree) -> Cells:
    ready = next((each for each in items(tree, "status", "conditions") if each.get("type") == "Ready"), None)
    state = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    if at(tree, "spec", "unschedulable"):
        state += ",SchedulingDisabled"
    system = at(tree, "status", "nodeInfo")
    kernel = text(system, "kernelVersion") or UNKNOWN
    if text(system, "architecture"):
        kernel += f" ({text(system, 'architecture')})"
    return [
        name_of(tree),
        state,
        ",".join(_roles(at(tree, "metadata", "labels") or {})) or NONE,
        age(tree),
        text(system, "kubeletVersion"),
        _address(tree, "InternalIP"),
        _address(tree, "ExternalIP"),
        text(system, "osImage") or UNKNOWN,
        kernel,
        text(system, "containerRuntimeVersion") or UNKNOWN,
    ]


def _roles(labels: dict[str, str]) -> list[str]:
    found = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    found.add(labels.get(_ROLE, ""))
    return sorted(found - {""})


def _address(tree: Tree, kind: str) -> str:
    found = (each for each in items(tree, "status", "addresses") if each.get("type") == kind)
    return next((text(each, "address") for each in found), NONE)


def _namespace(tree: Tree) -> Cells:
    return [name_of(tree), text(tree, "status", "phase"), age(tree)]


def _secret(tree: Tree) -> Cells:
    return [name_of(tree), text(tree, "type"), len(at(tree, "data") or {}), age(tree)]


def _config_map(tree: Tree) -> Cells:
    return [name_of(tree), len(at(tree, "data") or {}) + len(at(tree, "binaryData") or {}), age(tree)]


def _aged(tree: Tree) -> Cells:
    return [name_of(tree), age(tree)]


def _event(tree: Tree) -> Cells:
    first = since(at(tree, "firstTimestamp") or at(tree, "eventTime"))
    last = since(at(tree, "lastTimestamp")) if at(tree, "lastTimestamp") else first
    count = number(tree, "count") or 1
    series = at(tree, "series")
    if series is not None:
        last, count = since(series.get("lastObservedTime")), number(series, "count")
    about = [text(tree, "involvedObject", "kind").lower(), text(tree, "involvedObject", "name")]
    component = text(tree, "source", "component") or text(tree, "reportingComponent")
    host = text(tree, "source", "host") or text(tree, "reportingInstance")
    return [
        last,
        text(tree, "type"),
        text(tree, "reason"),
        "/".join(about) if about[1] else about[0],
        text(tree, "involvedObject", "fieldPath"),
        f"{component}, {host}" if host else component,
        text(tree, "message").strip(),
        first,
        count,
        name_of(tree),
    ]


def _quota(tree: Tree) -> Cells:
    requests: list[str] = []
    limits: list[str] = []
    hard, used = at(tree, "status", "hard") or {}, at(tree, "status", "used") or {}
    for name in sorted(hard):
        column = limits if name.startswith("limits.") else requests
        column.append(f"{name}: {quantity(used, name)}/{quantity(hard, name)}")
    return [name_of(tree), ", ".join(requests), ", ".join(limits), age(tree)]


def _lease(tree: Tree) -> Cells:
    return [name_of(tree), text(tree, "spec", "holderIdentity"), age(tree)]


def _priority_class(tree: Tree) -> Cells:
    is_default = bool(at(tree, "globalDefault"))
    return [name_of(tree), number(tree, "value"), is_default, age(tree), text(tree, "preemptionPolicy")]


def _binding(tree: Tree) -> Cells:
    found: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in items(tree, "subjects"):
        name, kind = text(subject, "name"), subject.get("kind")
        if kind in found:
            found[kind].append(f"{text(subject, 'namespace')}/{name}" if kind == "ServiceAccount" else name)
    role = f"{text(tree, 'roleRef', 'kind')}/{text(tree, 'roleRef', 'name')}"
    return [name_of(tree), role, age(tree), *(", ".join(names) for names in found.values())]


def _claim(tree: Tree) -> Cells:
    is_bound = bool(at(tree, "spec", "volumeName"))
    return [
        name_of(tree),
        _phase(tree),
        text(tree, "spec", "volumeName"),
        quantity(tree, "status", "capacity", "storage") if is_bound else "",
        _modes(items(tree, "status", "accessModes")) if is_bound else "",
        _class_of(tree),
        _or_unset(at(tree, "spec", "volumeAttributesClassName")),
        age(tree),
        _or_unset(at(tree, "spec", "volumeMode")),
    ]


def _volume(tree: Tree) -> Cells:
    claim = at(tree, "spec", "claimRef")
    return [
        name_of(tree),
        quantity(tree, "spec", "capacity", "storage"),
        _modes(items(tree, "spec", "accessModes")),
        text(tree, "spec", "persistentVolumeReclaimPolicy"),
        _phase(tree),
        "" if claim is None else f"{text(claim, 'namespace')}/{text(claim, 'name')}",
        _class_of(tree),
        _or_unset(at(tree, "spec", "volumeAttributesClassName")),
        text(tree, "status", "reason"),
        age(tree),
        _or_unset(at(tree, "spec", "volumeMode")),
    ]


def _phase(tree: Tree) -> str:
    is_going = at(tree, "metadata", "deletionTimestamp") is not None
    return "Terminating" if is_going else text(tree, "status", "phase")


def _modes(found: list[str]) -> str:
    return ",".join(short for mode, short in _ACCESS if mode in found)


def _class_of(tree: Tree) -> str:
    annotated = at(tree, "metadata", "annotations", _CLASS)
    return text(tree, "spec", "storageClassName") if annotated is None else str(annotated)


def _or_unset(value: Any) -> str:
    return UNSET if value is None else str(value)


def _storage_class(tree: Tree) -> Cells:
    marked = any(at(tree, "metadata", "annotations", key) == "true" for key in _DEFAULT_CLASS)
    return [
        f"{name_of(tree)} (default)" if marked else name_of(tree),
        text(tree, "provisioner"),
        text(tree, "reclaimPolicy") or "Delete",
        text(tree, "volumeBindingMode") or "Immediate",
        bool(at(tree, "allowVolumeExpansion")),
        age(tree),
    ]


def _webhooks(tree: Tree) -> Cells:
    return [name_of(tree), len(items(tree, "webhooks")), age(tree)]


def _policy(tree: Tree) -> Cells:
    kind = at(tree, "spec", "paramKind")
    shown = UNSET if kind is None else f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}"
    return [name_of(tree), len(items(tree, "spec", "validations")), shown, age(tree)]


def _policy_binding(tree: Tree) -> Cells:
    ref = at(tree, "spec", "paramRef")
    return [name_of(tree), text(tree, "spec", "policyName"), _parameters(ref), age(tree)]


def _parameters(ref: Any) -> str:
    if text(ref, "name"):
        return f"{text(ref, 'namespace') or '*'}/{text(ref, 'name')}"
    chosen = at(ref, "selector")
    if chosen is None:
        return UNSET
    pairs = at(chosen, "matchLabels") or {}
    shown = "".join(f"{key}: {pairs[key]}," for key in sorted(pairs))
    rules = "".join(
        f"LabelSelectorRequirement{{Key:{text(each, 'key')},Operator:{text(each, 'operator')},"
        f"Values:[{' '.join(items(each, 'values'))}],}},"
        for each in items(chosen, "matchExpressions")
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{shown}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{rules}}},}}"
    )


def _created(tree: Tree) -> Cells:
    return [name_of(tree), text(tree, "metadata", "creationTimestamp") or "0001-01-01T00:00:00Z"]


CREATED = Printer((NAME, Column("Created At", "date")), _created)
"""For kinds that have no columns of their own."""

_BINDING = Printer(columns("Role,Age", "Users,Groups,ServiceAccounts"), _binding)
_WEBHOOKS = Printer(columns("Webhooks:integer,Age"), _webhooks)
_EVENT_COLUMNS = (
    *(Column(name) for name in ("Last Seen", "Type", "Reason", "Object")),
    *(Column(name, priority=WIDE) for name in ("Subobject", "Source")),
    Column("Message"),
    *(Column(name, priority=WIDE) for name in ("First Seen", "Count")),
    Column("Name", priority=WIDE, format="name"),
)

PRINTERS = {
    "ClusterRoleBinding": _BINDING,
    "ConfigMap": Printer(columns("Data,Age"), _config_map),
    "Event": Printer(_EVENT_COLUMNS, _event),
    "Lease": Printer(columns("Holder,Age"), _lease),
    "MutatingWebhookConfiguration": _WEBHOOKS,
    "Namespace": Printer(columns("Status,Age"), _namespace),
    "Node": Printer(
        columns("Status,Roles,Age,Version", "Internal-IP,External-IP,OS-Image,Kernel-Version,Container-Runtime"), _node
    ),
    "PersistentVolume": Printer(
        columns(
            "Capacity,Access Modes,Reclaim Policy,Status,Claim,StorageClass,VolumeAttributesClass,Reason,Age",
            "VolumeMode",
        ),
        _volume,
    ),
    "PersistentVolumeClaim": Printer(
        columns("Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age", "VolumeMode"), _claim
    ),
    "PriorityClass": Printer(columns("Value:integer,Global-Default:boolean,Age,PreemptionPolicy"), _priority_class),
    "ResourceQuota": Printer(columns("Request,Limit,Age"), _quota),
    "RoleBinding": _BINDING,
    "Secret": Printer(columns("Type,Data,Age"), _secret),
    "ServiceAccount": Printer(columns("Age"), _aged),
    "StorageClass": Printer(
        columns("Provisioner,ReclaimPolicy,VolumeBindingMode,AllowVolumeExpansion,Age"), _storage_class
    ),
    "ValidatingAdmissionPolicy": Printer(columns("Validations:integer,ParamKind,Age"), _policy),
    "ValidatingAdmissionPolicyBinding": Printer(columns("PolicyName,ParamRef,Age"), _policy_binding),
    "ValidatingWebhookConfiguration": _WEBHOOKS,
}
