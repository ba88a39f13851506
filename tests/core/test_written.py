"""Decisions written down: what is read again equals what was written, whatever it is; secrets stay shut."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from msgspec import Struct

from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot
from fairlead.contracts.zones.decide.admission.unfinished_preparations import PreparationSnapshot
from fairlead.contracts.zones.decide.budgets.eviction import EvictionSnapshot
from fairlead.contracts.zones.decide.budgets.ready_time import ReadyTimeSnapshot
from fairlead.contracts.zones.decide.phased.phased_rollout import PhasedSnapshot
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.core import act, ask, decision
from fairlead.core.act import AnyWrite, Does, Write
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Http, Question, ReadSecret, To
from fairlead.core.decision import Decision, Hold, Outcome, Rule
from fairlead.core.reason import Reason
from fairlead.core.written import Unwritable, Unwritten, codec, read, written
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.sealed import Sealed, Shut
from kubeloop.sealing import seal
from tests.any_value import values_of
from tests.strategies import snapshots


def structs_in(*modules: Any) -> list[type[Struct]]:
    """Those that the modules define, but for the shared base of writes and for rules, which are functions."""
    found = [
        each
        for module in modules
        for each in vars(module).values()
        if inspect.isclass(each) and issubclass(each, Struct) and each.__module__ == module.__name__
    ]
    return [each for each in found if each not in (Write, Rule)]


@pytest.mark.parametrize("of", structs_in(ask, act, decision), ids=lambda of: of.__name__)
def test_every_question_write_answer_and_decision_reads_as_it_was_written(of: type[Struct]) -> None:
    @settings(max_examples=40, suppress_health_check=list(HealthCheck), deadline=None)
    @given(values_of(of))
    def check(value: Struct) -> None:
        again = read(written(value, of), of)

        assert again == value
        assert type(again) is type(value)

    check()


@settings(max_examples=100, suppress_health_check=list(HealthCheck), deadline=None)
@given(some.data())
def test_unions_come_back_as_what_they_were(data: some.DataObject) -> None:
    union: Any = data.draw(some.sampled_from((Question, Answer, Outcome, AnyWrite, To)))
    value = data.draw(values_of(union))

    again = read(written(value, union), union)

    assert again == value
    assert type(again) is type(value)
    assert not isinstance(again, ask.Ask) or type(again.to) is type(value.to)


def test_every_write_and_every_question_is_in_its_union() -> None:
    """One that is not cannot be asked, and would be found out only when it is."""
    writes = {each for each in structs_in(act) if issubclass(each, Write)}
    apart = {Ask, ask.SignIn, Good, Bad, Answers, ask.Need, ask.StartOver, *_parts()}

    assert set(get_args(AnyWrite)) == writes
    assert set(get_args(To)) == set(structs_in(ask)) - apart


def _parts() -> set[type[Struct]]:
    """What questions are made of."""
    hints = [hint for each in get_args(To) for hint in _leaves(*inspect.get_annotations(each, eval_str=True).values())]
    return {hint for hint in hints if inspect.isclass(hint) and issubclass(hint, Struct)}


def _leaves(*hints: Any) -> list[Any]:
    return [leaf for hint in hints for leaf in (_leaves(*get_args(hint)) if get_args(hint) else [hint])]


@settings(max_examples=60, suppress_health_check=list(HealthCheck), deadline=None)
@given(snapshots(), values_of(Answers))
def test_snapshot_of_a_group_reads_as_it_was_written(seen: Snapshot, answers: Answers) -> None:
    seen = msgspec.structs.replace(seen, answers=answers)

    again = read(written(seen, Snapshot), Snapshot)

    assert again == seen
    assert {type(each) for each in again.answers.known} == {type(each) for each in answers.known}


OTHERS = [EvictionSnapshot, ReviewSnapshot, PreparationSnapshot, ReadyTimeSnapshot, PhasedSnapshot]


@pytest.mark.parametrize("of", OTHERS, ids=lambda of: of.__name__)
def test_every_other_snapshot_of_zones_reads_as_it_was_written(of: type[Struct]) -> None:
    @settings(max_examples=30, suppress_health_check=list(HealthCheck), deadline=None)
    @given(values_of(of))
    def check(value: Struct) -> None:
        assert read(written(value, of), of) == value

    check()


def test_reasons_and_deeds_are_their_words() -> None:
    text = written(Decision("roll", Hold(Reason.POD_MISSING)), Decision)

    assert msgspec.json.decode(text) == {"rule": "roll", "verdict": {"type": "Hold", "reason": "PodMissing"}}
    assert written(Does.SCALE, Does) == b'"scale"'
    assert len({reason.word for reason in Reason}) == len(Reason)


def test_secret_is_its_seal_which_comes_back_shut() -> None:
    question, secret = Ask(ReadSecret(Ref(SECRETS, "ns", "backend"))), seal(b"hunter2-hunter2")
    answers = Answers({question: Good(sealed=(("password", secret),))})

    text = written(answers, Answers)
    again = read(text, Answers)

    assert b"hunter2" not in text
    assert again == answers
    ((_, shut),) = again[question].sealed  # type: ignore[union-attr]
    assert isinstance(shut, Sealed)
    assert (repr(shut), hash(shut)) == (repr(secret), hash(secret))
    with pytest.raises(Shut):
        shut.open()


def test_text_stays_readable_and_other_bytes_come_back() -> None:
    text, other = Http("POST", "http://a", body=b'{"a":1}'), Http("POST", "http://a", body=b"\xff\x00")

    assert msgspec.json.decode(written(text, Http))["body"] == '{"a":1}'
    assert [read(written(each, Http), Http) for each in (text, other)] == [text, other]


class Odd(Struct, frozen=True):
    look: Callable[[], int]


class Untold(Enum):
    A = ("a", 1)


class One(Struct, frozen=True):
    type: str


class Holder(Struct, frozen=True):
    of: Mapping[str, One | Odd | None] = {}


@pytest.mark.parametrize("of", [Odd, Untold, Holder, set[int] | Odd], ids=str)
def test_type_that_holds_more_than_facts_is_refused_before_anything_is_written(of: Any) -> None:
    with pytest.raises(Unwritable):
        codec(of)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{", "no Ask"),
        (b"[]", "no Ask"),
        (b'{"to":{"type":"Telepathy"}}', "knows no 'Telepathy'"),
        (b'{"to":{"type":"Discover","group":"","kind":"Pod"},"mood":1}', "Ask has no mood in this release"),
        (b'{"to":{"type":"Discover","group":""}}', "kind"),
    ],
    ids=["cut", "list", "question", "field", "lacking"],
)
def test_text_of_another_release_or_of_nobody_says_what_is_wrong(text: bytes, said: str) -> None:
    with pytest.raises(Unwritten, match=said):
        read(text, Ask)
