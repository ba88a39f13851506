"""Policies, requests, and what the API server says of them.

A case is a policy with its bindings, and the objects that are created under it in turn, with the answers.
"""

from __future__ import annotations

from typing import Any

from tests.e2e.history import Tree
from tests.e2e.policies import a_binding, a_map, a_policy, a_rule

Answer = tuple[int, str, str]
TAKEN: Answer = (201, "", "")


class Case:
    """One policy, its bindings, and what becomes of objects."""

    def __init__(self, policy: Tree, bindings: list[Tree], objects: list[tuple[Tree, Answer]]) -> None:
        self.policy = policy
        self.bindings = bindings
        self.objects = objects


def denied(
    case: str, why: str, *, code: int = 422, reason: str = "Invalid", binding: str = "", name: str = ""
) -> Answer:
    bound = binding or f"{case}-binding"
    text = f"ValidatingAdmissionPolicy '{case}' with binding '{bound}' denied request: {why}"
    return code, reason, f'configmaps "{name or case}" is forbidden: {text}'


def _case(name: str, *validations: str | Tree, objects: list[tuple[Tree, Answer]], **more: Any) -> tuple[str, Case]:
    bindings = more.pop("bindings", None) or [
        a_binding(name, actions=more.pop("actions", ("Deny",)), **more.pop("bound", {}))
    ]
    return name, Case(a_policy(name, *validations, **more), bindings, objects)


def _one(case: str, answer: Answer, **data: str) -> list[tuple[Tree, Answer]]:
    return [(a_map(case, case, **data), answer)]


def _failed(expression: str, why: str) -> str:
    return f"expression '{expression}' resulted in error: {why}"


_SMALL = "size(object.data) < 2"
_LIMIT = "size(object.data) <= int(params.data.most)"
_PARAM_KIND = {"apiVersion": "v1", "kind": "ConfigMap"}
_NO_PARAMS = "no params found for policy binding with `Deny` parameterNotFoundAction"
_EITHER = "quantity(object.data.a).isLessThan(quantity('5')) || object.data.?b.orValue('') == 'b'"
_WARNED = "Validation failed for ValidatingAdmissionPolicy '{0}' with binding '{0}-binding': {1}"

