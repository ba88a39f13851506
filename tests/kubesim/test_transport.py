"""The cluster behind the request seam: codes, bodies, watches, and what interleaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from kubeloop import clock, request
from kubeloop.errors import TransportError
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response, Transport
from kubesim.auth.rbac import MASTERS, master
from kubesim.cluster import Cluster
from kubesim.kinds.registry import CONFIG_MAPS, LEASES, PODS, STATEFUL_SETS
from kubesim.patches.patch import MERGE_PATCH
from kubesim.time import run
from tests.kubesim.trees import Tree, a_map, a_pod, a_set

MAPS = "/api/v1/namespaces/default/configmaps"
OLD_MAPS = "/api/v1/watch/namespaces/default/configmaps"
FRESH = Cluster().store.revision
"""Resource version of a cluster in which nothing has happened yet."""


def on_a_cluster(script: Callable[[Cluster], Coroutine[Any, Any, Any]], *, seed: int = 0, **options: Any) -> Any:
    async def main() -> Any:
        return await script(Cluster(seed=seed, **options))

    return run(main(), seed=seed)


def encoded(tree: Tree) -> bytes:
    return json.dumps(tree).encode()


def decoded(response: Response) -> Tree:
    tree: Tree = json.loads(response.body)
    return tree


async def add(transport: Transport, *names: str) -> None:
    for name in names:
        assert (await transport.send(request.create(CONFIG_MAPS, "default", encoded(a_map(name))))).status == 201


def a_watch(path: str = MAPS, **options: str) -> Request:
    return Request("GET", path, query=(("watch", "true"), *options.items()))


def told(line: bytes) -> str:
    event = json.loads(line)
    metadata = event["object"]["metadata"]
    if event["type"] == "BOOKMARK":
        end = "initial-events-end" in str(metadata.get("annotations"))
        return f"BOOKMARK {metadata['resourceVersion']}{' end' if end else ''}"
    return f"{event['type']} {metadata.get('name', event['object'].get('code'))}"


async def follow(transport: Transport, watch: Request) -> list[str]:
    """Everything until the server ends the watch."""
    async with transport.stream(watch) as stream:
        assert stream.status == 200
        return [told(line) async for line in stream]


def test_an_object_is_created_read_replaced_patched_and_deleted() -> None:
    async def script(cluster: Cluster) -> list[int]:
        transport = cluster.transport()
        ref = Ref(STATEFUL_SETS, "default", "web")
        made = await transport.send(request.create(STATEFUL_SETS, "default", encoded(a_set())))
        read = await transport.send(request.get(ref))
        replaced = await transport.send(request.replace(ref, read.body))
        patched = await transport.send(request.patch(ref, MERGE_PATCH, b'{"spec":{"replicas":3}}'))
        scaled = await transport.send(request.patch(ref, MERGE_PATCH, b'{"spec":{"replicas":4}}', "scale"))
        assert decoded(scaled)["spec"]["replicas"] == 4
        deleted = await transport.send(request.delete(ref))
        missing = await transport.send(request.get(ref))
        return [each.status for each in (made, read, replaced, patched, scaled, deleted, missing)]

    assert on_a_cluster(script) == [201, 200, 200, 200, 200, 200, 404]


def test_a_put_that_creates_says_so() -> None:
    async def script(cluster: Cluster) -> list[int]:
        ref = Ref(LEASES, "default", "leader")
        body = encoded({"metadata": {"name": "leader"}, "spec": {}})
        first = await cluster.transport().send(request.replace(ref, body))
        second = await cluster.transport().send(request.replace(ref, first.body))
        return [first.status, second.status]

    assert on_a_cluster(script) == [201, 200]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "says"),
    [
        ("GET", "/api/v1/namespaces/default/pods/a-0", b"", 404, 'pods "a-0" not found'),
        ("GET", "/api/v1/namespaces/default/widgets", b"", 404, "could not find the requested resource"),
        ("GET", "/apis/apps/v2/statefulsets", b"", 404, "the server could not find the requested resource"),
        ("GET", "/nothing", b"", 404, "404 page not found"),
        ("GET", "/api/v1/configmaps/settings", b"", 404, "could not find the requested resource"),
        ("GET", "/api/v1/namespaces/default/pods/a-0/nothing", b"", 404, "could not find the requested resource"),
        ("POST", MAPS, b"{", 400, "the object provided is unrecognized (must be of type ConfigMap)"),
        ("POST", MAPS, b"[]", 400, "the object provided is unrecognized (must be of type ConfigMap)"),
        ("POST", "/api/v1/configmaps", b"{}", 405, "does not allow this method"),
        ("PUT", MAPS, b"{}", 405, "does not allow this method"),
        ("GET", "/api/v1/namespaces/default/pods/a-0/eviction", b"", 405, "does not allow this method"),
        ("GET", f"{MAPS}?fieldSelector=data.key=x", b"", 400, '"data.key" is not a known field selector'),
        ("GET", f"{MAPS}?limit=many", b"", 400, "invalid syntax"),
        ("GET", f"{MAPS}?resourceVersion=9999", b"", 504, f"Too large resource version: 9999, current: {FRESH}"),
        ("GET", f"{MAPS}?resourceVersionMatch=Exact", b"", 422, "forbidden unless resourceVersion is provided"),
        ("GET", f"{MAPS}?continue=nonsense", b"", 400, "continue key is not valid"),
        ("DELETE", f"{MAPS}/a?dryRun=Some", b"", 422, 'Unsupported value: ["Some"]: supported values: "All"'),
    ],
)
def test_refusals(method: str, path: str, body: bytes, status: int, says: str) -> None:
    async def script(cluster: Cluster) -> Response:
        place, _, query = path.partition("?")
        pairs = [tuple(part.split("=", 1)) for part in query.split("&")] if query else []
        wanted = Request(method, place, query=tuple((pair[0], pair[1]) for pair in pairs), body=body)
        return await cluster.transport().send(wanted)

    answer = on_a_cluster(script)

    assert answer.status == status
    text = answer.body.decode() if answer.headers["content-type"] != "application/json" else decoded(answer)["message"]
    assert says in text
    assert answer.headers.get("retry-after") == ("1" if status == 504 else None)


def test_a_body_of_another_type_is_refused() -> None:
    async def script(cluster: Cluster) -> int:
        wanted = Request("POST", MAPS, body=b"x", content_type="text/plain")
        return (await cluster.transport().send(wanted)).status

    assert on_a_cluster(script) == 415


def test_lists_are_paged_and_selected() -> None:
    async def script(cluster: Cluster) -> tuple[list[list[str]], list[str], Tree]:
        transport = cluster.transport()
        await add(transport, *"abcde")
        pages: list[list[str]] = []
        token = ""
        while True:
            query = (("limit", "2"), ("continue", token)) if token else (("limit", "2"),)
            page = decoded(await transport.send(Request("GET", MAPS, query=query)))
            pages.append([item["metadata"]["name"] for item in page["items"]])
            token = page["metadata"].get("continue", "")
            if not token:
                break
        one = await transport.send(Request("GET", MAPS, query=(("fieldSelector", "metadata.name=c"),)))
        everywhere = decoded(await transport.send(Request("GET", "/api/v1/configmaps")))
        return pages, [item["metadata"]["name"] for item in decoded(one)["items"]], everywhere

    pages, one, everywhere = on_a_cluster(script)

    assert pages == [["a", "b"], ["c", "d"], ["e"]]
    assert one == ["c"]
    assert (everywhere["kind"], everywhere["apiVersion"]) == ("ConfigMapList", "v1")
    assert everywhere["metadata"] == {"resourceVersion": str(FRESH + 5)}
    assert "kind" not in everywhere["items"][0]


def test_a_collection_can_be_deleted() -> None:
    async def script(cluster: Cluster) -> list[str]:
        transport = cluster.transport()
        await add(transport, *"abc")
        await transport.send(Request("DELETE", MAPS, query=(("fieldSelector", "metadata.name!=b"),)))
        return [tree["metadata"]["name"] for tree in cluster.verbs.list(CONFIG_MAPS)]

    assert on_a_cluster(script) == ["b"]


def test_a_watch_ends_at_its_time_out_with_a_bookmark() -> None:
    async def script(cluster: Cluster) -> tuple[list[str], float]:
        transport = cluster.transport()
        await add(transport, "a")
        watch = a_watch(resourceVersion=str(FRESH), allowWatchBookmarks="true", timeoutSeconds="150")
        return await follow(transport, watch), clock.monotonic()

    lines, now = on_a_cluster(script)

    assert lines == ["ADDED a", *[f"BOOKMARK {FRESH + 1}"] * 3]
    assert now == 150.0


def test_without_being_asked_for_there_are_no_bookmarks() -> None:
    async def script(cluster: Cluster) -> list[str]:
        return await follow(cluster.transport(), a_watch(timeoutSeconds="150"))

    assert on_a_cluster(script) == []


def test_a_bookmark_does_not_claim_what_a_lagging_watch_has_not_delivered() -> None:
    async def script(cluster: Cluster) -> list[str]:
        transport = cluster.transport()
        watch = a_watch(resourceVersion=str(FRESH), allowWatchBookmarks="true", timeoutSeconds="70")
        async with asyncio.TaskGroup() as group:
            lines = group.create_task(follow(transport, watch))
            await asyncio.sleep(1)
            await add(transport, "a")
        return lines.result()

    lines = on_a_cluster(script, lag=(62.0, 62.0))

    assert lines == [f"BOOKMARK {FRESH}", "ADDED a", f"BOOKMARK {FRESH + 1}"]


def test_initial_events_end_with_an_annotated_bookmark() -> None:
    async def script(cluster: Cluster) -> tuple[list[str], list[str], int]:
        transport = cluster.transport()
        options = {
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": "1",
        }
        empty = await follow(transport, a_watch(**options))
        await add(transport, "b", "a")
        some = await follow(transport, a_watch(**options))
        options.pop("resourceVersionMatch")
        async with transport.stream(a_watch(**options)) as stream:
            return empty, some, stream.status

    empty, some, status = on_a_cluster(script)

    assert empty == [f"BOOKMARK {FRESH} end"]
    assert some == ["ADDED a", "ADDED b", f"BOOKMARK {FRESH + 2} end"]
    assert status == 422


def test_a_version_that_is_too_old_is_told_on_the_watch() -> None:
    async def script(cluster: Cluster) -> list[str]:
        transport = cluster.transport()
        await add(transport, "a", "b")
        cluster.compact()
        return await follow(transport, a_watch(resourceVersion=str(FRESH)))

    assert on_a_cluster(script) == ["ERROR 410"]


def test_a_watch_that_is_refused_has_the_refusal_as_its_body() -> None:
    async def script(cluster: Cluster) -> tuple[int, Tree]:
        async with cluster.transport().stream(a_watch(fieldSelector="data=x")) as stream:
            return stream.status, json.loads(b"".join([line async for line in stream]))

    status, body = on_a_cluster(script)

    assert (status, body["code"], body["reason"]) == (400, 400, "BadRequest")


@pytest.mark.parametrize(
    ("path", "seen"), [(f"{OLD_MAPS}/b", ["ADDED b"]), (OLD_MAPS, ["ADDED a", "ADDED b"])], ids=["object", "collection"]
)
def test_old_clients_watch_at_paths_of_their_own(path: str, seen: list[str]) -> None:
    async def script(cluster: Cluster) -> list[str]:
        transport = cluster.transport()
        await add(transport, "a", "b")
        return await follow(transport, Request("GET", path, query=(("timeoutSeconds", "1"),)))

    assert on_a_cluster(script) == seen


def test_one_object_is_read_even_by_who_wants_to_watch_it() -> None:
    async def script(cluster: Cluster) -> Tree:
        transport = cluster.transport()
        await add(transport, "a")
        async with transport.stream(a_watch(f"{MAPS}/a", timeoutSeconds="1")) as stream:
            [line] = [json.loads(line) async for line in stream]
        found: Tree = line
        return found

    assert on_a_cluster(script)["metadata"]["name"] == "a"


def test_events_are_watched_in_the_form_of_their_group() -> None:
    async def script(cluster: Cluster) -> list[Tree]:
        transport = cluster.transport()
        event = {
            "metadata": {"name": "e"},
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "regarding": {"kind": "Pod", "name": "web-0"},
            "note": "it happened",
            "reason": "Happened",
            "action": "Happening",
            "reportingController": "fairlead",
            "reportingInstance": "fairlead-0",
            "type": "Normal",
        }
        path = "/apis/events.k8s.io/v1/namespaces/default/events"
        await transport.send(Request("POST", path, body=encoded(event)))
        shown = []
        for group in ("/apis/events.k8s.io/v1", "/api/v1"):
            async with transport.stream(a_watch(f"{group}/events", timeoutSeconds="1")) as stream:
                shown += [json.loads(line)["object"] async for line in stream]
        return shown

    new, core = on_a_cluster(script)

    assert (new["apiVersion"], new["regarding"]["name"], new["note"]) == ("events.k8s.io/v1", "web-0", "it happened")
    assert (core["apiVersion"], core["involvedObject"]["name"], core["message"]) == ("v1", "web-0", "it happened")


def test_disconnecting_ends_open_watches() -> None:
    async def script(cluster: Cluster) -> list[str]:
        transport = cluster.transport()
        async with asyncio.TaskGroup() as group:
            lines = group.create_task(follow(transport, a_watch()))
            await add(transport, "a")
            await asyncio.sleep(1)
            cluster.disconnect()
        return lines.result()

    assert on_a_cluster(script) == ["ADDED a"]


def test_leaving_a_watch_frees_it() -> None:
    async def script(cluster: Cluster) -> int:
        transport = cluster.transport()
        await add(transport, "a")
        async with transport.stream(a_watch()) as stream:
            async for _ in stream:
                break
        return len(cluster.store.table(CONFIG_MAPS)._watchers)

    assert on_a_cluster(script) == 0


def test_binding_and_eviction_are_posted_to_the_pod() -> None:
    async def script(cluster: Cluster) -> tuple[list[int], Tree]:
        transport = cluster.transport()
        await transport.send(request.create(PODS, "default", encoded(a_pod())))
        path = "/api/v1/namespaces/default/pods/web-0"
        binding = encoded({"metadata": {"name": "web-0"}, "target": {"name": "node-1"}})
        eviction = encoded({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web-0"}})
        answers = [
            await transport.send(Request("POST", f"{path}/binding", body=binding)),
            await transport.send(Request("POST", f"{path}/eviction", body=eviction)),
        ]
        return [answer.status for answer in answers], cluster.get(PODS, "default", "web-0")

    statuses, pod = on_a_cluster(script)

    assert statuses == [201, 201]
    assert pod["spec"]["nodeName"] == "node-1"
    assert pod["metadata"]["deletionGracePeriodSeconds"] == 30


def test_writes_are_recorded_under_their_user() -> None:
    async def script(cluster: Cluster) -> list[str]:
        alice = cluster.transport(master("alice"))
        await add(alice, "a")
        bob = (("Impersonate-User", "bob"), ("Impersonate-Group", MASTERS))
        await alice.send(Request("DELETE", f"{MAPS}/a", headers=bob))
        return [entry.user for entry in cluster.history.of(CONFIG_MAPS)]

    assert on_a_cluster(script) == ["alice", "bob"]


def test_latency_takes_time_and_comes_from_the_seed() -> None:
    async def script(cluster: Cluster) -> list[float]:
        transport = cluster.transport()
        times = []
        for name in "abc":
            before = clock.monotonic()
            await add(transport, name)
            times.append(clock.monotonic() - before)
        return times

    first, again, other = (on_a_cluster(script, seed=seed, latency=(0.5, 1.5)) for seed in (1, 1, 2))

    assert first == again
    assert first != other
    assert all(0.5 <= seconds <= 1.5 for seconds in first)


def test_a_caller_that_gives_up_does_not_know_whether_the_write_was_carried_out() -> None:
    async def script(cluster: Cluster) -> tuple[int, int]:
        transport = cluster.transport()
        outcomes = []
        for timeout in (0.2, 0.8):
            wanted = request.create(CONFIG_MAPS, "default", encoded(a_map(f"after-{int(timeout * 10)}")))
            with pytest.raises(TransportError):
                await transport.send(Request(wanted.method, wanted.path, body=wanted.body, timeout=timeout))
            outcomes.append(len(cluster.verbs.list(CONFIG_MAPS)))
        return outcomes[0], outcomes[1]

    assert on_a_cluster(script, latency=(1.0, 1.0)) == (0, 1)


def test_calls_give_way_so_that_the_seed_decides_the_order() -> None:
    async def script(cluster: Cluster) -> tuple[str, ...]:
        transport = cluster.transport()
        async with asyncio.TaskGroup() as group:
            for name in "abcdef":
                group.create_task(add(transport, name))
        return tuple(entry.name for entry in cluster.history.of(CONFIG_MAPS))

    orders = {on_a_cluster(script, seed=seed) for seed in range(10)}

    assert len(orders) > 1
    assert on_a_cluster(script, seed=3) == on_a_cluster(script, seed=3)


def test_discovery_names_every_kind_and_subresource() -> None:
    async def script(cluster: Cluster) -> list[Tree]:
        paths = ("/version", "/api", "/apis", "/api/v1", "/apis/apps/v1", "/apis/apps")
        return [decoded(await cluster.transport().send(Request("GET", path))) for path in paths]

    version, core, groups, v1, apps, group = on_a_cluster(script)

    assert version["gitVersion"].startswith("v1.36.4")
    assert core["versions"] == ["v1"]
    assert [each["name"] for each in groups["groups"]][:3] == ["apps", "events.k8s.io", "authentication.k8s.io"]
    names = {each["name"]: each for each in v1["resources"]}
    assert {"pods", "pods/status", "pods/binding", "pods/eviction", "nodes", "namespaces/status"} <= names.keys()
    assert (names["pods/eviction"]["group"], names["pods/eviction"]["kind"]) == ("policy", "Eviction")
    assert names["nodes"]["namespaced"] is False
    parts = [each["name"] for each in apps["resources"]]
    assert parts == sorted(parts)
    assert {"controllerrevisions", "daemonsets/status", "deployments/scale", "statefulsets"} <= set(parts)
    assert group["preferredVersion"] == {"groupVersion": "apps/v1", "version": "v1"}


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
def test_it_is_well(path: str) -> None:
    async def script(cluster: Cluster) -> Response:
        return await cluster.transport().send(Request("GET", path))

    assert on_a_cluster(script).body == b"ok"


def test_a_running_cluster_has_controllers() -> None:
    async def script(cluster: Cluster) -> list[str]:
        running = asyncio.create_task(cluster.run())
        await cluster.transport().send(request.create(STATEFUL_SETS, "default", encoded(a_set(replicas=1))))
        await asyncio.sleep(1)
        running.cancel()
        return [entry.name for entry in cluster.history.of(PODS) if entry.user.endswith(":statefulset-controller")]

    assert on_a_cluster(script) == ["web-0"]
