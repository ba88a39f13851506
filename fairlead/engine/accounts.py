"""What rounds last made of each rollout, for whoever asks.

It is kept as the round had it, at most once per rollout, and turned into a document only when somebody asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Generic, TypeVar

from msgspec import Struct

from fairlead.core.decision import Decision, Hold
from fairlead.core.explain import key_of_wait
from fairlead.engine.controller import RolloutKey
from kubeloop.clock import Moment
from kubeloop.errors import ApiError

S = TypeVar("S")

REFUSALS = (400, 403, 404, 422, 500)
"""What the API server answers when a write will not do: 500 where a webhook cannot be asked."""


class Account(Struct, Generic[S], frozen=True):
    """The last decision, and what it was made from."""

    seen: S
    decision: Decision
    at: datetime
    since: Mapping[str, Moment]
    """When each thing that the decision waits for was first decided to be waited for; by `wait_keys`."""


class PassFailure(Struct, frozen=True):
    """Why passes fail, and since when none has succeeded."""

    text: str
    since: Moment
    refused: bool = False
    """Whether the API server said no the last time, or somebody whom it asked could not be asked."""

    def lasts(self, seconds: float, now: datetime) -> bool:
        """Whether something was refused in passes of so many seconds, so that it does not pass by itself."""
        return self.refused and (now - self.since.at).total_seconds() >= seconds


class Accounts(Generic[S]):
    """Of the rollouts of one controller."""

    def __init__(self) -> None:
        self._accounts: dict[RolloutKey, Account[S]] = {}
        self._failures: dict[RolloutKey, PassFailure] = {}

    def of(self, key: RolloutKey) -> Account[S] | None:
        return self._accounts.get(key)

    def failure(self, key: RolloutKey) -> PassFailure | None:
        return self._failures.get(key)

    def decided(self, key: RolloutKey, seen: S, decision: Decision, now: datetime) -> None:
        before = self._accounts.get(key)
        known = before.since if before is not None else {}
        since = {each: known.get(each) or Moment(now) for each in wait_keys(decision)}
        self._accounts[key] = Account(seen, decision, now, since)

    def succeeded(self, key: RolloutKey) -> None:
        """The pass ended well."""
        self._failures.pop(key, None)

    def failed(self, key: RolloutKey, error: Exception, now: datetime, *, refused: bool = False) -> PassFailure:
        before = self._failures.get(key)
        since = Moment(now) if before is None else before.since
        failure = self._failures[key] = PassFailure(
            " ".join(str(error).split()), since, refused or (isinstance(error, ApiError) and error.status in REFUSALS)
        )
        return failure

    def forget(self, key: RolloutKey) -> None:
        """The rollout is gone."""
        self._accounts.pop(key, None)
        self._failures.pop(key, None)

    def clear(self) -> None:
        """Others have decided meanwhile."""
        self._accounts.clear()
        self._failures.clear()


def wait_keys(decision: Decision) -> tuple[str, ...]:
    """One for what the verdict waits for, one for each wait beside it.

    A verdict that waits for other objects than the one before is another wait.
    """
    verdict = decision.verdict
    beside = tuple(key_of_wait(aside.reason.word, str(aside.about)) for aside in decision.asides)
    if not isinstance(verdict, Hold):
        return beside
    objects = ",".join(about for about, _ in verdict.details)
    return verdict_key(verdict.reason.word, objects), *beside


def verdict_key(reason: str, objects: str) -> str:
    return f"{reason} of {objects}"
