"""What a process is at when it calls somebody: a pass over a group, the review of a request, or neither."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from itertools import count
from typing import Any, TypeVar

T = TypeVar("T")
K = TypeVar("K")

_doing: ContextVar[str] = ContextVar("doing", default="")
_PASS, _REVIEW = "pass ", "review "


def doing() -> str:
    """Empty outside of passes and reviews; the same for all that belongs to one of them."""
    return _doing.get()


def is_pass(what: str) -> bool:
    return what.startswith(_PASS)


def is_review(what: str) -> bool:
    return what.startswith(_REVIEW)


def review(uid: str) -> str:
    return f"{_REVIEW}{uid}"


async def at(what: str, work: Awaitable[T]) -> T:
    """The result of the work, all of which belongs to that, also what outlives its answer; for a task of its own."""
    _doing.set(what)
    return await work


def in_passes(process: str, run: Callable[[K], Awaitable[T]]) -> Callable[[K], Coroutine[Any, Any, T]]:
    """Rounds whose calls are told apart, round by round."""
    numbers = count(1)

    async def numbered(key: K) -> T:
        token = _doing.set(f"{_PASS}{next(numbers)} of {process}")
        try:
            return await run(key)
        finally:
            _doing.reset(token)

    return numbered
