"""Conversion webhooks of the embedded cluster in virtual time: who waits for them, how long, and who does not."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubeloop.objects.meta import Resource
from kubeloop.request import MERGE_PATCH, Request, Response, path_of
from kubeloop.schemas.structural import Node
from kubesim.admission.conversion_reviews import Converter
from kubesim.cluster import Cluster
from kubesim.crds.conversion import Conversion, Webhook
from kubesim.crds.rules import is_true
from kubesim.errors import StatusError, internal
from kubesim.kinds.converting import Convert, converted
from kubesim.kinds.registry import CONFIG_MAPS, DEFINITIONS, NAMESPACES
from kubesim.rules.webhook_configurations import ClientConfig, Service
from kubesim.store.store import Store
from kubesim.time import run
from kubesim.writes.asking import Write, driven, unreviewed
from tests.kubeloop.called import a_caller, authority, server_context, serving
from tests.kubesim.hooks import a_hook, a_rule, answering, configure, patching
from tests.kubesim.trees import Tree, a_map

GROUP = "shop.example.com"
V1, V2 = (Resource(GROUP, version, "gadgets", "Gadget") for version in ("v1", "v2"))
OTHERS = Resource(GROUP, "v1", "others", "Other")
HOST = "convert.default.svc"
SETTLED = 1.0


class Hook:
    """Converts by renaming `colour` to `paint`, after so many seconds."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.calls: list[Call] = []
        self.replies: list[Reply] = []
        """Given first, one for each call."""

    @property
    def names(self) -> list[list[str]]:
        """Of the objects of each call."""
        reviews = [json.loads(call.body)["request"]["objects"] for call in self.calls]
        return [[each["metadata"]["name"] for each in objects] for objects in reviews]

    async def __call__(self, call: Call) -> Reply:
        self.calls.append(call)
        await asyncio.sleep(self.seconds)
        if self.replies:
            return self.replies.pop(0)
        review = json.loads(call.body)
        desired = review["request"]["desiredAPIVersion"]
        made = [renamed(tree) | {"apiVersion": desired} for tree in review["request"]["objects"]]
        response = {"uid": review["request"]["uid"], "result": {"status": "Success"}, "convertedObjects": made}
        body = {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}
        return Reply(200, json.dumps(body).encode())


def renamed(tree: Tree) -> Tree:
    """The other version's name for the same fact."""
    names = {"colour": "paint", "paint": "colour"}
    spec = {names.get(key, key): value for key, value in (tree.get("spec") or {}).items()}
    return tree | {"spec": spec}


def a_version(name: str, field: str, *, storage: bool) -> Tree:
    spec = {"type": "object", "properties": {field: {"type": "string"}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": storage, "schema": schema}


def a_definition(resource: Resource = V1, *, storage: str = "v1") -> Tree:
    fields = {"v1": "colour", "v2": "paint"}
    service = {"name": "convert", "namespace": "default", "path": "/convert"}
    return {
        "metadata": {"name": f"{resource.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": resource.plural, "kind": resource.kind},
            "versions": [a_version(name, field, storage=name == storage) for name, field in fields.items()],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]},
            },
        },
    }


def a_gadget(name: str = "one", **spec: str) -> Tree:
    return {"metadata": {"name": name}, "spec": spec}


def with_gadgets(script: Callable[[Cluster, Hook], Awaitable[Any]]) -> Any:
    """The answer of a script on a cluster whose gadgets a webhook converts."""

    async def main() -> Any:
        cluster, hook = Cluster(), Hook()
        cluster.network.serve(HOST, hook)
        cluster.verbs.create(DEFINITIONS, "", a_definition(), user="me")
        await asyncio.sleep(SETTLED)
        return await script(cluster, hook)

    return run(main())


async def send(cluster: Cluster, method: str, resource: Resource, name: str = "", tree: Tree | None = None) -> Response:
    """Merge patches are the only patches here; objects that are sent say what they are."""
    path = path_of(resource, "default" if resource.namespaced else "", name)
    if tree is not None and method != "PATCH":
        tree = {"apiVersion": resource.api_version, "kind": resource.kind} | tree
    body = b"" if tree is None else json.dumps(tree).encode()
    kind = MERGE_PATCH if method == "PATCH" else "application/json"
    return await cluster.transport().send(Request(method, path, body=body, content_type=kind, timeout=600.0))


