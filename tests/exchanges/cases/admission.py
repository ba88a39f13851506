"""Admission: webhooks of both kinds, their conditions, and policies in CEL."""

from __future__ import annotations

from typing import Any

from tests.exchanges.case import Case, Step, applied, case, delete, get, patch, post, put, quiet, ready, unordered
from tests.exchanges.cases.samples import ADMISSION, DEPLOYMENTS, MAPS, PODS, a_deployment, a_map, a_pod, an_object

ONE = f"{MAPS}/one"
VALIDATING, MUTATING = (f"{ADMISSION}/{kind}webhookconfigurations" for kind in ("validating", "mutating"))
POLICIES = f"{ADMISSION}/validatingadmissionpolicies"
BINDINGS = f"{ADMISSION}/validatingadmissionpolicybindings"
_HERE = {"matchLabels": {"kubernetes.io/metadata.name": "{ns}"}}
_MARKED = {"matchLabels": {"exchange/mark": "yes"}}


def _rule(operations: str = "CREATE UPDATE DELETE", resources: str = "configmaps", group: str = "") -> dict[str, Any]:
    return {
        "operations": operations.split(),
        "resources": resources.split(),
        "apiGroups": [group],
        "apiVersions": ["v1"],
    }


def _hook(handler: str, name: str = "hook.example.com", rule: Any = None, **fields: Any) -> dict[str, Any]:
    return {
        "name": name,
        "clientConfig": {"$hook": handler},
        "rules": [rule or _rule()],
        "namespaceSelector": _HERE,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "timeoutSeconds": 5,
    } | fields


def _configuration(path: str, hooks: list[dict[str, Any]]) -> dict[str, Any]:
    kind = "ValidatingWebhookConfiguration" if path == VALIDATING else "MutatingWebhookConfiguration"
    return an_object("admissionregistration.k8s.io/v1", kind, "{ns}", webhooks=hooks)


def _installed(path: str, *hooks: dict[str, Any]) -> list[Step]:
    """Creates the configuration and waits until it is in effect, which a marked object shows by being denied."""
    mark = _hook("mark", "mark.example.com", _rule("CREATE"), objectSelector=_MARKED)
    probe = post(MAPS, a_map("probe", {"key": "ok"}, labels={"exchange/mark": "yes"}), dryRun="All")
    return [quiet(post(path, _configuration(path, [mark, *hooks]))), ready(probe, 400, "in effect")]


_MADE = a_map(data={"a": "b"}, labels={"x": "y"})


def _answered(path: str, handler: str, *more: Step, **fields: Any) -> Case:
    kind = "validating" if path == VALIDATING else "mutating"
    name = f"{kind}: {handler}" + "".join(f" {key} {value}" for key, value in fields.items() if isinstance(value, str))
    return case(name, *_installed(path, _hook(handler, **fields)), post(MAPS, _MADE), *more)


_VALIDATING = (
    *(
        _answered(VALIDATING, handler)
        for handler in [
            "allow",
            "deny",
            "deny-silently",
            "deny-with-code",
            "deny-with-details",
            "warn",
            "deny-and-warn",
            "long-warning",
            "describe",
            "patch",
            "wrong-uid",
            "bad-audit",
            "not-json",
            "empty",
            "no-response",
            "wrong-version",
            "wrong-kind",
            "error-500",
            "error-404",
        ]
    ),
    _answered(VALIDATING, "error-500", failurePolicy="Ignore"),
    _answered(VALIDATING, "slow", timeoutSeconds=1),
    _answered(VALIDATING, "deny", failurePolicy="Ignore"),
)
_MUTATING = tuple(
    _answered(MUTATING, handler)
    for handler in [
        "patch",
        "patch-data",
        "patch-nothing",
        "patch-missing",
        "patch-test",
        "patch-name",
        "patch-namespace",
        "patch-unknown-field",
        "patch-wrong-type",
        "patch-invalid",
        "patch-no-type",
        "patch-wrong-kind",
        "patch-not-json",
        "patch-and-deny",
        "deny",
        "wrong-uid",
    ]
)

