"""Policies for scenarios on both clusters, each about objects that carry its name as a label."""

from __future__ import annotations

import json
from typing import Any

from kubeloop.objects.meta import Resource
from kubeloop.request import path_of
from tests.e2e.clusters import Site
from tests.e2e.definitions import Shop
from tests.e2e.history import Tree

POLICIES, BINDINGS = (
    Resource("admissionregistration.k8s.io", "v1", plural, kind, namespaced=False)
    for plural, kind in (
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
        ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
    )
)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
CASE = "case"
"""The label by which an object says whose business it is."""


def a_rule(operations: str = "*", resources: str = "configmaps", **more: Any) -> Tree:
    names = {"operations": operations.split(), "resources": resources.split()}
    return {"apiGroups": ["*"], "apiVersions": ["*"], **names, **more}


def a_policy(name: str, *validations: str | Tree, **spec: Any) -> Tree:
    """About objects with its name as their case."""
    constraints = {"resourceRules": [a_rule()], "objectSelector": {"matchLabels": {CASE: name}}}
    return {
        "apiVersion": POLICIES.api_version,
        "kind": POLICIES.kind,
        "metadata": {"name": name},
        "spec": {
            "matchConstraints": constraints | spec.pop("constraints", {}),
            "validations": [{"expression": each} if isinstance(each, str) else each for each in validations],
        }
        | spec,
    }


def a_binding(policy: str, *, name: str = "", actions: tuple[str, ...] = ("Deny",), **spec: Any) -> Tree:
    return {
        "apiVersion": BINDINGS.api_version,
        "kind": BINDINGS.kind,
        "metadata": {"name": name or f"{policy}-binding"},
        "spec": {"policyName": policy, "validationActions": list(actions)} | spec,
    }


def a_map(name: str, case: str, **data: str) -> Tree:
    metadata = {"name": name, "labels": {CASE: case}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def enforce(site: Site, shop: Shop, *trees: Tree) -> None:
    """Creates policies and bindings, and returns when all are in effect: the server takes them in all at once."""
    marker = f"zz-{site.namespace}"  # of its own, since that of another scenario may still be in effect
    for tree in (*trees, a_policy(marker, {"expression": "false", "message": "in effect"}), a_binding(marker)):
        resource = POLICIES if tree["kind"] == POLICIES.kind else BINDINGS
        made = await shop.send("POST", path_of(resource), tree)
        assert made.status == 201, made.body

    async def in_effect() -> bool:
        answer = await shop.send("POST", shop.at(resource=CONFIG_MAPS), a_map("marker", marker), dryRun="All")
        return b"in effect" in answer.body

    await site.until(in_effect, every=0.1, within=30)


def told(answer: Any) -> tuple[int, str, str]:
    """Code, reason and message; of what was taken, what it was warned about."""
    if answer.status < 300:
        return answer.status, "", answer.headers.get("warning", "")
    status = json.loads(answer.body)
    return answer.status, status.get("reason", ""), status["message"]
