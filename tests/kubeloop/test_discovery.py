"""Discovery asks for groups alone, whatever text stands in their place."""

from __future__ import annotations

import pytest

from kubeloop.discovery import discover
from kubeloop.request import Request, Response
from kubesim.time import run
from tests.kubeloop.scripted import Scripted


@pytest.mark.parametrize(
    "group",
    [
        "apps/v1/deployments",
        "apps/v1/namespaces/others/deployments/web",
        "../api/v1/namespaces/others/secrets/token?x=",
        "apps?watch=true",
        "apps%2fv1",
        "..",
        "apps.",
        "Apps",
        "apps x",
        "äpps",
    ],
)
def test_a_text_that_is_no_group_is_not_served_and_nothing_is_asked(group: str) -> None:
    """Whoever writes a reference must not choose what the operator reads with its own rights."""
    server = Scripted()

    assert run(discover(server.client(), group, "Deployment")) == ()

    assert server.requests == []


@pytest.mark.parametrize("group", ["apps", "core.oam.dev", "x-y.example.com", "0.example.com"])
def test_groups_are_asked_about(group: str) -> None:
    server = Scripted()

    async def answered(request: Request, when: str) -> Response | None:
        body = b'{"versions": [{"version": "v1"}]}'
        if request.path != f"/apis/{group}":
            body = b'{"resources": [{"name": "toys", "kind": "Toy", "namespaced": true}]}'
        return Response(200, body) if when == "before" else None

    server.fault = answered

    (found,) = run(discover(server.client(), group, "Toy"))

    assert (found.resource.group, found.resource.version, found.resource.plural) == (group, "v1", "toys")
