"""Requests on the wire."""

from __future__ import annotations

import pytest

from bench.load import message, parsed
from bench.reviews import UID, Asked, Kind

ASKED = Asked(Kind.GROW, "a", "/admission/no-downscale", f'{{"uid":"{UID}","object":{{"uid":"{UID}"}}}}'.encode())


def test_a_request_has_a_uid_of_its_own_and_its_length() -> None:
    uid = "00000007" + UID[8:]

    head, _, body = message(ASKED, uid, "host").partition(b"\r\n\r\n")

    assert body == f'{{"uid":"{uid}","object":{{"uid":"{UID}"}}}}'.encode()
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /admission/no-downscale?timeout=10s HTTP/1.1"
    assert {f"Content-Length: {len(body)}", "Host: host", "Content-Type: application/json"} <= set(lines)


def test_an_answer_begins_with_its_status_and_tells_its_length() -> None:
    assert parsed(b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-length: 17\r\n\r\n") == (200, 17)


def test_an_answer_without_a_length_is_not_understood() -> None:
    with pytest.raises(ValueError, match="without a length"):
        parsed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
