"""Whole rollouts with secrets planted in them: no snapshot, decision, log record, Event or object ever shows one."""

from __future__ import annotations

import io
from base64 import b64encode
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec
import pytest

from fairlead.contracts.environments import controllers
from fairlead.contracts.environments.decide import decide
from fairlead.contracts.environments.decide.seen import Snapshot
from fairlead.contracts.environments.explain import explain
from fairlead.contracts.environments.kinds import NIL
from fairlead.core.decision import Decision
from fairlead.engine.logs import configure
from kubeloop import request
from kubeloop.calls import Call, Reply
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH
from kubeloop.sealed import PREFIX, recordable
from kubeloop.sealing import seal
from tests.engine.estate import IMAGE, SPACE, Estate, play
from tests.licenses import a_license_key

PASSWORD = "open-sesame-of-the-cave"
LICENSE = a_license_key(aud=NIL)
COOKIE = "Set-Cookie"


def _recorded(value: object) -> str:
    return repr(msgspec.to_builtins(value, enc_hook=recordable))


class Watcher:
    """Notes everything that a round could leave behind, as every means of showing it shows it."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.secrets = {PASSWORD, LICENSE}
        self.sealed = 0

    def decide(self, seen: Snapshot, now: datetime) -> Any:
        outcome = decide(seen, now)
        self.shown += [repr(seen), str(seen), *map(_recorded, seen.answers.known.values())]
        self.sealed += repr(seen).count(PREFIX)
        self._note(outcome)
        if isinstance(outcome, Decision):
            self._note(explain(seen, outcome, now))
        return outcome

    def calling(self, caller: Any) -> Any:
        async def call(sent: Call) -> Reply:
            reply: Reply = await caller(sent)
            self.shown += [repr(sent), str(sent), repr(reply)]
            self.secrets |= {value for name, value in reply.headers if name == COOKIE}
            self.secrets |= {
                value.partition(";")[0].partition("=")[2] for name, value in reply.headers if name == COOKIE
            }
            return reply

        return call

    def _note(self, value: object) -> None:
        self.shown += [repr(value), str(value), _recorded(value)]

    @property
    def forms(self) -> Iterator[str]:
        """As they may be written somewhere."""
        for secret in self.secrets:
            yield secret
            yield b64encode(secret.encode()).decode()

    def leaks(self, texts: list[str]) -> list[str]:
        return [text for text in texts if any(form in text for form in self.forms)]


def test_no_round_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    watcher = Watcher()
    monkeypatch.setattr(controllers, "decide", watcher.decide)

    async def scenario(estate: Estate) -> None:
        network = estate.cluster.network
        monkeypatch.setattr(network, "call", watcher.calling(network.call))
        async with estate.operating():
            await estate.until(lambda: bool(estate.log.of("ready")))
            await estate.environment(authenticatorKind="Password")
            data = {"external_login_password_mz_system": PASSWORD, "license_key": LICENSE}
            body = {"data": {key: b64encode(value.encode()).decode() for key, value in data.items()}}
            secret = request.patch(Ref(SECRETS, SPACE, "m-backend"), MERGE_PATCH, msgspec.json.encode(body))
            await estate.client.call(secret)
            await estate.until(lambda: estate.serves(1))
            await estate.change(environmentdImageRef=IMAGE.format(1))
            await estate.until(lambda: estate.serves(2))

        assert any("/api/login" in text for text in watcher.shown), "somebody signed in"
        assert len(watcher.secrets) > 2, "sessions were opened"
        assert watcher.sealed > 0, "what was read is in the snapshots"
        assert watcher.leaks(watcher.shown) == []
        assert watcher.leaks([repr(each) for each in estate.log.records]) == []
        assert watcher.leaks([repr(each) for _, each in estate.requests]) == []
        bodies = [each.body.decode() for _, each in estate.requests]
        assert watcher.leaks(bodies) == [], "neither an Event nor an object that was written"

    play(scenario)


@pytest.mark.parametrize("form", ["logfmt", "json"])
def test_a_log_record_shows_the_seal(form: str) -> None:
    stream = io.StringIO()
    sealed = seal(PASSWORD.encode())

    configure("debug", form, stream).info("signed in", password=sealed, all=[sealed])

    assert PASSWORD not in stream.getvalue()
    assert stream.getvalue().count(str(sealed)) == 2


def test_a_traceback_in_the_log_shows_nothing_of_it() -> None:
    stream = io.StringIO()
    log = configure("debug", "json", stream)

    try:
        sent = Call(method="POST", url="http://me:open-sesame-of-the-cave@db/", body=PASSWORD.encode())
        raise ValueError(sent, seal(PASSWORD.encode()), Reply(200, headers=((COOKIE, PASSWORD),)))
    except ValueError:
        log.exception("broken", call=Call(method="GET", url="http://db/", headers=(("Cookie", PASSWORD),)))

    told = stream.getvalue().replace('"http://me:open-sesame-of-the-cave@db/"', "")  # the line of this test
    assert PASSWORD not in told
    assert "Call(POST http://db/, 23 bytes)" in told
