"""Rules for Jobs and for what makes Jobs by the clock."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kubesim.errors import Cause, required, unsupported, wrong
from kubesim.rules.labels import in_order, is_sound, selector, selector_in_order, selects
from kubesim.rules.pods import template
from kubesim.rules.schedules import is_zone, unreadable
from kubesim.schema.values import IMMUTABLE, fixed, label, no_value, not_negative, one_of, qualified, too_many
from kubesim.store.versions import Tree

_MODES = ("NonIndexed", "Indexed")
_NUMBERS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
)
_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_MOST_RULES = 20
_LONGEST_NAME = 52
_MOST_PARALLEL = 100_000
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")
_MISMATCH = "`selector` does not match template `labels`"


def select_own(tree: Tree) -> None:
    """Has a new Job select the pods it will make by its own identity, unless it selects them by hand."""
    spec, metadata = tree["spec"], tree["metadata"]
    if spec.get("manualSelector"):
        return
    labels = spec["template"]["metadata"].setdefault("labels", {})
    shared = not metadata.get("labels") or metadata["labels"] is labels
    for key in _NAME_LABELS:
        labels.setdefault(key, metadata.get("name") or "")
    for key in _UID_LABELS:
        labels.setdefault(key, metadata["uid"])
    if shared:
        metadata["labels"] = dict(labels)
    found = spec.setdefault("selector", {})
    found.setdefault("matchLabels", {}).setdefault(_UID_LABELS[1], metadata["uid"])


def new_job(tree: Tree, *, prefixed: bool = True) -> Iterator[Cause]:
    """Without `prefixed` the labels are those of a Job that lacks the ones with a prefix."""
    spec, metadata = tree["spec"], tree["metadata"]
    if not spec.get("manualSelector") and spec.get("selector") is not None:
        yield from _generated(spec, metadata, prefixed=prefixed)
    yield from job(tree)
    number = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and number > 0:
        longest = f"{metadata.get('name')}-{number - 1}"
        if label(longest):
            text = f"will not able to create pod with invalid DNS label: {longest}"
            yield wrong("metadata.name", metadata.get("name") or "", text)


def _generated(spec: Tree, metadata: Tree, *, prefixed: bool) -> Iterator[Cause]:
    """A selector that is generated selects by what the template was given."""
    labels = spec["template"]["metadata"].get("labels") or {}
    uid, name = str(metadata["uid"]), str(metadata.get("name") or "")
    expected = {_UID_LABELS[0]: uid, _NAME_LABELS[0]: name}
    if prefixed:
        expected |= {_UID_LABELS[1]: uid, _NAME_LABELS[1]: name}
    for key, value in expected.items():
        place, must = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in labels:
            yield required(place, must)
        elif labels[key] != value:
            yield wrong(place, in_order(labels), must)
    found = spec["selector"]
    if is_sound(found) and not selects(found, expected):
        yield wrong("spec.selector", selector_in_order(found), "`selector` not auto-generated")


def job(tree: Tree) -> Iterator[Cause]:
    spec = tree["spec"]
    yield from _job_spec(spec, "spec")
    found = spec.get("selector")
    if found is None:
        yield required("spec.selector")
    else:
        yield from selector(found, "spec.selector")
    labels = spec["template"]["metadata"].get("labels")
    if (found is None or is_sound(found)) and not selects(found, labels or {}):
        yield wrong("spec.template.metadata.labels", in_order(labels), _MISMATCH)


def _job_spec(spec: Tree, at: str) -> Iterator[Cause]:
    for key in (*_NUMBERS, "maxFailedIndexes"):
        yield from not_negative(spec, key, at)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        yield required(f"{at}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    mode = spec.get("completionMode")
    if mode is not None and mode not in _MODES:
        yield unsupported(f"{at}.completionMode", mode, _MODES)
    if mode == "Indexed":
        yield from _indexed(spec, at)
    elif mode in (None, "NonIndexed"):
        for key in ("backoffLimitPerIndex", "maxFailedIndexes"):
            if spec.get(key) is not None:
                yield wrong(f"{at}.{key}", spec[key], "requires indexed completion mode")
    if spec.get("podFailurePolicy") is not None:
        yield from _failures(spec, f"{at}.podFailurePolicy")
    yield from _replacement(spec, f"{at}.podReplacementPolicy")
    yield from template(spec["template"], f"{at}.template")
    yield from _restarts(spec, f"{at}.template.spec.restartPolicy")


def _indexed(spec: Tree, at: str) -> Iterator[Cause]:
    number, parallel = spec.get("completions"), spec.get("parallelism") or 0
    if number is None:
        yield required(f"{at}.completions", "when completion mode is Indexed")
    if parallel > _MOST_PARALLEL:
        text = f"must be less than or equal to {_MOST_PARALLEL} when completion mode is Indexed"
        yield wrong(f"{at}.parallelism", parallel, text)
    most = spec.get("maxFailedIndexes")
    if number is not None and most is not None and most > number:
        yield wrong(f"{at}.maxFailedIndexes", most, "must be less than or equal to completions")


def _replacement(spec: Tree, at: str) -> Iterator[Cause]:
    policy = spec.get("podReplacementPolicy")
    choices = ("Failed", "TerminatingOrFailed") if spec.get("podFailurePolicy") is None else ("Failed",)
    if policy is not None and policy not in choices:
        yield unsupported(at, policy, choices)


def _restarts(spec: Tree, at: str) -> Iterator[Cause]:
    """Pods of a Job end."""
    policy = spec["template"]["spec"].get("restartPolicy")
    if policy in (None, "", "Always"):
        yield required(at, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield unsupported(at, policy, ("OnFailure", "Never"))
    elif spec.get("podFailurePolicy") is not None and policy != "Never":
        yield wrong(at, policy, 'only "Never" is supported when podFailurePolicy is specified')


def _failures(spec: Tree, at: str) -> Iterator[Cause]:
    rules = spec["podFailurePolicy"].get("rules") or []
    if len(rules) > _MOST_RULES:
        yield too_many(f"{at}.rules", len(rules), _MOST_RULES)
    for index, rule in enumerate(rules):
        path, action = f"{at}.rules[{index}]", rule.get("action") or ""
        if not action:
            yield required(f"{path}.action", 'valid values: ["Count" "FailIndex" "FailJob" "Ignore"]')
        elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            yield wrong(f"{path}.action", action, "requires the backoffLimitPerIndex to be set")
        elif action not in _ACTIONS:
            yield unsupported(f"{path}.action", action, _ACTIONS)
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
        if codes is not None:
            if codes.get("operator"):
                yield from one_of(codes["operator"], ("In", "NotIn"), f"{path}.onExitCodes.operator")
            else:
                yield required(f"{path}.onExitCodes.operator", 'valid values: ["In" "NotIn"]')
            if not codes.get("values"):
                yield wrong(f"{path}.onExitCodes.values", codes.get("values"), "at least one value is required")
        for number, condition in enumerate(conditions):
            place = f"{path}.onPodConditions[{number}]"
            yield from (
                wrong(f"{place}.type", condition.get("type") or "", text)
                for text in qualified(condition.get("type") or "")
            )
            yield from one_of(condition.get("status"), ("False", "True", "Unknown"), f"{place}.status")
        if codes is not None and conditions:
            yield no_value(path, "specifying both OnExitCodes and OnPodConditions is not supported")
        if codes is None and not conditions:
            yield no_value(path, "specifying one of OnExitCodes and OnPodConditions is required")


def changed_job(old: Tree, new: Tree) -> Iterator[Cause]:
    """Little of a Job may change: how many pods at a time, and where they go while it is held back.

    The server checks the whole twice.
    """
    before, after = old["spec"], new["spec"]
    known = before["template"]["metadata"].get("labels") or {}
    yield from new_job(new, prefixed=_UID_LABELS[1] in known and _NAME_LABELS[1] in known)
    yield from job(new)
    if after.get("completionMode") != "Indexed":
        yield from fixed(before, after, ("completions",), "spec")
    elif before.get("completions") != after.get("completions") and after.get("completions") != after.get("parallelism"):
        yield wrong(
            "spec.completions", after.get("completions"), "can only be modified in tandem with spec.parallelism"
        )
    if before.get("selector") != after.get("selector"):
        yield wrong("spec.selector", selector_in_order(after.get("selector")), IMMUTABLE)
    yield from _changed_template(before, after)
    yield from fixed(before, after, _FIXED, "spec")


def _changed_template(before: Tree, after: Tree) -> Iterator[Cause]:
    if before["template"] == after["template"]:
        return
    if not before.get("suspend"):
        yield no_value("spec.template", IMMUTABLE)
    elif _settled(before["template"]) != _settled(after["template"]):
        yield no_value("spec.template.spec", IMMUTABLE)


def _settled(found: Tree) -> Tree:
    """A template's pod without what may change while none of it runs."""
    spec = {
        key: value
        for key, value in found["spec"].items()
        if key not in ("nodeSelector", "tolerations", "schedulingGates", "affinity")
    }
    others = {key: value for key, value in (found["spec"].get("affinity") or {}).items() if key != "nodeAffinity"}
    for group in ("containers", "initContainers"):
        items = spec.get(group) or ()
        spec[group] = [{key: value for key, value in item.items() if key != "resources"} for item in items]
    return spec | {"affinity": others}