def tree_of(answer: Response) -> Tree:
    tree: Tree = json.loads(answer.body)
    return tree


# Time


def test_a_webhook_is_called_at_its_service_and_may_take_its_time() -> None:
    async def script(cluster: Cluster, hook: Hook) -> tuple[Tree, float, Call]:
        await send(cluster, "POST", V1, tree=a_gadget(colour="red"))
        hook.seconds, began = 20.0, clock.monotonic()
        seen = tree_of(await send(cluster, "GET", V2, "one"))
        return seen, clock.monotonic() - began, hook.calls[0]

    seen, seconds, call = with_gadgets(script)

    assert seen["spec"] == {"paint": "red"}
    assert seconds == pytest.approx(20)
    assert call.url == "/convert?timeout=30s"
    assert call.header("Host") == [f"{HOST}:443"]


def test_a_webhook_that_takes_longer_than_half_a_minute_fails_the_request() -> None:
    async def script(cluster: Cluster, hook: Hook) -> tuple[Response, float]:
        await send(cluster, "POST", V1, tree=a_gadget(colour="red"))
        hook.seconds, began = 31.0, clock.monotonic()
        answer = await send(cluster, "GET", V2, "one")
        return answer, clock.monotonic() - began

    answer, seconds = with_gadgets(script)

    assert answer.status == 500
    text = tree_of(answer)["message"]
    assert text.startswith('conversion webhook for shop.example.com/v1, Kind=Gadget failed: Post "https://')
    assert text.endswith('?timeout=30s": context deadline exceeded')
    assert seconds == pytest.approx(30)


def test_a_webhook_that_says_when_it_will_be_ready_is_asked_again() -> None:
    async def script(cluster: Cluster, hook: Hook) -> tuple[Tree, float, int]:
        await send(cluster, "POST", V1, tree=a_gadget(colour="red"))
        hook.replies = [Reply(503, headers=(("Retry-After", "3"),)), Reply(429, headers=(("Retry-After", "1"),))]
        began = clock.monotonic()
        seen = tree_of(await send(cluster, "GET", V2, "one"))
        return seen, clock.monotonic() - began, len(hook.calls)

    seen, seconds, calls = with_gadgets(script)

    assert seen["spec"] == {"paint": "red"}
    assert (seconds, calls) == (pytest.approx(4), 3)


@pytest.mark.parametrize(("pause", "calls"), [("1", 11), ("20", 2)])
def test_a_webhook_that_is_never_ready_is_given_up(pause: str, calls: int) -> None:
    async def script(cluster: Cluster, hook: Hook) -> tuple[Response, float, int]:
        await send(cluster, "POST", V1, tree=a_gadget(colour="red"))
        hook.replies = [Reply(503, headers=(("Retry-After", pause),))] * 20
        began = clock.monotonic()
        return await send(cluster, "GET", V2, "one"), clock.monotonic() - began, len(hook.calls)

    answer, seconds, made = with_gadgets(script)

    assert (answer.status, made) == (500, calls)
    assert seconds < 30


def test_a_webhook_outside_of_the_process_is_called_over_https() -> None:
    hook = Hook()

    async def serve(request: web.Request) -> web.Response:
        reply = await hook(Call(method=request.method, url=request.raw_path, body=await request.read()))
        return web.Response(status=reply.status, body=reply.body)

    async def main() -> list[Response]:
        async with serving(serve, server_context("127.0.0.1")) as address, a_caller() as caller:
            cluster, definition = Cluster(caller=caller), a_definition()
            bundle = base64.b64encode(authority().certificate).decode()
            client = {"url": f"{address}/convert", "caBundle": bundle}
            definition["spec"]["conversion"]["webhook"]["clientConfig"] = client
            cluster.verbs.create(DEFINITIONS, "", definition, user="me")
            watcher = cluster.verbs.watch(DEFINITIONS)
            while not is_true((await anext(aiter(watcher))).tree(), "Established"):
                pass
            watcher.close()
            made = await send(cluster, "POST", V2, tree=a_gadget(paint="red"))
            return [made, await send(cluster, "GET", V1, "one"), await send(cluster, "GET", V2, "one")]

    answers = asyncio.run(main())

    assert [each.status for each in answers] == [201, 200, 200]
    assert [tree_of(each)["spec"] for each in answers] == [{"paint": "red"}, {"colour": "red"}, {"paint": "red"}]
    assert {call.url for call in hook.calls} == {"/convert?timeout=30s"}


