"""Rules for kinds that keep pods running: sets, Deployments, controllers, and templates of pods."""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.rules.claims import claim_spec
from kubesim.rules.labels import in_order, is_sound, selector, selector_in_order, selects
from kubesim.rules.pods import template, template_marks
from kubesim.schema.values import IMMUTABLE, amount, as_struct, each, label, not_negative, part_of_all, share
from kubesim.store.versions import Tree

_MISMATCH = "`selector` does not match template `labels`"
_STATEFUL_SET_MUTABLE = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_STATEFUL_SET_TEXT = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)
_OVER = "cannot be greater than status.replicas"


def stateful_set(tree: Tree) -> Iterator[Cause]:
    """A StatefulSet, new or changed; the claims and the Service of one that is there cannot change any more."""
    spec = tree["spec"]
    if spec["podManagementPolicy"] not in ("OrderedReady", "Parallel"):
        text = "must be 'OrderedReady' or 'Parallel'"
        yield wrong("spec.podManagementPolicy", spec["podManagementPolicy"], text)
    yield from _update_strategy(spec["updateStrategy"])
    retention = spec["persistentVolumeClaimRetentionPolicy"]
    for key in ("whenDeleted", "whenScaled"):
        if retention[key] not in ("Retain", "Delete"):
            at = f"spec.persistentVolumeClaimRetentionPolicy.{key}"
            yield unsupported(at, retention[key], ("Retain", "Delete"))


def _stateful_set_rest(spec: Tree) -> Iterator[Cause]:
    found = spec.get("selector")
    if found is None:
        yield required("spec.selector")
    else:
        yield from _selector(found, "statefulset")
        if not is_sound(found):
            yield wrong("spec.selector", selector_in_order(found), "")
            yield from _pods_last(spec["template"]["spec"], "StatefulSet")
            return
    made = spec["template"]
    # No selector matches nothing, an empty one everything.
    if (found is None or _is_choosy(found)) and not selects(found, made["metadata"].get("labels") or {}):
        yield wrong("spec.template.metadata.labels", in_order(made["metadata"].get("labels")), _MISMATCH)
    yield from template(_with_claims(spec), "spec.template")
    yield from template_marks(made["metadata"], "spec.template")  # which the server looks at twice
    yield from _pods_last(made["spec"], "StatefulSet")


def new_stateful_set(tree: Tree) -> Iterator[Cause]:
    spec = tree["spec"]
    yield from stateful_set(tree)
    for index, claim in enumerate(spec.get("volumeClaimTemplates") or []):
        yield from claim_spec(claim.get("spec") or {}, f"spec.volumeClaimTemplates[{index}].spec")
    yield from _stateful_set_numbers(spec)
    if spec.get("serviceName"):
        yield from each(label, spec["serviceName"], "spec.serviceName")
    yield from _stateful_set_rest(spec)


def changed_stateful_set(old: Tree, new: Tree) -> Iterator[Cause]:
    yield from stateful_set(new)
    yield from _stateful_set_numbers(new["spec"])
    yield from _stateful_set_rest(new["spec"])
    before, after = (
        {key: value for key, value in tree["spec"].items() if key not in _STATEFUL_SET_MUTABLE} for tree in (old, new)
    )
    if before != after:
        yield not_allowed("spec", _STATEFUL_SET_TEXT)


def _stateful_set_numbers(spec: Tree) -> Iterator[Cause]:
    for key in ("replicas", "minReadySeconds"):
        yield from not_negative(spec, key, "spec")
    yield from not_negative(spec.get("ordinals") or {}, "start", "spec.ordinals")


def _with_claims(spec: Tree) -> Tree:
    """The template as pods will have it: with the volumes of claims, without names that they get of their own."""
    made: Tree = spec["template"]
    claims, pod = spec.get("volumeClaimTemplates") or [], made["spec"]
    if not claims and not pod.get("hostname") and not pod.get("subdomain"):
        return made
    names = [(claim.get("metadata") or {}).get("name") or "" for claim in claims]
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)]
    volumes += [volume for volume in pod.get("volumes") or [] if volume.get("name") not in names]
    return made | {"spec": pod | {"volumes": volumes, "hostname": "", "subdomain": ""}}


def _update_strategy(strategy: Tree) -> Iterator[Cause]:
    rolling = strategy.get("rollingUpdate")
    match strategy["type"]:
        case "RollingUpdate":
            yield from _rolling_stateful_set(rolling or {}, "spec.updateStrategy.rollingUpdate")
        case "OnDelete":
            if rolling is not None:
                text = "only allowed for updateStrategy 'RollingUpdate'"
                shown = as_struct({"partition": 0} | rolling, "Partition", "MaxUnavailable")
                yield wrong("spec.updateStrategy.rollingUpdate", shown, text)
        case _:
            shown = _strategy_struct(strategy, Partition=0, MaxUnavailable=None)
            yield wrong("spec.updateStrategy", shown, "must be 'RollingUpdate' or 'OnDelete'")


