"""Questions as values: facts from outside the cache that a decision needs, and their answers.

A decision that lacks a fact returns `Need`; the driver asks and decides again with the answers in the Snapshot.
An Ask is its own identity: equal questions are asked once per round.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from fairlead.api.meta import Ref


class Read(Struct, frozen=True):
    """A live read of one object, past the cache; answered with its body."""

    ref: Ref
    subresource: str = ""


class Ask(Struct, frozen=True):
    to: Read
    effect: bool = False
    """Whether asking changes the world; a preview shows such a question instead of asking it."""
    timeout: float = 5


class Good(Struct, frozen=True):
    value: bytes


class Bad(Struct, frozen=True):
    """`kind` is a word to decide by: `absent`, `refused`, `unreachable`, `failed`, `not-sent`."""

    kind: str
    text: str = ""


Answer: TypeAlias = Good | Bad


class Answers(Struct, frozen=True):
    """What has been answered in this round."""

    known: Mapping[Ask, Answer] = {}

    def __getitem__(self, ask: Ask) -> Answer:
        return self.known[ask]

    def lacking(self, *stages: tuple[Ask, ...]) -> tuple[tuple[Ask, ...], ...]:
        """The stages reduced to what is not answered yet, empty stages left out."""
        return tuple(filter(None, (tuple(self._open(stage)) for stage in stages)))

    def _open(self, stage: tuple[Ask, ...]) -> Iterator[Ask]:
        return (ask for ask in stage if ask not in self.known)


class Need(Struct, frozen=True):
    """Ask these, stage after stage, then decide again."""

    stages: tuple[tuple[Ask, ...], ...]
    stop_at_failure: bool = False

    @property
    def has_effect(self) -> bool:
        return any(ask.effect for stage in self.stages for ask in stage)
