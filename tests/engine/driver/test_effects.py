"""The log record of each effect in the middle of deciding."""

from __future__ import annotations

import pytest

from fairlead.core.act import Does, Patch, PatchKind
from fairlead.core.ask import Answer, Ask, Bad, Good, Http, Question, Read, SwapRecord
from fairlead.engine.driver.effects import audited, keys_of, said_of
from fairlead.engine.driver.perform import Round
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubesim.time import run

THIS = Round("uid", "ns/a", "prepare-downscale", "requested by alice")
STAMP = Patch(does=Does.STAMP_DOWNSCALE, ref=Ref(PODS, "ns", "a"), kind=PatchKind.MERGE, body=b"{}", change_to="now")
URL = "http://a-0.svc/prepare"


def level_of(question: Question, answer: Answer) -> str:
    async def scenario() -> str:
        return said_of(question, answer, THIS).level

    return run(scenario())


@pytest.mark.parametrize(
    ("question", "answer", "level"),
    [
        (Ask(Http("POST", URL), effect=True), Good(), "debug"),
        (Ask(Http("POST", URL), effect=True), Bad("failed", "it answered 409", 409), "error"),
        (Ask(Http("POST", URL), effect=True), Bad("timeout"), "error"),
        (Ask(Http("POST", URL), effect=True, is_expected_to_fail=True), Bad("timeout"), "warn"),
        (Ask(Http("DELETE", URL), effect=True), Bad("unreachable"), "error"),
        (Ask(Http("DELETE", URL), effect=True), Bad("failed", "it answered 409", 409), "info"),
        (Ask(SwapRecord("r", "", b"x")), Good(), "debug"),
        (Ask(SwapRecord("r", "", b"x")), Bad("conflict"), "debug"),
        (Ask(SwapRecord("r", "", b"x")), Bad("unreachable"), "warn"),
        (STAMP, Good(), "info"),
        (STAMP, Bad("refused", "no right to"), "warn"),
    ],
)
def test_the_level_follows_what_happened(question: Question, answer: Answer, level: str) -> None:
    assert level_of(question, answer) == level


def test_a_write_says_who_wanted_it_and_how_it_ended() -> None:
    async def scenario() -> None:
        said = said_of(STAMP, Bad("refused", "no right to"), THIS)

        assert said.keys["does"] == "stamp-downscale"
        assert said.keys["subject"] == "pod/a"
        assert said.keys["reason"] == "requested by alice"
        assert said.keys["outcome"] == "no right to"
        assert said.keys["change_to"] == "now"

    run(scenario())


def test_a_failed_call_says_where_it_went_and_what_came_back() -> None:
    async def scenario() -> None:
        said = said_of(Ask(Http("POST", URL), effect=True), Bad("failed", "it answered 500", 500), THIS)

        assert (said.keys["url"], said.keys["verb"], said.keys["status_code"]) == (URL, "POST", 500)
        assert said.keys["error"] == "it answered 500"

    run(scenario())


@pytest.mark.parametrize(
    ("question", "does", "verb", "subject"),
    [
        (Ask(Http("POST", URL), effect=True), "call", "POST", URL),
        (Ask(SwapRecord("downscale/ns/a", "", b"x")), "swap-record", "swap", "downscale/ns/a"),
        (STAMP, "stamp-downscale", "patch", "pod/a"),
    ],
)
@pytest.mark.parametrize(("answer", "outcome"), [(Good(), "ok"), (Bad("timeout"), "timeout")])
def test_every_effect_has_an_audit_line_of_its_round(
    question: Question, does: str, verb: str, subject: str, answer: Answer, outcome: str
) -> None:
    async def scenario() -> None:
        line = audited(question, answer, THIS)

        assert (line.round, line.key, line.rule, line.reason) == (THIS.id, THIS.key, THIS.rule, THIS.reason)
        assert (line.does, line.verb, line.subject, line.outcome) == (does, verb, subject, outcome)
        assert said_of(question, answer, THIS).keys.items() >= keys_of(line).items()

    run(scenario())


@pytest.mark.parametrize("answer", [Good(), Bad("failed", "it answered 500", 500)])
def test_credentials_of_an_address_do_not_reach_the_log(answer: Answer) -> None:
    async def scenario() -> None:
        asked = Ask(Http("POST", "http://user:s3cret@a-0.svc/prepare?token=t0ken"), effect=True)

        assert said_of(asked, answer, THIS).keys["url"] == URL

    run(scenario())


def test_a_mere_question_is_no_effect() -> None:
    with pytest.raises(TypeError):
        level_of(Ask(Read(Ref(PODS, "ns", "a"))), Good())
