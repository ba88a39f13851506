"""Calls within the process: who answers, what a handler sees, how long a caller waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeloop import clock
from kubeloop.calls import Call, NoReply, Reply
from kubesim.network import Network
from kubesim.time import run

Answer = Callable[[Call], Awaitable[Reply]]


def saying(text: str) -> Answer:
    async def handler(_call: Call) -> Reply:
        return Reply(200, text.encode())

    return handler


async def ask(network: Network, url: str, seconds: float = 5.0) -> str:
    return (await network.call(Call(method="GET", url=url, timeout=seconds))).body.decode()


@pytest.mark.parametrize(
    "url",
    [
        "http://pod-0.svc.ns.svc.cluster.local:8080/prepare",
        "http://POD-0.svc.ns.svc.Cluster.Local:8080",
        "http://pod-0.svc.ns.svc.cluster.local.:8080/",
        "https://pod-0.svc.ns.svc.cluster.local:8080/",
    ],
)
def test_a_host_is_found_whatever_its_case_and_final_dot(url: str) -> None:
    network = Network()
    network.serve("pod-0.svc.ns.svc.cluster.local:8080", saying("pod-0"))

    assert run(ask(network, url)) == "pod-0"


def test_a_host_without_a_port_answers_at_any_and_the_named_port_goes_first() -> None:
    network = Network()
    network.serve("hook.ns.svc", saying("any"))
    network.serve("hook.ns.svc:8443", saying("8443"))

    answers = [run(ask(network, url)) for url in ("https://hook.ns.svc/", "https://hook.ns.svc:8443/")]

    assert answers == ["any", "8443"]


def test_the_scheme_gives_the_port_that_is_not_named() -> None:
    network = Network()
    network.serve("hook.ns.svc:443", saying("443"))

    assert run(ask(network, "https://hook.ns.svc/")) == "443"
    with pytest.raises(NoReply, match=r"http://hook\.ns\.svc/: connection refused"):
        run(ask(network, "http://hook.ns.svc/"))


def test_an_unknown_or_withdrawn_host_gives_no_reply() -> None:
    network = Network()
    network.serve("gone.ns.svc", saying("gone"))
    network.withdraw("gone.ns.svc")

    for url in ("http://gone.ns.svc/", "http://never.ns.svc/"):
        with pytest.raises(NoReply, match="no such host"):
            run(ask(network, url))


@pytest.mark.parametrize("url", ["hook.ns.svc/path", "ftp://hook.ns.svc/", "http:///path"])
def test_an_address_that_is_none_gives_no_reply(url: str) -> None:
    with pytest.raises(NoReply, match="http:// or https://"):
        run(ask(Network(), url))


def test_a_host_to_serve_must_be_one() -> None:
    with pytest.raises(ValueError, match="not a host with an optional port"):
        Network().serve("hook:port", saying(""))


def test_a_handler_sees_path_query_host_headers_and_body() -> None:
    seen: list[Call] = []

    async def handler(call: Call) -> Reply:
        seen.append(call)
        return Reply(204, b"", (("X-Answer", "yes"),))

    network = Network()
    network.serve("hook.ns.svc", handler)
    sent = Call(method="POST", url="https://hook.ns.svc:9443/v/1?timeout=5s", body=b"body", headers=(("X-A", "1"),))

    reply = run(network.call(sent))

    assert (reply.status, reply.headers) == (204, (("X-Answer", "yes"),))
    assert (seen[0].method, seen[0].url, seen[0].body) == ("POST", "/v/1?timeout=5s", b"body")
    assert (seen[0].header("host"), seen[0].header("x-a")) == (["hook.ns.svc:9443"], ["1"])


def test_a_handler_sees_no_user_of_the_address_in_its_host() -> None:
    async def hosts(call: Call) -> Reply:
        return Reply(200, "".join(call.header("Host")).encode())

    network = Network()
    network.serve("pod", hosts)

    assert run(ask(network, "http://user:word@pod:81/")) == "pod:81"


def test_a_slow_handler_is_cut_off_in_virtual_time() -> None:
    ended: list[float] = []

    async def handler(_call: Call) -> Reply:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.append(clock.monotonic())
        return Reply(200)

    async def scenario() -> float:
        network = Network()
        network.serve("slow.ns.svc", handler)
        start = clock.monotonic()
        with pytest.raises(NoReply, match=r"http://slow\.ns\.svc/: no answer in 7 seconds"):
            await ask(network, "http://slow.ns.svc/", seconds=7)
        return ended[0] - start

    assert run(scenario()) == 7


def test_redirects_are_followed_as_over_real_sockets() -> None:
    seen: list[tuple[str, str, bytes]] = []

    async def handler(call: Call) -> Reply:
        seen.append((call.method, call.header("host")[0], call.body))
        return Reply(308, b"", (("Location", "http://new.ns.svc/other"),))

    async def new(call: Call) -> Reply:
        seen.append((call.method, call.header("host")[0], call.body))
        return Reply(200)

    network = Network()
    network.serve("old.ns.svc", handler)
    network.serve("new.ns.svc", new)

    reply = run(network.call(Call(method="POST", url="http://old.ns.svc/", body=b"body", follows=True)))

    assert reply.status == 200
    assert seen == [("POST", "old.ns.svc", b"body"), ("POST", "new.ns.svc", b"body")]


def test_names_that_nobody_serves_are_asked_of_finders_in_their_order() -> None:
    network = Network()
    network.serve("served.ns.svc", saying("served"))
    network.ask({"served.ns.svc": saying("never"), "first.ns.svc": saying("first")}.get)
    network.ask({"first.ns.svc": saying("never"), "second.ns.svc": saying("second")}.get)

    answers = [run(ask(network, f"http://{name}.ns.svc:80/")) for name in ("served", "first", "second")]

    assert answers == ["served", "first", "second"]
    with pytest.raises(NoReply, match="no such host"):
        run(ask(network, "http://third.ns.svc/"))


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://served.ns.svc/", "served"),
        ("http://user@FOUND.ns.svc:6878/", "found"),
        ("http://127.0.0.1/", "outside"),
        ("http://[broken/", "outside"),
    ],
)
def test_calls_to_hosts_that_are_known_here_do_not_go_outside(url: str, expected: str) -> None:
    network = Network()
    network.serve("served.ns.svc", saying("served"))
    network.ask({"found.ns.svc": saying("found")}.get)

    async def scenario() -> Reply:
        return await network.before(saying("outside"))(Call(method="GET", url=url))

    assert run(scenario()).body.decode() == expected