_CALLED = (
    case(
        "what a webhook is told",
        quiet(post(MAPS, _MADE)),
        quiet(post(DEPLOYMENTS, a_deployment())),
        *_installed(VALIDATING, _hook("describe", rule=_rule("*", "*/*", "*"))),
        put(ONE, a_map()),
        patch(ONE, {"data": {"a": "c"}}),
        delete(ONE),
        delete(ONE, dryRun="All"),
        post(MAPS, a_map("two"), dryRun="All"),
        patch(f"{DEPLOYMENTS}/one/scale", {"spec": {"replicas": 2}}),
        applied(f"{MAPS}/three", a_map("three")),
        delete(MAPS),
    ),
    case(
        "webhooks one after the other",
        *_installed(MUTATING, _hook("count", "a.example.com"), _hook("count", "b.example.com")),
        post(MAPS, _MADE),
    ),
    case(
        "webhooks that are asked again",
        *_installed(
            MUTATING,
            _hook("count", "a.example.com", reinvocationPolicy="IfNeeded"),
            _hook("patch-data", "b.example.com"),
        ),
        post(MAPS, _MADE),
    ),
    case(
        "webhooks of other operations",
        *_installed(VALIDATING, _hook("deny", rule=_rule("UPDATE"))),
        post(MAPS, _MADE),
        put(ONE, a_map(data={"a": "c"})),
        put(ONE, a_map(data={"a": "c"})),
        delete(ONE),
    ),
    case(
        "webhooks of selected objects",
        *_installed(VALIDATING, _hook("deny", objectSelector={"matchLabels": {"x": "y"}})),
        post(MAPS, a_map()),
        post(MAPS, a_map("two", labels={"x": "y"})),
        patch(ONE, {"metadata": {"labels": {"x": "y"}}}),
    ),
    case(
        "webhooks of other namespaces",
        *_installed(VALIDATING, _hook("deny", namespaceSelector={"matchLabels": {"none": "none"}})),
        post(MAPS, a_map()),
    ),
    case(
        "webhooks with effects in a dry run",
        *_installed(
            VALIDATING,
            _hook("allow", sideEffects="NoneOnDryRun"),
            _hook("allow", "b.example.com", rule=_rule("DELETE")),
        ),
        post(MAPS, a_map(), dryRun="All"),
    ),
    case(
        "webhooks and strategic patches of pods",
        quiet(post(PODS, a_pod())),
        *_installed(MUTATING, _hook("patch", rule=_rule("UPDATE", "pods"))),
        patch(f"{PODS}/one", {"metadata": {"labels": {"a": "b"}}}, "application/strategic-merge-patch+json"),
        get(f"{PODS}/one"),
    ),
)


def _refused(name: str, *hooks: dict[str, Any], path: str = VALIDATING) -> Case:
    return case(name, post(path, _configuration(path, list(hooks))))


_CONFIGURED = (
    _refused("a configuration with a bad name", _hook("allow", "short")),
    _refused("a configuration with one name twice", _hook("allow"), _hook("allow")),
    _refused("a configuration without effects", _hook("allow", sideEffects="Some")),
    _refused("a configuration without versions", _hook("allow", admissionReviewVersions=["v9"])),
    _refused("a configuration with a bad time", _hook("allow", timeoutSeconds=31)),
    _refused("a configuration with bad rules", _hook("allow", rule=_rule("CREATE *", "* pods", "*"))),
    _refused("a configuration with a bad policy", _hook("allow", failurePolicy="Maybe", matchPolicy="Maybe")),
    _refused("a configuration with a bad address", _hook("allow", clientConfig={"url": "http://x"})),
    _refused(
        "a configuration with two addresses",
        _hook("allow", clientConfig={"url": "https://x/y", "service": {"name": "a", "namespace": "b"}}),
    ),
    _refused("a configuration with a bad again", _hook("allow", reinvocationPolicy="Maybe"), path=MUTATING),
    _refused(
        "a configuration with bad conditions",
        _hook(
            "allow",
            matchConditions=[
                {"name": "", "expression": ""},
                {"name": "a", "expression": "nothing("},
                {"name": "b", "expression": "1"},
            ],
        ),
    ),
)