# Watches


@asynccontextmanager
async def watched(cluster: Cluster, resource: Resource, **query: str) -> AsyncIterator[AsyncIterator[Tree]]:
    request = Request("GET", path_of(resource, "default"), (("watch", "true"), *query.items()))
    async with cluster.transport().stream(request) as stream:

        async def events() -> AsyncIterator[Tree]:
            async for line in stream:
                yield json.loads(line)

        yield events()


def test_a_slow_webhook_keeps_the_order_of_events_and_holds_up_nobody_else() -> None:
    async def times(cluster: Cluster, resource: Resource, count: int, began: float) -> list[tuple[str, float]]:
        found: list[tuple[str, float]] = []
        async with watched(cluster, resource) as events:
            async for event in events:
                found.append((event["object"]["metadata"]["name"], round(clock.monotonic() - began)))
                if len(found) == count:
                    break
        return found

    async def script(cluster: Cluster, hook: Hook) -> list[list[tuple[str, float]]]:
        cluster.verbs.create(DEFINITIONS, "", a_definition(OTHERS), user="me")
        await asyncio.sleep(SETTLED)
        hook.seconds, began = 5.0, clock.monotonic()
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(times(cluster, each, 3, began)) for each in (V1, V2, OTHERS)]
            await asyncio.sleep(0)
            for name in ("a", "b", "c"):
                await send(cluster, "POST", V1, tree=a_gadget(name))
                await send(cluster, "POST", OTHERS, tree=a_gadget(name))
        return [task.result() for task in tasks]

    stored, converted_slowly, others = with_gadgets(script)

    assert stored == others == [("a", 0), ("b", 0), ("c", 0)]
    assert converted_slowly == [("a", 5), ("b", 10), ("c", 15)]


def test_a_watch_ends_at_an_event_that_cannot_be_converted() -> None:
    async def script(cluster: Cluster, hook: Hook) -> tuple[list[str], list[Tree]]:
        await send(cluster, "POST", V1, tree=a_gadget("a"))
        async with watched(cluster, V2) as events:
            names = [(await anext(events))["object"]["metadata"]["name"]]
            cluster.network.withdraw(HOST)
            await send(cluster, "POST", V1, tree=a_gadget("b"))
            names += [event["object"]["metadata"]["name"] async for event in events]
        async with watched(cluster, V2, resourceVersion=str(cluster.store.revision - 1)) as events:
            return names, [event async for event in events]

    names, again = with_gadgets(script)

    assert names == ["a"]
    [error] = again
    assert (error["type"], error["object"]["code"], error["object"]["reason"]) == ("ERROR", 504, "Timeout")


def test_lists_ask_once_for_each_object_and_a_get_every_time() -> None:
    async def script(cluster: Cluster, hook: Hook) -> list[list[list[str]]]:
        for name in ("a", "b"):
            await send(cluster, "POST", V1, tree=a_gadget(name))
        found = []
        for name in ("", "", "a", "a"):
            hook.calls.clear()
            assert (await send(cluster, "GET", V2, name)).status == 200
            found.append(hook.names)
        return found

    assert with_gadgets(script) == [[["a"], ["b"]], [], [["a"]], [["a"]]]


# Writes


def test_of_two_creations_that_a_webhook_holds_up_one_wins() -> None:
    async def script(cluster: Cluster, hook: Hook) -> list[Response]:
        hook.seconds = 1.0
        return await asyncio.gather(*(send(cluster, "POST", V2, tree=a_gadget(paint=each)) for each in ("red", "blue")))

    answers = with_gadgets(script)

    assert sorted(each.status for each in answers) == [201, 409]
    assert {tree_of(each).get("reason") for each in answers} == {None, "AlreadyExists"}


