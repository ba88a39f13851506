"""Answers on the wire."""

from __future__ import annotations

import pytest

from bench.wire import parsed


def test_an_answer_begins_with_its_status_and_tells_its_length() -> None:
    assert parsed(b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-length: 17\r\n\r\n") == (200, 17)


def test_an_answer_without_a_length_is_not_understood() -> None:
    with pytest.raises(ValueError, match="without a length"):
        parsed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
