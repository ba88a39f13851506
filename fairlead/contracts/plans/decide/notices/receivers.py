"""Who receives a notice: the operator's own receivers, or an AlertProvider, which is read live (R-33).

The address of an AlertProvider may be in its Secret, beside a token: both are put in when a notice is sent.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.decide.notices.bodies import (
    DISCORD,
    DISCORD_ENDING,
    SLACK,
    TYPES,
    WEBHOOK,
    body_of,
)
from fairlead.contracts.plans.decide.notices.news import ALERT, SLACK_GLOBAL, WEBHOOK_GLOBAL
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.kinds import ALERT_PROVIDERS, FLAGGER_ALERT_PROVIDERS, NamedReference
from fairlead.core.act import EventNote
from fairlead.core.ask import Answers, Ask, Bad, Credential, Good, Http, Need, Read, ReadSecret, Retry
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.sealed import Sealed

TRIES = Retry(tries=3, spacing_seconds=0.5)
"""One try, plus two."""
TIMEOUT = 5.0
ADDRESS, TOKEN = "address", "token"


class _Provider(Struct, frozen=True, rename="camel"):
    type: str = ""
    address: str = ""
    channel: str = ""
    username: str = ""
    proxy: str = ""
    secret_ref: NamedReference | None = None


class Own(Struct, frozen=True):
    """The receivers of the operator; their addresses are as good as passwords."""

    slack: Sealed
    webhook: Sealed
    channel: str
    username: str


class Message(Struct, frozen=True):
    """What is sent, and to a receiver of which kind."""

    kind: str
    ask: Ask


def message_of(note: EventNote, own: Own, answers: Answers) -> Message | Need | Bad | None:
    """None for a note that is for nobody; Bad says why it cannot be sent."""
    match note.to:
        case to if to == SLACK_GLOBAL:
            body = body_of(SLACK, note, own.channel, own.username)
            return _message(SLACK, _call("--slack-url", body, sealed=own.slack))
        case to if to == WEBHOOK_GLOBAL:
            body = body_of(WEBHOOK, note, "", "")
            return _message(WEBHOOK, _call("--event-webhook", body, sealed=own.webhook))
        case to if to.startswith(f"{ALERT} "):
            namespace, _, name = to.removeprefix(f"{ALERT} ").partition("/")
            return _of_provider(note, own, answers, Ref(ALERT_PROVIDERS, namespace, name))
    return None


def _of_provider(note: EventNote, own: Own, answers: Answers, ref: Ref) -> Message | Need | Bad:
    found = _read(ref, answers)
    if not isinstance(found, Good):
        return found
    named = f"the {ref.resource.kind} {ref.namespace}/{ref.name}"
    provider, wrong = read(_Provider, msgspec.json.decode(found.value).get("spec"), "spec")
    if wrong:
        return Bad("failed", f"{named}: {wrong[0]}")
    if provider.type not in TYPES:
        return Bad("failed", f"{named} has the type {provider.type or 'none'}: it must be one of {', '.join(TYPES)}")
    secret = None if provider.secret_ref is None else Ref(SECRETS, ref.namespace, provider.secret_ref.name)
    held = _held(secret, answers)
    if not isinstance(held, dict):
        return held
    address = held.get(ADDRESS)
    if address is None and not provider.address:
        return Bad("failed", f"{named} has no address, and neither has its Secret")
    body = body_of(provider.type, note, provider.channel, provider.username or own.username)
    call = _call(
        _ended(provider) if address is None else f"the address of {named}",
        body,
        sealed=address,
        ending=DISCORD_ENDING if provider.type == DISCORD else "",
        proxy=provider.proxy,
        credential=None if secret is None or TOKEN not in held else Credential(secret, TOKEN),
    )
    return _message(provider.type, call)


def _read(ref: Ref, answers: Answers) -> Good | Need | Bad:
    """Ours, or where there is none, Flagger's."""
    for each in (ref, Ref(FLAGGER_ALERT_PROVIDERS, ref.namespace, ref.name)):
        question = Ask(Read(each))
        if stages := answers.lacking((question,)):
            return Need(stages)
        answer = answers[question]
        if isinstance(answer, Good) or answer.kind != "absent":
            return answer
    return Bad("absent", f"the {ref.resource.kind} {ref.namespace}/{ref.name} is not there")


def _held(secret: Ref | None, answers: Answers) -> dict[str, Sealed] | Need | Bad:
    if secret is None:
        return {}
    question = Ask(ReadSecret(secret))
    if stages := answers.lacking((question,)):
        return Need(stages)
    answer = answers[question]
    if isinstance(answer, Bad):
        return Bad(answer.kind, f"the Secret {secret.namespace}/{secret.name}: {answer.text or answer.kind}")
    return dict(answer.sealed)


def _ended(provider: _Provider) -> str:
    if provider.type != DISCORD or provider.address.endswith(DISCORD_ENDING):
        return provider.address
    return provider.address.rstrip("/") + DISCORD_ENDING


def _call(
    url: str,
    body: object,
    *,
    sealed: Sealed | None = None,
    ending: str = "",
    proxy: str = "",
    credential: Credential | None = None,
) -> Http:
    return Http(
        "POST",
        url,
        body=msgspec.json.encode(body),
        headers=(("Content-Type", "application/json"),),
        sealed_url=sealed,
        ending=ending,
        proxy=proxy,
        credential=credential,
        retry=TRIES,
        heeds_body=False,
    )


def _message(kind: str, call: Http) -> Message:
    return Message(kind, Ask(call, effect=True, timeout=TIMEOUT, is_expected_to_fail=True))
