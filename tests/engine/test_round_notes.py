"""When rounds tell: what was decided as an Event at once, what was done when it is done, elsewhere after all writes."""

from __future__ import annotations

import asyncio
from datetime import datetime

import msgspec
import pytest

from fairlead.core.act import Create, Does, EventNote
from fairlead.core.ask import Answers, Need
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.controller import RolloutKey
from fairlead.engine.rounds import PassFailed
from kubeloop.errors import KubeError
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.request import Request, Response
from kubesim.time import run
from tests.engine.bare import bare_controller, bare_rounds
from tests.kubeloop.scripted import Scripted, failure, pod_ref

KEY = RolloutKey(("ns", "web"))
ABOUT = pod_ref("web")
FAILING = next(reason for reason in Reason if reason.fails)


def note(text: str, *, repeated: bool = False) -> EventNote:
    return EventNote(ABOUT, False, "Paused", text, repeated=repeated)


def making(name: str) -> Create:
    body = msgspec.json.encode({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    does, tell = Does.APPLY_OBJECT, note(f"made {name}")
    return Create(resource=CONFIGMAPS, namespace="ns", name=name, body=body, does=does, tell=tell)


class Told:
    """Rounds that make these decisions, on a server that refuses what `refused` names."""

    def __init__(self) -> None:
        self.refused = ""
        self.decision: Decision = Decision("wait", Hold(Reason.PAUSED))
        self.first: Create | None = None
        """Made in the middle of deciding."""
        self.events: list[str] = []
        self.notices: list[str] = []
        api = Scripted()
        api.fault = self._refuse
        self._rounds = bare_rounds(
            bare_controller(self._decide, Does.APPLY_OBJECT),
            api.client(),
            tell=lambda each: self.events.append(each.text),
            notice=lambda each: self.notices.append(each.text),
        )

    async def round(self) -> None:
        try:
            await self._rounds.run(KEY)
        except (KubeError, PassFailed):
            await asyncio.sleep(60)

    async def _refuse(self, request: Request, when: str) -> Response | None:
        is_refused = self.refused and f'"{self.refused}"'.encode() in request.body
        return failure(422) if is_refused and when == "before" else None

    def _decide(self, seen: Answers, _: datetime) -> Decision | Need:
        if self.first is not None and (todo := seen.lacking((self.first,))):
            return Need(todo)
        return self.decision


def test_what_was_decided_goes_elsewhere_once_when_all_writes_have_succeeded() -> None:
    async def scenario() -> None:
        told = Told()
        told.decision = Decision("make", Move(Reason.ROLLING, (making("a"), making("b"))), tell=(note("begun"),))
        told.refused = "b"
        for _ in range(3):
            await told.round()
        assert told.events == ["begun", "made a"]
        assert told.notices == ["made a"]

        told.refused = ""
        for _ in range(3):
            await told.round()
        assert told.events == ["begun", "made a", "made b"]
        assert told.notices == ["made a", "made b", "begun"]

    run(scenario())


def test_why_a_pass_fails_goes_elsewhere_too_and_each_time_where_it_is_repeated() -> None:
    async def scenario() -> None:
        told = Told()
        told.decision = Decision("fail", Hold(FAILING), tell=(note("stuck"), note("failed", repeated=True)))
        for _ in range(3):
            await told.round()
        assert told.events == told.notices == ["stuck", "failed", "failed", "failed"]

    run(scenario())


@pytest.mark.parametrize(("refused", "expected"), [("", ["made a"]), ("a", [])])
def test_a_write_in_the_middle_of_deciding_is_told_when_it_has_succeeded(refused: str, expected: list[str]) -> None:
    async def scenario() -> None:
        told = Told()
        told.first, told.refused = making("a"), refused
        await told.round()
        assert told.events == told.notices == expected

    run(scenario())
