"""Clients that are built on httpx, on the embedded cluster in virtual time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType
from typing import Any

import httpx
import httpx2
import pytest

from kubeloop import clock
from kubeloop.request import Transport
from kubesim import VirtualCluster
from kubesim.faults import Faulty
from kubesim.httpx_transport import HOST, async_transport, every_client
from kubesim.kinds import registry
from kubesim.time import RealWorld

MINUTES = 60.0
PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "main", "image": "example.test/main:1.0"}]}}
BOTH = pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])
Script = Callable[[VirtualCluster, Any], Awaitable[Any]]


def played(library: ModuleType, script: Script, *faults: str, user: str = "admin") -> Any:
    """What the script makes of a client of the library."""

    async def scenario(world: VirtualCluster) -> Any:
        wire: Transport = Faulty(world.cluster.transport(user), faults)
        transport = async_transport(library, wire)
        async with library.AsyncClient(transport=transport, base_url="http://any.test") as client:
            return await script(world, client)

    return VirtualCluster().play(scenario)


@BOTH
def test_it_is_a_transport_of_the_library(library: ModuleType) -> None:
    assert isinstance(async_transport(library, VirtualCluster().cluster.transport()), library.AsyncBaseTransport)


@BOTH
def test_requests_are_answered_with_status_headers_and_body(library: ModuleType) -> None:
    async def script(_: VirtualCluster, client: Any) -> tuple[Any, ...]:
        made = await client.post(PODS, json=POD)
        again = await client.post(PODS, json=POD)
        chosen = await client.get(PODS, params={"fieldSelector": "metadata.name=one"})
        none = await client.get(PODS, params={"fieldSelector": "metadata.name!=one"})
        return made, again, chosen, none

    made, again, chosen, none = played(library, script)

    assert (made.status_code, made.headers["content-type"]) == (201, "application/json")
    assert (again.status_code, again.json()["reason"]) == (409, "AlreadyExists")
    assert [each["metadata"]["name"] for each in chosen.json()["items"]] == ["one"]
    assert none.json()["items"] == []


@BOTH
def test_every_warning_has_a_header_of_its_own(library: ModuleType) -> None:
    unknown = POD | {"spec": {**POD["spec"], "colour": "red", "size": 3}}  # type: ignore[dict-item]

    async def script(_: VirtualCluster, client: Any) -> list[str]:
        made = await client.post(PODS, json=unknown, params={"fieldValidation": "Warn"})
        found: list[str] = made.headers.get_list("warning")
        return found

    assert played(library, script) == [
        '299 - "unknown field \\"spec.colour\\""',
        '299 - "unknown field \\"spec.size\\""',
    ]


@BOTH
def test_a_watch_tells_each_event_when_it_happens(library: ModuleType) -> None:
    async def script(world: VirtualCluster, client: Any) -> list[tuple[float, str, str]]:
        seen: list[tuple[float, str, str]] = []

        async def watch() -> None:
            async with client.stream("GET", PODS, params={"watch": "true"}, timeout=None) as response:
                async for line in response.aiter_lines():
                    event = json.loads(line)
                    seen.append((clock.monotonic(), event["type"], event["object"]["metadata"]["name"]))

        task = asyncio.create_task(watch())
        await asyncio.sleep(10 * MINUTES)
        await client.post(PODS, json=POD)
        await asyncio.sleep(10 * MINUTES)
        await client.delete(f"{PODS}/one")
        await asyncio.sleep(60)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return seen

    seen = played(library, script)

    assert [seen[0], seen[-1]] == [
        (pytest.approx(10 * MINUTES, abs=1), "ADDED", "one"),
        (pytest.approx(20 * MINUTES, abs=60), "DELETED", "one"),
    ]


@BOTH
def test_a_watch_that_is_left_is_closed(library: ModuleType) -> None:
    async def script(world: VirtualCluster, client: Any) -> tuple[int, int]:
        watchers = world.cluster.store.table(registry.PODS)._watchers
        await asyncio.sleep(1)
        before = len(watchers)
        async with client.stream("GET", PODS, params={"watch": "1"}, timeout=None):
            during = len(watchers)
        return during - before, len(watchers) - before

    assert played(library, script) == (1, 0)


@BOTH
def test_a_log_that_is_followed_comes_as_it_is_said(library: ModuleType) -> None:
    async def script(world: VirtualCluster, client: Any) -> list[str]:
        await client.post(PODS, json=POD)
        await asyncio.sleep(0.5)
        async with client.stream("GET", f"{PODS}/one/log", params={"follow": "true"}, timeout=None) as response:
            lines = response.aiter_lines()
            return [await anext(lines), await anext(lines)]

    assert played(library, script) == ["container main of image example.test/main:1.0 started", "ready"]


@BOTH
def test_who_may_not_is_refused_a_watch_with_a_status(library: ModuleType) -> None:
    async def script(_: VirtualCluster, client: Any) -> tuple[int, str]:
        async with client.stream("GET", PODS, params={"watch": "true"}) as response:
            await response.aread()
            return response.status_code, response.json()["reason"]

    assert played(library, script, user="alice") == (403, "Forbidden")


@BOTH
@pytest.mark.parametrize("query", [{}, {"watch": "true"}], ids=["list", "watch"])
def test_a_broken_connection_is_the_librarys_read_error(library: ModuleType, query: dict[str, str]) -> None:
    async def script(_: VirtualCluster, client: Any) -> None:
        with pytest.raises(library.ReadError, match="injected fault") as caught:
            await client.get(PODS, params=query)
        assert caught.value.request.url.path == PODS

    played(library, script, "any pods: drop")


@BOTH
def test_a_watch_that_breaks_in_the_middle_is_a_read_error(library: ModuleType) -> None:
    async def script(_: VirtualCluster, client: Any) -> float:
        async with client.stream("GET", PODS, params={"watch": "true"}, timeout=None) as response:
            with pytest.raises(library.ReadError, match="the connection broke"):
                await response.aread()
        return clock.monotonic()

    assert played(library, script, "watch pods: break 30s") == pytest.approx(30)


@BOTH
def test_events_are_on_lines_of_their_own_also_when_a_fault_tells_them(library: ModuleType) -> None:
    async def script(_: VirtualCluster, client: Any) -> list[str]:
        await client.post(PODS, json=POD)
        async with client.stream("GET", PODS, params={"watch": "true"}, timeout=None) as response:
            return [json.loads(line)["type"] async for line in response.aiter_lines()]

    assert played(library, script, "watch pods at 30s: 410", "watch pods: end 40s")[-1] == "ERROR"


@BOTH
@pytest.mark.parametrize("query", [{}, {"watch": "true"}], ids=["no answer", "no event"])
def test_who_waits_too_long_gets_the_librarys_time_out(library: ModuleType, query: dict[str, str]) -> None:
    async def script(_: VirtualCluster, client: Any) -> float:
        with pytest.raises(library.ReadTimeout, match="no answer in 600 seconds"):
            await client.get(PODS, params=query, timeout=600)
        return clock.monotonic()

    assert played(library, script, "list pods: timeout") == pytest.approx(600)


@BOTH
def test_clients_that_take_no_transport_speak_to_the_cluster_at_its_address_alone(library: ModuleType) -> None:
    async def scenario(world: VirtualCluster) -> int:
        async with library.AsyncClient() as client:
            with every_client(library, world.cluster.transport()):
                status: int = (await client.get(f"http://{HOST}{PODS}")).status_code
                with pytest.raises(RealWorld):
                    await client.get("http://elsewhere.test/")
            with pytest.raises(RealWorld):
                await client.get(f"http://{HOST}{PODS}")
            return status

    assert VirtualCluster().play(scenario) == 200


@BOTH
def test_a_client_with_a_loop_of_its_own_is_refused(library: ModuleType) -> None:
    """As clients have that hide asyncio in a thread: the cluster is not safe from there, and time is another."""

    async def scenario(world: VirtualCluster) -> None:
        transport = async_transport(library, world.cluster.transport())

        async def elsewhere() -> None:
            async with library.AsyncClient(transport=transport) as client:
                with pytest.raises(RealWorld, match="from another event loop than the scenario's"):
                    await client.get(f"http://{HOST}{PODS}")
            async with library.AsyncClient() as client:
                with pytest.raises(RealWorld, match="from another event loop than the scenario's"):
                    await client.get(f"http://{HOST}{PODS}")

        with every_client(library, world.cluster.transport()), ThreadPoolExecutor(1) as threads:
            threads.submit(asyncio.run, elsewhere()).result()

    VirtualCluster().play(scenario)
