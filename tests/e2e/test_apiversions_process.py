"""The conversion webhook of `fairlead operator` as a process of its own, over TLS: every row of section 2.1, a review
that goes to another process, and objects that an API server has converted by it."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from fairlead.engine.decide.registration import Tree
from kubeloop.errors import ApiError
from kubeloop.request import Request, path_of
from kubesim.pki import Authority
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.pairs import LOCAL
from tests.e2e.processes import Program, started, trusting
from tests.e2e.widgets import MERGE, Widgets, widgets

JSON = {"Content-Type": "application/json"}
MIB = 1 << 20


class Operator:
    """A running process, and a client that trusts it."""

    def __init__(self, program: Program, port: int, session: aiohttp.ClientSession, authority: Authority) -> None:
        self.program = program
        self.port = port
        self.authority = authority
        self._session = session

    async def send(
        self, body: bytes = b"", method: str = "POST", path: str = "/convert", headers: Tree = JSON
    ) -> tuple[int, str, bytes]:
        """Status, kind and body of the answer."""
        url = f"https://{LOCAL}:{self.port}{path}"
        async with self._session.request(method, url, data=body, headers=headers) as answer:
            allow = answer.headers.get("Allow", "")
            return answer.status, allow or answer.content_type, await answer.read()

    @asynccontextmanager
    async def begun(self, size: int) -> AsyncIterator[asyncio.StreamReader]:
        """A review that announces so many bytes and sends none."""
        tls = trusting(self.authority.certificate)
        reading, writing = await asyncio.open_connection(LOCAL, self.port, ssl=tls)
        head = f"POST /convert HTTP/1.1\r\nHost: {LOCAL}\r\nContent-Type: application/json\r\nContent-Length: {size}"
        writing.write(f"{head}\r\n\r\n".encode())
        await writing.drain()
        try:
            yield reading
        finally:
            writing.transport.abort()
            writing.close()

    async def plain(self, path: str) -> tuple[int, str]:
        async with self._session.get(f"http://{LOCAL}:{await self.program.probes()}{path}") as answer:
            return answer.status, await answer.text()


@asynccontextmanager
async def operating(site: Site, folder: Path, rules: Tree, *options: str) -> AsyncIterator[Operator]:
    authority = Authority()
    pair = authority.server((LOCAL,))
    for name, content in (
        ("tls.crt", pair.certificate),
        ("tls.key", pair.key),
        ("ca.crt", authority.certificate),
        ("rules.json", msgspec.json.encode(rules)),
    ):
        (folder / name).write_bytes(content)
    words: Sequence[str] = (
        "fairlead",
        "operator",
        "--parts=apiversions",
        f"--kubeconfig={site.server.kubeconfig}",
        f"-n={site.namespace}",
        "--port=0",
        "--webhook-port=0",
        "--manage-crds=false",
        "--no-lease",
        f"--webhook-cert-dir={folder}",
        f"--conversion-rules={folder / 'rules.json'}",
        *options,
    )
    connector = aiohttp.TCPConnector(ssl=trusting(authority.certificate))
    async with started(words) as program, aiohttp.ClientSession(connector=connector) as session:
        yield Operator(program, await program.port(), session, authority)


def a_review(kind: Widgets, *objects: Any, to: str = "v2", **changes: Any) -> bytes:
    request = {"uid": "u-1", "desiredAPIVersion": f"{kind.group}/{to}", "objects": objects} | changes
    return msgspec.json.encode(
        {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request, "response": {}}
    )


def a_widget(kind: Widgets, name: str = "w", note: str = "") -> Tree:
    metadata = {"name": name, "annotations": {"note": note}}
    spec = {"size": 1, "colour": "red", "legacyMode": True}
    return {"apiVersion": f"{kind.group}/v1", "kind": "Widget", "metadata": metadata, "spec": spec}


@everywhere(controllers=False, on=("served",))
async def test_every_row_of_the_table_of_answers_holds_over_tls(site: Site, tmp_path: Path) -> None:
    kind = widgets(site)
    await kind.define("v1", "v2", storage="v2")
    async with operating(site, tmp_path, kind.rules()) as operator:
        await operator.program.said("conversion rules loaded")
        good = a_review(kind, a_widget(kind))

        rows = {
            "a review": await operator.send(good, path="/convert?timeout=30s"),
            "a strange version": await operator.send(a_review(kind, a_widget(kind), to="v7")),
            "no JSON": await operator.send(b"{"),
            "no review": await operator.send(b'{"kind":"Pod"}'),
            "no request": await operator.send(
                b'{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":null}'
            ),
            "no uid": await operator.send(a_review(kind, uid="")),
            "no version": await operator.send(a_review(kind, desiredAPIVersion="")),
            "another method": await operator.send(method="GET"),
            "another path": await operator.send(good, path="/nowhere"),
            "another kind of body": await operator.send(good, headers={"Content-Type": "application/yaml"}),
            "a charset": await operator.send(good, headers={"Content-Type": "application/json; charset=utf-8"}),
            "health": await operator.send(method="GET", path="/healthz"),
        }
        async with operator.begun(64 * MIB + 1) as large:
            too_large = await large.readline()
        async with operator.begun(60 * MIB), operator.begun(60 * MIB) as second:
            too_many = [await second.readline() for _ in range(6)]
        ready, alive = await operator.plain("/readyz"), await operator.plain("/healthz")
        _, metrics = await operator.plain("/metrics")

    told = {row: (status, word) for row, (status, word, _) in rows.items()}
    assert told == {
        "a review": (200, "application/json"),
        "a strange version": (200, "application/json"),
        "no JSON": (400, "text/plain"),
        "no review": (400, "text/plain"),
        "no request": (400, "text/plain"),
        "no uid": (400, "text/plain"),
        "no version": (400, "text/plain"),
        "another method": (405, "POST"),
        "another path": (404, "text/plain"),
        "another kind of body": (415, "text/plain"),
        "a charset": (200, "application/json"),
        "health": (200, "application/octet-stream"),
    }
    results = [json.loads(rows[row][2])["response"]["result"]["status"] for row in ("a review", "a strange version")]
    assert results == ["Success", "Failure"]
    assert b" 413 " in too_large
    assert b" 429 " in too_many[0]
    assert b"Retry-After: 1\r\n" in too_many
    assert (ready[0], alive[0]) == (200, 200)
    for line in (
        f'fairlead_conversion_reviews_total{{crd="{kind.name}",result="success",to="v2"}} 2.0',
        'fairlead_conversion_reviews_total{crd="",result="bad_request",to=""} 5.0',
        f'fairlead_conversion_objects_total{{crd="{kind.name}",from="v1",result="success",to="v2"}} 2.0',
        f'fairlead_conversion_duration_seconds_count{{crd="{kind.name}",from="v1",to="v2"}} 2',
        f'fairlead_conversion_rules{{crd="{kind.name}",state="loaded"}} 1.0',
    ):
        assert line in metrics


@everywhere(controllers=False, on=("served", "real"))
async def test_objects_of_an_api_server_are_converted_by_the_process_and_large_reviews_by_another(
    site: Site, tmp_path: Path
) -> None:
    kind = widgets(site)
    await kind.define("v1", "v2", storage="v2")
    async with operating(site, tmp_path, kind.rules()) as operator:
        await operator.program.said("conversion rules loaded")
        bundle = base64.b64encode(operator.authority.certificate).decode()
        client = {"url": f"https://{LOCAL}:{operator.port}/convert", "caBundle": bundle}
        conversion = {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client},
        }
        body = msgspec.json.encode({"spec": {"conversion": conversion}})
        await site.client.call(
            Request("PATCH", path_of(CUSTOM_RESOURCES, name=kind.name), body=body, content_type=MERGE)
        )

        async def converts() -> bool:
            try:
                await kind.make("probe", size=1, colour="grey")
                return bool((await kind.live("probe", "v2"))["spec"].get("paint") == {"colour": "grey"})
            except ApiError:
                return False
            finally:
                await kind.delete("probe", "v2")

        await site.until(converts, every=0.05)
        await kind.make("w", size=1, colour="red", legacyMode=True)
        new = await kind.live("w", "v2")
        many = [a_widget(kind, f"w{number}", "x" * 2000) for number in range(300)]
        _, _, answered = await operator.send(a_review(kind, *many))

    assert new["spec"] == {"size": 1, "paint": {"colour": "red"}}
    made = json.loads(answered)["response"]
    assert made["result"] == {"status": "Success"}
    assert [each["metadata"]["name"] for each in made["convertedObjects"]] == [
        each["metadata"]["name"] for each in many
    ]
