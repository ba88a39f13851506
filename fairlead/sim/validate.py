"""Rules of the API server for the kinds that this cluster serves: metadata, pods, workloads.

Every rule answers with causes; none raises. Texts are those of the release, because clients show and tests match them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from fairlead.sim import crd_rules, roles, stored, webhook_rules
from fairlead.sim.custom import Custom
from fairlead.sim.errors import Cause, not_allowed, required, unsupported, wrong
from fairlead.sim.store import Tree

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_NAME_TEXT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_IMMUTABLE = "field is immutable"
_MOST_ANNOTATIONS = 256 * 1024
_NEGATIVE = "must be greater than or equal to 0"

_SHORT_NAMES = ("StatefulSet", "Namespace", "Service")
_FREE_NAMES = ("Event", "ControllerRevision")
_STATEFUL_SET_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_STATEFUL_SET_IMMUTABLE_TEXT = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_POD_IMMUTABLE_TEXT = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)


def on_create(tree: Tree, custom: Custom | None = None) -> list[Cause]:
    """Broken rules of a new object, defaults filled in."""
    causes = list(_name(tree, custom)) + _labels(tree["metadata"].get("labels"), "metadata.labels")
    if custom is not None:
        return causes + custom.on_create(tree)
    if tree["kind"] == "CustomResourceDefinition":
        return causes + crd_rules.on_create(tree)
    service = (tree.get("spec") or {}).get("serviceName") if tree["kind"] == "StatefulSet" else None
    if service and not _LABEL.fullmatch(service):
        causes.append(wrong("spec.serviceName", service, _LABEL_TEXT))
    return causes + _spec(tree)


def on_update(old: Tree, new: Tree, subresource: str, custom: Custom | None = None) -> list[Cause]:
    """Broken rules of a change; `new` is complete, with what the subresource may not touch taken from `old`."""
    # The server checks metadata once for all kinds and once for each; both are told.
    causes = list(_metadata_update(old["metadata"], new["metadata"])) * 2
    causes += _labels(new["metadata"].get("labels"), "metadata.labels")
    if custom is not None:
        return causes + custom.on_update(old, new, subresource)
    if subresource == "status":
        return causes + _status(old.get("status") or {}, new)
    causes += _spec(new)
    if new["kind"] == "CustomResourceDefinition":
        causes += crd_rules.on_update(old, new)
    if new["kind"] in ("ConfigMap", "Secret"):
        causes += stored.changed_data(old, new)
    if new["kind"] in ("Deployment", "ReplicaSet") and old["spec"].get("selector") != new["spec"].get("selector"):
        causes.append(wrong("spec.selector", new["spec"].get("selector"), _IMMUTABLE))
    if new["kind"] == "StatefulSet":
        fixed_old, fixed_new = (
            {key: value for key, value in tree["spec"].items() if key not in _STATEFUL_SET_MUTABLE}
            for tree in (old, new)
        )
        if fixed_old != fixed_new:
            causes.append(not_allowed("spec", _STATEFUL_SET_IMMUTABLE_TEXT))
    if new["kind"] in roles.KINDS:
        causes += roles.changed(old, new)
    if new["kind"] == "Pod" and _fixed_pod_spec(old["spec"]) != _fixed_pod_spec(new["spec"]):
        causes.append(not_allowed("spec", _POD_IMMUTABLE_TEXT))
    return causes


def _name(tree: Tree, custom: Custom | None) -> Iterable[Cause]:
    name = tree["metadata"].get("name") or ""
    if not name:
        yield required("metadata.name", "name or generateName is required")
        return
    if custom is None and tree["kind"] in roles.KINDS:
        yield from (wrong("metadata.name", name, text) for text in roles.segment_troubles(name))
        return
    if custom is None and tree["kind"] in _FREE_NAMES:
        return
    short = custom is None and tree["kind"] in _SHORT_NAMES
    if len(name) > (63 if short else 253):
        yield wrong("metadata.name", name, f"must be no more than {63 if short else 253} characters")
    elif not (_LABEL if short else _SUBDOMAIN).fullmatch(name):
        yield wrong("metadata.name", name, _LABEL_TEXT if short else _SUBDOMAIN_TEXT)


def label_causes(values: dict[str, str]) -> list[Cause]:
    """Broken rules of labels that conversion gives an object."""
    return _labels(values, "metadata.labels")


def annotation_causes(values: dict[str, str]) -> list[Cause]:
    """Broken rules of annotations that conversion gives an object."""
    causes = [
        wrong("metadata.annotation", key, _NAME_TEXT)
        for key in sorted(values)
        if not _NAME.fullmatch(key.rpartition("/")[2].lower())
    ]
    if sum(len(key.encode()) + len(value.encode()) for key, value in values.items()) > _MOST_ANNOTATIONS:
        text = f"Too long: may not be more than {_MOST_ANNOTATIONS} bytes"
        causes.append(Cause("FieldValueTooLong", text, "metadata.annotation"))
    return causes


def _labels(labels: dict[str, str] | None, field: str) -> list[Cause]:
    causes: list[Cause] = []
    for key, value in sorted((labels or {}).items()):
        if not _NAME.fullmatch(key.rpartition("/")[2]):
            causes.append(wrong(field, key, _NAME_TEXT))
        if not _VALUE.fullmatch(value):
            causes.append(wrong(field, value, _VALUE_TEXT))
        elif len(value) > 63:
            causes.append(wrong(field, value, "must be no more than 63 characters"))
    return causes


def _metadata_update(old: Tree, new: Tree) -> Iterable[Cause]:
    if old.get("deletionTimestamp"):
        added = [name for name in new.get("finalizers") or [] if name not in (old.get("finalizers") or [])]
        if added:
            names = ", ".join(f'"{name}"' for name in sorted(added))
            text = "no new finalizers can be added if the object is being deleted, found new finalizers"
            yield not_allowed("metadata.finalizers", f"{text} []string{{{names}}}")
    for key in ("name", "namespace", "uid"):
        if new.get(key) != old.get(key):
            yield wrong(f"metadata.{key}", new.get(key) or "", _IMMUTABLE)


def _spec(tree: Tree) -> list[Cause]:
    match tree["kind"]:
        case "StatefulSet":
            return _stateful_set(tree.get("spec") or {})
        case "Pod":
            return _pod_spec(tree.get("spec") or {}, "spec")
        case "Deployment":
            return _deployment(tree["spec"])
        case "ReplicaSet":
            return _replica_set(tree["spec"])
        case kind if kind in stored.RULES:
            return stored.RULES[kind](tree)
        case kind if kind in roles.KINDS:
            return roles.broken(tree)
        case kind if kind in webhook_rules.KINDS:
            return webhook_rules.broken(tree)
        case _:
            return []


def _pod_spec(spec: Tree, path: str) -> list[Cause]:
    causes: list[Cause] = []
    if not spec.get("containers"):
        causes.append(required(f"{path}.containers"))
    for group in ("containers", "initContainers"):
        names: list[str] = []
        for index, container in enumerate(spec.get(group) or []):
            at = f"{path}.{group}[{index}]"
            name = container.get("name") or ""
            if not name:
                causes.append(required(f"{at}.name"))
            elif not _LABEL.fullmatch(name):
                causes.append(wrong(f"{at}.name", name, _LABEL_TEXT))
            elif name in names:
                causes.append(Cause("FieldValueDuplicate", f'Duplicate value: "{name}"', f"{at}.name"))
            if not container.get("image"):
                causes.append(required(f"{at}.image"))
            names.append(name)
    return causes


def _fixed_pod_spec(spec: Tree) -> Tree:
    """A pod's spec without the fields that may change."""
    fixed = {
        key: value
        for key, value in spec.items()
        if key not in ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
    }
    for group in ("containers", "initContainers"):
        if group in fixed:
            fixed[group] = [{key: value for key, value in item.items() if key != "image"} for item in fixed[group]]
    return fixed


