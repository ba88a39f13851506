"""Passes that a refusal of the API server lets fail: what is told of them in the cluster, and when."""

from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager
from datetime import datetime

import msgspec
import pytest

from fairlead.core.act import Does, EventNote, Patch, PatchKind
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision, Move
from fairlead.core.reason import Reason
from fairlead.engine.controller import RolloutKey
from fairlead.engine.failed_passes import FAILING
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import ApiError
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response, Stream
from kubesim.time import run
from tests.engine.bare import bare_controller, bare_rounds

KEY = RolloutKey(("test", "m"))
ROLLED = Ref(CONFIGMAPS, "test", "rolled", "uid-of-rolled")
WRITE = Patch(
    ref=Ref(CONFIGMAPS, "test", "c", "uid-of-c"),
    kind=PatchKind.MERGE,
    body=b"{}",
    does=Does.APPLY_OBJECT,
    scope=ROLLED.uid,
)


class Answering:
    """An API server that answers every write with this code, or takes it."""

    def __init__(self, code: int) -> None:
        self.code = code

    async def send(self, _: Request) -> Response:
        if self.code < 300:
            return Response(200, b'{"metadata": {"name": "c", "uid": "uid-of-c", "resourceVersion": "1"}}')
        return Response(self.code, msgspec.json.encode({"kind": "Status", "code": self.code, "message": "no"}))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise AssertionError("nobody watches here")

    async def close(self) -> None:
        pass


def told_by(server: Answering, seconds: int) -> list[tuple[float, EventNote]]:
    """What a part tells that wants a write every second, with the second of each."""
    told: list[tuple[float, EventNote]] = []

    def decide(_seen: Answers, _now: datetime) -> Decision:
        return Decision("patch", Move(Reason.APPLYING, (WRITE,)))

    def rolled(_seen: Answers, uid: str) -> Ref | None:
        return ROLLED if uid == ROLLED.uid else None

    async def scenario() -> None:
        controller = msgspec.structs.replace(bare_controller(decide, Does.APPLY_OBJECT), rolled=rolled)
        rounds = bare_rounds(
            controller, Client(server), tell=lambda note: told.append((round(clock.monotonic()), note))
        )
        for _ in range(seconds):
            with pytest.raises(ApiError):
                await rounds.run(KEY)
            await asyncio.sleep(1)

    run(scenario())
    return told


@pytest.mark.parametrize("code", [403, 422, 500])
def test_a_refusal_that_lasts_is_told_about_what_is_rolled(code: int) -> None:
    told = told_by(Answering(code), seconds=8)

    assert [second for second, _ in told] == [5, 6, 7]
    (note,) = {note for _, note in told}
    assert (note.about, note.warning, note.reason, note.repeated) == (ROLLED, True, FAILING, True)
    assert note.text == "The last pass failed: patch configmaps/c in namespace test: no"


@pytest.mark.parametrize("code", [409, 503])
def test_what_passes_by_itself_is_not_told(code: int) -> None:
    assert told_by(Answering(code), seconds=8) == []
