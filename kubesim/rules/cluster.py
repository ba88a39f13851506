"""Rules for kinds that shape the cluster: nodes, namespaces, limits, quotas, classes of priority; and for revisions."""

from __future__ import annotations

from collections.abc import Iterator

from kubeloop.quantities import quantity
from kubesim.bodies.equality import identical
from kubesim.errors import Cause, not_allowed, required, wrong
from kubesim.rules.resources import amount, is_standard, resource_name
from kubesim.rules.scheduling import EFFECTS
from kubesim.schema.values import IMMUTABLE, NEGATIVE, duplicate, each, label_value, network, one_of, qualified
from kubesim.store.versions import Tree

HIGHEST_PRIORITY = 1_000_000_000
SYSTEM_CLASSES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_LIMIT_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_SCOPES = (
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
    "VolumeAttributesClass",
)
_NO_QUOTA = ("storage",)
_LIMIT_FIELDS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


# Nodes


def node(tree: Tree) -> Iterator[Cause]:
    """The server tells taints at the metadata."""
    taints = (tree.get("spec") or {}).get("taints") or []
    seen: list[tuple[str, str]] = []
    for index, taint in enumerate(taints):
        at, key, effect = f"metadata.taints[{index}]", taint.get("key") or "", taint.get("effect") or ""
        yield from each(qualified, key, f"{at}.key")
        if problems := label_value(taint.get("value") or ""):
            yield wrong(f"{at}.value", taint["value"], ";".join(problems))
        yield from one_of(effect, EFFECTS, f"{at}.effect")
        if (key, effect) in seen:
            shown = {
                "Key": key,
                "Value": taint.get("value") or "",
                "Effect": effect,
                "TimeAdded": taint.get("timeAdded"),
            }
            cause = duplicate(at, shown)
            yield Cause(cause.reason, f"{cause.message}: taints must be unique by key and effect pair", at)
        seen.append((key, effect))
    yield from node_status({}, tree)
    for index, value in enumerate((tree.get("spec") or {}).get("podCIDRs") or []):
        yield from each(network, value, f"spec.podCIDRs[{index}]")


def node_status(_old: Tree, new: Tree) -> Iterator[Cause]:
    status = new.get("status") or {}
    for field in ("capacity", "allocatable"):
        for name, value in sorted((status.get(field) or {}).items()):
            yield from amount(name, value, f"status.{field}.{name}")


def changed_node(old: Tree, new: Tree) -> Iterator[Cause]:
    before, after = old.get("spec") or {}, new.get("spec") or {}
    for key, name in (("podCIDRs", "podCIDR"), ("providerID", "providerID")):
        if before.get(key) and before[key] != after.get(key):
            yield not_allowed(f"spec.{key}", f'node updates may not change {name} except from "" to valid')


# Limits and quotas


def limit_range(tree: Tree) -> Iterator[Cause]:
    types: list[str] = []
    for index, limit in enumerate((tree.get("spec") or {}).get("limits") or []):
        at, kind = f"spec.limits[{index}]", limit.get("type") or ""
        problems = each(qualified, kind, f"{at}.type")
        if not problems and "/" not in kind and kind not in _LIMIT_TYPES:
            problems = [wrong(f"{at}.type", kind, "must be a standard limit type or fully qualified")]
        yield from problems
        if kind in types:
            yield duplicate(f"{at}.type", kind)
        types.append(kind)
        if kind == "Pod":
            for key in ("default", "defaultRequest"):
                if limit.get(key):
                    yield not_allowed(f"{at}.{key}", "may not be specified when `type` is 'Pod'")
        if kind == "PersistentVolumeClaim" and not any("storage" in (limit.get(key) or {}) for key in ("min", "max")):
            text = "either minimum or maximum storage value is required, but neither was provided"
            yield required(f"{at}.limits", text)
        names = sorted({name for key in _LIMIT_FIELDS for name in limit.get(key) or {}})
        for name in names:
            yield from _limits({key: (limit.get(key) or {}).get(name) for key in _LIMIT_FIELDS}, name, at)


