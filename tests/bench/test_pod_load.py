"""Pods that ask for admission: what they are, and which answers are right."""

from __future__ import annotations

import json
from base64 import b64encode

import msgspec
import pytest
from msgspec import Struct

from bench.pod_load import MUTATING, VALIDATING, is_right, message, pods, review
from fairlead.contracts.leaderworker.webhooks import JUDGES
from kubeloop.objects.review import Review


class Reviewed(Struct):
    request: Review


UID = "1"
VARIABLE = b64encode(b'[{"path": "/spec/containers/0/env/0", "value": {"name": "LWS_LEADER_ADDRESS"}}]').decode()


def answer(**changed: object) -> bytes:
    return json.dumps({"response": {"uid": UID, "allowed": True, "patch": VARIABLE, **changed}}).encode()


@pytest.mark.parametrize(
    ("path", "status", "body", "right"),
    [
        (MUTATING, 200, answer(), True),
        (MUTATING, 200, answer(patch=""), False),
        (MUTATING, 200, answer(allowed=False), False),
        (MUTATING, 200, answer(uid="2"), False),
        (MUTATING, 500, answer(), False),
        (VALIDATING, 200, answer(patch=""), True),
        (VALIDATING, 200, answer(allowed=False), False),
    ],
)
def test_an_answer_is_right_when_it_lets_the_pod_pass_with_what_every_pod_gets(
    path: str, status: int, body: bytes, right: bool
) -> None:
    assert is_right(path, status, body, UID) is right


def test_pods_are_those_of_whole_groups_and_reviews_name_them() -> None:
    made = pods()

    assert [pod["metadata"]["name"] for pod in made[:5]] == ["a-0", "a-0-1", "a-0-2", "a-0-3", "a-1"]
    assert len({pod["metadata"]["name"] for pod in made}) == len(made) == 80
    found = msgspec.json.decode(review(made[1], UID), type=Reviewed).request
    assert (found.uid, found.name, found.operation) == (UID, "a-0-1", "CREATE")


def test_paths_are_those_of_the_contract() -> None:
    assert {MUTATING, VALIDATING} <= JUDGES.keys()


def test_message_tells_its_length() -> None:
    head, _, body = message(MUTATING, b"{}", "host").partition(b"\r\n\r\n")

    assert (b"Content-Length: 2" in head, body) == (True, b"{}")
