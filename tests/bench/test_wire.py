"""Answers on the wire."""

from __future__ import annotations

import asyncio

import pytest

from bench.wire import body_of, parsed


def test_an_answer_begins_with_its_status_and_tells_its_length() -> None:
    assert parsed(b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-length: 17\r\n\r\n") == (200, 17)


def test_an_answer_in_chunks_tells_no_length() -> None:
    assert parsed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") == (200, None)


def test_an_answer_without_a_length_is_not_understood() -> None:
    with pytest.raises(ValueError, match="without a length"):
        parsed(b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n")


@pytest.mark.parametrize(
    ("sent", "length"),
    [(b"0123456789next", 10), (b"4\r\n0123\r\n6;x=y\r\n456789\r\n0\r\n\r\nnext", None)],
    ids=["whole", "in chunks"],
)
def test_body_ends_where_the_next_answer_begins(sent: bytes, length: int | None) -> None:
    async def read() -> tuple[bytes, bytes]:
        reader = asyncio.StreamReader()
        reader.feed_data(sent)
        reader.feed_eof()
        return await body_of(reader, length), await reader.read()

    assert asyncio.run(read()) == (b"0123456789", b"next")
