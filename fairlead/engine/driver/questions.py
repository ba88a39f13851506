"""Asking: one function from a question to its answer. Failures are answers too; they never raise.

A question has its time, and so has the round: what is not answered by the round's deadline is answered `late`, and
nothing is begun after it. Where there is a gate, no effect passes it while it is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import assert_never

import msgspec
from msgspec import Struct, structs

from fairlead.core.act import AnyWrite, Apply, Create, Delete, Patch, Replace
from fairlead.core.ask import (
    Answer,
    Ask,
    Bad,
    ClientWaiting,
    Discover,
    Good,
    Http,
    Listing,
    Mint,
    Question,
    Read,
    ReadRecord,
    ReadSecret,
    Shake,
    SwapRecord,
)
from fairlead.engine.driver.answer_cache import AnswerCache
from fairlead.engine.driver.ask_context import BETWEEN_TRIES, AskContext, bad_of, pass_gate, timed
from fairlead.engine.driver.lists import listed
from fairlead.engine.driver.outside_calls import called, wrong_cluster
from fairlead.engine.driver.perform import request_for, subject
from fairlead.engine.driver.round import Asker
from fairlead.engine.driver.secrets import entries_of, metadata_in, without
from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.decoding import decoded, why
from kubeloop.discovery import discover
from kubeloop.errors import Garbled
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Meta, Resource
from kubeloop.records import Outdated, ReadOnly, Records, TooLarge
from kubeloop.sealing import seal

__all__ = ["AskContext", "Heard", "asker", "bad_of", "has_effect", "is_passing", "wrong_cluster"]

PASSING = (500, 502, 503, 504)
"""What a server answers that fails at this moment, or whoever stands before it."""
READ_TRIES = 3
"""Times that one object is read while the API server fails: the whole pass would fail with it."""

Heard = Callable[[Question, Answer], None]
"""Told of every effect that was tried: what was asked for, and what became of it."""


def asker(outside: AskContext, *, deadline: float | None = None, heard: Heard | None = None) -> Asker:
    """Answers questions with the help of these; `deadline` is the loop's time by which all are answered."""

    async def ask(question: Question) -> Answer:
        match question:
            case Delete() | Patch() | Apply() | Create() | Replace():
                answer = await _written(question, outside, deadline)
                effect = not question.dry_run
            case Ask():
                if outside.kept is not None and (known := outside.kept.get(question)) is not None:
                    return known
                answer = await _asked(question, outside, deadline)
                effect = has_effect(question)
            case _:
                assert_never(question)
        if effect and heard is not None:
            heard(question, answer)
        return answer

    return ask


def has_effect(question: Ask) -> bool:
    return question.effect or isinstance(question.to, SwapRecord)


async def _asked(question: Ask, outside: AskContext, deadline: float | None) -> Answer:
    if isinstance(question.to, Http):
        if outside.kept is not None and question.effect and not question.max_age:
            outside.kept.overtaken(question.to)
        answer = await called(question.to, question, outside, deadline)
    else:
        tries = READ_TRIES if isinstance(question.to, Read | ReadSecret) else 1
        answer = await _read(question, outside, deadline)
        for _ in range(tries - 1):
            if not is_passing(answer) or (deadline is not None and clock.monotonic() + BETWEEN_TRIES >= deadline):
                break
            await asyncio.sleep(BETWEEN_TRIES)
            answer = await _read(question, outside, deadline)
    if outside.kept is not None:
        _keep(outside.kept, question, answer, deadline)
    return answer


async def _read(question: Ask, outside: AskContext, deadline: float | None) -> Answer:
    return await timed(lambda client: _put(question, outside, client.uncounted()), outside, question.timeout, deadline)


def _keep(kept: AnswerCache, question: Ask, answer: Answer, deadline: float | None) -> None:
    """What the other side said, or failed to say in the time of the question; not what a hurry of ours made of it."""
    hurried = deadline is not None and clock.monotonic() >= deadline
    if isinstance(answer, Good) or not (hurried or answer.kind in ("limited", "not-sent")):
        kept.put(question, answer)
    if isinstance(question.to, Read) and isinstance(answer, Bad) and answer.kind == "absent":
        kept.absent(question.to.ref)


