"""Webhooks of a copied cluster are answered at the address that is given for them."""

from __future__ import annotations

import asyncio

from kubeloop.calls import Call, Reply
from kubesim.hosting import forwarded


def test_a_call_goes_to_the_address_with_its_path_and_body() -> None:
    """The certificate is not that of the copied Service, so it is not checked."""
    calls: list[Call] = []

    async def caller(call: Call) -> Reply:
        calls.append(call)
        return Reply(200, b"yes")

    asked = Call(
        method="POST",
        url="/review?x=1",
        headers=(("Host", "reviewer.shop.svc"), ("A", "b")),
        body=b"{}",
        authority=b"pem",
    )

    async def forward() -> Reply:
        return await forwarded("https://127.0.0.1:9443/", caller)(asked)

    reply = asyncio.run(forward())

    [call] = calls
    assert (reply, call.url, call.body, call.headers) == (
        Reply(200, b"yes"),
        "https://127.0.0.1:9443/review?x=1",
        b"{}",
        (("A", "b"),),
    )
    assert not call.verified
