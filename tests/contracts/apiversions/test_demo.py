"""What the demo of versions asks the API server itself."""

from __future__ import annotations

import pytest

from fairlead.contracts.apiversions.demo import _warning
from fairlead.engine.demo import DemoFailed
from kubeloop.request import Request, Response
from kubesim.time import run
from tests.kubeloop.scripted import Scripted, failure

DEPRECATED = '299 - "example.test/v1 Widget is deprecated"'


def a_server(warns_from: int) -> Scripted:
    """Has no Widget, and warns of their version from that request on; 0: never."""
    server = Scripted()

    async def answer(_: Request, __: str) -> Response:
        is_warned = 0 < warns_from <= len(server.requests)
        return failure(404, "NotFound", headers={"warning": DEPRECATED} if is_warned else {})

    server.fault = answer
    return server


def test_a_server_that_learns_of_the_deprecation_late_is_asked_again() -> None:
    server = a_server(warns_from=4)

    assert run(_warning(server.client())) == DEPRECATED
    assert len(server.requests) == 4


def test_one_that_never_warns_stops_the_demo() -> None:
    with pytest.raises(DemoFailed, match="brings no warning"):
        run(_warning(a_server(warns_from=0).client()))
