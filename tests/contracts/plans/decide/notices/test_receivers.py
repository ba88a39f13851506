"""What each kind of receiver is sent, and by whom it is named (R-33, R-34)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts.plans.decide.notices.receivers import Message, Own, message_of
from fairlead.contracts.plans.kinds import ROLLOUT_TRAITS, Json
from fairlead.core.act import EventNote
from fairlead.core.ask import Answer, Answers, Bad, Credential, Good, Http, Need, Question, Read, ReadSecret
from fairlead.core.written import written
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.sealing import seal

OWN = Own(seal(b"https://chat.example/s3cret"), seal(b"https://hooks.example/s3cret"), "general", "fairlead")
FIELDS = [
    ("Event", "Batch Available"),
    ("RolloutTrait", "ns/r"),
    ("State", "rollingInBatches"),
    ("Batch", "2"),
]


def a_note(to: str = "alert ns/chat", severity: str = "info") -> EventNote:
    facts = {
        "event": "Batch Available",
        "severity": severity,
        "kind": "RolloutTrait",
        "phase": "rollingInBatches",
        "batch": "2",
        "workload": "d2",
        "timestamp": "1772366400000",
    }
    ref = Ref(ROLLOUT_TRAITS, "ns", "r", "uid")
    return EventNote(ref, False, "", "the pods of batch 2 are ready", facts=tuple(facts.items()), to=to)


def resolved(note: EventNote, spec: object = None, secret: dict[str, bytes] | None = None, group: str = "") -> Any:
    """With an AlertProvider of this spec, and with this Secret."""
    known: dict[Question, Answer] = {}
    for _ in range(4):
        found = message_of(note, OWN, Answers(known))
        if not isinstance(found, Need):
            return found
        for question in (each for stage in found.stages for each in stage):
            known[question] = _answered(question, spec, secret, group)
    raise AssertionError("it keeps asking")


def _answered(question: Question, spec: object, secret: dict[str, bytes] | None, group: str) -> Answer:
    match getattr(question, "to", None):
        case Read(ref):
            assert (ref.namespace, ref.name) == ("ns", "chat")
            there = spec is not None and ref.resource.group == (group or "standard.oam.dev")
            return Good(msgspec.json.encode({"metadata": {}, "spec": spec})) if there else Bad("absent")
        case ReadSecret(ref):
            assert (ref.namespace, ref.name) == ("ns", "login")
            held = secret or {}
            return Good(sealed=tuple((key, seal(each)) for key, each in held.items())) if held else Bad("absent")
    raise AssertionError(question)


def sent(message: object) -> tuple[Http, Json]:
    assert isinstance(message, Message), message
    call = message.ask.to
    assert isinstance(call, Http)
    assert (call.method, message.ask.timeout, call.retry.tries, message.ask.effect) == ("POST", 5.0, 3, True)
    assert ("Content-Type", "application/json") in call.headers
    return call, msgspec.json.decode(call.body)


def slack_body(color: str, channel: str, username: str) -> Json:
    return {
        "channel": channel,
        "username": username,
        "icon_emoji": ":rocket:",
        "attachments": [
            {
                "color": color,
                "author_name": "d2.ns",
                "text": "the pods of batch 2 are ready",
                "mrkdwn_in": ["text"],
                "fields": [{"title": title, "value": value, "short": False} for title, value in FIELDS],
            }
        ],
    }


def teams_body(color: str) -> Json:
    return {
        "@type": "MessageCard",
        "@context": "http://schema.org/extensions",
        "themeColor": color,
        "summary": "d2.ns",
        "sections": [
            {
                "activityTitle": "the pods of batch 2 are ready",
                "activitySubtitle": "d2.ns",
                "facts": [{"name": name, "value": value} for name, value in FIELDS],
            }
        ],
    }


def webhook_body(severity: str) -> Json:
    return {
        "name": "r",
        "namespace": "ns",
        "kind": "RolloutTrait",
        "phase": "rollingInBatches",
        "batch": 2,
        "severity": severity,
        "message": "the pods of batch 2 are ready",
        "timestamp": "1772366400000",
        "metadata": {"event": "Batch Available", "workload": "d2"},
    }


BODIES: dict[tuple[str, str], Json] = {
    ("slack", "info"): slack_body("good", "ops", "me"),
    ("slack", "warn"): slack_body("good", "ops", "me"),
    ("slack", "error"): slack_body("danger", "ops", "me"),
    ("discord", "info"): slack_body("good", "ops", "me"),
    ("discord", "error"): slack_body("danger", "ops", "me"),
    ("rocket", "info"): slack_body("#0076D7", "ops", "me"),
    ("rocket", "error"): slack_body("#FF0000", "ops", "me"),
    ("msteams", "info"): teams_body("0076D7"),
    ("msteams", "error"): teams_body("FF0000"),
    ("webhook", "warn"): webhook_body("warn"),
}


@pytest.mark.parametrize(("kind", "severity"), BODIES)
def test_each_receiver_gets_its_own_body(kind: str, severity: str) -> None:
    spec = {"type": kind, "address": "https://chat.example/x", "channel": "ops", "username": "me"}

    message = resolved(a_note(severity=severity), spec)

    call, body = sent(message)
    assert message.kind == kind
    assert body == BODIES[kind, severity]
    assert call.url == "https://chat.example/x" + ("/slack" if kind == "discord" else "")


@pytest.mark.parametrize("to", ["slack", "alert ns/chat"])
def test_nobody_puts_links_or_mentions_into_a_channel_of_slack(to: str) -> None:
    """Names and answers of hooks are texts of whoever writes a plan; the channel may be the operator's own."""
    text = "failed to invoke a webhook: <!channel> & <https://evil.example|log in>"
    note = structs.replace(a_note(to), text=text, facts=tuple({**dict(a_note().facts), "workload": "<!here>"}.items()))

    (_, body) = sent(resolved(note, {"type": "slack", "address": "https://chat.example/x"}))

    (attachment,) = body["attachments"]
    assert attachment["text"] == (
        "failed to invoke a webhook: &lt;!channel&gt; &amp; &lt;https://evil.example|log in&gt;"
    )
    assert attachment["author_name"] == "&lt;!here&gt;.ns"


