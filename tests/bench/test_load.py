"""Requests on the wire."""

from __future__ import annotations

from bench.load import message
from bench.reviews import UID, Asked, Kind

ASKED = Asked(Kind.GROW, "a", "/admission/no-downscale", f'{{"uid":"{UID}","object":{{"uid":"{UID}"}}}}'.encode())


def test_a_request_has_a_uid_of_its_own_and_its_length() -> None:
    uid = "00000007" + UID[8:]

    head, _, body = message(ASKED, uid, "host").partition(b"\r\n\r\n")

    assert body == f'{{"uid":"{uid}","object":{{"uid":"{UID}"}}}}'.encode()
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST /admission/no-downscale?timeout=10s HTTP/1.1"
    assert {f"Content-Length: {len(body)}", "Host: host", "Content-Type: application/json"} <= set(lines)
