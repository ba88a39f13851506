"""Scenes of workloads of any kind: what a scenario does to a cluster, and what came of it (see `telling`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import ApiError, NotFound
from kubeloop.objects.core import CONFIGMAPS, PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON, MERGE_PATCH, Request, create, delete, patch, path_of
from kubesim.kinds.registry import (
    ADMISSION_POLICIES,
    ADMISSION_POLICY_BINDINGS,
    CLAIMS,
    CORE_EVENTS,
    DISRUPTION_BUDGETS,
    NODES,
)
from kubesim.standins.cloneset_plan import LIFECYCLE, PREPARING, UPDATING
from tests.e2e.history import History, Tree
from tests.e2e.webhooks import MARK, MUTATING, VALIDATING, Decide, Serve, answering, configured, is_in_effect, rule
from tests.kubesim.controllers.telling import KINDS, SETS, Line, is_ready, lines_of, node_of

BUDGET = "pb"
BETWEEN = 0.2
"""Seconds between two steps, or two pods that become ready."""
NOTICED = 0.05
"""Seconds between two looks at whether the server has noticed a configuration."""
HOOK = "review.fairlead.test"
NODE = "n"
STRATEGIC = "application/strategic-merge-patch+json"
NOWHERE = "https://127.0.0.1:1/"
SAID = 70
"""Letters of an answer that are recorded."""

Action = Callable[["Scene"], Awaitable[None]]


class Scene:
    """One namespace; pods are on no node and become ready when the scenario says so."""

    def __init__(self, client: Client, namespace: str, history: History, serve: Serve | None = None) -> None:
        """`serve` makes webhooks reachable; scenes without any need none."""
        self._client = client
        self._serve = serve
        self._reviews: list[Ref] = []
        self._namespace = namespace
        self._history = history
        self._begins: list[int] = []
        self._answers: list[tuple[int, str]] = []
        self._nodes: list[str] = []

    # What a scenario does

    async def node(self, name: str, **labels: str) -> None:
        """A node that the scene's daemons may be on."""
        self._nodes.append(self._node(name))
        metadata = {"name": self._node(name), "labels": {"scene": self._namespace} | labels}
        await self._create(NODES, {"metadata": metadata})

    async def label_node(self, name: str, **labels: str | None) -> None:
        await self._patch(Ref(NODES, "", self._node(name)), {"metadata": {"labels": labels}})

    def _node(self, name: str) -> str:
        return f"{self._namespace}-{name}"

    async def make(self, name: str, *, image: str = "i:1", finalizers: Sequence[str] = (), **spec: Any) -> None:
        """The set of this name, with pods of the same label."""
        labels = {"app": name}
        pods: Tree = {"containers": [{"name": "c", "image": image}], "terminationGracePeriodSeconds": 0}
        if name == "da":
            # Nodes without a kubelet are not ready, which these pods have to bear.
            pods |= {"nodeSelector": {"scene": self._namespace}, "tolerations": [{"operator": "Exists"}]}
        metadata = {"labels": labels} | ({"finalizers": list(finalizers)} if finalizers else {})
        template = {"metadata": metadata, "spec": pods}
        whole = {"selector": {"matchLabels": labels}, "template": template} | spec
        await self._create(SETS[name], {"metadata": {"name": name}, "spec": whole})

    async def make_pod(self, name: str, **labels: str) -> None:
        """A pod that nobody has made."""
        spec = {"containers": [{"name": "c", "image": "i:1"}], "terminationGracePeriodSeconds": 0}
        await self._create(PODS, {"metadata": {"name": name, "labels": labels}, "spec": spec})

    async def make_budget(self, app: str, name: str = BUDGET, **spec: Any) -> None:
        whole = {"selector": {"matchLabels": {"app": app}}} | spec
        await self._create(DISRUPTION_BUDGETS, {"metadata": {"name": name}, "spec": whole})

    async def make_thing(self, name: str, *owners: str, blocking: bool = False) -> None:
        """An object that does nothing but belong to others."""
        things = self._history.objects(CONFIGMAPS)
        references = [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "name": owner,
                "uid": things[owner]["metadata"]["uid"],
                "blockOwnerDeletion": blocking,
            }
            for owner in owners
        ]
        await self._create(CONFIGMAPS, {"metadata": {"name": name, "ownerReferences": references}})

    async def seen(self, name: str) -> None:
        """The thing is on record, so that others can be made to belong to it."""
        await self.until(lambda: name in self._history.objects(CONFIGMAPS))

    async def _create(self, resource: Resource, tree: Tree) -> None:
        named = {"apiVersion": resource.api_version, "kind": resource.kind} | tree
        await self._client.call(create(resource, self._namespace, msgspec.json.encode(named)))

    async def change(self, name: str, **spec: Any) -> None:
        await self._patch(self._ref(name), {"spec": spec})

    async def change_image(self, name: str, image: str) -> None:
        await self.change(name, template={"spec": {"containers": [{"name": "c", "image": image}]}})

    async def hold(self, name: str, *finalizers: str) -> None:
        """With finalizers the thing cannot go; without it can."""
        await self._patch(Ref(CONFIGMAPS, self._namespace, name), {"metadata": {"finalizers": list(finalizers)}})

    def _ref(self, name: str) -> Ref:
        resource = SETS.get(name) or (DISRUPTION_BUDGETS if name == BUDGET else CONFIGMAPS)
        return Ref(resource, self._namespace, name)

    async def _patch(self, ref: Ref, change: Tree, subresource: str = "", kind: str = MERGE_PATCH) -> None:
        await self._client.call(patch(ref, kind, msgspec.json.encode(change), subresource))

    async def delete(self, name: str, policy: str = "Background") -> None:
        await self._client.call(delete(self._ref(name), propagation=policy))

    def pods(self, *, ready: bool | None = None, node: str = "", app: str = "") -> list[str]:
        """Names of pods that are neither over nor going, in the order of their making."""
        found = []
        for name, pod in self._history.objects(PODS).items():
            meta, status = pod["metadata"], pod.get("status", {})
            over = "deletionTimestamp" in meta or status.get("phase") in ("Failed", "Succeeded")
            wrong_state = ready is not None and is_ready(pod) != ready
            wrong_place = bool(node) and node_of(pod) != self._node(node)
            wrong_app = bool(app) and meta.get("labels", {}).get("app") != app
            if not (over or wrong_state or wrong_place or wrong_app):
                found.append((meta["creationTimestamp"], name))
        return [name for _, name in sorted(found)]

    async def make_ready(self, count: int = 100, *, node: str = "", app: str = "") -> None:
        """So many of the pods that are not, one after the other, with time for controllers to see each."""
        for name in self.pods(ready=False, node=node, app=app)[:count]:
            await self.set_ready(name)
            await asyncio.sleep(BETWEEN)

    async def set_ready(self, name: str, status: str = "True") -> None:
        now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        ready = {"type": "Ready", "status": status, "lastTransitionTime": now}
        await self._patch(self._pod(name), {"status": {"phase": "Running", "conditions": [ready]}}, "status")

    async def start(self, count: int = 100) -> None:
        """As a kubelet would with so many pods that do not run what their spec says: each gets a node, and does so."""
        pods = self._history.objects(PODS)
        for name in [name for name in self.pods() if not _runs(pods[name])][:count]:
            await self._start(name)
            await asyncio.sleep(BETWEEN)

    async def _start(self, name: str) -> None:
        spec = self._history.objects(PODS)[name]["spec"]
        if not spec.get("nodeName"):
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            tree = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
            path = path_of(PODS, self._namespace, name, "binding")
            await self._client.call(Request("POST", path, body=msgspec.json.encode(tree), content_type=JSON))
            await self.until(lambda: not self._is_preparing(name))
        now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        running = {"ready": True, "restartCount": 0, "state": {"running": {"startedAt": now}}}
        status = {
            "phase": "Running",
            "conditions": [
                {"type": each, "status": "True", "lastTransitionTime": now} for each in ("Ready", "ContainersReady")
            ],
            "containerStatuses": [
                {"name": each["name"], "image": each["image"], "imageID": each["image"], **running}
                for each in spec["containers"]
            ],
        }
        # What others have said of the pod stays.
        await self._patch(self._pod(name), {"status": status}, "status", STRATEGIC)

    def _is_preparing(self, pod: str) -> bool:
        """Whether its CloneSet has not seen yet that it has a node."""
        found = self._history.objects(PODS).get(pod, {"metadata": {}})
        return found["metadata"].get("labels", {}).get(LIFECYCLE) in (PREPARING, UPDATING)

    async def fail(self, name: str) -> None:
        await self._patch(self._pod(name), {"status": {"phase": "Failed"}}, "status")

    async def label(self, pod: str, given: Mapping[str, str] | None = None, **labels: str | None) -> None:
        await self._patch(self._pod(pod), {"metadata": {"labels": {**(given or {}), **labels}}})

    async def release(self) -> None:
        """Takes the finalizers of all pods that are going."""
        for name, pod in self._history.objects(PODS).items():
            if "deletionTimestamp" in pod["metadata"]:
                await self._patch(self._pod(name), {"metadata": {"finalizers": []}})

    async def delete_pod(self, name: str) -> None:
        await self._client.call(delete(self._pod(name)))

    async def review(self, decide: Decide | None, operations: str, resources: str, kind: str, **more: Any) -> None:
        """From now on a webhook answers for such requests in the namespace, or would if it were there."""
        assert self._serve is not None
        await self._history.follow(CORE_EVENTS)
        name = f"{self._namespace}-{len(self._reviews)}"
        where = {"url": NOWHERE} if decide is None else await self._serve(answering(decide), f"{name}.test.svc")
        hook = {"name": HOOK, "clientConfig": where, "rules": [rule(operations, resources)]} | more
        resource = {"mutating": MUTATING, "validating": VALIDATING}[kind]
        await self._create(resource, await configured(self._serve, name, self._namespace, hook))
        self._reviews.append(Ref(resource, "", name))
        await self._noticed(name, True)

    async def forbid_pods(self) -> None:
        """From now on a policy denies new pods in the namespace."""
        await self._history.follow(CORE_EVENTS)
        name = f"{self._namespace}-{len(self._reviews)}"
        marked = f"object.kind == 'ConfigMap' && object.metadata.?labels[?'{MARK}'].orValue('') == '{name}'"
        here = f"object.kind == 'Pod' && object.metadata.namespace == '{self._namespace}'"
        spec = {
            "matchConstraints": {"resourceRules": [rule("CREATE", "pods configmaps", "", "v1")]},
            "validations": [
                {"expression": f"!({marked})", "message": "in effect"},
                {"expression": f"!({here})", "message": "not here"},
            ],
        }
        await self._create(ADMISSION_POLICIES, {"metadata": {"name": name}, "spec": spec})
        bound = {"policyName": name, "validationActions": ["Deny"]}
        await self._create(ADMISSION_POLICY_BINDINGS, {"metadata": {"name": name}, "spec": bound})
        self._reviews += [Ref(ADMISSION_POLICIES, "", name), Ref(ADMISSION_POLICY_BINDINGS, "", name)]
        await self._noticed(name, True)

    async def pass_everything(self) -> None:
        """From now on nobody is asked."""
        while self._reviews:
            ref = self._reviews.pop()
            await self._client.call(delete(ref))
            await self._noticed(ref.name, False)

    async def _noticed(self, name: str, is_there: bool) -> None:
        """The server counts the configuration, or does not any more."""
        while await is_in_effect(self._client, name) != is_there:  # noqa: ASYNC110  which nobody announces
            await asyncio.sleep(NOTICED)

    async def delete_claim(self, name: str) -> None:
        await self._client.call(delete(Ref(CLAIMS, self._namespace, name)))

    async def evict(self, name: str, **options: Any) -> None:
        """Asks for it; the answer is a line of its own."""
        eviction: Tree = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
        if options:
            eviction["deleteOptions"] = options
        path = path_of(PODS, self._namespace, name, "eviction")
        request = Request(
            "POST", path, body=msgspec.json.encode(eviction), content_type=JSON, retry_when_throttled=False
        )
        try:
            answer = await self._client.call(request)
            self._answers.append((len(self._begins), f"answer {answer.status}"))
        except ApiError as error:
            again = f" again in {error.retry_after:g}" if error.retry_after else ""
            self._answers.append((len(self._begins), f"answer {error.status} {error.message[:SAID]}{again}"))

    def _pod(self, name: str) -> Ref:
        return Ref(PODS, self._namespace, name)

    async def leave(self) -> None:
        """Removes what is outside of the namespace."""
        await self.pass_everything()
        for name in self._nodes:
            try:
                await self._client.call(delete(Ref(NODES, "", name)))
            except NotFound:
                continue

    # What came of it

    async def follow(self, *more: Resource) -> None:
        for resource in (*KINDS, *more):
            await self._history.follow(resource)

    async def begin(self, action: Action) -> None:
        """Takes the next step, when controllers have seen what came of those before."""
        await asyncio.sleep(BETWEEN)
        events = self._history.events
        self._begins.append(events[-1].version if events else 0)
        await action(self)

    async def until(self, holds: Callable[[], bool]) -> None:
        while True:
            moment = self._history.moment
            if holds():
                return
            await self._history.past(moment)

    def lines(self) -> list[Line]:
        told = [Line("answer", text, step) for step, text in self._answers]
        return lines_of(self._history.events, self._begins, f"{self._namespace}-") + told


def _runs(pod: Tree) -> bool:
    """Whether it is ready with the images of its spec."""
    running = {each["name"]: each["image"] for each in pod.get("status", {}).get("containerStatuses", ())}
    return is_ready(pod) and running == {each["name"]: each["image"] for each in pod["spec"]["containers"]}