async def _put(question: Ask, outside: AskContext, client: Client) -> Answer:
    match question.to:
        case Read(ref, _, _, _, True):
            asked = request.get(ref, metadata_only=True)
            return Good(metadata_in((await client.call(asked)).body, asked.doing))
        case Read(ref, subresource, _, sealed):
            _refuse_secrets(ref.resource)
            asked = request.get(ref, subresource)
            body = _object((await client.call(asked)).body, asked.doing)
            return without(body, sealed) if sealed else Good(body)
        case ReadSecret(ref):
            entries = await entries_of(ref, client)
            return Good(version=entries.version, sealed=tuple(entries.sealed.items()))
        case Listing() as listing:
            if not listing.metadata_only:
                _refuse_secrets(listing.resource)
            return Good(await listed(listing, client))
        case Discover(group, kind):
            return Good(msgspec.json.encode(await discover(client, group, kind)))
        case ReadRecord() | SwapRecord() as asked_record:
            return await _recorded(asked_record, outside)
        case ClientWaiting():
            return Good() if outside.is_awaited() else Bad("unreachable", "the connection was closed")
        case Mint() as wanted:
            return await _minted(wanted)
        case Shake(host, port, server_name):
            return Good(await outside.shake(host, port, server_name))
        case Http():
            raise TypeError("calls are not put to the API server")
        case _:
            assert_never(question.to)


async def _recorded(asked: ReadRecord | SwapRecord, outside: AskContext) -> Answer:
    match asked:
        case ReadRecord(record):
            found = await _records(outside).get(record)
            return Good(found.value, found.version, age=found.age)
        case SwapRecord(record, version, value, lasts):
            pass_gate(outside)
            try:
                return Good(version=await _records(outside).swap(record, version, value, lasts))
            except Outdated as error:
                return Bad("conflict", str(error))
            except (ReadOnly, TooLarge) as error:
                return Bad("failed", str(error))
        case _:
            assert_never(asked)


async def _minted(wanted: Mint) -> Answer:
    """Made in a thread, so that nothing else waits for it."""
    # No round pays for it that makes no key.
    from fairlead.engine.certificates.issuing import issue, new_signer  # noqa: PLC0415
    from fairlead.engine.certificates.pairs import Signer  # noqa: PLC0415

    now = clock.now()

    def made() -> Answer:
        given = wanted.authority_key
        if given is None:
            signer = new_signer(wanted.common_name, wanted.authority_lifetime, now)
        else:
            signer = Signer(wanted.authority.encode(), given.open())
        try:
            pair = issue(signer, wanted.names, wanted.lifetime, now)
        except ValueError as error:
            return Bad("failed", f"the authority cannot sign: {error}")
        shown = {"certificate": pair.certificate.decode(), "authority": signer.certificate.decode()}
        own = () if given is not None else (("authority-key", seal(signer.key)),)
        return Good(msgspec.json.encode(shown), sealed=(("key", seal(pair.key)), *own))

    return await asyncio.to_thread(made)


class _Object(Struct):
    metadata: Meta


_OBJECT = msgspec.json.Decoder(_Object)


def _object(body: bytes, what: str) -> bytes:
    """The body, which is an object of the API in UTF-8; raises Garbled for anything else."""
    decoded(body, _OBJECT, what, whole=True)
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise Garbled(f"{what}: the answer cannot be read: {why(error)}") from error
    return body


def _is_secret(resource: Resource) -> bool:
    return (resource.group, resource.plural) == (SECRETS.group, SECRETS.plural)


def _refuse_secrets(resource: Resource) -> None:
    if _is_secret(resource):
        raise TypeError("a Secret is asked for with ReadSecret, which seals it")


def _records(outside: AskContext) -> Records:
    if outside.records is None:
        raise TypeError("a decision asks for a record where none are kept")
    return outside.records


async def _written(write: AnyWrite, outside: AskContext, deadline: float | None) -> Answer:
    async def send(client: Client) -> Answer:
        message = structs.replace(request_for(write), retry_when_throttled=write.repeatable)
        body = (await (client.uncounted() if write.uncounted else client).call(message)).body
        return Good(metadata_in(body, message.doing) if _is_secret(subject(write).resource) else body)

    return await timed(send, outside, outside.write_timeout, deadline)


def is_passing(answer: Answer) -> bool:
    """Whether the API server failed, and not the question: in a moment it may be answered."""
    return isinstance(answer, Bad) and (answer.kind == "unreachable" or answer.code in PASSING)
