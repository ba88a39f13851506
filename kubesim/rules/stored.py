"""Defaults and rules of kinds that are kept for others to read: maps, Secrets, budgets, leases."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator

from kubesim.errors import Cause, bad_request, not_allowed, required, wrong
from kubesim.rules.labels import selector
from kubesim.schema.values import (
    as_struct,
    chosen,
    condition_reason,
    config_key,
    duplicate,
    each,
    part_of_all,
    qualified,
    share,
    too_long,
)
from kubesim.store.versions import Tree

_MOST_BYTES = 1024 * 1024
_LONGEST_REASON = 1024
_LONGEST_MESSAGE = 32 * 1024
_STATUSES = ("False", "True", "Unknown")
_FROZEN = "field is immutable when `immutable` is set"
_IMMUTABLE = "field is immutable"
_NEEDED_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}

# Maps and Secrets


def fill_secret(tree: Tree) -> None:
    """Folds what was given as plain text into the data."""
    if not tree.get("type"):
        tree["type"] = "Opaque"
    plain = tree.pop("stringData", None)
    if plain:
        coded = {key: base64.b64encode(str(value).encode()).decode() for key, value in plain.items()}
        tree["data"] = (tree.get("data") or {}) | coded
    _check_base64(tree, "data", "Secret")


def fill_config_map(tree: Tree) -> None:
    _check_base64(tree, "binaryData", "ConfigMap")


def _check_base64(tree: Tree, field: str, kind: str) -> None:
    """What is not base64 cannot be decoded at all, so it is no broken rule but a bad request."""
    for value in (tree.get(field) or {}).values():
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError, TypeError):
            text = f'{kind} in version "v1" cannot be handled as a {kind}: illegal base64 data in {field}'
            raise bad_request(text) from None


def secret(tree: Tree) -> list[Cause]:
    data = tree.get("data") or {}
    causes = _keys(data, "data")
    if sum(len(base64.b64decode(value)) for value in data.values()) > _MOST_BYTES:
        causes.append(_too_long("data"))
    kind = tree["type"]
    if kind == "kubernetes.io/basic-auth" and not ("username" in data or "password" in data):
        causes += [required("data[username]"), required("data[password]")]
    if kind == "kubernetes.io/service-account-token":
        name = "kubernetes.io/service-account.name"
        if not (tree["metadata"].get("annotations") or {}).get(name):
            causes.append(required(f"metadata.annotations[{name}]"))
    missing = [key for key in _NEEDED_KEYS.get(kind, ()) if key not in data]
    causes += [required(f"data[{key}]") for key in missing]
    if kind in ("kubernetes.io/dockercfg", "kubernetes.io/dockerconfigjson") and not missing:
        causes += _docker_config(data, _NEEDED_KEYS[kind][0])
    return causes


def _docker_config(data: Tree, key: str) -> list[Cause]:
    try:
        if isinstance(json.loads(base64.b64decode(data[key])), dict):
            return []
        why = "not an object"
    except ValueError as error:
        why = str(error)
    return [wrong(f"data[{key}]", "<secret contents redacted>", why)]


def config_map(tree: Tree) -> list[Cause]:
    data, binary = tree.get("data") or {}, tree.get("binaryData") or {}
    causes = _keys(data, "data") + _keys(binary, "binaryData")
    causes += [
        wrong(f"data[{key}]", key, "duplicate of key present in binaryData") for key in sorted(data) if key in binary
    ]
    size = sum(len(str(value).encode()) for value in data.values())
    size += sum(len(base64.b64decode(value)) for value in binary.values())
    return [*causes, _too_long("[]")] if size > _MOST_BYTES else causes


def _keys(data: Tree, field: str) -> list[Cause]:
    return [wrong(f"{field}[{key}]", key, text) for key in sorted(data) for text in config_key(key)]


def _too_long(field: str) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {_MOST_BYTES} bytes", field)


def changed_data(old: Tree, new: Tree) -> list[Cause]:
    """What a map or Secret that says it is immutable may not change, and the type of a Secret."""
    causes: list[Cause] = []
    if old.get("type") != new.get("type"):
        causes.append(wrong("type", new.get("type") or "", _IMMUTABLE))
    if old.get("immutable"):
        if not new.get("immutable"):
            causes.append(not_allowed("immutable", _FROZEN))
        changed = [key for key in ("data", "binaryData") if (old.get(key) or {}) != (new.get(key) or {})]
        causes += [not_allowed(key, _FROZEN) for key in changed]
    return causes


# Budgets, leases


def budget(tree: Tree) -> list[Cause]:
    spec = tree.get("spec") or {}
    causes: list[Cause] = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        told = as_struct(spec, "MinAvailable", "Selector", "MaxUnavailable", "UnhealthyPodEvictionPolicy")
        causes.append(wrong("spec", told, "minAvailable and maxUnavailable cannot be both set"))
    for key in ("minAvailable", "maxUnavailable"):
        if spec.get(key) is not None:
            causes += [*share(spec[key], f"spec.{key}"), *part_of_all(spec[key], f"spec.{key}")]
    causes += selector(spec.get("selector"), "spec.selector")
    policies = ("AlwaysAllow", "IfHealthyBudget")
    return causes + chosen(spec.get("unhealthyPodEvictionPolicy"), policies, "spec.unhealthyPodEvictionPolicy")


def budget_status(status: Tree) -> list[Cause]:
    return [*conditions(status.get("conditions") or [], "status.conditions"), *_counts(status)]


def conditions(found: list[Tree], at: str) -> Iterator[Cause]:
    """Conditions of the form that all kinds have by now."""
    types: list[str] = []
    for index, condition in enumerate(found):
        path, kind, reason = f"{at}[{index}]", condition.get("type") or "", condition.get("reason") or ""
        if kind in types:
            yield duplicate(f"{path}.type", kind)
        types.append(kind)
        yield from each(qualified, kind, f"{path}.type")
        yield from chosen(condition.get("status") or "", _STATUSES, f"{path}.status")
        if (condition.get("observedGeneration") or 0) < 0:
            text = "must be greater than or equal to zero"
            yield wrong(f"{path}.observedGeneration", condition["observedGeneration"], text)
        if condition.get("lastTransitionTime") is None:
            yield required(f"{path}.lastTransitionTime")
        if not reason:
            yield required(f"{path}.reason")
        else:
            yield from each(condition_reason, reason, f"{path}.reason")
        for key, most in (("reason", _LONGEST_REASON), ("message", _LONGEST_MESSAGE)):
            if len((condition.get(key) or "").encode()) > most:
                yield too_long(f"{path}.{key}", most)


def _counts(status: Tree) -> list[Cause]:
    return [
        wrong(f"status.{key}", status[key], "must be greater than or equal to 0")
        for key in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
        if isinstance(status.get(key), int) and status[key] < 0
    ]


def lease(tree: Tree) -> list[Cause]:
    spec = tree.get("spec") or {}
    causes: list[Cause] = []
    seconds, transitions = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if seconds is not None and seconds <= 0:
        causes.append(wrong("spec.leaseDurationSeconds", seconds, "must be greater than 0"))
    if transitions is not None and transitions < 0:
        causes.append(wrong("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    return causes


RULES = {
    "ConfigMap": config_map,
    "Lease": lease,
    "PodDisruptionBudget": budget,
    "Secret": secret,
}
