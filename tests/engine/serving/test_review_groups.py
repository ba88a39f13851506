"""Which part answers a conversion review where several have the same path."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from fairlead.engine.serving.review_groups import joined_routes
from fairlead.engine.serving.routes import dispatching, text
from kubeloop.calls import Call, Handler, Reply


def saying(words: str) -> Handler:
    async def handle(_: Call) -> Reply:
        return text(200, words)

    return handle


ROUTES = joined_routes(
    [
        ("shop.test", {"/convert": saying("shop")}),
        ("", {"/convert": saying("others"), "/healthz": saying("alive")}),
        ("bar.test", {"/convert": saying("bar")}),
    ]
)


def answered(body: bytes, path: str = "/convert") -> str:
    async def ask() -> Reply:
        return await dispatching(ROUTES)(Call(method="POST", url=path, body=body))

    return asyncio.run(ask()).body.decode().strip()


def a_review(wanted: object) -> bytes:
    return msgspec.json.encode({"kind": "ConversionReview", "request": {"uid": "u", "desiredAPIVersion": wanted}})


@pytest.mark.parametrize(
    ("wanted", "who"),
    [("shop.test/v1", "shop"), ("bar.test/v2", "bar"), ("else.test/v1", "others"), ("v1", "others"), ("", "others")],
)
def test_a_review_goes_by_the_group_of_the_version_that_is_wanted(wanted: str, who: str) -> None:
    assert answered(a_review(wanted)) == who


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"request":null}', b"\xff", a_review(7)])
def test_what_is_no_review_is_answered_by_whoever_has_all_others(body: bytes) -> None:
    assert answered(body) == "others"


def test_other_paths_stay_as_they_are() -> None:
    assert answered(b"", "/healthz") == "alive"
    assert answered(b"", "/nowhere") == "there is nothing here"
