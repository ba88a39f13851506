"""Small requests on the wire, and which answers are right."""

from __future__ import annotations

from bench.lists import NEW, environment, review
from bench.pulse import Order, is_right, message
from fairlead.contracts.environments.conversion_rules import RULES
from fairlead.engine.conversion.review import answer

BEAT = Order(1, "", "/healthz")
REVIEW = Order(1, "", "/convert", body=review([environment(0)], NEW).decode())


def test_without_a_body_it_is_a_get() -> None:
    head, _, body = message(BEAT).partition(b"\r\n\r\n")

    assert head.startswith(b"GET /healthz HTTP/1.1\r\n")
    assert b"Content-Length" not in head
    assert not body


def test_a_body_is_posted_with_its_length() -> None:
    head, _, body = message(REVIEW).partition(b"\r\n\r\n")

    assert head.startswith(b"POST /convert HTTP/1.1\r\n")
    assert {f"Content-Length: {len(body)}", "Content-Type: application/json"} <= set(head.decode().split("\r\n"))
    assert body == REVIEW.body.encode()


def test_a_review_that_failed_is_no_right_answer() -> None:
    good = answer(REVIEW.body.encode(), RULES).body
    bad = answer(review([b"{}"], NEW), RULES).body

    assert is_right(REVIEW, 200, good)
    assert not is_right(REVIEW, 200, bad)


def test_a_beat_needs_its_status_only() -> None:
    assert is_right(BEAT, 200, b"")
    assert not is_right(BEAT, 503, b"not yet")
