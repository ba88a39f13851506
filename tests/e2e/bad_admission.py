"""Webhook configurations, policies and bindings that are refused: each a good one with some of it changed."""

from __future__ import annotations

from typing import Any

from tests.e2e.history import Tree
from tests.e2e.policies import a_binding, a_policy, a_rule
from tests.e2e.webhooks import MUTATING, VALIDATING

_LONG = "a" * 64


def _hook(**changes: Any) -> Tree:
    hook: Tree = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://a.example.com/"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [a_rule()],
    }
    return {key: value for key, value in (hook | changes).items() if value is not None}


def _hooks(*hooks: Tree, mutating: bool = False) -> Tree:
    resource = MUTATING if mutating else VALIDATING
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": "bad.example.com"},
        "webhooks": list(hooks),
    }


def _conditions(*conditions: tuple[str, str]) -> Tree:
    return _hooks(_hook(matchConditions=[{"name": name, "expression": text} for name, text in conditions]))


def _rule(**changes: Any) -> Tree:
    return _hooks(_hook(rules=[a_rule() | changes]))


def _client(**config: Any) -> Tree:
    return _hooks(_hook(clientConfig=config))


def _policy(*validations: str | Tree, **spec: Any) -> Tree:
    return a_policy("bad.example.com", *(validations or ("true",)), **spec)


def _matching(**constraints: Any) -> Tree:
    return _policy(constraints=constraints)


def _variables(*named: tuple[str, str], test: str = "true") -> Tree:
    return _policy(test, variables=[{"name": name, "expression": text} for name, text in named])


def _notes(*noted: tuple[str, str]) -> Tree:
    return _policy(auditAnnotations=[{"key": key, "valueExpression": text} for key, text in noted])


def _bound(**spec: Any) -> Tree:
    tree = a_binding("p")
    return tree | {"spec": {key: value for key, value in (tree["spec"] | spec).items() if value is not None}}


