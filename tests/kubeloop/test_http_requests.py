"""Requests of the transport arrive over a real socket as they were built, each write once."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from kubeloop import request as requests
from kubeloop.client import Client
from kubeloop.errors import TransportError
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig, Impersonation
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request
from tests.kubeloop.serving import GET, HERE, answered, refused, sent, serving


def test_a_request_arrives_as_it_was_built() -> None:
    seen: list[tuple[str, str, bytes, str]] = []

    async def record(request: web.Request) -> web.Response:
        seen.append((request.method, request.raw_path, await request.read(), request.headers["Content-Type"]))
        return web.Response(status=201, body=b"made", headers={"X-Kind": "pod"})

    name = Ref(PODS, "ns", "a/b c")
    [response] = sent(HERE, requests.apply(name, b"{}", "me+you"), record)

    path = "/api/v1/namespaces/ns/pods/a%2Fb%20c?fieldManager=me%2Byou&force=false"
    assert seen == [("PATCH", path, b"{}", "application/apply-patch+yaml")]
    assert (response.status, response.body, response.headers["x-kind"]) == (201, b"made", "pod")


@pytest.mark.filterwarnings("error")
def test_a_body_of_megabytes_arrives_whole_and_with_its_length() -> None:
    """Sent in one piece it would keep others waiting, of which aiohttp warns."""
    seen: list[tuple[bytes, str]] = []

    async def record(request: web.Request) -> web.Response:
        seen.append((await request.content.read(), request.headers["Content-Length"]))
        return web.Response(status=201)

    body = b"x" * 3_000_000
    [response] = sent(HERE, requests.create(PODS, "ns", body), record)

    assert (response.status, seen) == (201, [(body, "3000000")])


def test_a_server_may_live_below_a_path() -> None:
    [response] = sent(ClusterConfig(server="/clusters/c1"))

    assert answered(response)["path"] == "/clusters/c1/api/v1/namespaces/ns/pods/cart-0"


def test_a_failure_status_is_an_answer() -> None:
    async def busy(_request: web.Request) -> web.Response:
        return web.Response(status=503, headers={"Retry-After": "7"})

    [response] = sent(HERE, handler=busy)

    assert (response.status, response.headers["retry-after"]) == (503, "7")


def test_requests_are_in_the_name_of_the_user_to_act_for() -> None:
    impersonation = Impersonation("jane", "7", ("ops", "dev"), (("scopes/x", "read"),))

    [response] = sent(ClusterConfig(server="", token="t", impersonation=impersonation))

    headers = answered(response)
    assert headers["authorization"] == "Bearer t"
    assert headers["impersonate-user"] == "jane"
    assert headers["impersonate-uid"] == "7"
    assert headers["impersonate-group"] == "ops,dev"
    assert headers["impersonate-extra-scopes%2fx"] == "read"


def test_compression_is_used_unless_it_is_turned_off() -> None:
    async def large(request: web.Request) -> web.Response:
        response = web.Response(body=b"pod" * 10_000)
        if "gzip" in request.headers["Accept-Encoding"]:
            response.enable_compression(web.ContentCoding.gzip)
        return response

    [packed] = sent(HERE, handler=large)
    [plain] = sent(ClusterConfig(server="", compression=False), handler=large)

    assert packed.body == plain.body == b"pod" * 10_000
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers


def test_a_redirect_is_not_followed() -> None:
    async def away(_request: web.Request) -> web.Response:
        raise web.HTTPFound("https://me:s3cret@login.test/?token=s3cret")

    text = refused(HERE, away)

    assert "redirects to https://login.test/: the kubeconfig must name the API server itself" in text
    assert "s3cret" not in text


def test_connections_are_used_again() -> None:
    ports: list[int] = []

    async def record(request: web.Request) -> web.Response:
        assert request.transport is not None
        ports.append(request.transport.get_extra_info("peername")[1])
        return web.Response(body=b"{}")

    sent(HERE, handler=record, times=5)

    assert len(set(ports)) == 1


@pytest.mark.parametrize("method", ["PUT", "DELETE", "POST", "PATCH"])
def test_a_write_reaches_the_server_once_when_its_connection_breaks(method: str) -> None:
    """aiohttp by itself repeats PUT and DELETE on a reused connection; the first may have been carried out."""
    arrived: list[str] = []

    async def drop_writes(request: web.Request) -> web.Response:
        arrived.append(request.method)
        if request.method != "GET":
            assert request.transport is not None
            request.transport.close()
        return web.Response(body=b"{}")

    async def scenario() -> None:
        async with serving(drop_writes) as address:
            client = Client(HttpTransport(ClusterConfig(server=address)))
            await client.call(GET)
            with pytest.raises(TransportError, match=r"broke the connection.*whether it was carried out is not known"):
                await client.call(Request(method, GET.path, body=b"{}"))
            await client.close()

    asyncio.run(scenario())

    assert arrived == ["GET", method]


def test_the_host_of_the_server_is_known_for_metrics() -> None:
    assert HttpTransport(ClusterConfig(server="https://10.0.0.1:6443/prefix")).host == "10.0.0.1:6443"
