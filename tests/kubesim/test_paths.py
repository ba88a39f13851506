"""What paths name, and which methods they have; the answers are those of the real server."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop.request import MERGE_PATCH
from kubesim.cluster import Cluster
from kubesim.time import run
from tests.e2e.definitions import a_definition, a_version
from tests.kubesim.desk import Desk

NOT_FOUND = "404 page not found\n"
NO_RESOURCE = '"message":"the server could not find the requested resource"'
NOT_ALLOWED = '"message":"the server does not allow this method on the requested resource"'
MAP = "/api/v1/namespaces/default/configmaps/settings"
WIDGETS = "/apis/shop.example.com/v1/namespaces/default/widgets"


def answered(method: str, path: str) -> tuple[int, str]:
    async def scenario() -> tuple[int, str]:
        desk = Desk(Cluster())
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        await desk.send("POST", definitions, a_definition(a_version()))
        await asyncio.sleep(1)  # until it is established
        kind = MERGE_PATCH if method == "PATCH" else "application/json"
        answer = await desk.send(method, path, b"{}" if method in ("POST", "PUT", "PATCH") else b"", kind)
        return answer.status, answer.body.decode()

    found: tuple[int, str] = run(scenario())
    return found


@pytest.mark.parametrize(
    ("method", "path", "status", "said"),
    [
        ("GET", "/none", 404, NOT_FOUND),
        ("GET", "/apis/none.example.com/v1/things", 404, NOT_FOUND),
        ("GET", "/apis/shop.example.com/v7/namespaces/default/widgets", 404, NOT_FOUND),
        ("GET", "//api/v1/namespaces/default/configmaps/settings", 404, NOT_FOUND),
        ("GET", "/api/v7/pods", 404, NO_RESOURCE),
        ("GET", "/apis/apps/v7/deployments", 404, NO_RESOURCE),
        ("GET", "/apis/apps/v1/none", 404, NO_RESOURCE),
        ("GET", "/api/v1/configmaps/settings", 404, NO_RESOURCE),
        ("GET", "/api/v1/namespaces/default/nodes", 404, NO_RESOURCE),
        ("GET", f"{MAP}/status", 404, NO_RESOURCE),
        ("GET", f"{MAP}/a/b", 404, NO_RESOURCE),
        ("GET", "/api/v1/namespaces/default/configmaps/the%2Fre", 404, NO_RESOURCE),
        ("GET", "/api/v1/namespaces/default/config%6Daps/none", 404, 'configmaps \\"none\\" not found'),
        ("GET", "/api/v1/namespaces//configmaps/settings", 400, "Namespace parameter required."),
        ("GET", "/api/v1/namespaces/default/configmaps/..", 400, "may not be '..'"),
        ("GET", "/api/v1/namespaces/default/configmaps/%zz", 400, "400 Bad Request"),
        ("POST", MAP, 405, NOT_ALLOWED),
        ("PUT", "/api/v1/namespaces/default/configmaps", 405, NOT_ALLOWED),
        ("POST", "/api/v1/configmaps", 405, NOT_ALLOWED),
        ("DELETE", "/api/v1/namespaces", 405, NOT_ALLOWED),
        ("OPTIONS", MAP, 405, NOT_ALLOWED),
        ("GET", "/api/v1/namespaces/default/pods/none/eviction", 405, NOT_ALLOWED),
        ("POST", "/api/v1/namespaces/default/pods/none/log", 405, NOT_ALLOWED),
        ("DELETE", "/apis/apps/v1/namespaces/default/deployments/none/scale", 405, NOT_ALLOWED),
        ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x", 404, NO_RESOURCE),
        ("GET", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", 405, NOT_ALLOWED),
        ("POST", "/apis/shop.example.com/v1/widgets", 404, NOT_FOUND),
        ("GET", "/apis/shop.example.com/v1/widgets/one", 404, NOT_FOUND),
        ("GET", f"{WIDGETS}/one/odd", 404, 'widgets.shop.example.com \\"one\\" not found'),
        ("PUT", WIDGETS, 400, "name must be provided"),
        ("DELETE", f"{WIDGETS}/one/status", 405, "delete is not supported on resources of kind"),
    ],
)
def test_what_is_not_there(method: str, path: str, status: int, said: str) -> None:
    code, body = answered(method, path)

    assert code == status
    assert said in body
