"""A step over a journal: what it holds is read first and written last, and whatever is in the way is a wait."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from msgspec import Struct

from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Need, Question, Read, ReadRecord, StartOver, SwapRecord
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import LOOK_AGAIN, JobSnapshot, Passage, StepResult, journaled, passage
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref

NOW = datetime(2030, 1, 1, tzinfo=UTC)
PAGE = Ask(Read(Ref(PODS, "ns", "a")))
MOVED = Decision("count", Hold(Reason.MIGRATING, NOW))
RESTED = Decision("rest", Hold(Reason.COMPLETE))
READ = Ask(ReadRecord("job/a"))


class Tally(Struct, frozen=True):
    count: int = 0


def step(seen: JobSnapshot[Tally, None], _: datetime) -> StepResult[Tally] | Need:
    """Counts pages, up to three."""
    tally = seen.journal or Tally()
    if tally.count == 3:
        return StepResult(tally, RESTED)
    if todo := seen.answers.lacking((PAGE,)):
        return Need(todo)
    return StepResult(Tally(tally.count + 1), MOVED)


decide = journaled(step, Tally)


def seen_with(answers: dict[Question, Answer]) -> JobSnapshot[Tally, None]:
    return JobSnapshot("job/a", Answers(answers), None)


def stored(tally: Tally, version: str = "7") -> Good:
    return Good(msgspec.json.encode(tally), version)


def swap(tally: Tally, version: str = "7") -> Ask:
    return Ask(SwapRecord("job/a", version, msgspec.json.encode(tally)), effect=True)


def test_the_journal_is_read_first_then_the_step_is_taken_then_it_is_written() -> None:
    known: dict[Question, Answer] = {}
    asked: list[Question] = []
    while isinstance(outcome := decide(seen_with(known), NOW), Need):
        for question in outcome.stages[0]:
            asked.append(question)
            known[question] = stored(Tally(1)) if question == READ else Good(b"{}")

    assert outcome == MOVED
    assert asked == [READ, PAGE, swap(Tally(2))]
    assert passage(seen_with(known), Tally) == Passage(Tally(1), Tally(2))


def test_a_step_that_changes_nothing_writes_nothing() -> None:
    known: dict[Question, Answer] = {READ: stored(Tally(3))}

    assert decide(seen_with(known), NOW) == RESTED
    assert passage(seen_with(known), Tally) == Passage(Tally(3), Tally(3))


@pytest.mark.parametrize("value", [b"", b"not json", b'{"count": "many"}', b"[]"])
def test_without_a_journal_that_can_be_read_the_job_begins(value: bytes) -> None:
    outcome = decide(seen_with({READ: Good(value, "7"), PAGE: Good(b"{}")}), NOW)

    assert outcome == Need(((swap(Tally(1)),),))


def test_who_finds_that_another_wrote_the_journal_begins_the_step_anew() -> None:
    answers: dict[Question, Answer] = {
        READ: stored(Tally(1)),
        PAGE: Good(b"{}"),
        swap(Tally(2)): Bad("conflict", "it has changed"),
    }

    assert decide(seen_with(answers), NOW) == StartOver()


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (Bad("not-sent"), Reason.NOT_LEADING),
        (Bad("unreachable", "nobody there"), Reason.JOURNAL_UNAVAILABLE),
        (Bad("failed", "too large"), Reason.JOURNAL_UNAVAILABLE),
    ],
)
def test_a_journal_that_cannot_be_written_is_waited_for(bad: Bad, reason: Reason) -> None:
    outcome = decide(seen_with({READ: stored(Tally(1)), PAGE: Good(b"{}"), swap(Tally(2)): bad}), NOW)

    assert isinstance(outcome, Decision)
    assert isinstance(outcome.verdict, Hold)
    assert (outcome.verdict.reason, outcome.verdict.again) == (reason, NOW + LOOK_AGAIN)


def test_a_journal_that_cannot_be_read_is_waited_for() -> None:
    outcome = decide(seen_with({READ: Bad("timeout", "no answer")}), NOW)

    assert isinstance(outcome, Decision)
    assert outcome.verdict == Hold(Reason.JOURNAL_UNAVAILABLE, NOW + timedelta(seconds=10), (("journal", "no answer"),))