_CONDITIONS = (
    case(
        "conditions of a webhook",
        *_installed(
            VALIDATING,
            _hook("deny", matchConditions=[{"name": "named", "expression": "object.metadata.name.startsWith('a')"}]),
        ),
        post(MAPS, a_map("abc")),
        post(MAPS, a_map("xyz")),
    ),
    case(
        "conditions that cannot be told",
        *_installed(
            VALIDATING, _hook("deny", matchConditions=[{"name": "data", "expression": "object.data.key == 'x'"}])
        ),
        post(MAPS, a_map("abc")),
        post(MAPS, a_map("xyz", {"key": "y"})),
    ),
    case(
        "conditions that are ignored",
        *_installed(
            VALIDATING,
            _hook(
                "deny",
                failurePolicy="Ignore",
                matchConditions=[{"name": "data", "expression": "object.data.key == 'x'"}],
            ),
        ),
        post(MAPS, a_map("abc")),
    ),
    case(
        "conditions about the request",
        *_installed(
            VALIDATING,
            _hook(
                "deny",
                matchConditions=[
                    {
                        "name": "who",
                        "expression": "request.userInfo.username == 'admin' && request.operation == 'DELETE'",
                    }
                ],
            ),
        ),
        post(MAPS, a_map()),
        delete(ONE),
    ),
)


def _policy(*validations: dict[str, Any], rule: Any = None, **spec: Any) -> dict[str, Any]:
    match = {"resourceRules": [rule or _rule()], "namespaceSelector": _HERE}
    whole = {"matchConstraints": match, "validations": list(validations)} | spec
    return an_object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", "{ns}", spec=whole)


def _binding(**spec: Any) -> dict[str, Any]:
    whole = {"policyName": "{ns}", "validationActions": ["Deny"]} | spec
    return an_object("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", "{ns}", spec=whole)


_MARK = {"expression": "!has(object.metadata.labels) || !('mark' in object.metadata.labels)", "message": "in effect"}


def _enforced(*validations: dict[str, Any], binding: dict[str, Any] | None = None, **spec: Any) -> list[Step]:
    """A policy and its binding, in effect: a marked object breaks its first rule."""
    probe = post(MAPS, a_map("probe", {"key": "ok"}, labels={"mark": "yes"}), dryRun="All")
    return [
        quiet(post(POLICIES, _policy(_MARK, *validations, rule=_rule("CREATE UPDATE"), **spec))),
        quiet(post(BINDINGS, _binding(**(binding or {})))),
        ready(probe, 422, "in effect"),
    ]


def _bad_policy(name: str, *policies: dict[str, Any]) -> Case:
    return case(name, *[unordered(post(POLICIES, each)) for each in policies])


