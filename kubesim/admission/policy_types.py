"""Policies against the types of what they are about: expressions that name what no such object can have.

A policy is compiled without knowing what it will see; this tells afterwards, as warnings, where its expressions do not
fit the kinds that it names one by one. Kinds behind a `*` are not looked at, nor are subresources.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

import msgspec
from msgspec import Struct

from kubesim.admission.conditions import variables
from kubesim.admission.policies import PolicySpec
from kubesim.admission.webhooks import WebhookRule
from kubesim.cel import program as cel
from kubesim.cel.check import object_type
from kubesim.cel.schema import FORMATS, SIMPLE, escaped
from kubesim.cel.types import BYTES, DYN, STRING, Field, Type, list_of, map_of
from kubesim.kinds.registry import Kind, Registry
from kubesim.versions import Tree

_MOST_KINDS = 10
_OBJECT_META = "meta.v1.ObjectMeta"
_BYTES = {"bytes": BYTES, "map[string]bytes": map_of(STRING, BYTES)}
_REQUEST_RESOURCE = "authorizer.requestResource"
"""The server does not know it where it looks at types."""


class _Types(Struct):
    """What the file says of built-in kinds; it holds more, for others."""

    kinds: dict[str, str]
    types: dict[str, Tree]
    go: dict[str, dict[str, str] | str]
    """How fields are declared; schemas do not tell text from bytes."""


@cache
def _types() -> _Types:
    return msgspec.json.decode(files("kubesim").joinpath("data/schemas.json").read_bytes(), type=_Types)


def warnings_of(spec: PolicySpec, registry: Registry) -> list[Tree]:
    """What is wrong with which expression, for the status of a policy."""
    known = [(_shown(kind), typed) for kind in _kinds(spec, registry) if (typed := _type_of(kind)) is not None]
    found: list[Tree] = []
    for index, validation in enumerate(spec.validations):
        texts = {"expression": validation.expression, "messageExpression": validation.message_expression}
        for field, expression in texts.items():
            if expression and (told := _told(expression, spec, known, registry)):
                found.append({"fieldRef": f"spec.validations[{index}].{field}", "warning": told})
    return found


def _told(expression: str, spec: PolicySpec, known: list[tuple[str, Type]], registry: Registry) -> str:
    """Mistakes by kind."""
    told: list[str] = []
    for name, kind in known:
        try:
            cel.compiled(expression, _visible(spec, kind, registry))
        except cel.NotCompiled as error:
            told.append(f"{name}: {error}\n")
    return "\n".join(told)


def _visible(spec: PolicySpec, kind: Type, registry: Registry) -> dict[str, Type]:
    """The types of what an expression may name; variables that do not fit may be anything."""
    seen = variables(params=spec.param_kind is not None) | {"object": kind, "oldObject": kind}
    del seen[_REQUEST_RESOURCE]
    if spec.param_kind is not None:
        seen["params"] = _params(spec.param_kind.api_version, spec.param_kind.kind, registry)
    composed: dict[str, Type] = {}
    for each in spec.variables:
        seen["variables"] = object_type("kubernetes.variables", composed)
        try:
            composed[each.name] = cel.compiled(each.expression, seen).type
        except cel.NotCompiled:
            composed[each.name] = DYN
    return seen | {"variables": object_type("kubernetes.variables", composed)} if composed else seen


def _params(api_version: str, name: str, registry: Registry) -> Type:
    group, _, version = api_version.rpartition("/")
    served = registry.served(group, version)
    kind = next((each for each in served if each.resource.kind == name), None)
    found = None if kind is None else _type_of(kind)
    return DYN if found is None else found


# Kinds


def _kinds(spec: PolicySpec, registry: Registry) -> list[Kind]:
    """Those that the rules name, in order; a rule that names very many is the last that is looked at."""
    found: dict[tuple[str, str, str], Kind] = {}
    for rule in spec.match_constraints.resource_rules:
        kinds = _named(rule, registry)[:_MOST_KINDS]
        for resource, kind in ((each.resource, each) for each in kinds):
            found[resource.group, resource.version, resource.kind] = kind
        if len(kinds) == _MOST_KINDS:
            break
    return [found[key] for key in sorted(found)]


def _named(rule: WebhookRule, registry: Registry) -> list[Kind]:
    if any("*" in each for each in (*rule.api_groups, *rule.api_versions)):
        return []
    plain = sorted(each for each in rule.resources if not {"*", "/"} & set(each))
    everywhere = sorted(registry.versions())
    return [
        kind
        for group in sorted(rule.api_groups)
        for version in sorted(rule.api_versions)
        for name in plain
        for each in ([group] if group else everywhere)  # to the server, no group here means any
        for kind in registry.served(each, version)
        if name in (kind.resource.plural, kind.resource.kind.lower())
    ]


def _shown(kind: Kind) -> str:
    resource = kind.resource
    return f"{resource.group}/{resource.version}, Kind={resource.kind}"


# Types


def _type_of(kind: Kind) -> Type | None:
    resource = kind.resource
    if kind.custom is None:
        name = _types().kinds.get(f"{resource.api_version} {resource.kind}")
        return None if name is None else _built_in(name)
    made = _type(dict(kind.custom.root.source), resource.kind, ())
    if made is None or made.fields is None:
        return None
    fields: Mapping[str, Field] = {
        **made.fields,
        **{name: Field(name, STRING) for name in ("apiVersion", "kind")},
        "metadata": Field("metadata", _built_in(_OBJECT_META) or DYN),
    }
    return Type(resource.kind, fields=fields)


@cache
def _built_in(name: str) -> Type | None:
    return _type({"$ref": name}, name.rpartition(".")[2], ())


def _type(schema: Tree, name: str, above: tuple[str, ...]) -> Type | None:
    """The type of a schema; None where expressions can know nothing of its values."""
    reference = schema.get("$ref")
    if reference is not None:
        if reference in above:  # a schema of schemas; the server goes round once
            return Type(name, fields={})
        schema, above = _types().types[reference], (*above, reference)
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return DYN
    kind, rest = schema.get("type"), schema.get("additionalProperties")
    if kind == "array":
        inner = _type(schema.get("items") or {}, f"{name}.@idx", above)
        return None if inner is None else list_of(inner)
    if kind == "object" and isinstance(rest, dict):
        inner = _type(rest, f"{name}.@elem", above)
        return None if inner is None else map_of(STRING, inner)
    if kind == "object":
        return Type(name, fields=_fields(schema.get("properties") or {}, name, above))
    if kind == "string":
        return FORMATS.get(schema.get("format") or "", STRING)
    return SIMPLE.get(kind or "")


def _fields(properties: Mapping[str, Tree], name: str, above: tuple[str, ...]) -> dict[str, Field]:
    found: dict[str, Field] = {}
    declared = _types().go.get(above[-1]) if above else None
    told = declared if isinstance(declared, dict) else {}
    for key, each in properties.items():
        said = escaped(key)
        kind = _BYTES.get(told.get(key, "").strip("*?")) or _type(each, f"{name}.{key}", above)
        if said and kind is not None:
            found[said] = Field(key, kind)
    return found
