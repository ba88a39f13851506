"""Rule 45, S9 to S11: two downscales on two replicas that share one record, in every order their steps can take.

A step is one question with its answer. States that go on alike are visited once.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from msgspec import Struct, structs

from fairlead.contracts.zones.decide.admission import downscale_marks
from fairlead.contracts.zones.decide.admission.live_lists import pods_question
from fairlead.contracts.zones.decide.admission.neighbours import zones_question
from fairlead.contracts.zones.decide.admission.prepare_downscale import prepare_downscale
from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Http, Need, Question, StartOver, SwapRecord
from fairlead.core.decision import Admit
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.review import Review
from tests.builders import NOW
from tests.contracts.zones.decide.reviews import TRACKER, Judge, World, a_downscale, a_prepared_zone, ago, judged

A, B = "ingester-zone-a", "ingester-zone-b"
MOST_ATTEMPTS = 3


class Play(Struct, frozen=True):
    """A request on its way."""

    review: Review
    judge: Judge
    settings: Settings
    now: datetime = NOW
    known: tuple[tuple[Question, Answer], ...] = ()
    todo: tuple[Question, ...] = ()
    stop: bool = False
    attempts: int = 1
    admit: Admit | None = None
    crashed: bool = False

    @property
    def is_over(self) -> bool:
        return self.crashed or (self.admit is not None and not self.todo)

    @property
    def admitted(self) -> bool:
        return self.admit is not None and self.admit.allowed and not self.crashed

    def key(self) -> object:
        return self.known, self.todo, self.attempts, self.admit and (self.admit.allowed, self.admit.word), self.crashed

    def decided(self) -> Play:
        """With the next questions, or the answer; deciding takes no time."""
        outcome = self.judge(ReviewSnapshot(self.review, Answers(dict(self.known)), self.settings), self.now)
        match outcome:
            case Need(stages, stop):
                return structs.replace(self, todo=tuple(each for stage in stages for each in stage), stop=stop)
            case StartOver() if self.attempts == MOST_ATTEMPTS:
                return structs.replace(self, admit=Admit(allowed=False, word="outpaced"))
            case StartOver():
                return structs.replace(self, known=(), attempts=self.attempts + 1).decided()
            case Admit() as admit:
                self.check(admit)
                return structs.replace(
                    self, admit=admit, todo=tuple(each for stage in admit.afterwards for each in stage)
                )

    def check(self, admit: Admit) -> None:
        """S10 and S11, as far as they concern the answer."""
        posts = {url: got for each, got in self.known if (url := called(each, "POST"))}
        if admit.allowed:
            assert posts
            assert all(isinstance(got, Good) for got in posts.values())
        elif any(got != Bad("not-sent") for got in posts.values()):
            undone = {called(each, "DELETE") for each, _ in self.known}
            assert undone - {""} == posts.keys()

    def stepped(self, world: World) -> Play:
        """One question further."""
        question, *rest = self.todo
        answer = world.answer(question)
        if self.admit is not None:
            return structs.replace(self, todo=tuple(rest))
        known = (*self.known, (question, answer))
        if self.stop and isinstance(answer, Bad):
            known, rest = (*known, *((each, Bad("not-sent")) for each in rest)), []
        play = structs.replace(self, known=known, todo=tuple(rest))
        return play if rest else play.decided()


def called(question: Question, method: str) -> str:
    """The URL of a call with this method, empty for anything else."""
    if isinstance(question, Ask) and isinstance(question.to, Http) and question.to.method == method:
        return question.to.url
    return ""


class State(Struct):
    world: World
    plays: tuple[Play, ...]

    def key(self) -> object:
        return self.world.key(), tuple(play.key() for play in self.plays)

    def next(self, crashes: bool) -> Iterator[State]:
        for place, play in enumerate(self.plays):
            if play.is_over:
                continue
            world = self.world.copied()
            yield State(world, (*self.plays[:place], play.stepped(world), *self.plays[place + 1 :]))
            if crashes and not any(each.crashed for each in self.plays):
                dead = structs.replace(play, crashed=True)
                yield State(self.world, (*self.plays[:place], dead, *self.plays[place + 1 :]))


def ends(first: State, *, crashes: bool = False) -> list[State]:
    """Every state in which all requests are over."""
    seen, waiting, found = {first.key()}, [first], []
    while waiting:
        state = waiting.pop()
        if all(play.is_over for play in state.plays):
            found.append(state)
        for following in state.next(crashes):
            if following.key() not in seen:
                seen.add(following.key())
                waiting.append(following)
    return found


def a_start(judge: Judge = prepare_downscale, settings: Settings | None = None, world: World | None = None) -> State:
    world = world or a_world()
    given = settings or Settings()
    reviews = [a_downscale(world.zones[name], 2, uid=name) for name in (A, B)]
    return State(world, tuple(Play(review, judge, given).decided() for review in reviews))


def a_world() -> World:
    world = World(a_prepared_zone("a"), a_prepared_zone("b"))
    old = '{"lastDownscaled":"2026-02-01T00:00:00Z"}'
    world.set_tracker({"data": {A: old, B: old}})
    return world


def both_admitted(states: list[State]) -> list[State]:
    return [state for state in states if all(play.admitted for play in state.plays)]


@pytest.mark.parametrize("settings", [Settings(), TRACKER], ids=["annotations", "tracker"])
def test_two_zones_are_never_both_admitted_whatever_the_order(settings: Settings) -> None:
    """S9; and the other way round: alone, or one after the other, each is admitted."""
    states = ends(a_start(settings=settings))

    assert both_admitted(states) == []
    assert {tuple(play.admitted for play in state.plays) for state in states} >= {(True, False), (False, True)}


@pytest.mark.parametrize("settings", [Settings(), TRACKER], ids=["annotations", "tracker"])
def test_a_crash_at_any_step_lets_no_two_zones_through(settings: Settings) -> None:
    """S9 with the death of one replica between any two steps; the record outlives it."""
    states = ends(a_start(settings=settings), crashes=True)

    assert any(play.crashed for state in states for play in state.plays)
    assert both_admitted(states) == []


def test_a_pod_that_fails_in_any_order_is_undone() -> None:
    """S11, checked at each denial; the other zone may then go."""
    world = a_world()
    world.fails[f"POST {A}-2"] = Bad("failed")

    states = ends(a_start(world=world), crashes=True)

    assert not any(state.plays[0].admitted for state in states)
    assert any(state.plays[1].admitted for state in states)


def test_after_a_crash_the_group_goes_on_when_the_mark_has_expired() -> None:
    """The mark of the dead holds others back no longer than this; what it had written still does."""
    states = ends(a_start(), crashes=True)
    later = NOW + timedelta(minutes=1)
    for state in states:
        if not any(play.crashed for play in state.plays):
            continue
        stamped = [name for name in (A, B) if state.world.last(name)]
        for name in (A, B):
            review = a_downscale(state.world.zones[name], 1, uid="later")

            admit = judged(prepare_downscale, state.world.copied(), review, now=later)

            assert admit.allowed is (stamped in ([], [name])), (stamped, name, admit)


def lists_first(seen: ReviewSnapshot, now: datetime) -> Admit | Need | StartOver:
    """The same rules, with the lists read before the record."""
    zones = {name: a_prepared_zone(letter) for name, letter in ((A, "a"), (B, "b"))}
    other = zones[B if seen.review.name == A else A]
    lists = (zones_question("test", "ingester"), pods_question(other))
    todo = seen.answers.lacking(lists)
    return Need(todo) if todo else prepare_downscale(seen, now)


def test_with_the_lists_read_first_both_zones_would_be_admitted() -> None:
    """Why the record comes first: this test sees it when it does not."""
    assert both_admitted(ends(a_start(lists_first))) != []


class Forgetful(World):
    """A record that looks as if it had never been as soon as the mark has ended."""

    def _swapped(self, swap: SwapRecord) -> Answer:
        answer = super()._swapped(swap)
        if isinstance(answer, Good) and not swap.value:
            self.record = Good()
        return answer


def test_with_a_record_that_forgets_both_zones_would_be_admitted() -> None:
    """Why what is left of a removed record stays for a while: a version must never come back."""
    world = Forgetful(a_prepared_zone("a"), a_prepared_zone("b"))

    assert both_admitted(ends(a_start(world=world))) != []


def test_the_same_zone_twice_at_once_is_admitted_once_at_a_time() -> None:
    """A second request for the zone is denied while the first is on its way, so neither undoes the other's work."""
    zone: StatefulSet = a_prepared_zone("a", last=ago(days=1))
    world = World(zone, a_prepared_zone("b"))
    plays = tuple(Play(a_downscale(zone, 2, uid=uid), prepare_downscale, Settings()).decided() for uid in ("1", "2"))

    states = ends(State(world, plays))

    assert {tuple(sorted(play.admitted for play in state.plays)) for state in states} == {(False, True), (True, True)}