def test_an_address_of_discord_that_reads_slack_stays() -> None:
    spec = {"type": "discord", "address": "https://discord.example/x/slack"}

    assert sent(resolved(a_note(), spec))[0].url == "https://discord.example/x/slack"


def test_the_receivers_of_the_operator_are_told_as_its_flags_say() -> None:
    call, body = sent(resolved(a_note("slack")))
    assert (call.url, call.sealed_url, body) == ("--slack-url", OWN.slack, slack_body("good", "general", "fairlead"))
    assert b"s3cret" not in written(call, Http)

    call, body = sent(resolved(a_note("webhook")))
    assert (call.url, call.sealed_url, body) == ("--event-webhook", OWN.webhook, webhook_body("info"))


def test_address_and_token_of_a_secret_are_put_in_when_a_notice_is_sent() -> None:
    spec = {"type": "discord", "address": "https://other.example", "secretRef": {"name": "login"}, "proxy": "http://p"}
    secret = {"address": b"https://chat.example/s3cret", "token": b"s3cret"}

    call, _ = sent(resolved(a_note(), spec, secret))

    assert call.sealed_url is not None
    assert call.sealed_url.open() == b"https://chat.example/s3cret"
    assert (call.ending, call.proxy) == ("/slack", "http://p")
    assert call.credential == Credential(Ref(SECRETS, "ns", "login"), "token")
    assert call.url == "the address of the AlertProvider ns/chat"
    assert b"s3cret" not in written(call, Http)


def test_a_secret_may_have_the_token_alone() -> None:
    spec = {"type": "slack", "address": "https://chat.example/x", "secretRef": {"name": "login"}}

    call, _ = sent(resolved(a_note(), spec, {"token": b"s3cret"}))

    assert (call.url, call.sealed_url) == ("https://chat.example/x", None)
    assert call.credential == Credential(Ref(SECRETS, "ns", "login"), "token")


def test_a_provider_of_flagger_is_taken_where_there_is_none_of_ours() -> None:
    call, _ = sent(resolved(a_note(), {"type": "slack", "address": "https://chat.example/x"}, group="flagger.app"))

    assert call.url == "https://chat.example/x"


UNUSABLE: dict[str, tuple[object, dict[str, bytes] | None, str]] = {
    "no provider": (None, None, "the AlertProvider ns/chat is not there"),
    "another type": ({"type": "pager"}, None, "has the type pager: it must be one of slack, webhook"),
    "no type": ({}, None, "has the type none"),
    "no address": ({"type": "slack"}, None, "has no address, and neither has its Secret"),
    "a number": ({"type": 5}, None, "spec.type"),
    "a word": ("slack", None, "must be an object"),
    "no Secret": ({"type": "slack", "secretRef": {"name": "login"}}, None, "the Secret ns/login: absent"),
    "an empty Secret": ({"type": "slack", "secretRef": {"name": "login"}}, {"x": b"y"}, "has no address"),
}


@pytest.mark.parametrize(("spec", "secret", "said"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_a_provider_that_cannot_be_used_loses_the_notice_with_a_sentence(
    spec: object, secret: dict[str, bytes] | None, said: str
) -> None:
    found = resolved(a_note(), spec, secret)

    assert isinstance(found, Bad)
    assert said in found.text


def test_events_are_for_nobody_else() -> None:
    assert resolved(EventNote(Ref(ROLLOUT_TRAITS, "ns", "r"), False, "Batch Available", "text")) is None
