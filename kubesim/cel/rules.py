"""Rules in CEL (`x-kubernetes-validations`): which ones a schema may have, and whether objects keep them.

A rule sees the value at its place as `self`, and what was there before as `oldSelf`; a rule that uses that holds for
changes alone. A value that did not change is not complained about, as everywhere.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import UNSET, Struct

from kubeloop.schemas.structural import Node
from kubesim.bodies.equality import same
from kubesim.cel import program as cel
from kubesim.cel.schema import bound, typed
from kubesim.cel.syntax import named
from kubesim.cel.types import BOOL, DYN, STRING, Type, optional_of
from kubesim.cel.values import NONE, optional
from kubesim.errors import Cause, not_allowed, required, shown, unsupported, wrong
from kubesim.schema.conformance import by_key, key_of
from kubesim.store.versions import Tree

KEY = "x-kubernetes-validations"
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_BREAKS = re.compile(r"[\n\r]")
_LONGEST_MESSAGE = 5 * 1024
_NOWHERE = "<nil>"
_PATH = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]")


class ValidationRule(Struct, frozen=True):
    """One rule, ready to be evaluated."""

    source: Tree
    program: cel.Program
    message: cel.Program | None
    uses_old: bool
    is_optional: bool
    """`oldSelf` is an optional, and the rule holds for new values as well."""
    path: str = ""
    """Below which field its complaints are told."""

    @property
    def name(self) -> str:
        """What a failure calls it."""
        return str(self.source.get("message") or self.source["rule"]).strip()


class Rules(Struct, frozen=True, eq=False):
    """The rules of one place of a schema and of all below."""

    node: Node
    is_root: bool
    rules: tuple[ValidationRule, ...] = ()
    properties: dict[str, Rules] = {}
    items: Rules | None = None
    rest: Rules | None = None


# What a schema may say


class SchemaPlace(Struct, frozen=True):
    """Where in a schema rules stand."""

    path: str
    is_root: bool = False
    uncorrelated: str = ""
    """The list without keys that it lies in, if any."""


def broken(schema: Tree, node: Node, place: SchemaPlace) -> list[Cause]:
    """Broken rules about the rules of one place."""
    causes: list[Cause] = []
    path = place.path
    for index, source in enumerate(schema.get(KEY) or []):
        causes += _form(source, schema, f"{path}.{KEY}[{index}]")
    if causes:
        return causes
    for index, source in enumerate(schema.get(KEY) or []):
        at = f"{path}.{KEY}[{index}]"
        try:
            rule = _compiled(source, node, is_root=place.is_root)
        except _Refused as refusal:
            causes.append(_about(f"{at}.{refusal.field}", source, str(refusal)))
            if source.get("optionalOldSelf") is not None:
                causes.append(_needless(source, at))
            continue
        if rule.uses_old and place.uncorrelated:
            text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.uncorrelated}"
            causes.append(wrong(f"{at}.rule", source["rule"], text))
        elif not rule.uses_old and source.get("optionalOldSelf") is not None:
            causes.append(_needless(source, at))
    return causes


def _needless(source: Tree, at: str) -> Cause:
    text = "may not be set if oldSelf is not used in rule"
    return wrong(f"{at}.optionalOldSelf", source["optionalOldSelf"], text)


def _about(at: str, source: Tree, text: str) -> Cause:
    """A complaint that shows the whole rule, under the names of the server's own fields."""
    names = ("rule", "message", "messageExpression", "reason", "fieldPath", "optionalOldSelf")
    empty = {"reason": None, "optionalOldSelf": None}
    value = {name[0].upper() + name[1:]: source.get(name, empty.get(name, "")) for name in names}
    return wrong(at, value, text)


def _form(source: Tree, schema: Tree, at: str) -> list[Cause]:
    rule, message = source.get("rule") or "", source.get("message") or ""
    causes: list[Cause] = []
    if not rule.strip():
        causes.append(required(f"{at}.rule", "rule is not specified"))
    elif message and not message.strip():
        causes.append(wrong(f"{at}.message", message, "must be non-empty if specified"))
    elif _BREAKS.search(message.strip()):
        causes.append(wrong(f"{at}.message", message, "must not contain line breaks"))
    elif _BREAKS.search(rule.strip()) and not message.strip():
        causes.append(required(f"{at}.message", "message must be specified if rule contains line breaks"))
    expression = source.get("messageExpression") or ""
    if expression and not expression.strip():
        causes.append(required(f"{at}.messageExpression", "messageExpression must be non-empty if specified"))
    if source.get("reason") is not None and source["reason"] not in _REASONS:
        causes.append(unsupported(f"{at}.reason", source["reason"], _REASONS))
    path = source.get("fieldPath") or ""
    if path and not path.strip():
        causes.append(wrong(f"{at}.fieldPath", path, "must be non-empty if specified"))
    if _BREAKS.search(path):
        causes.append(wrong(f"{at}.fieldPath", path, "must not contain line breaks"))
    if path and _normal(path, schema) is None:
        causes.append(wrong(f"{at}.fieldPath", path, "must be a valid path"))
    return causes


def _normal(path: str, schema: Tree) -> str | None:
    """A path of fields and keys as complaints write it; None where the schema has no such place."""
    made, at = "", 0
    for found in _PATH.finditer(path):
        if found.start() != at:
            return None
        at = found.end()
        name = found[1] if found[1] is not None else re.sub(r"\\(.)", r"\1", found[2])
        if schema.get("properties"):
            if name not in schema["properties"]:
                return None
            schema, made = schema["properties"][name], f"{made}.{name}" if made else name
        elif isinstance(schema.get("additionalProperties"), dict):
            schema, made = schema["additionalProperties"], f"{made}[{name}]"
        else:
            return None
    return made if at == len(path) else None