CONFIGURATIONS: dict[str, Tree] = {
    "no name": _hooks(_hook(name="")),
    "a name that is none": _hooks(_hook(name="A.b.c")),
    "a short name": _hooks(_hook(name="a.b")),
    "a name twice": _hooks(_hook(), _hook()),
    "no side effects told": _hooks(_hook(sideEffects=None)),
    "side effects": _hooks(_hook(sideEffects="Some"), mutating=True),
    "no versions": _hooks(_hook(admissionReviewVersions=[])),
    "odd versions": _hooks(_hook(admissionReviewVersions=["v2", "V3", "v2"])),
    "an odd policy": _hooks(_hook(failurePolicy="Perhaps", matchPolicy="Some")),
    "an odd policy of asking again": _hooks(_hook(reinvocationPolicy="Always"), mutating=True),
    "no time": _hooks(_hook(timeoutSeconds=0)),
    "too much time": _hooks(_hook(timeoutSeconds=31)),
    "odd selectors": _hooks(
        _hook(
            namespaceSelector={"matchLabels": {"a b": "c d"}},
            objectSelector={"matchExpressions": [{"key": "a", "operator": "In"}, {"key": "b", "operator": "Is"}]},
        )
    ),
    "nowhere": _client(),
    "in two places": _client(url="https://a/", service={"name": "a", "namespace": "b"}),
    "a plain address": _client(url="http://a/"),
    "an address without a host": _client(url="https:///a"),
    "an address with too much": _client(url="https://me:secret@a/b?c=d#e"),
    "a service without names": _client(service={"path": "/"}),
    "a service without a name": _client(service={"namespace": "a"}),
    "a service with an odd path": _client(service={"name": "a", "namespace": "b", "path": "c//D"}),
    "a service with an empty path": _client(service={"name": "a", "namespace": "b", "path": "//"}),
    "a service with an odd port": _client(service={"name": "a", "namespace": "b", "port": 70000}),
    "no operations": _rule(operations=[]),
    "all operations and more": _rule(operations=["*", "CREATE"]),
    "an odd operation": _rule(operations=["SELECT"]),
    "no groups and versions": _rule(apiGroups=[], apiVersions=[]),
    "all groups and versions and more": _rule(apiGroups=["*", "a"], apiVersions=["v1", "*"]),
    "an empty version": _rule(apiVersions=[""]),
    "no resources": _rule(resources=[]),
    "an empty resource": _rule(resources=[""]),
    "all and more": _rule(resources=["*/*", "pods"]),
    "all of one and more": _rule(resources=["pods/*", "pods/status"]),
    "one of all and more": _rule(resources=["*/status", "pods/status"]),
    "all without parts and more": _rule(resources=["*", "pods"]),
    "an odd scope": _rule(scope="Global"),
    "a condition without anything": _conditions(("", " ")),
    "an odd name of a condition": _conditions(("a b", "true"), ("a/b/c", "true")),
    "a name of a condition twice": _conditions(("a", "true"), ("a", "true")),
    "too many conditions": _conditions(*((f"c{index}", "true") for index in range(65))),
    "a condition that is no test": _conditions(("a", "object.metadata.name"), ("b", "'x'"), ("c", "1 + 1")),
    "a condition with a mistake": _conditions(("a", "object.metadata.name ==")),
    "a condition about nothing known": _conditions(("a", "params.x == 1"), ("b", "variables.x == 1"), ("c", "odd(1)")),
    "a condition about an unknown field": _conditions(
        ("a", "request.user == 'me'"), ("b", "namespaceObject.name == ''")
    ),
    "a condition of the wrong types": _conditions(("a", "request.name > 1"), ("b", "request.dryRun == 'yes'")),
    "a condition about rights": _conditions(("a", "authorizer.group('apps')"), ("b", "authorizer.allowed()")),
    "a policy about nothing": _policy() | {"spec": {"validations": [{"expression": "true"}]}},
    "a policy without rules": _matching(resourceRules=[]),
    "an odd policy of failing": _policy(failurePolicy="Perhaps"),
    "an odd policy of matching": _matching(matchPolicy="Some"),
    "odd selectors of a policy": _matching(
        namespaceSelector={"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
        objectSelector={"matchLabels": {"a": _LONG}},
    ),
    "odd rules of a policy": _matching(resourceRules=[a_rule("SELECT", "", resourceNames=["a", "a", "..", "b/c"])]),
    "odd excluding rules": _matching(excludeResourceRules=[a_rule("*", "*/* pods")]),
    "a policy without tests": _policy() | {"spec": {"matchConstraints": {"resourceRules": [a_rule()]}}},
    "an empty test": _policy(" "),
    "tests that do not compile": _policy("object.a ==", "odd", "1", "object.a", "variables.a == 1"),
    "odd messages": _policy(
        {"expression": "true", "message": " "},
        {"expression": "true", "message": "a\nb"},
        {"expression": "true", "messageExpression": " "},
        {"expression": "true", "messageExpression": "1"},
        {"expression": "true", "messageExpression": "authorizer.path('/')"},
        {"expression": "true", "reason": "Odd"},
    ),
    "odd kinds of parameters": _policy(paramKind={"apiVersion": "", "kind": ""}),
    "odd names of parameters": _policy(paramKind={"apiVersion": "A.b/V1", "kind": "Some_Kind"}),
    "too many parts of a version": _policy(paramKind={"apiVersion": "a/b/c", "kind": "Kind"}),
    "odd variables": _variables(("", "1"), ("a-b", "1"), ("in", "1"), ("empty", " "), ("wrong", "odd(1)")),
    "variables of the wrong types": _variables(("a", "1"), ("b", "variables.a + 'x'"), test="variables.a == 'x'"),
    "an unknown variable": _variables(("a", "variables.b"), ("b", "1"), test="variables.c == 1"),
    "odd annotations": _notes(("a b", "'x'"), ("c", " "), ("d", "1"), ("e", "odd"), ("e", "'x'")),
    "too many annotations": _notes(*((f"a{index}", "'x'") for index in range(21))),
    "a binding of nothing": _bound(policyName=None, validationActions=None),
    "a binding of an odd name": _bound(policyName="A b"),
    "odd actions": _bound(validationActions=["Deny", "Deny", "Shout"]),
    "two ways of telling": _bound(validationActions=["Deny", "Warn"]),
    "parameters by nothing": _bound(paramRef={}),
    "parameters by two ways": _bound(paramRef={"name": "a", "selector": {}, "parameterNotFoundAction": "Deny"}),
    "parameters with an odd name": _bound(paramRef={"name": "a/b", "parameterNotFoundAction": "Perhaps"}),
    "odd resources of a binding": _bound(matchResources={"matchPolicy": "Some", "resourceRules": [a_rule("SELECT")]}),
}
