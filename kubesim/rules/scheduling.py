"""Rules for where pods go: affinity, tolerations, spread, gates."""

from __future__ import annotations

from collections.abc import Iterator

from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.rules.labels import requirement, selector
from kubesim.schema.values import chosen, duplicate, each, label, label_value, positive, qualified, subdomain
from kubesim.store.versions import Tree

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_MOST_WEIGHT = 100
_NO_SELECTOR = "must not be specified when labelSelector is not set"


def affinity(found: Tree, at: str) -> Iterator[Cause]:
    if nodes := found.get("nodeAffinity"):
        if nodes.get(_REQUIRED) is not None:
            yield from node_selector(nodes[_REQUIRED], f"{at}.nodeAffinity.{_REQUIRED}")
        for index, term in enumerate(nodes.get(_PREFERRED) or []):
            path = f"{at}.nodeAffinity.{_PREFERRED}[{index}]"
            yield from _weight(term, path)
            yield from _node_term(term.get("preference") or {}, f"{path}.preference", checks_values=False)
    for key in ("podAffinity", "podAntiAffinity"):
        pods = found.get(key) or {}
        for index, term in enumerate(pods.get(_REQUIRED) or []):
            yield from _pod_term(term, f"{at}.{key}.{_REQUIRED}[{index}]")
        for index, term in enumerate(pods.get(_PREFERRED) or []):
            path = f"{at}.{key}.{_PREFERRED}[{index}]"
            yield from _weight(term, path)
            yield from _pod_term(term.get("podAffinityTerm") or {}, f"{path}.podAffinityTerm")


def _weight(term: Tree, at: str) -> Iterator[Cause]:
    weight = term.get("weight") or 0
    if not 1 <= weight <= _MOST_WEIGHT:
        yield wrong(f"{at}.weight", weight, "must be in the range 1-100")


def node_selector(found: Tree, at: str) -> Iterator[Cause]:
    terms = found.get("nodeSelectorTerms") or []
    if not terms:
        yield required(f"{at}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from _node_term(term, f"{at}.nodeSelectorTerms[{index}]")


def _node_term(term: Tree, at: str, *, checks_values: bool = True) -> Iterator[Cause]:
    for index, expression in enumerate(term.get("matchExpressions") or []):
        place = f"{at}.matchExpressions[{index}]"
        yield from requirement(expression, place, checks_values=checks_values, compares=True)
    for index, expression in enumerate(term.get("matchFields") or []):
        yield from _node_field(expression, f"{at}.matchFields[{index}]")


def _node_field(expression: Tree, at: str) -> Iterator[Cause]:
    values = expression.get("values") or []
    operator = expression.get("operator") or ""
    if operator not in ("In", "NotIn"):
        yield wrong(f"{at}.operator", operator, "not a valid selector operator")
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        yield required(f"{at}.values", text)
    if expression.get("key") != "metadata.name":
        yield wrong(f"{at}.key", expression.get("key") or "", "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from each(subdomain, value, f"{at}.values[{index}]")


def _pod_term(term: Tree, at: str) -> Iterator[Cause]:
    for key in ("labelSelector", "namespaceSelector"):
        yield from selector(term.get(key), f"{at}.{key}")
    for name in term.get("namespaces") or []:
        yield from each(label, name, f"{at}.namespace")
    yield from _label_keys(term, at)
    key = term.get("topologyKey") or ""
    if not key:
        yield required(f"{at}.topologyKey", "can not be empty")
    yield from each(qualified, key, f"{at}.topologyKey")


def _label_keys(term: Tree, at: str) -> Iterator[Cause]:
    """Keys whose values are taken from the pod itself."""
    for field in ("matchLabelKeys", "mismatchLabelKeys"):
        keys = term.get(field) or []
        if keys and term.get("labelSelector") is None:
            yield not_allowed(f"{at}.{field}", _NO_SELECTOR)
            continue
        for index, key in enumerate(keys):
            yield from each(qualified, key, f"{at}.{field}[{index}]")
    for index, key in enumerate(term.get("matchLabelKeys") or []):
        if key in (term.get("mismatchLabelKeys") or []):
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield wrong(f"{at}.matchLabelKeys[{index}]", key, text)


def tolerations(found: list[Tree], at: str) -> Iterator[Cause]:
    for index, entry in enumerate(found):
        path = f"{at}[{index}]"
        key, operator = entry.get("key") or "", entry.get("operator") or ""
        effect, value = entry.get("effect") or "", entry.get("value") or ""
        if key:
            yield from each(qualified, key, f"{path}.key")
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield wrong(f"{path}.operator", operator, text)
        if entry.get("tolerationSeconds") is not None and effect != "NoExecute":
            yield wrong(f"{path}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
        yield from _operator(operator, value, path)
        if effect and effect not in EFFECTS:
            yield unsupported(f"{path}.effect", effect, EFFECTS)


def _operator(operator: str, value: str, at: str) -> Iterator[Cause]:
    match operator:
        case "Equal" | "":
            if problems := label_value(value):
                yield wrong(f"{at}.operator", value, ";".join(problems))
        case "Exists":
            if value:
                yield wrong(f"{at}.operator", value, "value must be empty when `operator` is 'Exists'")
        case "Lt" | "Gt":
            yield unsupported(f"{at}.operator", operator, ("Equal", "Exists", "Lt", "Gt"))
        case _:
            yield unsupported(f"{at}.operator", operator, ("Equal", "Exists"))


def spread(found: list[Tree], at: str) -> Iterator[Cause]:
    for index, constraint in enumerate(found):
        path = f"{at}[{index}]"
        yield from positive(constraint.get("maxSkew") or 0, f"{path}.maxSkew")
        key, action = constraint.get("topologyKey") or "", constraint.get("whenUnsatisfiable") or ""
        if not key:
            yield required(f"{path}.topologyKey", "can not be empty")
        if action not in _ACTIONS:
            yield unsupported(f"{path}.whenUnsatisfiable", action, _ACTIONS)
        later = found[index + 1 :]
        if any((each_.get("topologyKey"), each_.get("whenUnsatisfiable")) == (key, action) for each_ in later):
            yield duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        domains = constraint.get("minDomains")
        if domains is not None:
            yield from positive(domains, f"{path}.minDomains")
            if action != "DoNotSchedule":
                text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                yield wrong(f"{path}.minDomains", domains, text)
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            yield from chosen(constraint.get(field), ("Honor", "Ignore"), f"{path}.{field}")
        yield from _label_keys({"mismatchLabelKeys": None} | constraint, path)
        yield from selector(constraint.get("labelSelector"), f"{path}.labelSelector")


def gates(found: list[Tree], at: str) -> Iterator[Cause]:
    """What must be taken away before a pod is put anywhere."""
    seen: list[str] = []
    for index, gate in enumerate(found):
        name = gate.get("name") or ""
        yield from each(qualified, name, f"{at}[{index}]")
        if name in seen:
            yield duplicate(f"{at}[{index}]", name)
        seen.append(name)


def only_more(new: list[Tree], old: list[Tree], at: str) -> Iterator[Cause]:
    """Tolerations may be added, and may last longer or shorter; none goes."""
    remaining = [_lasting(entry) for entry in new]
    if any(_lasting(entry) not in remaining for entry in old):
        yield not_allowed(at, "existing toleration can not be modified except its tolerationSeconds")
        return
    yield from tolerations(new, at)


def _lasting(entry: Tree) -> Tree:
    return {key: value for key, value in entry.items() if key != "tolerationSeconds"}
