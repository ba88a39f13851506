"""Admission reviews, bytes to bytes: read, judged by a decision and what it asks for, answered in their own version.

A review has nine tenths of the request's time; what is not answered by then counts as not answered, and the decision
says what that means. Undoing begins with the answer and has its own time. Reviews do not wait for one another: what a
decision writes comes back through the same webhook while it is still being judged. Only those that would swap the same
record and write nothing else take turns.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct, field, structs
from structlog.types import FilteringBoundLogger

from fairlead.core.act import EventNote
from fairlead.core.ask import Answer, Answers, Need, Question
from fairlead.core.decision import Admit, Judge
from fairlead.core.replay import DecidedRound
from fairlead.engine.controller import USUAL_TELLING, Telling
from fairlead.engine.driver.effects import said_of
from fairlead.engine.driver.perform import Round
from fairlead.engine.driver.questions import AskContext, asker
from fairlead.engine.driver.round import Outpaced, answer, settle
from fairlead.engine.serving.routes import LARGEST_BODY, text
from fairlead.engine.webhooks.afterwards import Afterwards
from fairlead.engine.webhooks.turns import TooLong, Turns
from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubeloop.objects.review import VERSIONS, Envelope, Review, decode
from kubeloop.unreadable import UNREADABLE

S = TypeVar("S")

SHARE = 0.9
"""The part of a request's time that a decision may use."""
CONTEST = 0.6
"""The part of it after which no turn is awaited and nothing is begun anew: what is left is for one whole attempt."""
JSON = "application/json"
OUTPACED = Admit(
    allowed=False,
    word="outpaced",
    code=429,
    message="other requests about the same objects were faster each time; nothing was done, so try again",
    level="warn",
)


class WebhookEndpoint(Struct, Generic[S], frozen=True):
    """One webhook: where it is and who judges."""

    name: str
    """Of the component: for logs and for the share of the rate limit."""
    paths: tuple[str, ...]
    judge: Judge[S]
    gather: Callable[[Review, Answers], S]
    keys: Callable[[S], Mapping[str, object]]
    """Of every log record about a review."""
    timeout: float
    """Seconds that the server gives to a request."""
    heard: Callable[[Admit], None] = lambda _: None
    """Told of every verdict, for metrics."""
    working: Callable[[], AbstractContextManager[object]] = nullcontext
    """Open while a review is judged."""
    contested: Callable[[S], str] = lambda _: ""
    """Names what reviews take turns at; empty for one that waits for nobody.

    Only for reviews that write nothing which would come back as a review of the same name.
    """
    outpaced: Callable[[S], Admit] = lambda _: OUTPACED
    """The answer when others were faster for as long as there was time."""
    telling: Telling = USUAL_TELLING


class AdmissionContext(Struct, frozen=True):
    """What all webhooks of a process share."""

    afterwards: Afterwards
    log: FilteringBoundLogger
    tell: Callable[[Telling, EventNote], None]
    turns: Turns = field(default_factory=Turns)
    record: Callable[[DecidedRound], None] | None = None
    """Keeps what was judged, by the path of the webhook and the UID of the review."""


class NoReview(Exception):
    """The request is no admission review; the text says why."""


