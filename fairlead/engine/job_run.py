"""A job carried by a command: the same pure step over its journal, until it has come to its end.

What an operator does on its rounds happens here step after step: questions and writes of a stage a bounded number at a
time and at a pace that the server can stand, an audit line for every effect, and progress told meanwhile. With
`dry_run` every write is only tried on the server, and the journal stays in memory.

    journal = await run_job(CommandJob(name="migrate", record=…, journal=…, decide=journaled(step, …), world=…), terms)

A step that waits for nothing (`Hold` without `again`) is the end; with a time it is taken up again then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Generic

from msgspec import Struct, structs

from fairlead.core.ask import Answer, Answers, Ask, Good, Question
from fairlead.core.audit import AuditLine
from fairlead.core.decision import Decide, Decision, Hold
from fairlead.core.replay import DecidedRound
from fairlead.engine.decide.job import J, JobSnapshot, Passage, W, passage
from fairlead.engine.driver.ask_context import AskContext
from fairlead.engine.driver.effects import audited
from fairlead.engine.driver.perform import Round
from fairlead.engine.driver.questions import asker
from fairlead.engine.driver.request_pace import RequestPace, patient
from fairlead.engine.driver.round import Asker, Outpaced, settle
from fairlead.engine.progress import ProgressReporter, RunProgress
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.records import MemoryRecords, Records

WRITE_SECONDS = 60.0
"""For which a write is waited for: it may have to be converted and admitted."""


class JobStopped(Exception):
    """The job cannot go on; the text says why. Whatever it has done is in its journal."""


class CommandJob(Struct, Generic[J, W], frozen=True, kw_only=True):
    name: str
    """In audit lines."""
    record: str
    """Names its journal."""
    journal: type[J]
    decide: Decide[JobSnapshot[J, W]]
    """One step over its journal: see `journaled`."""
    world: W
    tally: Callable[[J], RunProgress] | None = None
    """How far it is; without it nothing is told."""
    counts: Callable[[Question, Answer], bool] = lambda question, answer: (
        not isinstance(question, Ask) and isinstance(answer, Good)
    )
    """Whether an answer means one more object done, for what is told in the middle of a step."""


class RunTerms(Struct, frozen=True, kw_only=True):
    """How a job is carried."""

    client: Client
    records: Records
    """Where its journal is; with `dry_run` none of it is written."""
    tried_records: Records | None = None
    """With `dry_run` in their place, where more than an empty journal is to be read."""
    pace: RequestPace
    at_once: int = 8
    """Objects in work at a time."""
    dry_run: bool = False
    gate: Callable[[], None] | None = None
    """Called right before the journal is written; may raise NotLeader. That of other writes is the client's."""
    audit: Callable[[AuditLine], None] = lambda _: None
    reporter: ProgressReporter | None = None
    heard: Callable[[Passage[J], Decision], None] = lambda passage, decision: None
    """Told what came of each step."""
    record: Callable[[DecidedRound], None] | None = None
    """Keeps each step, for whoever wants to decide it again."""


async def run_job(job: CommandJob[J, W], terms: RunTerms) -> J:
    """The journal at the end of the job; raises JobStopped where its journal or its Lease is lost."""
    watch = _Watch(job, terms)
    try:
        async with asyncio.TaskGroup() as tasks:
            telling = tasks.create_task(watch.tell_now_and_then())
            try:
                return await _walked(job, terms, watch)
            finally:
                telling.cancel()
    except BaseExceptionGroup as errors:
        cause = errors.exceptions[0]
        if isinstance(cause, Outpaced):
            raise JobStopped("another run writes the same journal at the same time") from None
        raise cause from None
    finally:
        watch.close()


async def _walked(job: CommandJob[J, W], terms: RunTerms, watch: _Watch[J, W]) -> J:
    records = (terms.tried_records or MemoryRecords()) if terms.dry_run else terms.records
    for number in count(1):
        ended = await _stepped(job, terms, records, watch, number)
        if ended is not None:
            return ended
    raise AssertionError("counting does not end")


async def _stepped(
    job: CommandJob[J, W], terms: RunTerms, records: Records, watch: _Watch[J, W], number: int
) -> J | None:
    """The journal where this step was the last."""
    this = Round(f"{job.name}-{number}", job.record, job.name, "")
    ask = _asking(terms, records, watch, this)

    def gather(answers: Answers) -> JobSnapshot[J, W]:
        return JobSnapshot(job.record, answers, job.world)

    now = clock.now()
    seen, decision = await settle(job.decide, gather, now, ask, at_once=terms.at_once)
    if terms.record is not None:
        terms.record(DecidedRound(job.name, job.record, this.id, now, seen, decision))
    step = passage(seen, job.journal)
    watch.stepped(step)
    terms.heard(step, decision)
    if decision.rule in ("wait_for_journal", "wait_for_lead"):
        raise JobStopped(_why(decision))
    until = decision.verdict.again if isinstance(decision.verdict, Hold) else clock.now()
    if until is None:
        if step.after is None:
            raise TypeError(f"{job.name} ends without a journal")
        return step.after
    if (seconds := (until - clock.now()).total_seconds()) > 0:
        await asyncio.sleep(seconds)
    return None


def _why(decision: Decision) -> str:
    if decision.rule == "wait_for_lead":
        return "its Lease was lost, so another run may be at work"
    facts = dict(decision.verdict.details) if isinstance(decision.verdict, Hold) else {}
    return f"the journal cannot be kept: {facts.get('journal', 'no answer')}"


def _asking(terms: RunTerms, records: Records, watch: _Watch[J, W], this: Round) -> Asker:
    def heard(question: Question, answer: Answer) -> None:
        terms.audit(audited(question, answer, this))

    outside = AskContext(terms.client, records=records, gate=terms.gate, write_timeout=WRITE_SECONDS)
    paced = patient(asker(outside, heard=heard), terms.pace)

    async def ask(question: Question) -> Answer:
        tried = question if isinstance(question, Ask) or not terms.dry_run else structs.replace(question, dry_run=True)
        answer = await paced(tried)
        watch.answered(question, answer)
        return answer

    return ask


class _Watch(Generic[J, W]):
    """Tells of a run: after every step, and while one goes on."""

    def __init__(self, job: CommandJob[J, W], terms: RunTerms) -> None:
        self._job, self._reporter = job, terms.reporter
        self._tally: RunProgress | None = None
        self._since = 0
        """Objects done since the last step."""

    def stepped(self, step: Passage[J]) -> None:
        self._since = 0
        if step.after is not None and self._job.tally is not None:
            self._tally = self._job.tally(step.after)
        self._tell()

    def answered(self, question: Question, answer: Answer) -> None:
        self._since += self._job.counts(question, answer)

    async def tell_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(0.5)
            self._tell()

    def _tell(self) -> None:
        if self._reporter is not None and self._tally is not None:
            self._reporter.show(structs.replace(self._tally, done=self._tally.done + self._since))

    def close(self) -> None:
        if self._reporter is not None:
            self._reporter.close()
