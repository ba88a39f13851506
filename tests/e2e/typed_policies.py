"""Policies that fit the kinds they are about, or do not; what their status says is in `typed_answers.json`."""

from __future__ import annotations

from typing import Any

from tests.e2e.history import Tree
from tests.e2e.policies import a_policy


def _about(resources: str, *validations: str | Tree, groups: str = "apps", **spec: Any) -> Tree:
    rule = {
        "apiGroups": [each.strip("'") for each in groups.split()],
        "apiVersions": ["v1"],
        "operations": ["*"],
        "resources": resources.split(),
    }
    return a_policy("typed", *validations, constraints={"resourceRules": [rule]}, **spec)


def _named(name: str, expression: str) -> Tree:
    return {"name": name, "expression": expression}


_CORE = "''"
_MANY = "configmaps daemonsets deployments endpoints events jobs namespaces nodes pods secrets services statefulsets"
_MESSAGE = {"expression": "object.spec.replica < 5", "messageExpression": "string(object.metadata.nam)"}

POLICIES: dict[str, Tree] = {
    "one that fits": _about("deployments", "object.spec.replicas < 5"),
    "misspelt fields": _about("deployments", _MESSAGE, "object.spec.template.spec.containers.all(c, c.imag == 'a')"),
    "several kinds": _about("deployments pods statefulsets", "object.spec.replicas < 5", groups=f"apps {_CORE}"),
    "any group": _about("deployments", "object.spec.replica < 5", groups="*"),
    "subresources and all": _about("deployments/scale *", "object.spec.replica < 5"),
    "the name of one": _about("deployment", "object.spec.replica < 5"),
    "a kind of another group": _about("deployments", "object.spec.replica < 5", groups=_CORE),
    "more kinds than are looked at": _about(_MANY, "object.odd == 1", groups=f"{_CORE} apps batch"),
    "a kind that is not served": _about("things", "object.spec.replica < 5", groups="no.such"),
    "variables": _about(
        "deployments",
        "variables.x == 'a' && variables.y",
        variables=[_named("x", "object.spec.replicas"), _named("y", "object.spec.odd")],
    ),
    "parameters": _about(
        "deployments",
        "params.data.most == 3 && params.odd",
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    ),
    "parameters that are not served": _about(
        "deployments", "params.odd == 3", paramKind={"apiVersion": "no.such/v1", "kind": "Thing"}
    ),
    "types of values": _about(
        "pods",
        "object.spec.containers[0].resources.limits['cpu'] == 3",
        "object.metadata.creationTimestamp > 4",
        "object.spec.containers[0].ports[0].containerPort == 'a'",
        "object.spec.containers[0].livenessProbe.httpGet.port == 5",
        "object.metadata.labels.all(k, k == 5)",
        groups=_CORE,
    ),
    "bytes and text": _about("secrets configmaps", "object.data.a == 3", groups=_CORE),
    "any data": _about("controllerrevisions", "object.data.x == 1 && object.metadata.managedFields[0].fieldsV1.y == 2"),
    "a schema of schemas": _about(
        "customresourcedefinitions",
        "object.spec.versions[0].schema.openAPIV3Schema.properties['a'].type == 3",
        groups="apiextensions.k8s.io",
    ),
    "what is there besides": _about(
        "deployments",
        "oldObject == null && object != null && request.operation == 'CREATE' && namespaceObject.metadata.name == 'a'",
        "authorizer.requestResource.check('get').allowed()",
    ),
    "conditions and annotations": _about(
        "deployments",
        "true",
        matchConditions=[_named("a", "object.spec.odd == 1")],
        auditAnnotations=[{"key": "a", "valueExpression": "string(object.spec.odd)"}],
    ),
}