class Admission(Generic[S]):
    """The handler of one webhook."""

    def __init__(self, endpoint: WebhookEndpoint[S], outside: AskContext, context: AdmissionContext) -> None:
        self._endpoint = endpoint
        self._outside = outside
        self._context = context

    async def __call__(self, call: Call) -> Reply:
        if len(call.body) > LARGEST_BODY:
            return text(413, f"the body is larger than {LARGEST_BODY} bytes")
        try:
            envelope, review = _read(call)
        except NoReview as error:
            return text(400, str(error))
        log = self._context.log.bind(method=self._endpoint.name, **{"request.uid": review.uid})
        try:
            log = log.bind(**self._endpoint.keys(self._endpoint.gather(review, Answers())))
            self._announce(review, log)
            with self._endpoint.working():
                verdict = await self._judged(review, call, log)
        except Exception as error:  # noqa: BLE001  (a mistake of ours: the registration's failurePolicy decides)
            _record(log, "error", "admission review failed", {"exc_info": error})
            return text(500, "this is a mistake of the operator; its log says more")
        self._conclude(review, verdict, log)
        return Reply(200, _answered(envelope, review, verdict), (("Content-Type", JSON),))

    def _announce(self, review: Review, log: FilteringBoundLogger) -> None:
        log.debug(
            "admission review",
            user=review.user_info.username,
            operation=review.operation,
            subresource=review.sub_resource,
            dry_run=review.is_dry_run,
        )

    async def _judged(self, review: Review, call: Call, log: FilteringBoundLogger) -> Admit:
        begun, endpoint, timeout = clock.monotonic(), self._endpoint, self._endpoint.timeout
        until = begun + CONTEST * timeout
        outside = structs.replace(self._outside, is_awaited=call.is_awaited)
        ask = asker(outside, deadline=begun + SHARE * timeout, heard=self._heard(review, log))
        first = endpoint.gather(review, Answers())
        try:
            async with self._context.turns.of(endpoint.contested(first), until):
                now = clock.now()
                seen, verdict = await settle(
                    endpoint.judge, lambda answers: endpoint.gather(review, answers), now, ask, until=until
                )
        except (Outpaced, TooLong):
            return endpoint.outpaced(first)
        if self._context.record is not None:
            key = f"{review.namespace}/{review.name}"
            self._context.record(DecidedRound(endpoint.paths[0], key, review.uid, now, seen, verdict))
        return verdict

    def _conclude(self, review: Review, verdict: Admit, log: FilteringBoundLogger) -> None:
        keys: dict[str, object] = {"reason": verdict.word}
        given = {"code": verdict.code, "text": verdict.message, "warnings": "; ".join(verdict.warnings)}
        keys |= {name: value for name, value in given.items() if value}
        _record(log, verdict.level, "admission allowed" if verdict.allowed else "admission denied", keys)
        self._endpoint.heard(verdict)
        for note in verdict.tell:
            self._context.tell(self._endpoint.telling, note)
        if verdict.afterwards:
            self._context.afterwards.begin(self._carry_out(verdict.afterwards, review, log))

    async def _carry_out(
        self, stages: tuple[tuple[Question, ...], ...], review: Review, log: FilteringBoundLogger
    ) -> None:
        """Each question has its own time; none is left out because another failed."""
        ask = asker(self._outside, heard=self._heard(review, log))
        await answer(Need(stages), ask, self._context.afterwards.ending)

    def _heard(self, review: Review, log: FilteringBoundLogger) -> Callable[[Question, Answer], None]:
        user = review.user_info.username
        this = Round(review.uid, f"{review.namespace}/{review.name}", self._endpoint.name, f"requested by {user}")

        def heard(question: Question, given: Answer) -> None:
            said = said_of(question, given, this)
            _record(log, said.level, said.message, said.keys)

        return heard


def _record(log: FilteringBoundLogger, level: str, message: str, keys: Mapping[str, object]) -> None:
    getattr(log, "warning" if level == "warn" else level)(message, **keys)


def _read(call: Call) -> tuple[Envelope, Review]:
    if call.header("Content-Type") != [JSON]:
        raise NoReview(f"Content-Type must be {JSON}")
    try:
        envelope = decode(call.body)
    except UNREADABLE as error:
        raise NoReview(f"the body is no AdmissionReview: {_short(error)}") from None
    if envelope.kind != "AdmissionReview" or envelope.api_version not in VERSIONS:
        raise NoReview(f"the body must be an AdmissionReview of {' or '.join(VERSIONS)}")
    review = envelope.request
    if review is None or not review.uid:
        raise NoReview("the AdmissionReview has no request with a uid")
    return envelope, review


def _short(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0][:200]


def _answered(envelope: Envelope, review: Review, verdict: Admit) -> bytes:
    response: dict[str, Any] = {"uid": review.uid, "allowed": verdict.allowed}
    if verdict.message or verdict.code:
        status: dict[str, object] = {"message": verdict.message}
        if verdict.code:
            status["code"] = verdict.code
        if verdict.reason:
            status["reason"] = verdict.reason
        response["status"] = status
    if verdict.warnings:
        response["warnings"] = verdict.warnings
    if verdict.patch:
        response |= {"patchType": "JSONPatch", "patch": b64encode(verdict.patch).decode()}
    return msgspec.json.encode({"apiVersion": envelope.api_version, "kind": envelope.kind, "response": response})