def the_same_zone_twice() -> State:
    """Without a group; the first call to its pod fails."""
    world = World(a_prepared_zone("a", group=None))
    world.fails_once = frozenset({f"POST {A}-2"})
    reviews = [a_downscale(world.zones[A], 2, uid=uid) for uid in "12"]
    return State(world, tuple(Play(review, prepare_downscale, Settings()).decided() for review in reviews))


def undone_though_admitted(states: list[State]) -> list[State]:
    return [state for state in states if any(play.admitted for play in state.plays) and not state.world.prepared]


def test_no_denial_takes_back_what_another_request_has_prepared() -> None:
    """Who tries again, however soon, is denied while the undoing goes on, or finds it over."""
    states = ends(the_same_zone_twice())

    assert any(play.admitted for state in states for play in state.plays)
    assert undone_though_admitted(states) == []


def test_without_a_mark_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why a zone without a group has a mark too."""
    monkeypatch.setattr(downscale_marks, "in_progress", lambda *_: "")
    monkeypatch.setattr(World, "_swapped", lambda self, swap: Good(version="0"))

    assert undone_though_admitted(ends(the_same_zone_twice())) != []


def test_after_a_crash_at_any_step_whoever_may_be_prepared_has_a_note() -> None:
    """So that the next process can tell them that they stay."""
    for group in ("ingester", None):
        world = World(a_prepared_zone("a", group=group), a_prepared_zone("b", group=group))
        world.fails_once = frozenset({f"POST {A}-2"})
        review = a_downscale(world.zones[A], 1)

        states = ends(State(world, (Play(review, prepare_downscale, Settings()).decided(),)), crashes=True)

        assert any(play.crashed and state.world.prepared for state in states for play in state.plays)
        for state in states:
            assert state.world.prepared <= state.world.noted().keys()