def _stateful_set(spec: Tree) -> list[Cause]:
    causes: list[Cause] = []
    if spec["podManagementPolicy"] not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        causes.append(wrong("spec.podManagementPolicy", spec["podManagementPolicy"], text))
    causes += _update_strategy(spec["updateStrategy"])
    retention = spec["persistentVolumeClaimRetentionPolicy"]
    for key in ("whenDeleted", "whenScaled"):
        if retention[key] not in ("Retain", "Delete"):
            at = f"spec.persistentVolumeClaimRetentionPolicy.{key}"
            causes.append(unsupported(at, retention[key], ("Retain", "Delete")))
    for key in ("replicas", "minReadySeconds"):
        causes += _not_negative(spec, key, f"spec.{key}")
    causes += _not_negative(spec.get("ordinals") or {}, "start", "spec.ordinals.start")
    causes += _selector(spec, "statefulset")
    causes += _pod_spec(spec["template"]["spec"], "spec.template.spec")
    causes += _labels(spec["template"]["metadata"].get("labels"), "spec.template.labels")
    policy = spec["template"]["spec"]["restartPolicy"]
    if policy != "Always":
        causes.append(unsupported("spec.template.spec.restartPolicy", policy, ("Always",)))
    if spec["template"]["spec"].get("activeDeadlineSeconds") is not None:
        at = "spec.template.spec.activeDeadlineSeconds"
        causes.append(not_allowed(at, "activeDeadlineSeconds in StatefulSet is not Supported"))
    return causes


def _deployment(spec: Tree) -> list[Cause]:
    causes = _replica_set(spec) + _deployment_strategy(spec["strategy"])
    for key in ("revisionHistoryLimit", "progressDeadlineSeconds"):
        causes += _not_negative(spec, key, f"spec.{key}")
    if spec["progressDeadlineSeconds"] <= (spec.get("minReadySeconds") or 0):
        text = "must be greater than minReadySeconds"
        causes.append(wrong("spec.progressDeadlineSeconds", spec["progressDeadlineSeconds"], text))
    return causes


