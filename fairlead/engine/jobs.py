"""Jobs: what walks many objects beside the rollouts, step by step, on the same rounds.

A job is a controller whose decision is one step over its journal. Its rounds run one at a time while this replica
leads; a stage of its writes has a bounded number under way, and every write has an audit line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Generic

from msgspec import Struct

from fairlead.core.act import Does
from fairlead.core.ask import Answers
from fairlead.core.decision import Decide, Decision
from fairlead.engine.controller import Controller, LogRecord, RolloutKey, Wake
from fairlead.engine.decide.job import J, JobSnapshot, Passage, W, passage
from kubeloop.records import Records


class Job(Struct, Generic[J, W], frozen=True, kw_only=True):
    name: str
    journal: type[J]
    decide: Decide[JobSnapshot[J, W]]
    """One step over its journal: see `journaled`."""
    keys: Callable[[], Iterable[RolloutKey]]
    """What it is done for; each has a journal of its own."""
    world: Callable[[RolloutKey], W | None]
    """What the caches show of it; None when there is nothing to do for it any more."""
    subscribe: Callable[[Wake], None]
    records: Records
    """Where the journals are."""
    done: Mapping[Does, LogRecord]
    """What the log is told of each write that succeeded."""
    say: Callable[[Passage[J], Decision, datetime], tuple[LogRecord, ...]]
    observe: Callable[[Passage[J], Decision], None]
    """Told what came of each step, for metrics."""
    at_once: int
    """Writes under way at a time."""

    def record(self, key: RolloutKey) -> str:
        """The name of its journal."""
        return "/".join(filter(None, (self.name, *key)))

    def controller(self) -> Controller[JobSnapshot[J, W]]:
        def gather(key: RolloutKey, answers: Answers) -> JobSnapshot[J, W] | None:
            world = self.world(key)
            return None if world is None else JobSnapshot(self.record(key), answers, world)

        def observe(_: RolloutKey, seen: JobSnapshot[J, W], decision: Decision, __: datetime) -> None:
            self.observe(passage(seen, self.journal), decision)

        return Controller(
            name=self.name,
            informers=(),
            subscribe=self.subscribe,
            watched=_nothing_watched,  # its objects are read live
            scopes=lambda _: (),
            rollouts=self.keys,
            gather=gather,
            versions=lambda seen: (seen.record,),
            decide=self.decide,
            say=lambda seen, decision, now: self.say(passage(seen, self.journal), decision, now),
            writes=frozenset(self.done),
            done=self.done,
            observe=observe,
            records=self.records,
            at_once=self.at_once,
            background=True,
        )


def _nothing_watched(_: RolloutKey) -> Mapping[Any, Any]:
    return {}
