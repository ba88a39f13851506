"""The migration of one kind as a job: how it is woken, what its log and its metrics are told.

Best effort: whatever fails is a warning and is tried again later, and nothing waits for it. It writes, so it runs on
the replica that leads; one that has lost its lease leaves the rest to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from msgspec import Struct

from fairlead.core.act import Does
from fairlead.core.decision import Decision
from fairlead.engine.controller import LogRecord, RolloutKey, Wake
from fairlead.engine.decide.job import Passage
from fairlead.engine.decide.migration_job import MigrationJournal, MigrationPace, MigrationView, decide
from fairlead.engine.jobs import Job
from kubeloop.records import Records

NAME = "storage-migration"
DONE = {
    Does.REWRITE_OBJECT: LogRecord("info", "object rewritten"),
    Does.FORGET_VERSIONS: LogRecord("info", "stored versions forgotten"),
}
USUAL = MigrationPace()


class Run(Struct, frozen=True):
    """One run that has ended, for metrics."""

    stored: int
    gone: int
    failed: int
    finished: bool


class Migration:
    """The migration of one kind, by the name of its definition; `is_mixed` is what the definition was last seen to be.

    `records` is where its journal is: in memory a run that was killed begins again, which does no harm.
    """

    def __init__(
        self,
        definition: str,
        is_mixed: Callable[[], bool],
        records: Records,
        *,
        pace: MigrationPace = USUAL,
        heard: Callable[[Run], None] = lambda _: None,
    ) -> None:
        self._definition = definition
        self._is_mixed = is_mixed
        self._heard = heard
        self._wakes: list[Wake] = []
        self.controller = Job(
            name=NAME,
            journal=MigrationJournal,
            decide=decide,
            keys=lambda: (self.key,),
            world=lambda _: MigrationView(definition, is_mixed(), pace),
            subscribe=self._wakes.append,
            records=records,
            done=DONE,
            say=_said,
            observe=self._observe,
            at_once=pace.at_once,
        ).controller()

    @property
    def key(self) -> RolloutKey:
        return RolloutKey(("", self._definition))

    def wake(self) -> None:
        """Objects may be stored in another version again."""
        for wake in self._wakes:
            wake(self.key, False)

    def _observe(self, passage: Passage[MigrationJournal], decision: Decision) -> None:
        if decision.rule in ("finish", "end_run") and passage.after is not None:
            progress = passage.after.progress
            self._heard(Run(progress.stored, progress.gone, progress.failed, decision.rule == "finish"))


def _said(passage: Passage[MigrationJournal], decision: Decision, now: datetime) -> tuple[LogRecord, ...]:
    return (*_of_objects(decision), *_of_run(passage, decision, now))


def _of_objects(decision: Decision) -> Iterator[LogRecord]:
    for note in decision.asides:
        subject = "/".join(filter(None, (note.about.namespace, note.about.name)))
        yield LogRecord("warn", "object not migrated", {"object": subject, "error": note.text})


def _of_run(passage: Passage[MigrationJournal], decision: Decision, now: datetime) -> Iterator[LogRecord]:
    journal = passage.after
    if journal is None:
        return
    match decision.rule:
        case "begin" if (plan := journal.plan) is not None:
            yield LogRecord(
                "info", "storage migration begins", {"stored": plan.stored, "storage": plan.resource.version}
            )
        case "finish" if passage.before is not None and passage.before.plan is not None:
            progress = journal.progress
            yield LogRecord("info", "storage migration finished", {"stored": progress.stored, "gone": progress.gone})
        case "end_run" if journal.until is not None:
            again = (journal.until - now).total_seconds()
            yield LogRecord("warn", "storage migration not finished", {"error": journal.problem, "again_in": again})
