"""Asking: one function from a question to its answer. Failures are answers too; they never raise.

A question has its time, and so has the round: what is not answered by the round's deadline is answered `late`, and
nothing is begun after it. Where there is a gate, no effect passes it while it is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
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
    Question,
    Read,
    ReadRecord,
    ReadSecret,
    SwapRecord,
)
from fairlead.engine.driver.answer_cache import AnswerCache
from fairlead.engine.driver.lists import listed
from fairlead.engine.driver.perform import request_for
from fairlead.engine.driver.round import Asker
from fairlead.engine.driver.secrets import entries_of
from fairlead.engine.driver.sessions import Sessions, SignInFailed
from kubeloop import clock, request
from kubeloop.calls import Call, Caller, NoReply, Reply
from kubeloop.client import Client
from kubeloop.decoding import decoded, why
from kubeloop.discovery import discover
from kubeloop.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Garbled,
    Gone,
    KubeError,
    NotFound,
    NotLeader,
    RateLimited,
    TransportError,
    Unauthorized,
)
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Meta, Resource
from kubeloop.records import Outdated, Records, TooLarge
from kubeloop.redirects import told
from kubeloop.unreadable import UNREADABLE

JSON_CALL = (("Content-Type", "application/json"),)
PASSING = (500, 502, 503, 504)
"""What a server answers that fails at this moment, or whoever stands before it."""
WRONG_CLUSTER = 511
BETWEEN_TRIES = 0.2
"""Seconds until a call that failed is sent again."""
READ_TRIES = 3
"""Times that one object is read while the API server fails: the whole pass would fail with it."""
LATE = Bad("late", "the time for the whole request was over before this was begun")

Heard = Callable[[Question, Answer], None]
"""Told of every effect that was tried: what was asked for, and what became of it."""


class AskContext(Struct, frozen=True):
    """Whom to ask, and how."""

    client: Client
    caller: Caller | None = None
    """For calls that do not go to the API server."""
    records: Records | None = None
    kept: AnswerCache | None = None
    """Answers of earlier rounds."""
    sessions: Sessions | None = None
    """With servers that want a sign-in."""
    gate: Callable[[], None] | None = None
    """Called right before every effect that does not pass the client's own gate; may raise NotLeader."""
    headers: tuple[tuple[str, str], ...] = ()
    """Of every call that does not go to the API server."""
    write_timeout: float = 30.0
    """Seconds for a write in the middle of deciding."""
    is_awaited: Callable[[], bool] = lambda: True
    """Whether somebody still waits for what is being decided."""
    mistaken: Callable[[Exception], None] | None = None
    """Told of what only a mistake of ours can raise, which is then one failed answer; without it, it is raised."""


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
        answer = await _called(question.to, question, outside, deadline)
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
    return await _timed(lambda client: _put(question, outside, client.uncounted()), outside, question.timeout, deadline)


def _keep(kept: AnswerCache, question: Ask, answer: Answer, deadline: float | None) -> None:
    """What the other side said, or failed to say in the time of the question; not what a hurry of ours made of it."""
    hurried = deadline is not None and clock.monotonic() >= deadline
    if isinstance(answer, Good) or not (hurried or answer.kind in ("limited", "not-sent")):
        kept.put(question, answer)
    if isinstance(question.to, Read) and isinstance(answer, Bad) and answer.kind == "absent":
        kept.absent(question.to.ref)


async def _timed(
    work: Callable[[Client], Awaitable[Answer]], outside: AskContext, seconds: float, deadline: float | None
) -> Answer:
    """The answer of the work, which is given up after so many seconds or at the deadline."""
    now = clock.monotonic()
    until = now + seconds if deadline is None else min(now + seconds, deadline)
    if until <= now:
        return LATE
    over = "late" if until < now + seconds else "timeout"
    try:
        async with asyncio.timeout_at(until):
            return await work(outside.client.within(until - now))
    except TimeoutError:
        return Bad(over, f"no answer within {until - now:.3g} seconds")
    except (TransportError, NoReply) as error:
        return Bad(over if clock.monotonic() >= until else "unreachable", str(error))
    except KubeError as error:
        return bad_of(error)
    except Exception as error:
        # An exception would end the whole round, and with it the undoing of what other calls have done.
        if outside.mistaken is None:
            raise
        outside.mistaken(error)
        return Bad("failed", f"a mistake of the operator ({type(error).__name__}); its log says more")


async def _put(question: Ask, outside: AskContext, client: Client) -> Answer:
    match question.to:
        case Read(ref, subresource):
            _refuse_secrets(ref.resource)
            asked = request.get(ref, subresource)
            return Good(_object((await client.call(asked)).body, asked.doing))
        case ReadSecret(ref):
            return Good(sealed=tuple((await entries_of(ref, client)).sealed.items()))
        case Listing() as listing:
            _refuse_secrets(listing.resource)
            return Good(await listed(listing, client))
        case Discover(group, kind):
            return Good(msgspec.json.encode(await discover(client, group, kind)))
        case ReadRecord(record):
            found = await _records(outside).get(record)
            return Good(found.value, found.version)
        case SwapRecord(record, version, value, lasts):
            _pass(outside)
            try:
                return Good(version=await _records(outside).swap(record, version, value, lasts))
            except Outdated as error:
                return Bad("conflict", str(error))
            except TooLarge as error:
                return Bad("failed", str(error))
        case ClientWaiting():
            return Good() if outside.is_awaited() else Bad("unreachable", "the connection was closed")
        case Http():
            raise TypeError("calls are not put to the API server")
        case _:
            assert_never(question.to)


