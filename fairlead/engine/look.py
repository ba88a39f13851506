"""Looking at rollouts without acting: what a command reads for a contract, and the documents that come of it.

A contract says which resources its look reads, and makes documents of what was read by the same decisions as its
operator, without a question that would change the world. Commands list or watch each resource once for all contracts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct, structs

from fairlead.core.ask import Answers
from fairlead.core.decision import Decide, Decision
from fairlead.core.explain import Explain, Source
from fairlead.core.unreadable import document, said_of, unread
from fairlead.engine.controller import RolloutKey
from fairlead.engine.driver.round import Asker, settle
from kubeloop.client import Client
from kubeloop.objects.meta import Resource
from kubeloop.store import Index, Readable, T
from kubeloop.unreadable import UNREADABLE

S = TypeVar("S")
RolloutId = tuple[str, str, str, str]
"""Part, noun, namespace and name of a rollout."""
ToLook = tuple[RolloutKey, Mapping[str, int], Callable[[], Awaitable[Explain | None]]]
"""A rollout, the generations of its specs, and how to look at it."""
ViewKey = tuple[Resource, type[Any], str]


class ResourceView(Struct, Generic[T], frozen=True):
    """A resource as a look reads it: which objects, which of their fields, and by what they are found."""

    resource: Resource
    into: type[T]
    labels: str = ""
    indexes: Mapping[str, Index[T]] = {}
    """A name stands for the same index in all views that one list serves."""
    optional: bool = False
    """Whether a cluster may lack it, or withhold it; there is none of it then."""

    @property
    def key(self) -> ViewKey:
        """Equal for views that one list can serve."""
        return self.resource, self.into, self.labels


class Views(Protocol):
    """What was read of one namespace, or of all."""

    def __getitem__(self, view: ResourceView[T]) -> Readable[T]: ...


class Heard(Struct, frozen=True):
    """What operators said at one moment."""

    documents: Mapping[RolloutId, Explain] = {}
    undecided: Mapping[RolloutId, str] = {}
    """Why the operator has not decided, by rollout."""
    why: str = ""
    """Why nobody was heard, or one of several was not."""
    leader: str = ""
    """One who was."""

    async def or_else(
        self, rollout: RolloutId, observed: Mapping[str, int], look: Callable[[], Awaitable[Explain | None]]
    ) -> Explain | None:
        """The operator's document, or one that is worked out, without what only the operator can know.

        What is in its objects may be readable and not what was expected: that is told, and others are looked at.
        A document that is not about the specs as they are now was decided before an edit and says nothing of it; one
        of an earlier release says no outcome.
        """
        found = self.documents.get(rollout)
        if found is not None and found.outcome and found.source and found.source.observed == observed:
            return found
        try:
            shown = await look()
        except UNREADABLE as error:
            part, noun, namespace, name = rollout
            about, text = f"{noun}/{name}", said_of(noun, name, str(error))
            shown = unread(document(part, noun, namespace, name), about, text)
        return None if shown is None else structs.replace(shown, again=None, source=self._own(rollout))

    async def or_each(self, part: str, noun: str, rollouts: Iterable[ToLook]) -> list[Explain]:
        """The same for rollouts of one part and noun, as far as they are still there."""
        shown = [await self.or_else((part, noun, *key), observed, look) for key, observed, look in rollouts]
        return [one for one in shown if one is not None]

    def _own(self, rollout: RolloutId) -> Source:
        if (found := self.documents.get(rollout)) is not None and found.source:
            if not found.outcome:
                return Source("command", why=f"{found.source.name} is of an earlier release and tells no outcome")
            return Source("command", why=f"{found.source.name} has not decided about the newest change yet")
        if rollout in self.undecided:
            return Source("command", why=self.undecided[rollout])
        return Source("command", why=self.why or f"{self.leader} does not look after it")


class Looks(Protocol):
    """Looks at the same views again and again."""

    async def look(self, now: datetime, heard: Heard) -> list[Explain]:
        """Every rollout as it stands, in the operator's words where it was heard."""


class Look(Struct, frozen=True, kw_only=True):
    """How a contract is looked at."""

    roots: tuple[ResourceView[Any], ...]
    """The roots of the contract, in their order."""
    rest: tuple[ResourceView[Any], ...] = ()
    """What is needed besides where there is one; a picture without it would be wrong, unless it is optional."""
    open: Callable[[Client, Sequence[Views]], Looks]


async def decided(
    decide: Decide[S], gather: Callable[[Answers], S | None], now: datetime, ask: Asker
) -> tuple[S, Decision] | None:
    """What is seen of a rollout and what is decided of it; None when it went away while it was looked at."""

    def present(answers: Answers) -> S:
        if (seen := gather(answers)) is None:
            raise _GoneError
        return seen

    try:
        return await settle(decide, present, now, ask)
    except _GoneError:
        return None


class _GoneError(Exception):
    pass