def test_a_patch_that_a_webhook_holds_up_starts_again_from_the_newest_object() -> None:
    async def script(cluster: Cluster, hook: Hook) -> tuple[int, Tree]:
        await send(cluster, "POST", V1, tree=a_gadget(colour="red"))
        hook.seconds = 1.0
        labels = {"metadata": {"labels": {"a": "b"}}}
        patch = asyncio.ensure_future(send(cluster, "PATCH", V2, "one", labels))
        await asyncio.sleep(0.5)
        await send(cluster, "PATCH", V1, "one", {"spec": {"colour": "blue"}})
        return (await patch).status, tree_of(await send(cluster, "GET", V1, "one"))

    status, found = with_gadgets(script)

    assert status == 200
    assert (found["spec"], found["metadata"]["labels"]) == ({"colour": "blue"}, {"a": "b"})


def test_a_write_may_do_without_a_conversion_that_fails() -> None:
    kind_conversion = Conversion({"g/v1": Node(), "g/v2": Node()}, "g/v1", Webhook(ClientConfig(), ("v1",)))

    def write() -> Write:
        try:
            yield Convert(kind_conversion, ({"apiVersion": "g/v1"},), "g/v2")
        except StatusError as error:
            return {"failed": error.message}
        return {}

    async def failing(_asked: Convert) -> list[Tree]:
        raise internal("no")

    async def nobody(_question: object) -> None:
        raise AssertionError

    asking = write()
    assert run(driven(asking, next(asking), nobody, failing)) == {"failed": "no"}
    assert "send a request" in unreviewed(write())["failed"]


def test_admission_webhooks_of_another_version_see_and_change_the_converted_object() -> None:
    async def script(cluster: Cluster, hook: Hook) -> tuple[list[Tree], Tree, Tree]:
        seen: list[Tree] = []

        def decide(request: Tree) -> Tree:
            seen.append(request["object"])
            return patching({"op": "add", "path": "/spec/paint", "value": "green"})

        cluster.network.serve("admit.default.svc", answering(decide))
        rule = a_rule("CREATE", "gadgets") | {"apiVersions": ["v2"]}
        await configure(cluster, "mutating", "one", a_hook("one", rule, host="admit.default.svc"))
        made = tree_of(await send(cluster, "POST", V1, tree=a_gadget(colour="red")))
        return seen, made, tree_of(await send(cluster, "GET", V1, "one"))

    [seen], made, stored = with_gadgets(script)

    assert (seen["apiVersion"], seen["spec"]) == (V2.api_version, {"paint": "red"})
    assert made["spec"] == stored["spec"] == {"colour": "green"}


# Those within the cluster


