"""Webhooks for tests: a review as bytes, an endpoint whose judge is a function, what was logged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.core.act import EventNote
from fairlead.core.ask import Answers, Need, StartOver
from fairlead.core.decision import Admit
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.webhooks.admission import OUTPACED, Admission, AdmissionContext, WebhookEndpoint
from fairlead.engine.webhooks.afterwards import Afterwards
from kubeloop.calls import Call, Handler, Reply
from kubeloop.objects.review import Review
from tests.engine.world import Log
from tests.kubeloop.scripted import Scripted

TIMEOUT = 10.0


class Seen(Struct, frozen=True):
    review: Review
    answers: Answers


Judging = Callable[[Seen, datetime], Admit | Need | StartOver]


def allow(seen: Seen, now: datetime) -> Admit:
    return Admit(allowed=True)


def body(version: str = "v1", **request: Any) -> bytes:
    """An AdmissionReview of this version."""
    asked = {
        "uid": "uid-1",
        "resource": {"group": "apps", "version": "v1", "resource": "statefulsets"},
        "name": "a",
        "namespace": "ns",
        "operation": "UPDATE",
        "userInfo": {"username": "alice"},
        **request,
    }
    return msgspec.json.encode(
        {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "request": asked}
    )


def call(content: bytes, content_type: str = "application/json", path: str = "/admission/test") -> Call:
    return Call(method="POST", url=path, headers=(("Content-Type", content_type),), body=content)


def response_of(reply: Reply) -> dict[str, Any]:
    assert reply.status == 200, reply
    answer: dict[str, Any] = msgspec.json.decode(reply.body)["response"]
    return answer


class Court:
    """One webhook and all that it writes into."""

    def __init__(
        self,
        judge: Judging = allow,
        outside: AskContext | None = None,
        timeout: float = TIMEOUT,
        *,
        contested: Callable[[Seen], str] = lambda _: "",
        outpaced: Callable[[Seen], Admit] = lambda _: OUTPACED,
    ) -> None:
        self.log = Log()
        self.told: list[EventNote] = []
        self.heard: list[Admit] = []
        self.afterwards = Afterwards(self.log.logger())
        bench = AdmissionContext(self.afterwards, self.log.logger(), lambda _, note: self.told.append(note))
        self.turns = bench.turns
        endpoint = WebhookEndpoint(
            "test",
            ("/admission/test",),
            judge,
            Seen,
            _keys,
            timeout,
            heard=self.heard.append,
            contested=contested,
            outpaced=outpaced,
        )
        self.handler: Handler = Admission(endpoint, outside or AskContext(Scripted().client()), bench)

    async def answer(self, sent: Call) -> Reply:
        return await self.handler(sent)

    def of(self, message: str) -> list[tuple[str, dict[str, Any]]]:
        """Level and keys of the records with this message."""
        return [(level, keys) for level, said, keys in self.log.records if said == message]


def _keys(seen: Seen) -> Mapping[str, object]:
    return {"object.name": seen.review.name}