def _rolling_stateful_set(rolling: Tree, at: str) -> Iterator[Cause]:
    yield from not_negative(rolling, "partition", at)
    found = rolling.get("maxUnavailable")
    if found is None:
        return
    yield from share(found, f"{at}.maxUnavailable")
    if not amount(found):
        yield wrong(f"{at}.maxUnavailable", found, "cannot be 0")
    yield from part_of_all(found, f"{at}.maxUnavailable")


def _strategy_struct(strategy: Tree, **zeros: int | None) -> Tree:
    """As the server shows it: fields of a rolling update that are not there have their zeros."""
    rolling = strategy.get("rollingUpdate")
    made = as_struct(strategy, "Type", "RollingUpdate")
    if rolling is None:
        return made
    found = {key: value for key, value in as_struct(rolling, *zeros).items() if value is not None}
    return made | {"RollingUpdate": zeros | found}


def deployment(tree: Tree) -> Iterator[Cause]:
    spec = tree["spec"]
    yield from not_negative(spec, "replicas", "spec")
    yield from _replicated(spec)
    yield from _deployment_strategy(spec["strategy"])
    for key in ("minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
        yield from not_negative(spec, key, "spec")
    if spec["progressDeadlineSeconds"] <= (spec.get("minReadySeconds") or 0):
        text = "must be greater than minReadySeconds"
        yield wrong("spec.progressDeadlineSeconds", spec["progressDeadlineSeconds"], text)


def _deployment_strategy(strategy: Tree) -> Iterator[Cause]:
    rolling = strategy.get("rollingUpdate")
    at = "spec.strategy.rollingUpdate"
    match strategy["type"]:
        case "Recreate":
            if rolling is not None:
                yield not_allowed(at, "may not be specified when strategy `type` is 'Recreate'")
        case "RollingUpdate":
            numbers = rolling or {}
            for key in ("maxUnavailable", "maxSurge"):
                yield from share(numbers.get(key, 0), f"{at}.{key}")
            if not amount(numbers.get("maxUnavailable")) and not amount(numbers.get("maxSurge")):
                text = "may not be 0 when `maxSurge` is 0"
                yield wrong(f"{at}.maxUnavailable", numbers.get("maxUnavailable", 0), text)
            yield from part_of_all(numbers.get("maxUnavailable", 0), f"{at}.maxUnavailable")
        case _:
            shown = _strategy_struct(strategy, MaxUnavailable=0, MaxSurge=0)
            yield unsupported("spec.strategy", shown, ("Recreate", "RollingUpdate"))


def replica_set(tree: Tree) -> Iterator[Cause]:
    spec = tree["spec"]
    for key in ("replicas", "minReadySeconds"):
        yield from not_negative(spec, key, "spec")
    yield from _replicated(spec)


def changed_selector(old: Tree, new: Tree) -> Iterator[Cause]:
    if old["spec"].get("selector") != new["spec"].get("selector"):
        yield wrong("spec.selector", selector_in_order(new["spec"].get("selector")), IMMUTABLE)


def _replicated(spec: Tree) -> Iterator[Cause]:
    """What Deployments and ReplicaSets share; the words are those of Deployments."""
    found, made = spec.get("selector"), spec["template"]
    if found is None:
        yield required("spec.selector")
    else:
        yield from _selector(found, "deployment")
        if not is_sound(found):
            yield wrong("spec.selector", selector_in_order(found), "invalid label selector")
            return
    if (found is None or _is_choosy(found)) and not selects(found, made["metadata"].get("labels") or {}):
        yield wrong("spec.template.metadata.labels", in_order(made["metadata"].get("labels")), _MISMATCH)
    yield from template(made, "spec.template")
    yield from _pods_last(made["spec"], "ReplicaSet")


def _is_choosy(found: Tree) -> bool:
    return bool(found.get("matchLabels") or found.get("matchExpressions"))


def _selector(found: Tree, word: str) -> Iterator[Cause]:
    yield from selector(found, "spec.selector")
    if not _is_choosy(found):
        yield wrong("spec.selector", selector_in_order(found), f"empty selector is invalid for {word}")


def _pods_last(spec: Tree, kind: str) -> Iterator[Cause]:
    """Such pods are to run, for as long as they can."""
    if spec["restartPolicy"] != "Always":
        yield unsupported("spec.template.spec.restartPolicy", spec["restartPolicy"], ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        yield not_allowed("spec.template.spec.activeDeadlineSeconds", text)


def daemon_set(tree: Tree) -> Iterator[Cause]:
    spec = tree["spec"]
    found, made = spec.get("selector"), spec["template"]
    yield from selector(found, "spec.selector")
    if (found is None or is_sound(found)) and not selects(found, made["metadata"].get("labels") or {}):
        yield wrong("spec.template.metadata.labels", in_order(made["metadata"].get("labels")), _MISMATCH)
    if found is not None and not _is_choosy(found):
        yield wrong("spec.selector", selector_in_order(found), "empty selector is invalid for daemonset")
    yield from template(made, "spec.template")
    yield from _pods_last(made["spec"], "DaemonSet")
    yield from not_negative(spec, "minReadySeconds", "spec")
    yield from _daemon_strategy(spec["updateStrategy"])
    yield from not_negative(spec, "revisionHistoryLimit", "spec")


def _daemon_strategy(strategy: Tree) -> Iterator[Cause]:
    at = "spec.updateStrategy.rollingUpdate"
    match strategy["type"]:
        case "OnDelete":
            return
        case "RollingUpdate":
            rolling = strategy["rollingUpdate"]
            for rule in (share, part_of_all):
                for key in ("maxUnavailable", "maxSurge"):
                    yield from rule(rolling[key], f"{at}.{key}")
            down, up = amount(rolling["maxUnavailable"]), amount(rolling["maxSurge"])
            if down and up:
                yield wrong(f"{at}.maxSurge", rolling["maxSurge"], "may not be set when maxUnavailable is non-zero")
            elif not down and not up:
                yield required(f"{at}.maxUnavailable", "cannot be 0 when maxSurge is 0")
        case _:
            shown = _strategy_struct(strategy, MaxUnavailable=0, MaxSurge=0)
            yield unsupported("spec.updateStrategy", shown, ("RollingUpdate", "OnDelete"))


def replication_controller(tree: Tree) -> Iterator[Cause]:
    spec = tree["spec"]
    yield from not_negative(spec, "minReadySeconds", "spec")
    found = spec.get("selector") or {}
    if not found:
        yield required("spec.selector")
    yield from not_negative(spec, "replicas", "spec")
    made = spec.get("template")
    if made is None:
        yield required("spec.template")
        return
    labels = made["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in found.items()):
        yield wrong("spec.template.metadata.labels", in_order(made["metadata"].get("labels")), _MISMATCH)
    yield from template(made, "spec.template")
    yield from _pods_last(made["spec"], "ReplicationController")


def pod_template(tree: Tree) -> Iterator[Cause]:
    yield from template(tree["template"], "template")


# Statuses


def replica_status(old: Tree, new: Tree) -> Iterator[Cause]:
    """Counts of a Deployment, ReplicaSet or controller."""
    status = new.get("status") or {}
    first = "updatedReplicas" if new["kind"] == "Deployment" else "fullyLabeledReplicas"
    counts = (first, "readyReplicas", "availableReplicas")
    for key in ("observedGeneration", "replicas", *counts, "unavailableReplicas", "terminatingReplicas"):
        yield from not_negative(status, key, "status")
    yield from not_negative(status, "collisionCount", "status")
    for key in counts:
        if (status.get(key) or 0) > (status.get("replicas") or 0):
            yield wrong(f"status.{key}", status.get(key) or 0, _OVER)
    available = status.get("availableReplicas") or 0
    if available > (status.get("readyReplicas") or 0):
        yield wrong("status.availableReplicas", available, "cannot be greater than readyReplicas")
    yield from _collisions(old, status)


def stateful_set_status(old: Tree, new: Tree) -> Iterator[Cause]:
    status = new.get("status") or {}
    counts = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    for key in (*counts, "observedGeneration", "collisionCount"):
        yield from not_negative(status, key, "status")
    number = {key: status.get(key) or 0 for key in counts}
    for key in counts[1:]:
        if number[key] > number["replicas"]:
            yield wrong(f"status.{key}", number[key], _OVER)
    if number["availableReplicas"] > number["readyReplicas"]:
        text = "cannot be greater than status.readyReplicas"
        yield wrong("status.availableReplicas", number["availableReplicas"], text)
    yield from _collisions(old, status)


def daemon_set_status(old: Tree, new: Tree) -> Iterator[Cause]:
    status = new.get("status") or {}
    for key in (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    ):
        yield from not_negative(status, key, "status")
    yield from _collisions(old, status)


def _collisions(old: Tree, status: Tree) -> Iterator[Cause]:
    """How often a hash met another one is never forgotten."""
    before, after = (old.get("status") or {}).get("collisionCount"), status.get("collisionCount")
    if before is not None and (after is None or after < before):
        yield wrong("status.collisionCount", after or 0, "cannot be decremented")
