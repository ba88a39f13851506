"""Webhooks that answer oddly, or have conditions: what they are, and what they say.

Each is about objects that carry its name as a label. What the API server makes of each is in `admission_answers.json`.
"""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.e2e.history import Tree
from tests.e2e.webhooks import patching


def _conditions(*expressions: str, **hook: Any) -> Tree:
    named = [{"name": f"c{index}", "expression": text} for index, text in enumerate(expressions)]
    return {"hook": {"matchConditions": named, **hook}, "response": {"allowed": False, "status": {"message": "asked"}}}


def _says(mutating: bool = False, **response: Any) -> Tree:
    return {"mutating": mutating, "response": response}


def _patches(*operations: Any, **more: Any) -> Tree:
    return {"mutating": True, "response": patching(*operations) | more}


def _raw(body: str, status: int = 200, mutating: bool = False, **hook: Any) -> Tree:
    return {"body": body, "status": status, "mutating": mutating, "hook": hook}


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _patch(path: str, value: Any, operation: str = "add") -> Tree:
    return {"op": operation, "path": path, "value": value}


_REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
_MISSING = "object.data.nope == 'x'"

HOOKS: dict[str, Tree] = {
    "condition-true": _conditions("object.metadata.name == 'condition-true'"),
    "condition-false": _conditions("true", "object.metadata.name == 'other'"),
    "condition-broken": _conditions(_MISSING),
    "condition-broken-ignored": _conditions(_MISSING, failurePolicy="Ignore"),
    "condition-broken-and-false": _conditions(_MISSING, "false"),
    "condition-broken-twice": _conditions(_MISSING, "object.nope == 1", "1 / size(object.data) > int(object.data.a)"),
    "condition-request": _conditions(
        "request.operation == 'CREATE' && request.kind.kind == 'ConfigMap' && !has(request.subResource)",
        "request.userInfo.groups.exists(group, group == 'system:masters')",
        "request.requestResource == request.resource",
        "oldObject == null && namespaceObject == null",
    ),
    "condition-authorizer": _conditions(
        "authorizer.group('').resource('configmaps').namespace('x').check('create').allowed()",
        "!authorizer.serviceAccount('default', 'nobody').group('').resource('secrets').check('get').allowed()",
        "authorizer.requestResource.check('get').allowed()",
    ),
    "condition-of-types": _conditions(
        "object.data.all(key, value, key.size() == value.size()) && [1, 2].indexOf(2) == 1",
        "object.?metadata.?annotations.orValue({}).size() == 0 && quantity('1k').asInteger() == 1000",
    ),
    "refused": _says(allowed=False, status={"code": 403, "message": "no", "reason": "Forbidden"}),
    "refused-with-details": _says(
        allowed=False,
        status={"code": 409, "message": "no", "details": {"name": "x", "kind": "y", "causes": [{"message": "z"}]}},
    ),
    "refused-silently": _says(allowed=False),
    "refused-with-success": _says(allowed=False, status={"code": 200, "status": "Success", "reason": "Odd"}),
    "refused-by-reason": _says(allowed=False, status={"reason": "Odd"}),
    "warns": _says(warnings=["one", "", "one"]),
    "warns-and-refuses": _says(allowed=False, warnings=["one"], status={"message": "no"}),
    "annotates": _says(auditAnnotations={"a": "b"}),
    "annotates-badly": _says(auditAnnotations={"a b/c d": "b"}),
    "another-uid": _says(uid="other"),
    "no-uid": _says(uid=""),
    "another-version": _raw(
        json.dumps(_REVIEW | {"apiVersion": "admission.k8s.io/v1beta1", "response": {"allowed": True}})
    ),
    "another-kind": _raw(json.dumps(_REVIEW | {"kind": "Review", "response": {"allowed": True}})),
    "no-kind": _raw(json.dumps({"response": {"allowed": True}})),
    "no-response": _raw(json.dumps(_REVIEW)),
    "no-json": _raw("hello"),
    "nothing": _raw(""),
    "a-list": _raw("[]"),
    "an-error": _raw("out of order", 500),
    "an-error-ignored": _raw("out of order", 500, failurePolicy="Ignore"),
    "not-found": _raw("", 404),
    "an-error-of-a-mutating-one": _raw("out of order", 503, mutating=True),
    "no-json-ignored": _raw("hello", mutating=True, failurePolicy="Ignore"),
    "patch-of-a-validating-one": {"response": patching(_patch("/data/b", "2"))},
    "patch-without-type": _says(True, patch=_encoded('[{"op": "add", "path": "/data/b", "value": "2"}]')),
    "type-without-patch": _says(True, patchType="JSONPatch"),
    "another-type": _says(True, patchType="MergePatch", patch=_encoded('{"data": {"b": "2"}}')),
    "patch-that-is-none": _says(True, patchType="JSONPatch", patch=_encoded('{"data": {"b": "2"}}')),
    "patch-of-nothing": _patches(),
    "patch-that-fails": _patches({"op": "test", "path": "/data/a", "value": "9"}),
    "patch-of-what-is-not-there": _patches({"op": "replace", "path": "/spec/a", "value": "9"}),
    "patch-of-the-name": _patches(_patch("/metadata/name", "other", "replace")),
    "patch-of-the-namespace": _patches(_patch("/metadata/namespace", "other", "replace")),
    "patch-of-the-uid": _patches(_patch("/metadata/uid", "1-2-3")),
    "patch-of-the-version": _patches(_patch("/metadata/resourceVersion", "5")),
    "patch-of-the-api-version": _patches(_patch("/apiVersion", "v2", "replace")),
    "patch-of-the-time": _patches(_patch("/metadata/creationTimestamp", "2001-01-01T00:00:00Z")),
    "patch-of-a-label": _patches(_patch("/metadata/labels/a", "not valid!")),
    "patch-of-an-unknown-field": _patches(_patch("/odd", "1")),
    "patch-of-the-wrong-type": _patches(_patch("/data/b", 5)),
    "patch-with-a-refusal": _patches(_patch("/data/b", "2"), allowed=False, status={"message": "no"}),
    "patch": _patches(_patch("/data/b", "2")),
}
