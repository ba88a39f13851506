"""The cluster over real HTTP and HTTPS."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import pytest
from multidict import CIMultiDict

from kubesim.bodies.decoding import LARGEST
from kubesim.cluster import Cluster
from kubesim.kinds.registry import CONFIG_MAPS, PODS, SERVICES
from kubesim.server import ADMIN_TOKENS, Server, serve
from kubesim.store.watchers import Watcher
from tests.kubesim.trees import a_map

ADMIN = next(iter(ADMIN_TOKENS))
MAPS = "/api/v1/namespaces/default/configmaps"
Script = Callable[[Cluster, Server, aiohttp.ClientSession], Awaitable[Any]]


def served(script: Script, *, token: str = ADMIN, **options: Any) -> Any:
    """The answer of a script that talks to a running server."""

    async def main() -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        cluster = Cluster()
        async with (
            asyncio.timeout(180),
            serve(cluster, **options) as server,
            aiohttp.ClientSession(server.url, headers=headers) as session,
        ):
            return await script(cluster, server, session)

    return asyncio.run(main())


def test_a_mistake_of_the_server_costs_one_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def script(cluster: Cluster, _: Server, session: aiohttp.ClientSession) -> tuple[int, Any, int]:
        def mistaken(*_: object) -> None:
            raise KeyError("mistake")

        with monkeypatch.context() as patched:
            patched.setattr(cluster.verbs, "select", mistaken)
            async with session.get(MAPS) as failed:
                status, answer = failed.status, await failed.json()
        async with session.get(MAPS) as listed:
            return status, answer, listed.status

    status, answer, later = served(script)

    assert (status, later) == (500, 200)
    assert (answer["kind"], answer["reason"]) == ("Status", "InternalError")
    assert answer["message"].startswith("Internal error occurred: ")
    assert f"request failed: GET {MAPS}" in caplog.text
    assert "KeyError: 'mistake'" in caplog.text


def test_objects_are_created_and_listed() -> None:
    async def script(_: Cluster, __: Server, session: aiohttp.ClientSession) -> tuple[int, list[str], int]:
        async with session.post(MAPS, json=a_map("a")) as made:
            status = made.status
        async with session.get(MAPS) as listed:
            names = [item["metadata"]["name"] for item in (await listed.json())["items"]]
        async with session.get(f"{MAPS}/none") as missing:
            return status, names, missing.status

    assert served(script) == (201, ["a"], 404)


@pytest.mark.parametrize(
    ("agent", "query", "indented"),
    [
        ("curl/8.5.0", "", True),
        ("curl/8.5.0", "?pretty=false", False),
        ("kubectl/v1.36.4", "", False),
        ("kubectl/v1.36.4", "?pretty=1", True),
    ],
)
def test_json_is_indented_for_people(agent: str, query: str, indented: bool) -> None:
    async def script(_: Cluster, __: Server, session: aiohttp.ClientSession) -> str:
        async with session.get(f"{MAPS}/none{query}", headers={"User-Agent": agent}) as missing:
            return await missing.text()

    assert ('\n  "kind": "Status",\n' in served(script)) is indented


async def _raw(server: Server, head: str, body: bytes = b"") -> tuple[bytes, bytes]:
    """Head and body of the answer to a request that is written by hand."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    lines = f"{head}\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(lines.encode() + body)
    answered = await reader.readuntil(b"\r\n\r\n")
    length = next(line for line in answered.split(b"\r\n") if line.lower().startswith(b"content-length"))
    content = await reader.readexactly(int(length.partition(b":")[2]))
    writer.close()
    return answered, content