def cron_job(tree: Tree) -> Iterator[Cause]:
    spec = tree["spec"]
    schedule = spec.get("schedule") or ""
    if not schedule:
        yield required("spec.schedule")
    else:
        if problem := unreadable(schedule):
            yield wrong("spec.schedule", schedule, problem)
        if "TZ" in schedule:
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            yield wrong("spec.schedule", schedule, text)
    yield from not_negative(spec, "startingDeadlineSeconds", "spec")
    if spec.get("timeZone") is not None:
        yield from _zone(spec["timeZone"])
    yield from one_of(spec.get("concurrencyPolicy"), ("Allow", "Forbid", "Replace"), "spec.concurrencyPolicy")
    made = spec["jobTemplate"]["spec"]
    yield from _job_spec(made, "spec.jobTemplate.spec")
    if made.get("selector") is not None:
        yield wrong("spec.jobTemplate.spec.selector", made["selector"], "`selector` will be auto-generated")
    if made.get("manualSelector"):
        yield unsupported("spec.jobTemplate.spec.manualSelector", value=True, supported=("nil", "false"))
    for key in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from not_negative(spec, key, "spec")


def new_cron_job(tree: Tree) -> Iterator[Cause]:
    yield from cron_job(tree)
    name = tree["metadata"].get("name") or ""
    if len(name) > _LONGEST_NAME:
        yield wrong("metadata.name", name, f"must be no more than {_LONGEST_NAME} characters")


