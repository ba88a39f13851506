"""The document of OpenAPI v2, which has no schemas, in both of its forms."""

from __future__ import annotations

import msgspec
import pytest

from kubeloop.request import Response
from kubesim.cluster import Cluster
from kubesim.discovery.openapi_v2 import PROTOBUF
from tests.kubesim.test_discovery import Read, reading


def told(accept: str) -> Response:
    async def script(read: Read, _: Cluster) -> Response:
        return await read("/openapi/v2", Accept=accept)

    answer: Response = reading(script)
    return answer


@pytest.mark.parametrize("accept", ["application/json", "*/*"])
def test_the_document_names_the_release_and_no_schema(accept: str) -> None:
    answer = told(accept)

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert msgspec.json.decode(answer.body) == {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": {},
    }


@pytest.mark.parametrize("separator", [".", "@"])
def test_protobuf_says_the_same(separator: str) -> None:
    answer = told(f"application/com.github.proto-openapi.spec.v2{separator}v1.0+protobuf")

    assert (answer.status, answer.headers["content-type"]) == (200, PROTOBUF)
    assert answer.body == b"\x0a\x032.0\x12\x12\x0a\x0aKubernetes\x12\x041.36\x42\x00"


def test_other_forms_are_refused() -> None:
    assert told("text/html").status == 406
