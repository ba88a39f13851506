"""Protobuf bodies: those of the real kubectl, and the forms that no command of it sends."""

from __future__ import annotations

import json
import struct
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from kubeloop.request import Request
from kubesim.bodies import wire
from kubesim.bodies.decoding import PROTOBUF
from kubesim.cluster import Cluster
from kubesim.time import run
from tests.kubesim.desk import decoded

Tree = dict[str, Any]
RECORDED: list[Tree] = json.loads((Path(__file__).parent / "recorded_bodies.json").read_text())
COMMANDS = [each["command"] for each in RECORDED]


def number(value: int) -> bytes:
    """As protobuf writes a number."""
    value %= 1 << 64
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def field(index: int, value: bytes | int | str) -> bytes:
    if isinstance(value, int):
        return number(index << 3) + number(value)
    data = value.encode() if isinstance(value, str) else value
    return number(index << 3 | 2) + number(len(data)) + data


def wrapped(api_version: str, kind: str, raw: bytes) -> bytes:
    return wire.MARK + field(1, field(1, api_version) + field(2, kind)) + field(2, raw)


@pytest.mark.parametrize("recorded", RECORDED, ids=COMMANDS)
def test_what_kubectl_sends_is_what_it_prints_as_json(recorded: Tree) -> None:
    found = wire.opened(b64decode(recorded["body"]))

    assert wire.object_of(found.api_version, found.kind, found.raw) == recorded["tree"]


def test_everything_that_kubectl_sends_is_taken() -> None:
    async def scenario() -> list[int]:
        transport = Cluster(namespaces=["bodies-1"]).transport()
        account = b'{"metadata":{"name":"default"}}'
        await transport.send(Request("POST", "/api/v1/namespaces/bodies-1/serviceaccounts", (), account))
        codes = []
        for each in RECORDED:
            # Each for itself: some commands make the same object twice.
            query = () if each["path"].endswith("/token") else (("dryRun", "All"),)
            answer = await transport.send(Request("POST", each["path"], query, b64decode(each["body"]), PROTOBUF))
            codes.append(answer.status)
        return codes

    assert run(scenario()) == [201] * len(RECORDED)


def test_an_object_made_from_protobuf_is_the_one_made_from_json() -> None:
    recorded = next(each for each in RECORDED if "create deployment" in each["command"])

    async def made(body: bytes, content_type: str) -> Tree:
        transport = Cluster(namespaces=["bodies-1"]).transport()
        return decoded(await transport.send(Request("POST", recorded["path"], (), body, content_type)))

    by_json = run(made(json.dumps(recorded["tree"]).encode(), "application/json"))
    by_protobuf = run(made(b64decode(recorded["body"]), PROTOBUF))

    assert by_protobuf == by_json
    assert by_protobuf["spec"]["template"]["spec"]["containers"][0]["image"] == "web:1"


METADATA = field(1, "a")
SECONDS = 1893456000  # the beginning of 2030


