"""Expressions about requests for a change: what they see, which conditions a webhook or policy may have, whether they
hold.

Conditions are all evaluated before one counts: a single false one decides, whatever went wrong in the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kubesim.cel import program as cel
from kubesim.cel.authorizer import AUTHORIZER, RESOURCE_CHECK
from kubesim.cel.check import object_type
from kubesim.cel.types import BOOL, DYN, INT, STRING, TIMESTAMP, Type, list_of, map_of
from kubesim.errors import Cause, required, wrong
from kubesim.rules.webhook_configurations import Condition
from kubesim.schema.values import duplicate, each, qualified, too_many
from kubesim.store.versions import Tree

MOST_CONDITIONS = 64
_REMEMBERED = 2048
_TEXTS = map_of(STRING, STRING)
_KIND = object_type("kubernetes.GroupVersionKind", dict.fromkeys(("group", "version", "kind"), STRING))
_RESOURCE = object_type("kubernetes.GroupVersionResource", dict.fromkeys(("group", "version", "resource"), STRING))
_USER = object_type(
    "kubernetes.UserInfo",
    {"username": STRING, "uid": STRING, "groups": list_of(STRING), "extra": map_of(STRING, list_of(STRING))},
)
REQUEST = object_type(
    "kubernetes.AdmissionRequest",
    {
        **dict.fromkeys(("kind", "requestKind"), _KIND),
        **dict.fromkeys(("resource", "requestResource"), _RESOURCE),
        **dict.fromkeys(("subResource", "requestSubResource", "name", "namespace", "operation"), STRING),
        "userInfo": _USER,
        "dryRun": BOOL,
        "options": DYN,
    },
)
_SPACE_METADATA = object_type(
    "kubernetes.NamespaceMetadata",
    {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), STRING),
        **dict.fromkeys(("labels", "annotations"), _TEXTS),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), TIMESTAMP),
        **dict.fromkeys(("deletionGracePeriodSeconds", "generation"), INT),
        "finalizers": list_of(STRING),
    },
)
_SPACE_CONDITION = object_type(
    "kubernetes.NamespaceCondition",
    {**dict.fromkeys(("status", "type", "message", "reason"), STRING), "lastTransitionTime": TIMESTAMP},
)
_SPACE_STATUS = object_type("kubernetes.NamespaceStatus", {"conditions": list_of(_SPACE_CONDITION), "phase": STRING})
NAMESPACE = object_type(
    "kubernetes.Namespace",
    {
        "metadata": _SPACE_METADATA,
        "spec": object_type("kubernetes.NamespaceSpec", {"finalizers": list_of(STRING)}),
        "status": _SPACE_STATUS,
    },
)


def variables(*, params: bool = False, authorizer: bool = True, composed: Type | None = None) -> dict[str, Type]:
    """The types of what an expression about a request may name."""
    known = {"object": DYN, "oldObject": DYN, "namespaceObject": NAMESPACE, "request": REQUEST}
    if params:
        known["params"] = DYN
    if authorizer:
        known |= {"authorizer": AUTHORIZER, "authorizer.requestResource": RESOURCE_CHECK}
    return known if composed is None else known | {"variables": composed}


class Unmatched(Exception):
    """Conditions that came to no answer; the text says why."""


# What a configuration may say


def causes_of(conditions: Sequence[Tree], at: str, *, params: bool = False) -> Iterator[Cause]:
    """Broken rules of conditions."""
    if len(conditions) > MOST_CONDITIONS:
        yield too_many(at, len(conditions), MOST_CONDITIONS)
    names: list[str] = []
    for index, condition in enumerate(conditions):
        place, name = f"{at}[{index}]", condition.get("name") or ""
        expression = (condition.get("expression") or "").strip()
        if not expression:
            yield required(f"{place}.expression")
        else:
            yield from expression_causes(expression, variables(params=params), (BOOL,), f"{place}.expression")
        if not name:
            yield required(f"{place}.name")
            continue
        yield from each(qualified, name, f"{place}.name")
        if name in names:
            yield duplicate(f"{place}.name", name)
        names.append(name)


def expression_causes(
    expression: str, known: Mapping[str, Type], wanted: Sequence[Type], at: str, *, whole: str = ""
) -> Iterator[Cause]:
    """Why an expression cannot be used where a value of these types is wanted; none means of any."""
    shown = whole or expression
    try:
        kind = cel.compiled(expression, known).type
    except cel.NotCompiled as error:
        yield wrong(at, shown, f"compilation failed: {error}")
        return
    if wanted and kind not in wanted:
        types = " ".join(map(str, wanted))
        need = f"must evaluate to {types}" if len(wanted) == 1 else f"must evaluate to one of [{types}]"
        yield wrong(at, shown, f"{need} but got {kind}")


# Evaluating


@lru_cache(_REMEMBERED)
def _program(expression: str, params: bool) -> cel.Program:
    return cel.compiled(expression, variables(params=params))


def matches(conditions: Iterable[Condition], values: Mapping[str, Any], policy: str) -> bool:
    """Whether all conditions hold; raises Unmatched where the failure policy lets an error count."""
    troubles: list[str] = []
    for condition in conditions:
        expression = condition.expression
        try:
            if _program(expression, "params" in values).evaluate(values) is False:
                return False
        except cel.Failed as failure:
            troubles.append(f"expression '{expression}' resulted in error: {failure}")
    if troubles and policy == "Ignore":
        return False
    if troubles:
        told = list(dict.fromkeys(troubles))
        raise Unmatched(told[0] if len(told) == 1 else f"[{', '.join(told)}]")
    return True
