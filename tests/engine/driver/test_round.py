"""The driver asks what a decision needs, in stages, and decides again with `now` fixed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from msgspec import Struct

from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Need, Question, Read
from fairlead.core.decision import Decision, Hold, Outcome
from fairlead.core.reason import Reason
from fairlead.engine.driver.round import MOST_AT_ONCE, MOST_DECISIONS, NeverSettles, settle
from kubeloop import clock
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubesim.time import run

NOW = datetime(2030, 1, 1, tzinfo=UTC)
DONE = Decision("done", Hold(Reason.COMPLETE))


class Seen(Struct, frozen=True):
    answers: Answers


def question(name: str, *, effect: bool = False) -> Ask:
    return Ask(Read(Ref(PODS, "test", name)), effect=effect)


class Asked:
    """Answers every question and remembers the order; those in `failing` fail."""

    def __init__(self, *failing: Ask, seconds: float = 1.0) -> None:
        self.log: list[str] = []
        self.most_at_once = 0
        self._running = 0
        self._failing = failing
        self._seconds = seconds

    async def __call__(self, ask: Question) -> Answer:
        assert isinstance(ask, Ask)
        assert isinstance(ask.to, Read)
        self.log.append(f"ask {ask.to.ref.name}")
        self._running += 1
        self.most_at_once = max(self.most_at_once, self._running)
        await asyncio.sleep(self._seconds)
        self._running -= 1
        self.log.append(f"got {ask.to.ref.name}")
        return Bad("failed") if ask in self._failing else Good(b"{}")


def test_a_stage_begins_when_the_one_before_has_been_answered() -> None:
    a, b, c = map(question, "abc")
    asked = Asked()

    def decide(seen: Seen, now: datetime) -> Outcome:
        lacking = seen.answers.lacking((a, b), (c,))
        return Need(lacking) if lacking else DONE

    _, decision = run(settle(decide, Seen, NOW, asked))

    assert decision == DONE
    assert {*asked.log[:4]} == {"ask a", "ask b", "got a", "got b"}
    assert asked.log[4:] == ["ask c", "got c"]


def test_a_question_is_asked_once_per_round() -> None:
    a, b = map(question, "ab")
    asked = Asked()

    def decide(seen: Seen, now: datetime) -> Outcome:
        for stage in ((a,), (a, b)):
            if lacking := seen.answers.lacking(stage):
                return Need(lacking)
        return DONE

    run(settle(decide, Seen, NOW, asked))

    assert asked.log == ["ask a", "got a", "ask b", "got b"]


def test_after_a_failure_the_later_stages_are_not_sent_where_that_was_asked_for() -> None:
    a, b = map(question, "ab")
    asked = Asked(a)
    answered: dict[Question, Answer] = {}

    def decide(seen: Seen, now: datetime) -> Outcome:
        if lacking := seen.answers.lacking((a,), (b,)):
            return Need(lacking, stop_at_failure=True)
        answered.update(seen.answers.known)
        return DONE

    run(settle(decide, Seen, NOW, asked))

    assert asked.log == ["ask a", "got a"]
    assert answered == {a: Bad("failed"), b: Bad("not-sent")}


def stage_of(*failing: tuple[str, str], stop_at: frozenset[str]) -> tuple[list[str], dict[str, str]]:
    """Four questions of one stage, one at a time, some failing in these ways: which were asked, which failed how."""
    names, kinds = "abcd", dict(failing)
    log: list[str] = []
    answered: dict[str, str] = {}

    async def ask(asked: Question) -> Answer:
        assert isinstance(asked, Ask)
        assert isinstance(asked.to, Read)
        log.append(asked.to.ref.name)
        kind = kinds.get(asked.to.ref.name)
        return Good(b"{}") if kind is None else Bad(kind)

    def decide(seen: Seen, now: datetime) -> Outcome:
        if lacking := seen.answers.lacking(tuple(map(question, names))):
            return Need(lacking, stop_at=stop_at)
        for name in names:
            if isinstance(answer := seen.answers[question(name)], Bad):
                answered[name] = answer.kind
        return DONE

    run(settle(decide, Seen, NOW, ask, at_once=1))
    return log, answered


def test_no_failure_stops_the_others_but_of_a_kind_that_is_about_all_of_them() -> None:
    failing = (("a", "failed"), ("b", "unreachable"))

    assert stage_of(*failing, stop_at=frozenset()) == ([*"abcd"], dict(failing))
    assert stage_of(*failing, stop_at=frozenset({"unreachable"})) == (
        [*"ab"],
        {**dict(failing), "c": "not-sent", "d": "not-sent"},
    )


def test_now_is_fixed_for_the_round_while_time_passes() -> None:
    a = question("a")
    nows: list[datetime] = []

    def decide(seen: Seen, now: datetime) -> Outcome:
        nows.append(now)
        return Need(lacking) if (lacking := seen.answers.lacking((a,))) else DONE

    async def scenario() -> None:
        begun = clock.now()
        await settle(decide, Seen, begun, Asked(seconds=30))
        assert (clock.now() - begun).total_seconds() == 30

    run(scenario())

    assert len(nows) == 2
    assert nows[0] == nows[1]


def test_at_most_a_bounded_number_of_questions_is_out_at_once() -> None:
    many = tuple(question(str(number)) for number in range(MOST_AT_ONCE * 2 + 1))
    asked = Asked()

    def decide(seen: Seen, now: datetime) -> Outcome:
        return Need(lacking) if (lacking := seen.answers.lacking(many)) else DONE

    run(settle(decide, Seen, NOW, asked))
    fewer = Asked()
    run(settle(decide, Seen, NOW, fewer, at_once=3))

    assert asked.most_at_once == MOST_AT_ONCE
    assert fewer.most_at_once == 3


def test_a_decision_that_ignores_its_answers_is_reported_as_our_mistake() -> None:
    asked = Asked()

    def decide(seen: Seen, now: datetime) -> Outcome:
        return Need(((question("again"),),))

    with pytest.raises(NeverSettles):
        run(settle(decide, Seen, NOW, asked))

    assert len(asked.log) == 2 * MOST_DECISIONS