CASES: dict[str, Case] = dict(
    [
        _case(
            "plain",
            _SMALL,
            objects=[
                *_one("plain", TAKEN, a="1"),
                *_one("plain", denied("plain", f"failed expression: {_SMALL}"), a="1", b="2"),
            ],
        ),
        _case(
            "message",
            {"expression": _SMALL, "message": " too large "},
            objects=_one("message", denied("message", "too large"), a="1", b="2"),
        ),
        _case(
            "said",
            {"expression": "false", "messageExpression": "'no ' + object.data.a", "message": "plain"},
            objects=_one("said", denied("said", "no way"), a="way"),
        ),
        _case(
            "saidbadly",
            {"expression": "false", "messageExpression": "'no ' + object.data.b", "message": "plain"},
            objects=_one("saidbadly", denied("saidbadly", "plain"), a="way"),
        ),
        _case(
            "saidlong",
            {"expression": "false", "messageExpression": "'a\\nb'"},
            objects=_one("saidlong", denied("saidlong", "failed expression: false"), a="way"),
        ),
        _case(
            "forbidden",
            {"expression": "false", "reason": "Forbidden"},
            objects=_one("forbidden", denied("forbidden", "failed expression: false", code=403, reason="Forbidden")),
        ),
        _case(
            "toolarge",
            {"expression": "false", "reason": "RequestEntityTooLarge", "message": "large"},
            objects=_one("toolarge", denied("toolarge", "large", code=413, reason="RequestEntityTooLarge")),
        ),
        _case(
            "several",
            "true",
            {"expression": "false", "message": "second"},
            {"expression": "false", "message": "third", "reason": "Forbidden"},
            objects=_one("several", denied("several", "second")),
        ),
        _case(
            "broken",
            "object.data.a == 'x'",
            objects=_one("broken", denied("broken", _failed("object.data.a == 'x'", "no such key: a")), b="1"),
        ),
        _case(
            "lenient",
            "object.data.a == 'x'",
            failurePolicy="Ignore",
            objects=[
                *_one("lenient", TAKEN, b="1"),
                (
                    a_map("lenient-2", "lenient", a="y"),
                    denied("lenient", "failed expression: object.data.a == 'x'", name="lenient-2"),
                ),
            ],
        ),
        _case(
            "warned",
            {"expression": "false", "message": "careful"},
            actions=("Warn",),
            objects=_one("warned", (201, "", f'299 - "{_WARNED.format("warned", "careful")}"')),
        ),
        _case("audited", "false", actions=("Audit",), objects=_one("audited", TAKEN)),
        _case(
            "both",
            {"expression": "false", "message": "careful"},
            actions=("Warn", "Audit"),
            objects=_one("both", (201, "", f'299 - "{_WARNED.format("both", "careful")}"')),
        ),
        _case(
            "variables",
            "variables.few",
            variables=[
                {"name": "count", "expression": "size(object.data)"},
                {"name": "few", "expression": "variables.count < 2"},
                {"name": "unused", "expression": "object.nope.nope"},
            ],
            objects=[
                *_one("variables", TAKEN, a="1"),
                *_one("variables", denied("variables", "failed expression: variables.few"), a="1", b="2"),
            ],
        ),
        _case(
            "badvariable",
            "variables.a == 1",
            variables=[{"name": "a", "expression": "object.nope"}],
            objects=_one(
                "badvariable",
                denied(
                    "badvariable",
                    _failed("variables.a == 1", 'composited variable "a" fails to evaluate: no such key: nope'),
                ),
            ),
        ),
        _case(
            "space",
            "namespaceObject.metadata.name == object.metadata.namespace && namespaceObject.status.phase == 'Active'",
            "'kubernetes.io/metadata.name' in namespaceObject.metadata.labels",
            objects=_one("space", TAKEN),
        ),
        _case(
            "authorizer",
            "authorizer.group('').resource('pods').namespace('x').check('get').allowed()",
            "!authorizer.serviceAccount('default', 'nobody').group('').resource('pods').check('create').allowed()",
            "authorizer.requestResource.check('delete').allowed() && authorizer.path('/x').check('get').allowed()",
            objects=_one("authorizer", TAKEN),
        ),
        _case(
            "request",
            "request.operation == 'CREATE' && request.kind.kind == 'ConfigMap'",
            "request.resource.resource == 'configmaps'",
            "request.name == object.metadata.name && request.namespace == object.metadata.namespace && !request.dryRun",
            "'system:masters' in request.userInfo.groups && request.requestKind == request.kind",
            "!has(request.subResource) && request.options.kind == 'CreateOptions'",
            objects=_one("request", TAKEN),
        ),
        _case("created", "oldObject == null && object != null", objects=_one("created", TAKEN)),
        _case(
            "excluded",
            "false",
            constraints={"excludeResourceRules": [a_rule(resourceNames=["excluded"])]},
            objects=[
                *_one("excluded", TAKEN),
                (a_map("other", "excluded"), denied("excluded", "failed expression: false", name="other")),
            ],
        ),
        _case(
            "named",
            "false",
            constraints={"resourceRules": [a_rule(resourceNames=["named"])]},
            objects=[*_one("named", denied("named", "failed expression: false")), (a_map("unnamed", "named"), TAKEN)],
        ),
        _case(
            "elsewhere",
            "false",
            bound={
                "matchResources": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}
            },
            objects=_one("elsewhere", TAKEN),
        ),
        _case(
            "narrowed",
            "false",
            bound={"matchResources": {"resourceRules": [a_rule("UPDATE")]}},
            objects=_one("narrowed", TAKEN),
        ),
        _case(
            "params",
            {"expression": _LIMIT, "messageExpression": "'at most ' + params.data.most"},
            paramKind=_PARAM_KIND,
            bound={"paramRef": {"name": "limit", "parameterNotFoundAction": "Deny"}},
            objects=[*_one("params", TAKEN, a="1"), *_one("params", denied("params", "at most 1"), a="1", b="2")],
        ),
        _case(
            "selected",
            {
                "expression": _LIMIT,
                "messageExpression": "'at most ' + params.data.most + ' of ' + params.metadata.name",
            },
            paramKind=_PARAM_KIND,
            bound={"paramRef": {"selector": {"matchLabels": {"limits": "yes"}}, "parameterNotFoundAction": "Deny"}},
            objects=[
                *_one("selected", TAKEN, a="1"),
                *_one("selected", denied("selected", "at most 1 of limit"), a="1", b="2"),
            ],
        ),
        _case(
            "missing",
            "true",
            paramKind=_PARAM_KIND,
            bound={"paramRef": {"name": "nope", "parameterNotFoundAction": "Deny"}},
            objects=_one(
                "missing",
                denied(
                    "missing",
                    "failed to configure binding: " + _NO_PARAMS,
                ),
            ),
        ),
        _case(
            "tolerated",
            "false",
            paramKind=_PARAM_KIND,
            bound={"paramRef": {"name": "nope", "parameterNotFoundAction": "Allow"}},
            objects=_one("tolerated", TAKEN),
        ),
        _case("noref", "params == null", paramKind=_PARAM_KIND, objects=_one("noref", TAKEN)),
        _case(
            "nokind",
            "true",
            paramKind={"apiVersion": "shop.example.com/v9", "kind": "Gizmo"},
            bound={"paramRef": {"name": "nope", "parameterNotFoundAction": "Allow"}},
            objects=_one(
                "nokind",
                (
                    422,
                    "Invalid",
                    (
                        "configmaps \"nokind\" is forbidden: ValidatingAdmissionPolicy 'nokind' denied request: failed "
                        "to configure policy: failed to find resource referenced by paramKind: "
                        "'shop.example.com/v9, Kind=Gizmo'"
                    ),
                ),
            ),
        ),
        _case(
            "skipped",
            "false",
            matchConditions=[{"name": "never", "expression": "has(object.data) && object.data.a == 'x'"}],
            objects=[
                *_one("skipped", TAKEN, a="1"),
                *_one("skipped", denied("skipped", "failed expression: false"), a="x"),
            ],
        ),
        _case(
            "unclear",
            "true",
            matchConditions=[
                {"name": "a", "expression": "object.data.a == 'x'"},
                {"name": "b", "expression": "object.nope == 1"},
            ],
            objects=[
                *_one(
                    "unclear",
                    denied(
                        "unclear",
                        "["
                        + _failed("object.data.a == 'x'", "no such key: a")
                        + ", "
                        + _failed("object.nope == 1", "no such key: nope")
                        + "]",
                    ),
                    b="1",
                ),
                *_one("unclear", TAKEN, a="y"),
            ],
        ),
        _case(
            "annotated",
            auditAnnotations=[{"key": "size", "valueExpression": "string(size(object.data))"}],
            objects=[
                *_one("annotated", TAKEN, a="1"),
                *_one("annotated", denied("annotated", _failed("string(size(object.data))", "no such key: data"))),
            ],
        ),
        _case(
            "twice",
            {"expression": "false", "message": "no"},
            bindings=[a_binding("twice", name="twice-a", actions=("Warn",)), a_binding("twice", name="twice-b")],
            objects=_one("twice", denied("twice", "no", binding="twice-b")),
        ),
        _case(
            "types",
            "object.data.all(k, v, k.size() == v.size())",
            "format.dns1123Label().validate(object.metadata.name) == optional.none()",
            _EITHER,
            objects=[
                *_one("types", TAKEN, a="1"),
                (
                    a_map("types-2", "types", a="7", b="c"),
                    denied(
                        "types",
                        f"failed expression: {_EITHER}",
                        name="types-2",
                    ),
                ),
            ],
        ),
    ]
)
