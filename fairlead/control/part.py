"""A Part: one contract on the engine, as a value.

It says what is watched, which rollouts a change concerns, how a Snapshot is gathered and which function decides.
What all parts share (queue, own writes, rounds, leadership, logs) is in the engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from math import inf
from typing import Any, Generic, TypeVar

from msgspec import Struct

from fairlead.api.meta import Resource
from fairlead.decide.act import Does
from fairlead.decide.ask import Answers
from fairlead.decide.decision import Decide, Decision
from fairlead.kube.informer import Informer
from fairlead.kube.optional import OptionalInformer
from fairlead.kube.store import Named
from fairlead.webhook.admission import Endpoint

S = TypeVar("S")


class Key(tuple[str, str]):
    """(namespace, name) of a rollout: what handlers give and rounds get."""

    __slots__ = ()

    @property
    def namespace(self) -> str:
        return self[0]

    @property
    def name(self) -> str:
        return self[1]

    def __str__(self) -> str:
        return "/".join(self)


Wake = Callable[[Key, bool], None]
"""Asks for a round of the rollout; True says that only a first list asked for it."""


class Saying(Struct, frozen=True):
    """A log record in the words of the part's contract."""

    level: str
    message: str
    keys: Mapping[str, object] = {}
    repeated: bool = False
    """Said in every round that it holds for, and not only when it begins to."""


class Part(Struct, Generic[S], frozen=True):
    name: str
    informers: tuple[Informer[Named], ...]
    subscribe: Callable[[Wake], None]
    """Has the wake function called for every change that may matter."""
    watched: Callable[[Key], Mapping[Resource, Informer[Named]]]
    """What the rounds of a rollout read, and where its writes become visible."""
    scopes: Callable[[Key], Iterable[str]]
    """What a rollout decides about at present, as its writes name it; others may have written to it before."""
    rollouts: Callable[[], Iterable[Key]]
    gather: Callable[[Key, Answers], S | None]
    """Everything a decision may read; None when the rollout is gone."""
    versions: Callable[[S], Iterable[str]]
    """Which objects a Snapshot shows, in which versions: equal for equal facts."""
    decide: Decide[S]
    say: Callable[[S, Decision, datetime], tuple[Saying, ...]]
    """What the log is told of a decision that was made at that time."""
    done: Mapping[Does, Saying]
    observe: Callable[[Key, S, datetime], None] | None = None
    """Told what each pass saw in the end, and when; for metrics."""
    endpoints: tuple[Endpoint[Any], ...] = ()
    """Its webhooks."""
    optional: tuple[OptionalInformer[Any], ...] = ()
    """Watched where it is served and permitted; nobody waits for it longer than until that is known."""
    beside: tuple[Part[Any], ...] = ()
    """Lesser parts on the same informers, with rounds of their own that no watcher counts."""
    write_timeout: float = inf
    """Seconds until a write of the part is given up, should that be sooner than for others."""