def _zone(zone: str) -> Iterator[Cause]:
    at = "spec.timeZone"
    if not zone:
        yield wrong(at, zone, "timeZone must be nil or non-empty string")
        return
    odd = any(part in (".", "..") or part.startswith("-") or not _ZONE_PART.fullmatch(part) for part in zone.split("/"))
    if zone.lower() == "local":
        text = "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        yield wrong(at, zone, text)
    elif odd or not is_zone(zone):
        yield wrong(at, zone, f"unknown time zone {zone}")


def status(_old: Tree, new: Tree) -> Iterator[Cause]:
    """Counts of a Job, and an end that is one."""
    found = new.get("status") or {}
    for key in ("active", "succeeded", "failed", "ready", "terminating"):
        yield from not_negative(found, key, "status")
    true = [condition.get("type") for condition in found.get("conditions") or [] if condition.get("status") == "True"]
    at = "status.conditions"
    if "Complete" in true and "Failed" in true:
        yield no_value(at, "cannot set Complete=True and Failed=true conditions")
    if "Complete" in true and "FailureTarget" in true:
        yield no_value(at, "cannot set Complete=True and FailureTarget=true conditions")
    if found.get("completionTime") is not None and "Complete" not in true:
        text = "cannot set completionTime when there is no Complete=True condition"
        yield wrong("status.completionTime", found["completionTime"], text)
    if "Complete" in true and found.get("completionTime") is None:
        yield required("status.completionTime", "completionTime is required for Complete jobs")
    if "Failed" in true and "FailureTarget" not in true:
        yield no_value(at, "cannot set Failed=True condition without the FailureTarget=true condition")
    if "Complete" in true and "SuccessCriteriaMet" not in true:
        yield no_value(at, "cannot set Complete=True condition without the SuccessCriteriaMet=true condition")
    if ("Complete" in true or "Failed" in true) and found.get("active"):
        yield wrong("status.active", found["active"], "active>0 is invalid for finished job")
    if ("Complete" in true or "Failed" in true) and found.get("startTime") is None:
        yield required("status.startTime", "startTime is required for finished job")
    if (found.get("ready") or 0) > (found.get("active") or 0):
        yield wrong("status.ready", found["ready"], "cannot set more ready pods than active")
