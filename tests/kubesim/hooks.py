"""Webhooks for tests of the embedded cluster: configurations, handlers and requests in a few words."""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
from collections.abc import Awaitable, Callable
from typing import Any

from kubeloop.calls import Call, Handler, Reply
from kubeloop.request import MERGE_PATCH, Request, Response
from kubesim.cluster import Cluster
from kubesim.store.versions import Tree
from kubesim.time import run

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1"
HOST = "hook.default.svc"

Decide = Callable[[Tree], Tree | Awaitable[Tree]]


def on_a_cluster(script: Callable[[Cluster], Awaitable[Any]], **more: Any) -> Any:
    async def scenario() -> Any:
        return await script(Cluster(**more))

    return run(scenario())


async def send(cluster: Cluster, method: str, path: str, body: object = None, user: str = "admin") -> Response:
    """Merge patches are the only patches here."""
    place, _, query = path.partition("?")
    pairs = tuple((part.split("=")[0], part.split("=")[1]) for part in query.split("&")) if query else ()
    content = b"" if body is None else json.dumps(body).encode()
    kind = MERGE_PATCH if method == "PATCH" else "application/json"
    return await cluster.transport(user).send(
        Request(method, place, query=pairs, body=content, content_type=kind, timeout=600.0)
    )


def decoded(answer: Response) -> Tree:
    tree: Tree = json.loads(answer.body)
    return tree


def message(answer: Response) -> str:
    return str(decoded(answer).get("message"))


def a_map(name: str, **labels: str) -> Tree:
    return {"metadata": {"name": name, "labels": labels}, "data": {"key": "value"}}


def a_pod(name: str) -> Tree:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "image"}]}}


def answering(decide: Decide) -> Handler:
    """From the request of a review to its response, without the uid."""

    async def handler(call: Call) -> Reply:
        review = json.loads(call.body)
        answer = decide(review["request"])
        response = await answer if inspect.isawaitable(answer) else answer
        full = {"uid": review["request"]["uid"], "allowed": True} | response
        body = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": full}
        return Reply(200, json.dumps(body).encode())

    return handler


def patching(*operations: Tree) -> Tree:
    return {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(operations).encode()).decode()}


def a_rule(operations: str = "*", resources: str = "configmaps", **more: Any) -> Tree:
    named = {"operations": operations.split(), "resources": resources.split()}
    return named | {"apiGroups": ["*"], "apiVersions": ["*"]} | more


def a_hook(name: str = "one", *rules: Tree, host: str = HOST, **more: Any) -> Tree:
    usual = {
        "name": f"{name}.example.com",
        "clientConfig": {"url": f"https://{host}/{name}"},
        "rules": list(rules) or [a_rule()],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return usual | more


async def configure(cluster: Cluster, kind: str, name: str, *hooks: Tree) -> Response:
    """`kind` is validating or mutating."""
    body = {"metadata": {"name": name}, "webhooks": list(hooks)}
    return await send(cluster, "POST", f"{CONFIGURATIONS}/{kind}webhookconfigurations", body)


class Recorder:
    """Answers by the name of the webhook, which is the path it is called at; remembers what it was asked."""

    def __init__(self, **answers: Tree) -> None:
        self.asked: list[tuple[str, Tree]] = []
        self.most_at_once = 0
        self._answers = answers
        self._now = 0

    async def __call__(self, call: Call) -> Reply:
        name = call.url.strip("/").partition("?")[0]
        self.asked.append((name, json.loads(call.body)["request"]))
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        await asyncio.sleep(1)
        self._now -= 1
        return await answering(lambda _request: self._answers.get(name, {}))(call)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.asked]