def _deployment_strategy(strategy: Tree) -> list[Cause]:
    rolling = strategy.get("rollingUpdate")
    match strategy["type"]:
        case "Recreate":
            text = "may not be specified when strategy `type` is 'Recreate'"
            return [] if rolling is None else [not_allowed("spec.strategy.rollingUpdate", text)]
        case "RollingUpdate":
            at, numbers = "spec.strategy.rollingUpdate", rolling or {}
            causes = stored.share(numbers.get("maxUnavailable"), f"{at}.maxUnavailable", most_percent=100)
            causes += stored.share(numbers.get("maxSurge"), f"{at}.maxSurge")
            if all(numbers.get(key) in (0, "0%") for key in ("maxUnavailable", "maxSurge")):
                text = "may not be 0 when `maxSurge` is 0"
                causes.append(wrong(f"{at}.maxUnavailable", numbers["maxUnavailable"], text))
            return causes
        case _:
            return [unsupported("spec.strategy", strategy, ("Recreate", "RollingUpdate"))]


def _replica_set(spec: Tree) -> list[Cause]:
    causes: list[Cause] = []
    for key in ("replicas", "minReadySeconds"):
        causes += _not_negative(spec, key, f"spec.{key}")
    causes += _selector(spec, "deployment")
    causes += _labels(spec["template"]["metadata"].get("labels"), "spec.template.labels")
    causes += _pod_spec(spec["template"]["spec"], "spec.template.spec")
    policy = spec["template"]["spec"]["restartPolicy"]
    if policy != "Always":
        causes.append(unsupported("spec.template.spec.restartPolicy", policy, ("Always",)))
    return causes


def _update_strategy(strategy: Tree) -> list[Cause]:
    rolling = strategy.get("rollingUpdate")
    match strategy["type"]:
        case "RollingUpdate":
            return _not_negative(rolling or {}, "partition", "spec.updateStrategy.rollingUpdate.partition")
        case "OnDelete":
            text = "only allowed for updateStrategy 'RollingUpdate'"
            return [] if rolling is None else [wrong("spec.updateStrategy.rollingUpdate", rolling, text)]
        case _:
            return [wrong("spec.updateStrategy", strategy, "must be 'RollingUpdate' or 'OnDelete'")]


def _not_negative(tree: Tree, key: str, field: str) -> list[Cause]:
    value = tree.get(key)
    return [wrong(field, value, _NEGATIVE)] if isinstance(value, int) and value < 0 else []


def _selector(spec: Tree, word: str) -> list[Cause]:
    selector = spec.get("selector")
    labels: dict[str, str] | None = spec["template"]["metadata"].get("labels")
    mismatch = wrong("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    if selector is None:
        # No selector matches nothing.
        return [required("spec.selector"), mismatch]
    equal: dict[str, str] = selector.get("matchLabels") or {}
    expressions: list[Tree] = selector.get("matchExpressions") or []
    if not equal and not expressions:
        return [wrong("spec.selector", selector, f"empty selector is invalid for {word}")]
    holds = all((labels or {}).get(key) == value for key, value in equal.items()) and all(
        _expression_holds(expression, labels or {}) for expression in expressions
    )
    return [] if holds else [mismatch]


def _expression_holds(expression: Tree, labels: dict[str, str]) -> bool:
    value = labels.get(expression.get("key") or "")
    values = expression.get("values") or []
    match expression.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return False


def _status(old: Tree, new: Tree) -> list[Cause]:
    status = new.get("status") or {}
    if new["kind"] == "StatefulSet":
        return _stateful_set_status(status)
    if new["kind"] in ("Deployment", "ReplicaSet"):
        return _replica_status(status)
    if new["kind"] == "PodDisruptionBudget":
        return stored.budget_status(status)
    if new["kind"] == "Pod" and status.get("qosClass") != old.get("qosClass"):
        return [wrong("status.qosClass", status.get("qosClass") or "", _IMMUTABLE)]
    return []


def _replica_status(status: Tree) -> list[Cause]:
    causes: list[Cause] = []
    counts = ("updatedReplicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    for key in ("observedGeneration", "replicas", *counts, "unavailableReplicas"):
        causes += _not_negative(status, key, f"status.{key}")
    for key in counts:
        if (status.get(key) or 0) > (status.get("replicas") or 0):
            causes.append(wrong(f"status.{key}", status[key], "cannot be greater than status.replicas"))
    if (status.get("availableReplicas") or 0) > (status.get("readyReplicas") or 0):
        text = "cannot be greater than readyReplicas"
        causes.append(wrong("status.availableReplicas", status["availableReplicas"], text))
    return causes


def _stateful_set_status(status: Tree) -> list[Cause]:
    causes: list[Cause] = []
    counts = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    for key in counts:
        causes += _not_negative(status, key, f"status.{key}")
    number = {key: status.get(key) or 0 for key in counts}
    for key in counts[1:]:
        if number[key] > number["replicas"]:
            causes.append(wrong(f"status.{key}", number[key], "cannot be greater than status.replicas"))
    if number["availableReplicas"] > number["readyReplicas"]:
        text = "cannot be greater than status.readyReplicas"
        causes.append(wrong("status.availableReplicas", number["availableReplicas"], text))
    return causes
