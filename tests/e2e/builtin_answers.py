"""What a cluster answers to the objects and changes of this folder, without what is different each time.

`python -m tools.builtins` records the answers of a control plane, for tests that have none.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec

from fairlead.plane.launch import Plane
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.meta import Resource
from kubeloop.request import JSON, MERGE_PATCH, Request, Response, Transport, path_of
from kubesim.kinds.registry import KINDS, NAMESPACES, SERVICE_ACCOUNTS
from tests.e2e.builtin_changes import CHANGES
from tests.e2e.builtin_others import METADATA, OTHERS, STORAGE
from tests.e2e.builtin_pods import PODS
from tests.e2e.builtin_services import SERVICES
from tests.e2e.builtin_trees import Tree
from tests.e2e.builtin_workloads import WORKLOADS

Answers = dict[str, Any]
OBJECTS: dict[str, Tree] = METADATA | PODS | WORKLOADS | SERVICES | STORAGE | OTHERS
RECORD = Path(__file__).parent.parent / "kubesim" / "recorded_builtins.json"
NAMESPACE = "alike"
_DRY = (("dryRun", "All"),)
_RESOURCES = {(kind.resource.api_version, kind.resource.kind): kind.resource for kind in KINDS}
_VARIABLE = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "<time>"),
    (re.compile(r"kube-api-access-\w{5}"), "kube-api-access-<drawn>"),
    (re.compile(r"\bA_\w{5}\b"), "A_<drawn>"),
    # The range of addresses is a choice of whoever sets a cluster up, and so are those that are taken from it.
    (re.compile(r"\b10\.(0|96)\.\d+\.\d+(/\d+)?"), "<address>"),
    # The server adds the difference between two structs of its own.
    (re.compile(r"\n@@.*", re.DOTALL), ""),
)


def resource_of(tree: Tree) -> Resource:
    return _RESOURCES[tree["apiVersion"], tree["kind"]]


def masked(value: Any, key: str = "") -> Any:
    """A tree in which what is drawn, counted or timed is hidden."""
    match value:
        case dict():
            hidden = ("managedFields", "resourceVersion")
            return {name: masked(each, name) for name, each in value.items() if name not in hidden}
        case list():
            return [masked(each, key) for each in value]
        case str():
            for pattern, instead in _VARIABLE:
                value = pattern.sub(instead, value)
            return value
        case int() if key in ("nodePort", "healthCheckNodePort"):
            return "<port>"
        case _:
            return value


def told(response: Response) -> Any:
    """The object, or code and causes of a refusal; its message where it has no causes."""
    tree: Tree = msgspec.json.decode(response.body)
    if response.status < 400:
        return masked(tree)
    causes = (tree.get("details") or {}).get("causes")
    if not causes:
        return [response.status, masked(tree["message"])]
    return [response.status, [masked([each["reason"], each.get("field", ""), each["message"]]) for each in causes]]


async def of_objects(transport: Transport, namespace: str) -> Answers:
    """Answers to new objects; nothing is stored."""
    answers: Answers = {}
    for name, tree in OBJECTS.items():
        path = path_of(resource_of(tree), namespace if resource_of(tree).namespaced else "")
        answers[name] = told(await transport.send(Request("POST", path, _DRY, msgspec.json.encode(tree), JSON)))
    return answers


async def of_changes(transport: Transport, namespace: str) -> Answers:
    """Answers to changes of objects that are made for it, and then deleted."""
    answers: Answers = {}
    for name, change in CHANGES.items():
        resource = resource_of(change.base)
        scope = namespace if resource.namespaced else ""
        body = msgspec.json.encode(change.base)
        made = await transport.send(Request("POST", path_of(resource, scope), (), body, JSON))
        assert made.status == 201, (name, made.body)
        path = path_of(resource, scope, change.base["metadata"]["name"], change.subresource)
        patch = msgspec.json.encode(change.patch)
        answers[name] = told(await transport.send(Request("PATCH", path, _DRY, patch, MERGE_PATCH)))
        await _remove(transport, resource, scope, change.base["metadata"]["name"])
    return answers


async def _remove(transport: Transport, resource: Resource, namespace: str, name: str) -> None:
    """Deletes an object with whatever holds it."""
    path = path_of(resource, namespace, name)
    free = msgspec.json.encode({"metadata": {"finalizers": None}})
    await transport.send(Request("DELETE", path, (("gracePeriodSeconds", "0"),)))
    await transport.send(Request("PATCH", path, (), free, MERGE_PATCH))


async def make_namespace(transport: Transport, namespace: str, *, account: bool) -> None:
    """A namespace, with the account that pods need where accounts are looked at."""
    tree: Tree = {"metadata": {"name": namespace}}
    await transport.send(Request("POST", path_of(NAMESPACES), (), msgspec.json.encode(tree), JSON))
    if account:
        tree = {"metadata": {"name": "default"}}
        body = msgspec.json.encode(tree)
        await transport.send(Request("POST", path_of(SERVICE_ACCOUNTS, namespace), (), body, JSON))


async def recorded() -> dict[str, Answers]:
    """The answers of control planes of its own; raises Unavailable."""
    answers: dict[str, Answers] = {}
    for name, ask, accounts in (("objects", of_objects, True), ("changes", of_changes, False)):
        with Plane(controllers=False, accounts=accounts) as plane:
            transport = HttpTransport(plane.config())
            try:
                await make_namespace(transport, NAMESPACE, account=accounts)
                answers[name] = await ask(transport, NAMESPACE)
            finally:
                await transport.close()
    return answers
