"""Admission webhooks for scenarios on both clusters: a handler is written once and served where the cluster finds it.

On the embedded cluster that is its network, in virtual time; for the real API server it is HTTPS on the loopback.
"""

from __future__ import annotations

import asyncio
import base64
import inspect
import json
import ssl
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

import structlog

from fairlead.engine.serving.server import AnsweredRequest, ServerTerms, serving
from kubeloop.calls import Call, Handler, NoReply, Reply
from kubeloop.client import Client
from kubeloop.errors import ApiError
from kubeloop.objects.meta import Resource
from kubeloop.request import JSON, Request, path_of
from kubesim.pki import Authority
from tests.e2e.clusters import SimGround, Site
from tests.e2e.history import Tree

MUTATING, VALIDATING = (
    Resource("admissionregistration.k8s.io", "v1", kind.lower() + "s", kind, namespaced=False)
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
)
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
MARK = "fairlead.test/mark"
ELSEWHERE = "default"
"""Where it is tried whether a configuration is in effect, so that the scenario's webhooks are not asked."""

Decide = Callable[[Tree], Tree | Awaitable[Tree]]
"""From the `request` of an AdmissionReview to the `response`, without its uid."""


def answering(decide: Decide) -> Handler:
    """The handler of a webhook; `decide` may be a coroutine function."""

    async def handler(call: Call) -> Reply:
        review = json.loads(call.body)
        answer = decide(review["request"])
        response = await answer if inspect.isawaitable(answer) else answer
        response = {"uid": review["request"]["uid"], "allowed": True} | response
        body = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
        return Reply(200, json.dumps(body).encode(), (("Content-Type", "application/json"),))

    return handler


def patching(*operations: Tree) -> Tree:
    """A response that changes the object by a JSON patch."""
    return {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(operations).encode()).decode()}


async def serve(site: Site, handler: Handler, host: str = "hook.test.svc", path: str = "/") -> Tree:
    """Serves the handler until the end of the scenario; the answer is the `clientConfig` under which it is reached."""
    if isinstance(site.ground, SimGround):
        site.ground.cluster.network.serve(host, handler)
        return {"url": f"https://{host}{path}"}
    return await serve_on_loopback(site.start, handler, path)


async def serve_on_loopback(start: Callable[..., object], handler: Handler, path: str = "/") -> Tree:
    """Serves the handler over HTTPS, for as long as what was started runs; answers with a `clientConfig`."""
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    start(_serving(handler, port))
    bundle = base64.b64encode(authority().certificate).decode()
    return {"url": f"https://127.0.0.1:{await port}{path}", "caBundle": bundle}


async def install(site: Site, resource: Resource, name: str, *webhooks: Tree) -> None:
    """Creates a configuration and returns when it is in effect, which the real server notices a little later.

    What a webhook does not say has the usual value, and it is about the scenario's namespace; `clientConfig` and
    `rules` are up to the scenario.
    """
    await site.create(resource, await configured(partial(serve, site), name, site.namespace, *webhooks))
    await site.until(lambda: is_in_effect(site.client, name), every=0.05, within=15)


Serve = Callable[[Handler, str], Awaitable[Tree]]
"""Serves a handler under a host, where there are such; answers with a `clientConfig`."""


async def configured(serving: Serve, name: str, namespace: str, *webhooks: Tree) -> Tree:
    """The configuration, with one webhook more by which it is known whether it `is_in_effect`."""

    def marked(request: Tree) -> Tree:
        return {"allowed": False, "status": {"message": "in effect"}}

    usual = {"sideEffects": "None", "admissionReviewVersions": ["v1"], "timeoutSeconds": 5}
    within = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    hooks = [usual | within | {"name": f"hook-{index}.fairlead.test"} | hook for index, hook in enumerate(webhooks)]
    mark = usual | {
        "name": "mark.fairlead.test",
        "clientConfig": await serving(answering(marked), f"mark-{name}.test.svc"),
        "rules": [rule("CREATE", "configmaps")],
        "objectSelector": {"matchLabels": {MARK: name}},
    }
    return {"metadata": {"name": name}, "webhooks": [*hooks, mark]}


