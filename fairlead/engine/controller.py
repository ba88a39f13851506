"""A Controller: one kind of rounds, as a value.

It says what is watched, which rollouts a change concerns, how a Snapshot is gathered and which function decides.
What all controllers share (queue, own writes, rounds, leadership, logs) is in the engine; what a contract brings beside
its controllers is in its Part.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping
from datetime import datetime
from math import inf
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from msgspec import Struct

from fairlead.core.act import AnyWrite, Does, EventNote
from fairlead.core.ask import Answer, Answers, Bad
from fairlead.core.decision import Decide, Decision
from fairlead.core.explain import Explain
from fairlead.engine.decide.guard import GuardedObject
from fairlead.engine.driver.applied import Applied
from fairlead.engine.driver.round import MOST_AT_ONCE, Asker
from kubeloop.informer import Informer
from kubeloop.objects.meta import Ref, Resource
from kubeloop.queue import QueueWatcher
from kubeloop.records import Records
from kubeloop.store import Named

S = TypeVar("S")


class RolloutKey(tuple[str, str]):
    """(namespace, name) of a rollout: what handlers give and rounds get."""

    __slots__ = ()

    @property
    def namespace(self) -> str:
        return self[0]

    @property
    def name(self) -> str:
        return self[1]

    def __str__(self) -> str:
        return "/".join(filter(None, self))


class Wake(Protocol):
    """Asks for a round of the rollout."""

    def __call__(self, key: RolloutKey, initial: bool, *, gently: bool = False) -> None:
        """`initial`: only a first list asks for it. `gently`: a rollout that waits after a failure goes on waiting."""


class Watcher(Protocol):
    """Told when passes begin and end."""

    def started(self, key: RolloutKey) -> None: ...

    def ended(self, key: RolloutKey, seconds: float, *, failed: bool, at: float) -> None: ...

    def vanished(self, key: RolloutKey) -> None: ...


class Nobody:
    """Watches the rounds that no metric is about."""

    def started(self, key: RolloutKey) -> None: ...

    def ended(self, key: RolloutKey, seconds: float, *, failed: bool, at: float) -> None: ...

    def vanished(self, key: RolloutKey) -> None: ...


class BackOff(Struct, frozen=True):
    """Seconds until a failed round is tried again, doubling from the first to the longest, less a part by chance."""

    first: float
    longest: float
    jitter: float = 0.0


class LogRecord(Struct, frozen=True):
    """A log record in the words of the contract."""

    level: str
    message: str
    keys: Mapping[str, object] = {}
    repeated: bool = False
    """Said in every round that it holds for, and not only when it begins to."""


Sink: TypeAlias = Callable[[EventNote, Asker], Awaitable[Answer | None]]
"""Brings a note elsewhere, by asking; answers what became of it, None where the note is not for it."""


class Telling(Struct, frozen=True):
    """How a contract tells what its decisions have for people."""

    component: str = ""
    """Who its Events come from; empty: the process."""
    joined: bool = True
    """Whether notes of the same reason about the same object are one Event when they come close together; else each has
    its own, in its own words."""
    sink: Sink | None = None
    """Where its notes go besides their Events."""


USUAL_TELLING = Telling()


class Controller(Struct, Generic[S], frozen=True):
    name: str
    informers: tuple[Informer[Named], ...]
    subscribe: Callable[[Wake], None]
    """Has the wake function called for every change that may matter."""
    watched: Callable[[RolloutKey], Mapping[Resource, Informer[Named]]]
    """What the rounds of a rollout read."""
    scopes: Callable[[RolloutKey], Iterable[str]]
    """UIDs of what a rollout decides about at present, as writes name them: a round begins when the caches show what
    was written to them, by rounds of whichever controller."""
    rollouts: Callable[[], Iterable[RolloutKey]]
    gather: Callable[[RolloutKey, Answers], S | None]
    """Everything a decision may read; None when the rollout is gone."""
    versions: Callable[[S], Iterable[str]]
    """Which objects a Snapshot shows, in which versions: equal for equal facts."""
    decide: Decide[S]
    """What is to be done now about what was seen, or what must be known first; pure."""
    say: Callable[[S, Decision, datetime], tuple[LogRecord, ...]]
    """What the log is told of a decision that was made at that time."""
    writes: frozenset[Does]
    """All that its decisions may write; anything else is refused before it is sent."""
    done: Mapping[Does, LogRecord]
    """What the log is told of a write that succeeded, for each of them."""
    handled: Callable[[S, Decision], None] = lambda *_: None
    """Told when a round has succeeded and all its writes are done: what its Snapshot shows of objects that are gone and
    its decision has seen to can be forgotten."""
    telling: Telling = USUAL_TELLING
    observe: Callable[[RolloutKey, S, Decision, datetime], None] | None = None
    """Told what each pass saw in the end, what came of it, and when; for metrics."""
    wrote: Callable[[RolloutKey, tuple[AnyWrite, ...]], None] | None = None
    """Told of the writes of a round that were carried out."""
    explain: Callable[[S, Decision, datetime], Explain] | None = None
    """The document of a decision that was made at that time; None for rounds that are no rollout's."""
    observed: Callable[[S], Mapping[str, int]] = lambda _: {}
    """The generation of each object whose spec a Snapshot shows."""
    optional: tuple[Informer[Any], ...] = ()
    """Watched where it is served and permitted; nobody waits for it longer than until that is known."""
    kind: str = ""
    """Of what its keys name, where those of another controller may be the same; for logs."""
    part: str = ""
    """The contract, as its documents have it; empty: the name of the controller."""
    noun: str = ""
    """What its rollouts are, as its documents have it."""
    background: bool = False
    """Whether no rollout waits for its rounds: one runs at a time, and what fails is tried again slowly."""
    watcher: Watcher = Nobody()
    queue_watcher: QueueWatcher | None = None
    back_off: BackOff | None = None
    """None: as the pace of the process says, or what is usual in the background."""
    refusals_hold: bool = True
    """Whether a refused write is left alone for a while; else only the rest of its pass is decided with the refusal."""
    refuses: Callable[[Bad], bool] = lambda _: True
    """Whether such a failure of a refusable write is a fact to decide on; else the pass fails."""
    guards: Callable[[S], GuardedObject | None] | None = None
    """What the guard of versions reads of the object that a Snapshot is about; None there: it is not known. None here:
    its rounds are about no object of a kind of ours."""
    rolled: Callable[[S, str], Ref | None] | None = None
    """What is rolled under this UID, which is that of a write's scope, where that is of no kind of ours."""
    applied: Applied | None = None
    """What was applied by its rounds; it is in their Snapshots."""
    records: Records | None = None
    """Where its rounds keep records; None: where the process does."""
    workers: int = 0
    """How many of its rounds run at a time; 0: as many as usual."""
    asks_within: Callable[[S], float] | None = None
    """Seconds within which all questions of a pass over what was seen first are answered; what is not by then is
    answered `late`. None: each question has its own time alone."""
    edition: Callable[[RolloutKey], Hashable] | None = None
    """Which edition of a rollout people want by now: a round that asks others about it begins anew once that is another
    one. None: what was asked is waited for, whatever people want meanwhile."""
    at_once: int = MOST_AT_ONCE
    """How many questions of a stage, and writes in the middle of deciding, are under way at a time."""
    failure: str = ""
    """What the log is told of a round beside rollouts that failed; empty: nothing, the write has its record."""
    write_timeout: float = inf
    """Seconds until a write of its rounds is given up, should that be sooner than for others."""

    def __post_init__(self) -> None:
        """A word that is missing must not come to light after the write that it is about."""
        if missing := sorted(does.value for does in self.writes - self.done.keys()):
            raise ValueError(f"controller {self.name} has no words for what it writes: {', '.join(missing)}")

    def title(self, key: RolloutKey) -> str:
        """The rollout as logs name it."""
        return f"{self.kind} {key}" if self.kind else str(key)
