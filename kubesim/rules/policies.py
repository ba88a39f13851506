"""Rules of ValidatingAdmissionPolicies and their bindings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kubesim.cel import program as cel
from kubesim.cel.strings import old_label
from kubesim.cel.types import BOOL, NULL, STRING, Field, Type
from kubesim.cel.words import RESERVED
from kubesim.errors import Cause, not_allowed, required, unsupported, wrong
from kubesim.rules import match_rules
from kubesim.rules.labels import selector
from kubesim.rules.match_conditions import causes_of, expression_causes, variables
from kubesim.schema.values import duplicate, each, given, one_of, qualified, subdomain
from kubesim.store.versions import Tree

_NAME = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = RESERVED | {"true", "false", "null", "in"}
_BREAKS = re.compile(r"[\n\r]")
_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS = ("Audit", "Deny", "Warn")
_MOST_ANNOTATIONS = 20
_LONGEST_VALUE = 5 * 1024
_NOTHING = "validations or auditAnnotations must contain at least one item"
_EXCLUSIVE = "name and selector are mutually exclusive"
_BOTH = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


def policy(tree: Tree) -> Iterable[Cause]:
    """Broken rules of a policy, defaults filled in."""
    spec, name = tree.get("spec") or {}, tree["metadata"].get("name") or ""
    yield from given(spec.get("failurePolicy"), ("Fail", "Ignore"), "spec.failurePolicy")
    params = spec.get("paramKind") is not None
    if params:
        yield from _param_kind(spec["paramKind"], "spec.paramKind")
    constraints = spec.get("matchConstraints")
    if constraints is None:
        yield required("spec.matchConstraints")
    else:
        yield from _matched(constraints, "spec.matchConstraints")
        if not constraints.get("resourceRules"):
            yield required("spec.matchConstraints.resourceRules")
    yield from causes_of(spec.get("matchConditions") or [], "spec.matchConditions", params=params)
    composed: dict[str, Field] = {}
    for index, variable in enumerate(spec.get("variables") or []):
        yield from _variable(variable, composed, f"spec.variables[{index}]", params)
    known = Type("kubernetes.variables", fields=composed) if spec.get("variables") else None
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        yield required("spec.validations", _NOTHING)
        yield required("spec.auditAnnotations", _NOTHING)
    for index, validation in enumerate(validations):
        yield from _validation(validation, f"spec.validations[{index}]", params, known)
    yield from _annotations(annotations, name, params, known)


def _param_kind(kind: Tree, at: str) -> Iterator[Cause]:
    version, name = kind.get("apiVersion") or "", kind.get("kind") or ""
    group, _, number = version.rpartition("/")
    if not version:
        yield required(f"{at}.apiVersion")
    elif version.count("/") > 1:
        yield wrong(f"{at}.apiVersion", version, f"unexpected GroupVersion string: {version}")
    else:
        if group and (troubles := subdomain(group)):
            yield wrong(f"{at}.apiVersion", group, ",".join(troubles))
        if not number:
            yield wrong(f"{at}.apiVersion", version, "version must be specified")
        elif troubles := old_label(number):
            yield wrong(f"{at}.apiVersion", number, ",".join(troubles))
    if not name:
        yield required(f"{at}.kind")
    elif troubles := old_label(name.lower()):
        yield wrong(f"{at}.kind", name, f"may have mixed case, but should otherwise match: {','.join(troubles)}")


def _matched(found: Tree, at: str) -> Iterator[Cause]:
    """Broken rules of which requests are meant."""
    yield from given(found.get("matchPolicy"), ("Equivalent", "Exact"), f"{at}.matchPolicy")
    for key in ("namespaceSelector", "objectSelector"):
        if found.get(key) is None:
            yield required(f"{at}.{key}")
        else:
            yield from selector(found[key], f"{at}.{key}")
    for key in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(found.get(key) or []):
            place = f"{at}.{key}[{index}]"
            names = rule.get("resourceNames") or []
            for number, name in enumerate(names):
                yield from each(_segment, name, f"{place}.resourceNames[{number}]")
                if name in names[:number]:
                    yield duplicate(f"{place}.resourceNames[{number}]", name)
            yield from match_rules.rule(rule, place)


def _segment(name: str) -> list[str]:
    """What is wrong with a name as part of a path."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{sign}'" for sign in ("/", "%") if sign in name]