@pytest.mark.parametrize("removed", [NAMESPACES, DEFINITIONS])
def test_what_takes_its_objects_along_needs_no_webhook(removed: Resource) -> None:
    """Objects that are stored in a version of before included."""

    async def script(cluster: Cluster, hook: Hook) -> bool:
        running = asyncio.ensure_future(cluster.run())
        await send(cluster, "POST", V1, tree=a_gadget(colour="red"))
        moved = {"spec": {"versions": a_definition(storage="v2")["spec"]["versions"]}}
        await send(cluster, "PATCH", DEFINITIONS, f"gadgets.{GROUP}", moved)
        await asyncio.sleep(SETTLED)
        cluster.network.withdraw(HOST)
        cluster.verbs.delete(removed, "", "default" if removed == NAMESPACES else f"gadgets.{GROUP}", user="me")
        await asyncio.sleep(60)
        running.cancel()
        await asyncio.wait([running])
        return bool(cluster.store.table(V1).live)

    assert not with_gadgets(script)


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
def test_the_collector_needs_no_webhook_for_what_it_collects(policy: str) -> None:
    """Owners are found by any of their versions, and let go of in whichever they are stored in."""

    async def script(cluster: Cluster, hook: Hook) -> tuple[int, bool, bool, bool]:
        running = asyncio.ensure_future(cluster.run())
        moved = {"spec": {"versions": a_definition(storage="v2")["spec"]["versions"]}}
        await send(cluster, "PATCH", DEFINITIONS, f"gadgets.{GROUP}", moved)
        await asyncio.sleep(SETTLED)
        uid = tree_of(await send(cluster, "POST", V2, tree=a_gadget(paint="red")))["metadata"]["uid"]
        owner = {"apiVersion": V1.api_version, "kind": "Gadget", "name": "one", "uid": uid, "blockOwnerDeletion": True}
        cluster.verbs.create(CONFIG_MAPS, "default", a_map("owned", ownerReferences=[owner]), user="me")
        owned = cluster.store.table(CONFIG_MAPS).live
        await asyncio.sleep(60)
        before = ("default", "owned") in owned
        cluster.network.withdraw(HOST)
        path = path_of(V2, "default", "one")
        answer = await cluster.transport().send(Request("DELETE", path, (("propagationPolicy", policy),)))
        await asyncio.sleep(60)
        running.cancel()
        await asyncio.wait([running])
        return answer.status, before, ("default", "owned") in owned, bool(cluster.store.table(V1).live)

    assert with_gadgets(script) == (200, True, policy == "Orphan", False)


def test_verbs_show_and_write_what_a_webhook_would_convert_as_it_is_stored() -> None:
    async def script(cluster: Cluster, hook: Hook) -> Tree:
        await send(cluster, "POST", V1, tree=a_gadget(colour="red"))
        labels = json.dumps({"metadata": {"labels": {"a": "b"}}}).encode()
        cluster.verbs.patch(V2, "default", "one", MERGE_PATCH, labels, user="me")
        return cluster.get(V2, "default", "one")

    found = with_gadgets(script)

    assert (found["apiVersion"], found["spec"]) == (V1.api_version, {"colour": "red"})
    assert found["metadata"]["labels"] == {"a": "b"}


# The question itself


def test_many_trees_are_one_question_and_those_that_need_no_answer_are_not_sent() -> None:
    service = ClientConfig(service=Service("convert", "default", "/convert"))
    conversion = Conversion({V1.api_version: Node(), V2.api_version: Node()}, "", Webhook(service, ("v1",)))

    async def main() -> tuple[list[Tree], list[list[str]]]:
        cluster, hook = Cluster(), Hook()
        cluster.network.serve(HOST, hook)
        trees = [
            {"apiVersion": V1.api_version, "kind": "Gadget", **a_gadget("a", colour="red")},
            {"apiVersion": V2.api_version, "kind": "Gadget", **a_gadget("b", paint="blue")},
            {"apiVersion": V1.api_version, "kind": "Gadget"},
            {"apiVersion": V1.api_version, "kind": "Gadget", **a_gadget("c")},
        ]
        made = await Converter(Store(), cluster.network.call)(Convert(conversion, tuple(trees), V2.api_version))
        return made, hook.names

    made, asked = run(main())

    assert asked == [["a", "c"]]
    assert [each["apiVersion"] for each in made] == [V2.api_version] * 4
    assert [each.get("spec") for each in made] == [{"paint": "red"}, {"paint": "blue"}, None, {}]


def test_kinds_that_are_built_in_are_converted_by_nobody() -> None:
    kind = Cluster().verbs.registry.kind(NAMESPACES)

    with pytest.raises(StopIteration) as done:
        next(converted(kind, [{"apiVersion": "v1"}], "v1"))

    assert done.value.value == [{"apiVersion": "v1"}]


def test_a_version_that_the_definition_does_not_have_is_told() -> None:
    conversion = Conversion({"g/v1": Node()}, "g/v1")

    with pytest.raises(StatusError, match="request to convert CR to an invalid group/version: g/v2"):
        conversion.directly([], "g/v2")
    with pytest.raises(StatusError, match="request to convert CR from an invalid group/version: g/v3"):
        conversion.directly([{"apiVersion": "g/v3"}], "g/v1")
