"""Calls that the server passes on to pods."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.calls import Call, Reply
from kubesim.kinds.registry import PODS
from tests.kubesim.desk import Desk, decoded, played

AT = "/api/v1/namespaces/default/pods"


async def a_pod(desk: Desk, address: str = "10.0.0.1") -> None:
    container = {"name": "main", "image": "main:1", "ports": [{"containerPort": 8080}, {"containerPort": 9090}]}
    await desk.send("POST", AT, {"metadata": {"name": "web"}, "spec": {"containers": [container]}})
    found = desk.cluster.get(PODS, "default", "web")
    status = {"status": {"phase": "Running", "podIP": address}} if address else {}
    desk.cluster.verbs.update(PODS, "default", "web", found | status, subresource="status", user="kubelet")


@pytest.mark.parametrize(("name", "port"), [("web", 8080), ("web:9090", 9090), ("http:web:7070", 7070)])
def test_what_answers_at_the_address_of_the_pod_answers(name: str, port: int) -> None:
    heard: list[Call] = []

    async def answer(call: Call) -> Reply:
        heard.append(call)
        return Reply(418, b"short and stout", (("Content-Type", "text/plain"),))

    async def script(desk: Desk) -> Any:
        await a_pod(desk)
        desk.cluster.network.serve(f"10.0.0.1:{port}", answer)
        return await desk.send("GET", f"{AT}/{name}/proxy/tea/pot", milk="no")

    answered = played(script)

    assert (answered.status, answered.body, answered.headers["content-type"]) == (418, b"short and stout", "text/plain")
    (call,) = heard
    assert (call.method, call.url) == ("GET", "/tea/pot?milk=no")
    assert call.header("Authorization") == []


@pytest.mark.parametrize(
    ("name", "address", "code", "message"),
    [
        ("web", "10.0.0.1", 503, "error trying to reach service: GET http://10.0.0.1:8080/: no such host"),
        ("web", "", 400, "address not allowed"),
        ("web", "127.0.0.1", 400, "address not allowed"),
        ("ftp:web:21", "10.0.0.1", 400, 'invalid pod request "ftp:web:21"'),
        ("nobody", "10.0.0.1", 404, 'pods "nobody" not found'),
    ],
)
def test_a_pod_that_cannot_be_reached_is_refused_as_by_the_real_server(
    name: str, address: str, code: int, message: str
) -> None:
    async def script(desk: Desk) -> Any:
        await a_pod(desk, address)
        return await desk.send("GET", f"{AT}/{name}/proxy/")

    answered = played(script)

    assert (answered.status, decoded(answered)["message"]) == (code, message)