def _variable(variable: Tree, composed: dict[str, Field], at: str, params: bool) -> Iterator[Cause]:
    name, expression = variable.get("name") or "", variable.get("expression") or ""
    if not name.strip():
        yield required(f"{at}.name", "name is not specified")
    elif not _NAME.fullmatch(name) or name in _RESERVED:
        yield wrong(f"{at}.name", name, "must be a valid CEL identifier")
    if not expression.strip():
        yield required(f"{at}.expression", "expression is not specified")
        return
    known = variables(params=params, composed=Type("kubernetes.variables", fields=dict(composed)))
    try:
        composed[name] = Field(name, cel.compiled(expression, known).type)
    except cel.NotCompiled as error:
        yield wrong(f"{at}.expression", expression, f"compilation failed: {error}")


def _validation(validation: Tree, at: str, params: bool, composed: Type | None) -> Iterator[Cause]:
    expression, message = validation.get("expression") or "", validation.get("message") or ""
    if not expression.strip():
        yield required(f"{at}.expression", "expression is not specified")
    else:
        known = variables(params=params, composed=composed)
        yield from expression_causes(expression, known, (BOOL,), f"{at}.expression")
    said = validation.get("messageExpression") or ""
    if said and not said.strip():
        yield wrong(f"{at}.messageExpression", said, "must be non-empty if specified")
    elif said:
        known = variables(params=params, authorizer=False, composed=composed)
        yield from expression_causes(said, known, (STRING,), f"{at}.messageExpression")
    if message and not message.strip():
        yield wrong(f"{at}.message", message, "must be non-empty if specified")
    elif _BREAKS.search(message.strip()):
        yield wrong(f"{at}.message", message, "must not contain line breaks")
    if validation.get("reason") is not None and validation["reason"] not in _REASONS:
        yield unsupported(f"{at}.reason", validation["reason"], _REASONS)


def _annotations(annotations: list[Tree], name: str, params: bool, composed: Type | None) -> Iterator[Cause]:
    if len(annotations) > _MOST_ANNOTATIONS:
        shown = [
            {"Key": item.get("key", ""), "ValueExpression": item.get("valueExpression", "")} for item in annotations
        ]
        yield wrong("spec.auditAnnotations", shown, f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations")
    keys: list[str] = []
    known = variables(params=params, composed=composed)
    for index, annotation in enumerate(annotations):
        at, key = f"spec.auditAnnotations[{index}]", annotation.get("key") or ""
        yield from each(qualified, f"{name}/{key}", f"{at}.key")
        said = annotation.get("valueExpression") or ""
        expression, place = said.strip(), f"{at}.valueExpression"
        if not expression:
            yield required(place, "valueExpression is not specified")
        elif len(expression.encode()) > _LONGEST_VALUE:
            yield required(place, f"must not exceed {_LONGEST_VALUE} bytes in length")
        else:
            yield from expression_causes(expression, known, (STRING, NULL), place, whole=said)
        if key in keys:
            yield duplicate(f"{at}.key", key)
        keys.append(key)


def binding(tree: Tree) -> Iterable[Cause]:
    """Broken rules of a binding, defaults filled in."""
    spec = tree.get("spec") or {}
    if not spec.get("policyName"):
        yield required("spec.policyName")
    else:
        yield from each(subdomain, spec["policyName"], "spec.policyName")
    if spec.get("paramRef") is not None:
        yield from _param_ref(spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        yield from _matched(spec["matchResources"], "spec.matchResources")
    yield from _actions(spec.get("validationActions") or [], "spec.validationActions")


def _param_ref(ref: Tree, at: str) -> Iterator[Cause]:
    name, selected = ref.get("name") or "", ref.get("selector")
    if name:
        yield from each(_segment, name, f"{at}.name")
        if selected is not None:
            yield not_allowed(f"{at}.name", _EXCLUSIVE)
    if selected is not None:
        yield from selector(selected, f"{at}.selector")
        if name:
            yield not_allowed(f"{at}.selector", _EXCLUSIVE)
    if not name and selected is None:
        yield required(at, "one of name or selector must be specified")
    yield from one_of(ref.get("parameterNotFoundAction"), ("Deny", "Allow"), f"{at}.parameterNotFoundAction")


def _actions(actions: list[str], at: str) -> Iterator[Cause]:
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            yield unsupported(f"{at}[{index}]", action, _ACTIONS)
        if action in actions[:index]:
            yield duplicate(f"{at}[{index}]", action)
    if "Deny" in actions and "Warn" in actions:
        yield wrong(at, actions, _BOTH)
    if not actions:
        yield required(at, "at least one validation action is required")


RULES = {"ValidatingAdmissionPolicy": policy, "ValidatingAdmissionPolicyBinding": binding}