async def is_in_effect(client: Client, name: str) -> bool:
    """Whether the configuration counts by now."""
    marker = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"mark-{name}", "labels": {MARK: name}}}
    body, dry = json.dumps(marker).encode(), (("dryRun", "All"),)
    try:
        await client.call(Request("POST", path_of(CONFIG_MAPS, ELSEWHERE), query=dry, body=body, content_type=JSON))
    except ApiError as error:
        return "in effect" in str(error)
    return False


def rule(operations: str, resources: str, groups: str = "*", versions: str = "*") -> Tree:
    """A rule from words separated by spaces."""
    named = zip(("operations", "resources"), (operations, resources), strict=True)
    return {key: words.split() for key, words in named} | {
        "apiGroups": [groups],
        "apiVersions": [versions],
    }


REGISTRATIONS: dict[str, Tree] = {
    "no-downscale": {
        "resource": VALIDATING,
        "rules": (
            "UPDATE",
            " ".join(f"{kind} {kind}/scale" for kind in ("statefulsets", "deployments", "replicasets")),
        ),
        "of": ("apps", "v1"),
    },
    "prepare-downscale": {
        "resource": MUTATING,
        "rules": ("UPDATE", "statefulsets statefulsets/scale"),
        "of": ("apps", "v1"),
        "sideEffects": "NoneOnDryRun",
    },
    "pod-eviction": {"resource": VALIDATING, "rules": ("CREATE", "pods/eviction"), "of": ("", "v1")},
    "zpdb-validation": {
        "resource": VALIDATING,
        "rules": ("CREATE UPDATE", "zoneawarepoddisruptionbudgets"),
        "of": ("rollout-operator.grafana.com", "v1"),
    },
}
"""How the zone contract wants its webhooks registered."""


class Answering(Protocol):
    """Who answers for webhooks: an operator, or what stands before several."""

    async def webhooks(self, call: Call, /) -> Reply: ...


async def register(site: Site, operator: Answering, *names: str, **changes: Any) -> None:
    """Registers webhooks of the operator by the last part of their path; returns when they are in effect.

    `changes` are fields of every entry, such as `timeoutSeconds` or `failurePolicy`.
    """
    for name in names:
        wanted = dict(REGISTRATIONS[name])
        resource, operations, group = wanted.pop("resource"), wanted.pop("rules"), wanted.pop("of")
        hook = {
            "name": f"{name}-{site.namespace}.grafana.com",
            "clientConfig": await serve(site, operator.webhooks, f"{name}.{site.namespace}.svc", f"/admission/{name}"),
            "rules": [rule(*operations, *group)],
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "timeoutSeconds": 10,
        }
        await install(site, resource, f"{name}-{site.namespace}", hook | wanted | changes)


@cache
def authority() -> Authority:
    """Signs the certificates of servers on the loopback."""
    return Authority()


async def _serving(handler: Handler, port: asyncio.Future[int]) -> None:
    """Through the product's own server, so that a client that goes away is treated as it is there.

    A handler that never ends is ended with the scenario: the server minds only those whose client is still there.
    """
    working: set[asyncio.Task[object]] = set()

    async def answer(call: Call) -> Reply:
        task = asyncio.ensure_future(handler(call))
        working.add(task)
        try:
            await asyncio.wait((task,))
            return task.result()
        except (NoReply, asyncio.CancelledError):
            return Reply(503)
        finally:
            working.discard(task)
            task.cancel()

    terms = ServerTerms(ending=0.1, tls=server_context())
    async with serving(0, _AnyPath(answer), _Unmeasured(), structlog.get_logger(), terms) as chosen:
        port.set_result(chosen)
        try:
            await asyncio.Event().wait()
        finally:
            while working:
                for task in working:
                    task.cancel()
                await asyncio.sleep(0.01)  # until their connections, which nobody waits for, have ended as well


class _AnyPath(Mapping[str, Handler]):
    """Routes with one handler for every path."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler

    def __getitem__(self, path: str) -> Handler:
        return self._handler

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


class _Unmeasured:
    def serving(self, method: str, route: str) -> AbstractContextManager[object]:
        return nullcontext()

    def served(self, served: AnsweredRequest) -> None:
        pass

    def wrong_cluster(self, method: str, label: str, request_label: str) -> None:
        pass


def server_context() -> ssl.SSLContext:
    """For a server on the loopback."""
    pair = authority().server(["127.0.0.1"])
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "server.pem")
        path.write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(path)
    return context
