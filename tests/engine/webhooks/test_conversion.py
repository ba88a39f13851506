"""The conversion webhook: how a review comes in, who converts it, and what happens when that goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from fairlead.engine.conversion.review import ConversionAnswer, Tree
from fairlead.engine.conversion.webhook import LARGEST_REVIEW, SMALL_REVIEW, AnsweredReview, ConversionHandler
from fairlead.engine.conversion.worker import NoWorker, TooSlow, WorkerDied
from kubeloop.calls import Reply
from kubesim.time import run
from tests.engine.webhooks.conversions import NEW, RULES, a_review, a_widget, call
from tests.engine.world import Log

SMALL = a_review(a_widget())
LARGE = a_review(a_widget(note="x" * SMALL_REVIEW))


class Elsewhere:
    """Stands in for the other process."""

    def __init__(self, error: Exception | None = None, seconds: float = 0.0) -> None:
        self.bodies: list[bytes] = []
        self._error = error
        self._seconds = seconds

    async def convert(self, body: bytes) -> ConversionAnswer:
        self.bodies.append(body)
        await asyncio.sleep(self._seconds)
        if self._error is not None:
            raise self._error
        return ConversionAnswer(200, b"converted elsewhere")


def answered(sent: bytes, elsewhere: Elsewhere | None = None, log: Log | None = None) -> Reply:
    handler = ConversionHandler(RULES, (log or Log()).logger(), elsewhere)

    async def scenario() -> Reply:
        return await handler(call(sent))

    return run(scenario(), seed=0)


def result(reply: Reply) -> Tree:
    tree: Tree = msgspec.json.decode(reply.body)["response"]
    return tree


def test_a_review_is_answered_as_json() -> None:
    reply = answered(SMALL)

    assert (reply.status, reply.headers) == (200, (("Content-Type", "application/json"),))
    assert result(reply)["convertedObjects"][0]["apiVersion"] == NEW


@pytest.mark.parametrize(
    ("method", "content_type", "status"),
    [
        ("POST", "application/json", 200),
        ("POST", "", 200),
        ("POST", "Application/JSON; charset=utf-8", 200),
        ("POST", "text/plain", 415),
        ("POST", "application/yaml", 415),
        ("GET", "application/json", 405),
        ("PUT", "", 405),
    ],
)
def test_reviews_are_posted_as_json(method: str, content_type: str, status: int) -> None:
    async def scenario() -> Reply:
        return await ConversionHandler(RULES, Log().logger())(call(SMALL, content_type, method))

    reply = run(scenario(), seed=0)

    assert reply.status == status
    assert (("Allow", "POST") in reply.headers) == (status == 405)


def test_a_body_past_the_limit_is_refused_unread() -> None:
    assert answered(b" " * (LARGEST_REVIEW + 1)).status == 413


def test_only_large_reviews_are_converted_elsewhere() -> None:
    elsewhere = Elsewhere()

    assert result(answered(SMALL, elsewhere))["result"] == {"status": "Success"}
    assert answered(LARGE, elsewhere).body == b"converted elsewhere"
    assert elsewhere.bodies == [LARGE]


def test_without_another_process_large_reviews_are_converted_here() -> None:
    log = Log()

    for reply in (answered(LARGE), answered(LARGE, Elsewhere(NoWorker("no process can be started")), log)):
        assert result(reply)["result"] == {"status": "Success"}
    assert log.of("large review converted in place")


@pytest.mark.parametrize(
    ("elsewhere", "why"),
    [
        (lambda: Elsewhere(WorkerDied("it ended")), "a mistake of the operator"),
        (lambda: Elsewhere(TooSlow("the conversion took longer than 20 seconds")), "longer than 20 seconds; ask for"),
        (lambda: Elsewhere(seconds=100.0), "those before it took 28 seconds"),
    ],
)
def test_a_large_review_that_is_not_converted_is_a_failure_under_its_uid(
    elsewhere: Callable[[], Elsewhere], why: str
) -> None:
    reply = answered(LARGE, elsewhere())

    assert reply.status == 200
    assert result(reply)["uid"] == "uid-1"
    assert result(reply)["result"]["status"] == "Failure"
    assert why in result(reply)["result"]["message"]


def test_a_large_body_that_is_no_review_and_takes_too_long_is_unprocessable() -> None:
    assert answered(b"x" * (SMALL_REVIEW + 1), Elsewhere(seconds=100.0)).status == 422


def test_every_review_is_heard_of_and_a_repeated_refusal_is_logged_once() -> None:
    log, heard = Log(), list[AnsweredReview]()
    handler = ConversionHandler(RULES, log.logger(), heard=heard.append)

    async def scenario() -> None:
        for each in (
            SMALL,
            *[a_review(a_widget(do="refuse"), a_widget())] * 3,
            a_review(a_widget(do="answer nonsense")),
        ):
            await handler(call(each))

    run(scenario(), seed=0)

    assert heard == [
        AnsweredReview(1, True, 0, 0.0),
        *[AnsweredReview(2, False, 0, 0.0)] * 3,
        AnsweredReview(1, False, 1, 0.0),
    ]
    assert len(log.of("conversion refused")) == 2
    assert len(log.of("conversion rule failed")) == 1
