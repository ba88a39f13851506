"""Whom questions are put to, and what their failures are as answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from msgspec import Struct

from fairlead.core.ask import Answer, Bad
from fairlead.engine.driver.answer_cache import AnswerCache
from fairlead.engine.driver.sessions import Sessions
from kubeloop import clock
from kubeloop.calls import Caller, NoReply
from kubeloop.client import Client
from kubeloop.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    KubeError,
    NotFound,
    NotLeader,
    RateLimited,
    TransportError,
    Unauthorized,
)
from kubeloop.handshake import served_leaf
from kubeloop.records import Records

BETWEEN_TRIES = 0.2
"""Seconds until a question that failed is put again."""
LATE = Bad("late", "the time for the whole request was over before this was begun")


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
    shake: Callable[[str, int, str], Awaitable[bytes]] = served_leaf
    """Which certificate is served at a host and port, for this name."""
    mistaken: Callable[[Exception], None] | None = None
    """Told of what only a mistake of ours can raise, which is then one failed answer; without it, it is raised."""


async def timed(
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


def pass_gate(outside: AskContext) -> None:
    """Raises NotLeader; nothing may be awaited between this and the sending."""
    if outside.gate is not None:
        outside.gate()


def bad_of(error: KubeError) -> Bad:
    """A failure as an answer."""
    code, cursor, after = 0, "", 0.0
    if isinstance(error, ApiError):
        code, cursor, after = error.status, error.token, error.retry_after or 0.0
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
    return Bad(kind, str(error), code, cursor, after)