_DATA = {"expression": "object.data.key == 'ok'"}
_POLICIES = (
    case(
        "a policy",
        *_enforced(_DATA),
        post(MAPS, a_map("a", {"key": "ok"})),
        post(MAPS, a_map("b", {"key": "no"})),
        put(f"{MAPS}/a", a_map("a", {"key": "no"})),
        delete(f"{MAPS}/a"),
    ),
    case(
        "a policy with a message",
        *_enforced(_DATA | {"message": "the key must be ok"}),
        post(MAPS, a_map("b", {"key": "no"})),
    ),
    case(
        "a policy with a computed message",
        *_enforced(_DATA | {"messageExpression": "'not ' + object.data.key"}),
        post(MAPS, a_map("b", {"key": "no"})),
    ),
    case("a policy with a reason", *_enforced(_DATA | {"reason": "Forbidden"}), post(MAPS, a_map("b", {"key": "no"}))),
    case("a policy that cannot be told", *_enforced(_DATA), post(MAPS, a_map("b"))),
    case(
        "a policy with variables",
        *_enforced(
            {"expression": "variables.key == 'ok'"}, variables=[{"name": "key", "expression": "object.data.key"}]
        ),
        post(MAPS, a_map("b", {"key": "no"})),
    ),
    case(
        "a policy about a change",
        *_enforced({"expression": "oldObject == null || object.data.key == oldObject.data.key"}),
        post(MAPS, a_map("a", {"key": "x"})),
        put(f"{MAPS}/a", a_map("a", {"key": "y"})),
    ),
    case(
        "a policy with conditions",
        *_enforced(_DATA, matchConditions=[{"name": "named", "expression": "object.metadata.name != 'exempt'"}]),
        post(MAPS, a_map("exempt", {"key": "no"})),
        post(MAPS, a_map("b", {"key": "no"})),
    ),
    case(
        "a policy about its namespace",
        *_enforced({"expression": "namespaceObject.metadata.name != request.namespace"}),
        post(MAPS, a_map("b", {"key": "no"})),
    ),
    case(
        "several faults against a policy",
        *_enforced(_DATA, {"expression": "object.metadata.name != 'b'", "message": "not b"}),
        post(MAPS, a_map("b", {"key": "no"})),
    ),
    case(
        "a policy with parameters",
        quiet(post(MAPS, a_map("limits", {"key": "allowed"}))),
        *_enforced(
            {"expression": "object.data.key == params.data.key"},
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
            binding={"paramRef": {"name": "limits", "namespace": "{ns}", "parameterNotFoundAction": "Deny"}},
        ),
        post(MAPS, a_map("a", {"key": "allowed"})),
        post(MAPS, a_map("b", {"key": "no"})),
    ),
    _bad_policy(
        "policies that cannot be compiled",
        _policy({"expression": "object."}),
        _policy({"expression": "1 + 1"}),
        _policy({"expression": "nothing == 1"}),
    ),
    _bad_policy(
        "policies with wrong parts",
        _policy(),
        _policy(_DATA, failurePolicy="Maybe"),
        _policy(_DATA | {"reason": "Because"}),
        _policy(_DATA, variables=[{"name": "a b", "expression": "1"}]),
    ),
    case(
        "bindings that are refused",
        post(BINDINGS, _binding(policyName="")),
        post(BINDINGS, _binding(validationActions=["Deny", "Warn"])),
        post(BINDINGS, _binding(validationActions=["Shout"])),
        post(BINDINGS, _binding(paramRef={})),
    ),
)


def _warned() -> Case:
    """A binding that warns shows that it is in effect by its warning, which a policy beside it waits for."""
    second = _binding(policyName="{ns}", validationActions=["Warn"])
    second["metadata"]["name"] = "{ns}-warn"
    probing = _policy(_MARK, _DATA | {"message": "better not"}, rule=_rule("CREATE"))
    return case(
        "a policy that warns",
        quiet(post(POLICIES, probing)),
        quiet(post(BINDINGS, second)),
        quiet(post(BINDINGS, _binding(matchResources={"objectSelector": {"matchLabels": {"mark": "yes"}}}))),
        ready(post(MAPS, a_map("probe", {"key": "ok"}, labels={"mark": "yes"}), dryRun="All"), 422, "in effect"),
        post(MAPS, a_map("b", {"key": "no"})),
    )


CASES: tuple[Case, ...] = (
    *_VALIDATING,
    *_MUTATING,
    *_CALLED,
    *_CONFIGURED,
    *_CONDITIONS,
    *_POLICIES,
    _warned(),
)