@pytest.mark.parametrize(
    ("api_version", "kind", "raw", "expected"),
    [
        pytest.param(
            "v1",
            "Secret",
            field(2, field(1, "key") + field(2, b"\x00\xff")),
            {"data": {"key": "AP8="}},
            id="bytes are base64",
        ),
        pytest.param(
            "coordination.k8s.io/v1",
            "Lease",
            field(2, field(3, field(1, SECONDS) + field(2, 5000))),
            {"spec": {"acquireTime": "2030-01-01T00:00:00.000005Z"}},
            id="times with fractions",
        ),
        pytest.param(
            "v1",
            "Event",
            field(6, field(1, SECONDS)) + field(10, b""),
            {"firstTimestamp": "2030-01-01T00:00:00Z"},
            id="times, and none",
        ),
        pytest.param(
            "apps/v1",
            "ControllerRevision",
            field(2, field(1, '{"a":[1]}')) + field(3, 7),
            {"data": {"a": [1]}, "revision": 7},
            id="objects without a type",
        ),
        pytest.param(
            "policy/v1",
            "PodDisruptionBudget",
            field(2, field(1, field(1, 1) + field(2, 0) + field(3, "10%")) + field(3, field(1, 0) + field(2, -1))),
            {"spec": {"minAvailable": "10%", "maxUnavailable": -1}},
            id="numbers or text",
        ),
        pytest.param(
            "v1",
            "Pod",
            field(2, field(1, field(1, "tmp") + field(2, field(2, field(1, "") + field(2, field(1, "1Gi")))))),
            {"spec": {"volumes": [{"name": "tmp", "emptyDir": {"sizeLimit": "1Gi"}}]}},
            id="a message that JSON writes into the one around it",
        ),
        pytest.param(
            "v1",
            "Pod",
            field(2, field(11, 0) + field(4, 0) + field(21, 0) + field(3, "")),
            {"spec": {"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": False}},
            id="zeros that are left out, and zeros that are said",
        ),
        pytest.param(
            "authorization.k8s.io/v1",
            "SubjectAccessReview",
            field(2, field(5, field(1, "scopes") + field(2, field(1, "a") + field(1, "b")))),
            {"spec": {"extra": {"scopes": ["a", "b"]}}},
            id="a list in a message of its own",
        ),
        pytest.param(
            "v1",
            "Pod",
            field(1, field(17, field(1, "me") + field(7, field(1, '{"f:spec":{}}')))),
            {"metadata": {"managedFields": [{"manager": "me", "fieldsV1": {"f:spec": {}}}]}},
            id="sets of fields",
        ),
        pytest.param("v1", "ConfigMap", field(99, "later"), {}, id="a field of a later release"),
        pytest.param("apps/v1", "DeleteOptions", field(1, 0), {"gracePeriodSeconds": 0}, id="options of any group"),
    ],
)
def test_forms(api_version: str, kind: str, raw: bytes, expected: Tree) -> None:
    found = wire.opened(wrapped(api_version, kind, raw))

    made = wire.object_of(found.api_version, found.kind, found.raw)

    assert made == {"apiVersion": api_version, "kind": kind} | expected


def test_schemas_of_definitions() -> None:
    """They have alternatives that JSON tells apart by their form."""
    text = field(5, "string")
    fields = {
        8: field(1, '{"a":1}'),
        24: field(1, text),
        29: field(1, "x") + field(2, text),
        30: field(1, 0),
        32: field(1, "x") + field(2, field(2, "y")),
    }
    schema = b"".join(field(index, value) for index, value in fields.items())
    schema += number(9 << 3 | 1) + struct.pack("<d", 0.5)
    definition = field(2, field(7, field(1, "v1") + field(4, field(1, schema))))

    made = wire.object_of("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition)

    assert made["spec"]["versions"][0]["schema"]["openAPIV3Schema"] == {
        "default": {"a": 1},
        "items": {"type": "string"},
        "properties": {"x": {"type": "string"}},
        "additionalProperties": False,
        "dependencies": {"x": ["y"]},
        "maximum": 0.5,
    }


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [(0, "0s"), (1, "1ns"), (1500, "1.5µs"), (2 * 10**6, "2ms"), (90 * 10**9, "1m30s"), (-3600 * 10**9, "-1h0m0s")],
)
def test_durations_are_written_as_go_writes_them(nanoseconds: int, text: str) -> None:
    assert wire._duration(field(1, nanoseconds)) == text


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "empty data"),
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (wire.MARK, "empty body"),
        (wire.MARK + b"\x0a\x20\x0a", "unexpected EOF"),
        (wire.MARK + b"\x0a\x80", "unexpected EOF"),
        (wire.MARK + b"\x0b", "proto: illegal wireType 3"),
        (wire.MARK + b"\x00\x00", "proto: illegal tag 0 (wire type 0)"),
        (wire.MARK + b"\x08" + b"\xff" * 11, "proto: integer overflow"),
    ],
)
def test_what_is_no_envelope(body: bytes, why: str) -> None:
    with pytest.raises(wire.WireError) as caught:
        wire.opened(body)

    assert str(caught.value) == why


def test_a_value_of_another_wire_type_is_refused() -> None:
    with pytest.raises(wire.WireError, match="wrong wireType for field Replicas"):
        wire.object_of("apps/v1", "Deployment", field(2, field(1, "three")))