def test_json_is_written_in_the_letters_of_go() -> None:
    async def script(_: Cluster, server: Server, session: aiohttp.ClientSession) -> list[bytes]:
        signs = a_map("a") | {"data": {"k": "<>&\u2028\u2029 \x7f \u00fc"}}
        async with session.post(f"{MAPS}?dryRun=All", json=signs) as made:
            bodies = [await made.read()]
        async with session.get(f"{MAPS}/%3Cnone%3E") as missing:
            bodies.append(await missing.read())
        return [*bodies, (await _raw(server, "GET /version HTTP/1.1"))[1]]

    made, missing, version = served(script)

    assert b'"k":"\\u003c\\u003e\\u0026\\u2028\\u2029 \x7f \xc3\xbc"' in made
    assert made.endswith(b"}\n")
    assert missing.startswith(b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"')
    assert b"\\u003cnone\\u003e" in missing
    assert missing.endswith(b',"code":404}\n')
    assert version.startswith(b'{\n  "major": "1",\n')
    assert version.endswith(b'"\n}')


def test_events_on_a_watch_are_written_in_the_letters_of_go() -> None:
    async def script(cluster: Cluster, _: Server, session: aiohttp.ClientSession) -> bytes:
        cluster.verbs.create(CONFIG_MAPS, "default", a_map("a") | {"data": {"k": "<&>"}}, user="me")
        async with session.get(MAPS, params={"watch": "1"}) as stream:
            return await stream.content.readline()

    assert b'"k":"\\u003c\\u0026\\u003e"' in served(script)


def test_every_answer_has_the_headers_of_the_server() -> None:
    async def script(_: Cluster, __: Server, session: aiohttp.ClientSession) -> list[CIMultiDict[str]]:
        found = []
        for path, given in ((MAPS, {}), ("/nowhere", {"Audit-Id": "mine"}), (f"{MAPS}?watch=1", {})):
            async with session.get(path, headers=given) as answer:
                found.append(CIMultiDict(answer.headers))
        return found

    answers = served(script)

    assert [answer["Cache-Control"] for answer in answers] == ["no-cache, private"] * 3
    assert answers[1]["Audit-Id"] == "mine"
    assert len({answer["Audit-Id"] for answer in answers}) == 3
    assert not any("Server" in answer for answer in answers)


def test_long_urls_and_headers_are_taken() -> None:
    async def script(_: Cluster, __: Server, session: aiohttp.ClientSession) -> list[int]:
        values = ",".join(f"value-{number}" for number in range(1000))
        async with session.get(MAPS, params={"labelSelector": f"a in ({values})"}) as listed:
            codes = [listed.status]
        async with session.get(MAPS, headers={"X-Long": "x" * 900_000}) as listed:
            return [*codes, listed.status]

    assert served(script) == [200, 200]


def test_a_body_is_not_unpacked() -> None:
    async def script(_: Cluster, server: Server, __: aiohttp.ClientSession) -> list[bytes]:
        head = f"POST {MAPS}?dryRun=All HTTP/1.1\r\nContent-Type: application/json\r\nContent-Encoding: gzip"
        return [
            answered.split()[1] + b" " + content
            for body in (json.dumps(a_map("a")).encode(), b"\x1f\x8bxx")
            for answered, content in [await _raw(server, head, body)]
        ]

    plain, packed = served(script)

    assert plain.startswith(b"201 ")
    assert packed.startswith(b"400 ")
    assert b"json parse error: invalid character '\\\\x1f' looking for beginning of value (1f8b7878)" in packed


def test_the_server_has_a_service_that_leads_to_its_port() -> None:
    async def script(cluster: Cluster, server: Server, _: aiohttp.ClientSession) -> tuple[Any, int, Any, int]:
        first, port = cluster.get(SERVICES, "default", "kubernetes")["spec"], server.port
        async with serve(cluster) as other:
            return first, port, cluster.get(SERVICES, "default", "kubernetes")["spec"], other.port

    first, port, second, other = served(script)

    assert first["clusterIP"] == "10.96.0.1"
    assert first["ports"] == [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": port}]
    assert second["ports"][0]["targetPort"] == other


def test_a_watch_is_streamed_line_by_line_while_it_is_open() -> None:
    async def script(cluster: Cluster, _: Server, session: aiohttp.ClientSession) -> list[str]:
        seen = []
        async with session.get(MAPS, params={"watch": "1"}) as stream:
            assert stream.headers["Transfer-Encoding"] == "chunked"
            for name in ("a", "b"):
                cluster.verbs.create(CONFIG_MAPS, "default", a_map(name), user="me")
                seen.append(json.loads(await stream.content.readline())["object"]["metadata"]["name"])
        return seen

    assert served(script) == ["a", "b"]


def test_a_watch_whose_client_does_not_read_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for it is bounded as the history is."""
    monkeypatch.setattr("kubesim.store.store.HISTORY_BYTES", 2_000_000)
    names = [f"map-{number}" for number in range(40)]

    async def script(cluster: Cluster, server: Server, _: aiohttp.ClientSession) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        head = f"GET {MAPS}?watch=1 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {ADMIN}\r\n\r\n"
        writer.write(head.encode())
        await reader.readuntil(b"\r\n\r\n")
        for name in names:
            large = a_map(name) | {"data": {"large": "x" * 500_000}}
            cluster.verbs.create(CONFIG_MAPS, "default", large, user="me")
            await asyncio.sleep(0.001)
        sent = b""
        while not sent.endswith(b"\r\n0\r\n\r\n"):
            sent += await reader.read(1_000_000)
        writer.close()
        return sent

    assert served(script).count(b'"type":"ADDED"') < len(names)


def test_a_body_that_is_too_large_is_refused_before_it_has_come() -> None:
    async def script(_: Cluster, __: Server, session: aiohttp.ClientSession) -> tuple[int, str]:
        async with session.post(MAPS, data=io.BytesIO(b"x" * (LARGEST + 1))) as answer:
            return answer.status, (await answer.json())["message"]

    assert served(script) == (413, f"Request entity too large: limit is {LARGEST}")


def test_every_warning_has_a_line_of_its_own() -> None:
    async def script(_: Cluster, __: Server, session: aiohttp.ClientSession) -> list[str]:
        async with session.post(MAPS, json=a_map("a") | {"odd, 299": 1, "even": 2}) as answer:
            assert answer.status == 201
            return sorted(answer.headers.getall("Warning"))

    assert served(script) == ['299 - "unknown field \\"even\\""', '299 - "unknown field \\"odd, 299\\""']


def test_a_connection_is_kept_for_the_next_request() -> None:
    async def script(_: Cluster, server: Server, __: aiohttp.ClientSession) -> list[bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        request = f"GET {MAPS}/none HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin\r\n\r\n".encode()
        codes = []
        for _turn in range(2):
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length"))
            await reader.readexactly(int(length.partition(b":")[2]))
            codes.append(head.split()[1])
        writer.close()
        return codes

    assert served(script) == [b"404", b"404"]


def test_a_log_is_followed_over_http_and_freed_with_its_client() -> None:
    async def script(cluster: Cluster, _: Server, session: aiohttp.ClientSession) -> tuple[str, bytes, int]:
        state = {"running": {"startedAt": "2030-01-01T00:00:00Z"}}
        status = {"name": "main", "image": "a", "imageID": "", "ready": True, "restartCount": 0, "state": state}
        pod = {"metadata": {"name": "web"}, "spec": {"nodeName": "n", "containers": [{"name": "main", "image": "a"}]}}
        made = cluster.verbs.create(PODS, "default", pod, user="me")
        made["status"]["containerStatuses"] = [status]
        cluster.verbs.update(PODS, "default", "web", made, subresource="status", user="me")
        path = "/api/v1/namespaces/default/pods/web/log"
        async with session.get(path, params={"follow": "true"}) as stream:
            first = await stream.content.readline()
            kind = stream.content_type
        while cluster.store.table(PODS)._watchers:  # noqa: ASYNC110  nothing tells
            await asyncio.sleep(0.01)
        return kind, first, len(cluster.store.table(PODS)._watchers)

    assert served(script) == ("text/plain", b"container main of image a started\n", 0)


def test_a_client_that_goes_away_frees_its_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(cluster: Cluster, _: Server, session: aiohttp.ClientSession) -> int:
        table = cluster.store.table(CONFIG_MAPS)
        freed = asyncio.Event()
        forget = table.forget

        def note(watcher: Watcher) -> None:
            forget(watcher)
            freed.set()

        monkeypatch.setattr(table, "forget", note)
        async with session.get(MAPS, params={"watch": "1"}):
            assert len(table._watchers) == 1
        await freed.wait()
        return len(table._watchers)

    assert served(script) == 0


def test_stopping_the_server_ends_open_watches_cleanly() -> None:
    async def main() -> bytes:
        async with aiohttp.ClientSession(headers={"Authorization": "Bearer admin"}) as session:
            async with serve(Cluster()) as server:
                stream = await session.get(f"{server.url}{MAPS}", params={"watch": "1"})
            async with stream:
                return await stream.content.read()

    assert asyncio.run(main()) == b""