class _Object(Struct):
    metadata: Meta


_OBJECT = msgspec.json.Decoder(_Object)


def _object(body: bytes, what: str) -> bytes:
    """The body, which is an object of the API in UTF-8; raises Garbled for anything else."""
    decoded(body, _OBJECT, what)
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise Garbled(f"{what}: the answer cannot be read: {why(error)}") from error
    return body


def _refuse_secrets(resource: Resource) -> None:
    if (resource.group, resource.plural) == (SECRETS.group, SECRETS.plural):
        raise TypeError("a Secret is asked for with ReadSecret, which seals it")


def _pass(outside: AskContext) -> None:
    """Raises NotLeader; nothing may be awaited between this and the sending."""
    if outside.gate is not None:
        outside.gate()


def _records(outside: AskContext) -> Records:
    if outside.records is None:
        raise TypeError("a decision asks for a record where none are kept")
    return outside.records


async def _called(call: Http, question: Ask, outside: AskContext, deadline: float | None) -> Answer:
    """Sends it until it succeeds, `tries` times at most, each with the time of the question."""

    async def once(client: Client) -> Answer:
        sent = Call(
            method=call.method,
            url=call.url,
            headers=JSON_CALL + outside.headers,
            body=call.body,
            timeout=client.timeout,
            verified=call.verified,
            follows=call.follows,
        )
        return await _sent(sent, call, question, outside, client.uncounted())

    answer = await _timed(once, outside, question.timeout, deadline)
    for _ in range(call.tries - 1):
        if isinstance(answer, Good) or answer.kind == "not-sent":
            break
        if deadline is not None and clock.monotonic() + BETWEEN_TRIES >= deadline:
            break
        await asyncio.sleep(BETWEEN_TRIES)
        answer = await _timed(once, outside, question.timeout, deadline)
    return answer


async def _sent(sent: Call, call: Http, question: Ask, outside: AskContext, client: Client) -> Answer:
    caller = outside.caller
    if caller is None:
        raise TypeError("a decision asks for an outside call where none can be made")

    async def gated(message: Call) -> Reply:
        if question.effect:
            _pass(outside)
        return await caller(message)

    if call.sign_in is None:
        return _of(sent, await gated(sent))
    if outside.sessions is None:
        raise TypeError("a decision asks for a call in a session where none are kept")
    try:
        return _of(sent, await outside.sessions.call(sent, call.sign_in, gated, client))
    except SignInFailed as error:
        return Bad("sign-in", str(error))


class WrongCluster(Struct, frozen=True):
    """What a server says that a request was not meant for."""

    cluster_validation_error_message: str
    route: str = ""


def wrong_cluster(reply: Reply) -> WrongCluster | None:
    """Whether the reply says that the request was meant for another cluster."""
    if reply.status != WRONG_CLUSTER:
        return None
    try:
        return msgspec.json.decode(reply.body, type=WrongCluster)
    except UNREADABLE:
        return None


def _of(sent: Call, reply: Reply) -> Answer:
    if 200 <= reply.status < 300:
        return Good(reply.body)
    if (wrong := wrong_cluster(reply)) is not None:
        return Bad("failed", f"it rejected the request: {wrong.cluster_validation_error_message}", reply.status)
    return Bad("failed", told(sent, reply), reply.status)


async def _written(write: AnyWrite, outside: AskContext, deadline: float | None) -> Answer:
    async def send(client: Client) -> Answer:
        message = structs.replace(request_for(write), retry_when_throttled=write.repeatable)
        return Good((await client.call(message)).body)

    return await _timed(send, outside, outside.write_timeout, deadline)


def is_passing(answer: Answer) -> bool:
    """Whether the API server failed, and not the question: in a moment it may be answered."""
    return isinstance(answer, Bad) and (answer.kind == "unreachable" or answer.code in PASSING)


def bad_of(error: KubeError) -> Bad:
    """A failure as an answer."""
    code, cursor = (error.status, error.token) if isinstance(error, ApiError) else (0, "")
    match error:
        case NotFound():
            kind = "absent"
        case Forbidden() | Unauthorized():
            kind = "refused"
        case Conflict():
            kind = "conflict"
        case Gone():
            kind = "expired"
        case RateLimited():
            kind = "limited"
        case NotLeader():
            kind = "not-sent"
        case TransportError():
            kind = "unreachable"
        case _:
            kind = "failed"
    return Bad(kind, str(error), code, cursor)
