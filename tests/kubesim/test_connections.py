"""Connections that stay within the process, and the cluster served over them in virtual time."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from kubeloop import clock
from kubesim import VirtualCluster
from kubesim.connections import HOST, Connections
from kubesim.server import served_within
from kubesim.time import RealWorld, VirtualLoop, run

PODS = "/api/v1/namespaces/default/pods"
POD = {"metadata": {"name": "one"}, "spec": {"containers": [{"name": "main", "image": "example.test/main:1.0"}]}}
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def connections() -> Connections:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.connections


def answering(talk: Talk) -> None:
    """From now on the host talks like that."""

    def server() -> asyncio.BaseProtocol:
        reader = asyncio.StreamReader()

        async def started(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await talk(reader, writer)

        return asyncio.StreamReaderProtocol(reader, started)

    connections().serve("echo.test", server)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line)
    writer.close()


@pytest.mark.parametrize("seed", range(5))
def test_what_is_written_arrives_whole_and_in_order(seed: int) -> None:
    """Although the loop runs simultaneous callbacks in an order of its own."""
    lines = [b"%d\n" % number for number in range(200)]

    async def main() -> list[bytes]:
        answering(echo)
        reader, writer = await asyncio.open_connection("echo.test", 80)
        for line in lines:
            writer.write(line)
        found = [await reader.readline() for _ in lines]
        writer.close()
        await writer.wait_closed()
        return found

    assert run(main(), seed=seed) == lines


def test_what_is_not_read_is_kept_until_it_is() -> None:
    many = b"x" * 1_000_000

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(many)
        writer.write(many)
        writer.close()

    async def main() -> int:
        answering(flood)
        reader, writer = await asyncio.open_connection("echo.test", 80, limit=1000)
        await asyncio.sleep(3600)
        found = await reader.read()
        writer.close()
        return len(found)

    assert run(main()) == 2_000_000


def test_who_closes_closes_the_other_end() -> None:
    async def main() -> bytes:
        ended = asyncio.Event()

        async def listen(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
            assert await reader.read() == b"last words"
            ended.set()

        answering(listen)
        reader, writer = await asyncio.open_connection("echo.test", 80)
        writer.write(b"last words")
        writer.close()
        await ended.wait()
        return await reader.read()

    assert run(main()) == b""


def test_other_hosts_and_tls_are_refused() -> None:
    async def main() -> None:
        answering(echo)
        with pytest.raises(RealWorld, match="use the in-process transport"):
            await asyncio.open_connection("elsewhere.test", 80)
        with pytest.raises(RealWorld, match="there is no TLS in virtual time"):
            await asyncio.open_connection("echo.test", 443, ssl=ssl.create_default_context())
        connections().withdraw("echo.test")
        with pytest.raises(RealWorld, match="use the in-process transport"):
            await asyncio.open_connection("echo.test", 80)

    run(main())


def test_a_client_with_sockets_lists_writes_and_watches() -> None:
    async def scenario(world: VirtualCluster) -> list[tuple[float, str]]:
        seen = []
        async with world.served() as url, aiohttp.ClientSession(url) as session:
            async with session.get(PODS, params={"watch": "true", "timeoutSeconds": "200"}) as watch:
                async with session.post(PODS, json=POD) as made:
                    assert made.status == 201
                async for line in watch.content:
                    event = json.loads(line)
                    seen.append((clock.monotonic(), event["type"]))
                    if len(seen) == 4:
                        await session.delete(f"{PODS}/one")
            async with session.get(PODS) as listed:
                assert (await listed.json())["items"] == []
        return seen

    seen = VirtualCluster(ready_after=90.0).play(scenario)

    assert [event for _, event in seen][:: len(seen) - 1] == ["ADDED", "DELETED"]
    assert seen[-1][0] == pytest.approx(90, abs=5)


def test_the_same_seed_gives_the_same_run_over_connections() -> None:
    async def scenario(world: VirtualCluster) -> list[tuple[str, str, str]]:
        async with world.served() as url, aiohttp.ClientSession(url) as session, asyncio.TaskGroup() as tasks:
            for number in range(5):
                pod = POD | {"metadata": {"generateName": f"pod-{number}-"}}
                tasks.create_task(_posted(session, pod))
        await asyncio.sleep(60)
        return [(entry.at.isoformat(), entry.name, entry.user) for entry in world.cluster.history]

    first, again, other = (VirtualCluster(seed).play(scenario) for seed in (1, 1, 2))

    assert first == again
    assert first != other


async def _posted(session: aiohttp.ClientSession, pod: object) -> None:
    async with session.post(PODS, json=pod) as made:
        assert made.status == 201


def test_who_is_let_in_may_do_what_roles_grant() -> None:
    async def scenario(world: VirtualCluster) -> int:
        async with world.served("alice") as url, aiohttp.ClientSession() as session, session.get(url + PODS) as answer:
            return answer.status

    assert VirtualCluster().play(scenario) == 403


def test_several_users_have_several_hosts() -> None:
    async def scenario(world: VirtualCluster) -> list[int]:
        async with world.served() as ours, world.served("alice", host="alice.test") as hers:
            with pytest.raises(ValueError, match=r"somebody answers at kubesim\.test already"):
                async with world.served("bob"):
                    pass
            async with aiohttp.ClientSession() as session:
                return [(await session.get(url + PODS)).status for url in (ours, hers, ours)]

    assert VirtualCluster().play(scenario) == [200, 403, 200]


def test_it_is_gone_when_it_is_left_and_open_watches_end() -> None:
    async def scenario(world: VirtualCluster) -> None:
        async with aiohttp.ClientSession(f"http://{HOST}") as session:
            async with world.served():
                watch = await session.get(PODS, params={"watch": "true"})
            assert await watch.content.read() == b""
            with pytest.raises(RealWorld):
                await session.get(PODS)

    VirtualCluster().play(scenario)


def test_in_real_time_it_is_refused() -> None:
    async def main() -> None:
        async with served_within(VirtualCluster().cluster):
            pass

    with pytest.raises(TypeError, match="elsewhere use `serve`"):
        asyncio.run(main())