def _limits(found: dict[str, str | None], name: str, at: str) -> Iterator[Cause]:
    """How the limits of one resource go together."""
    most, least = found["max"], found["min"]
    default, request = found["default"], found["defaultRequest"]
    yield from _above(least, most, f"{at}.min[{name}]", least, "min value", "max value")
    yield from _above(least, request, f"{at}.defaultRequest[{name}]", request, "min value", "default request value")
    yield from _above(request, most, f"{at}.defaultRequest[{name}]", request, "default request value", "max value")
    place = f"{at}.defaultRequest[{name}]"
    yield from _above(request, default, place, request, "default request value", "default limit value")
    yield from _above(least, default, f"{at}.default[{name}]", least, "min value", "default value")
    yield from _above(default, most, f"{at}.default[{name}]", most, "default value", "max value")
    ratio = found["maxLimitRequestRatio"]
    if ratio is not None and quantity(ratio) < 1:
        yield wrong(f"{at}.maxLimitRequestRatio[{name}]", ratio, f"ratio {ratio} is less than 1")


def _above(low: str | None, high: str | None, at: str, shown: str | None, what: str, bound: str) -> Iterator[Cause]:
    if low is not None and high is not None and quantity(low) > quantity(high):
        yield wrong(at, shown, f"{what} {low} is greater than {bound} {high}")


def quota(tree: Tree) -> Iterator[Cause]:
    spec = tree.get("spec") or {}
    for name, value in sorted((spec.get("hard") or {}).items()):
        at = f"spec.hard[{name}]"
        yield from resource_name(name, at)
        if "/" not in name and (not is_standard(name) or name in _NO_QUOTA):
            yield wrong(at, name, "must be a standard resource for quota")
        yield from amount(name, value, at)
    scopes = spec.get("scopes") or []
    for scope in scopes:
        if scope not in _SCOPES:
            yield wrong("spec.scopes", scopes, "unsupported scope")
    for pair in (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating")):
        if all(scope in scopes for scope in pair):
            yield wrong("spec.scopes", scopes, "conflicting scopes")


def changed_quota(old: Tree, new: Tree) -> Iterator[Cause]:
    before, after = (sorted((tree.get("spec") or {}).get("scopes") or []) for tree in (old, new))
    if before != after:
        yield wrong("spec.scopes", new["spec"].get("scopes"), IMMUTABLE)


# Classes of priority


def priority_class(tree: Tree) -> Iterator[Cause]:
    name, value = tree["metadata"].get("name") or "", tree.get("value") or 0
    if name.startswith("system-"):
        known = SYSTEM_CLASSES.get(name)
        why = f"{name} is not a known system priority class"
        if known is not None and value != known:
            why = f"value of {name} PriorityClass must be {known}"
        elif known is not None and tree.get("globalDefault"):
            why = f"globalDefault of {name} PriorityClass must be false"
        if known is None or value != known or tree.get("globalDefault"):
            text = "priority class names with 'system-' prefix are reserved for system use only. error:"
            yield not_allowed("metadata.name", f"{text} {why}")
    elif value > HIGHEST_PRIORITY:
        text = f"maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}"
        yield not_allowed("value", text)
    yield from one_of(tree.get("preemptionPolicy"), ("PreemptLowerPriority", "Never"), "preemptionPolicy")


def changed_priority_class(old: Tree, new: Tree) -> Iterator[Cause]:
    if (old.get("value") or 0) != (new.get("value") or 0):
        yield not_allowed("value", "may not be changed in an update.")
    if old.get("preemptionPolicy") != new.get("preemptionPolicy"):
        yield wrong("preemptionPolicy", new.get("preemptionPolicy"), IMMUTABLE)


# Namespaces, revisions


def namespace(tree: Tree) -> Iterator[Cause]:
    for name in (tree.get("spec") or {}).get("finalizers") or []:
        yield from each(qualified, name, "spec.finalizers")


def revision(tree: Tree) -> Iterator[Cause]:
    if (tree.get("revision") or 0) < 0:
        yield wrong("revision", tree["revision"], NEGATIVE)


def new_revision(tree: Tree) -> Iterator[Cause]:
    yield from revision(tree)
    if tree.get("data") is None:
        yield required("data", "data is mandatory")


def changed_revision(old: Tree, new: Tree) -> Iterator[Cause]:
    if not identical(old.get("data"), new.get("data")):
        yield wrong("data", new.get("data"), IMMUTABLE)