# Compiling


class _Refused(ValueError):
    """`field` is the one of the rule that cannot be used."""

    def __init__(self, field: str, text: str) -> None:
        super().__init__(text)
        self.field = field


def compiled(schema: Tree, node: Node, *, is_root: bool = False) -> Rules | None:
    """All rules of a schema without broken rules; None when there are none."""
    children = schema.get("properties") or {}
    found = {name: compiled(each, node.properties[name]) for name, each in children.items()}
    properties = {name: rules for name, rules in found.items() if rules is not None}
    items = compiled(schema["items"], node.items) if node.items is not None else None
    rest = compiled(schema["additionalProperties"], node.rest) if node.rest is not None else None
    is_root = is_root or node.embedded
    own = tuple(_compiled(source, node, is_root=is_root) for source in schema.get(KEY) or [])
    if not (own or properties or items or rest):
        return None
    return Rules(node, is_root, own, properties, items, rest)


def _compiled(source: Tree, node: Node, *, is_root: bool) -> ValidationRule:
    is_optional = bool(source.get("optionalOldSelf"))
    kind = typed(node, is_root=is_root) or DYN
    variables = {"self": kind, "oldSelf": optional_of(kind) if is_optional else kind}
    program = _program(source["rule"], variables, "rule", BOOL)
    message = None
    if source.get("messageExpression"):
        message = _program(source["messageExpression"], variables, "messageExpression", STRING)
    path = _normal(source.get("fieldPath") or "", dict(node.source)) or ""
    return ValidationRule(source, program, message, "oldSelf" in named(program.expression), is_optional, path)


def _program(expression: str, variables: dict[str, Type], field: str, wanted: Type) -> cel.Program:
    """The expression made ready; raises _Refused."""
    prefix, subject = ("", "cel expression") if field == "rule" else ("messageExpression ", "messageExpression")
    try:
        program = cel.compiled(expression, variables)
    except cel.NotCompiled as error:
        raise _Refused(field, f"{prefix}compilation failed: {error}") from None
    if program.type != wanted:
        raise _Refused(field, f"{subject} must evaluate to a {wanted}")
    return program


# Evaluating


def causes_of(rules: Rules, value: Any, old: Any = UNSET) -> list[Cause]:
    """Broken rules of a whole object; without an old one there is nothing to compare with."""
    causes: list[Cause] = []
    _walk(rules, value, old, "", is_same=False, causes=causes)
    return causes


def _walk(rules: Rules, value: Any, old: Any, path: str, *, is_same: bool, causes: list[Cause]) -> None:
    """`is_same`: what this lies in did not change, where nothing is known of it itself."""
    if value is None:
        return
    old = UNSET if old is None else old
    if old is not UNSET:
        is_same = same(value, old)
    causes += _broken(rules, value, old, path, is_same)
    if isinstance(value, list) and rules.items is not None:
        known = by_key(old, rules.node)
        for index, item in enumerate(value):
            before = known.get(key_of(item, rules.node), UNSET) if known else UNSET
            _walk(rules.items, item, before, f"{path}[{index}]", is_same=is_same, causes=causes)
    elif isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for key in sorted(value):
            child = rules.properties.get(key)
            if child is not None:
                below = f"{path}.{key}" if path else key
                _walk(child, value[key], before.get(key), below, is_same=is_same, causes=causes)
            elif rules.rest is not None:
                _walk(rules.rest, value[key], before.get(key), f"{path}[{key}]", is_same=is_same, causes=causes)


def _broken(rules: Rules, value: Any, old: Any, path: str, is_same: bool) -> list[Cause]:
    causes: list[Cause] = []
    kind = (rules.node.types or ("",))[0]
    values = {"self": bound(rules.node, value)}
    before = None if old is UNSET else bound(rules.node, old)
    for rule in rules.rules:
        if rule.is_optional:
            values["oldSelf"] = NONE if old is UNSET else optional(before)
        elif rule.uses_old and old is UNSET:
            continue
        else:
            values["oldSelf"] = before
        try:
            if rule.program.evaluate(values) is True:
                continue
        except cel.Failed as failure:
            causes.append(wrong(path or _NOWHERE, kind, _failure(rule, str(failure))))
            continue
        if rule.uses_old or not is_same:
            causes.append(_cause(rule, value, kind, path, _message(rule, values)))
    return causes


def _failure(rule: ValidationRule, text: str) -> str:
    if text.startswith("no such overload"):
        words = "call arguments did not match a supported operator, function or macro signature for rule"
        return f"'{text}': {words}: {rule.name}"
    return f"{text} evaluating rule: {rule.name}"


def _message(rule: ValidationRule, values: Tree) -> str:
    """What a broken rule says; its expression for that counts only where it comes to one line of text."""
    if rule.message is not None:
        try:
            said = str(rule.message.evaluate(values)).strip()
        except cel.Failed:
            said = ""
        if said and "\n" not in said and len(said.encode()) <= _LONGEST_MESSAGE:
            return said
    return rule.name if rule.source.get("message") else f"failed rule: {rule.name}"


def _cause(rule: ValidationRule, value: Any, kind: str, path: str, text: str) -> Cause:
    at = f"{path}.{rule.path}" if path and rule.path else path or rule.path or _NOWHERE
    shows = kind not in ("object", "array")
    match rule.source.get("reason"):
        case "FieldValueForbidden":
            return not_allowed(at, text)
        case "FieldValueRequired":
            return required(at, text)
        case "FieldValueDuplicate":
            return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}" if shows else "Duplicate value", at)
        case _:
            return wrong(at, value, text) if shows else Cause("FieldValueInvalid", f"Invalid value: {text}", at)
