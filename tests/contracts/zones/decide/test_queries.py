"""What is sent to Prometheus, and what becomes of its answers."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.contracts.zones.decide.groups import group_of
from fairlead.contracts.zones.decide.healthchecks.healthcheck import outdated, updated
from fairlead.contracts.zones.decide.healthchecks.queries import (
    Failed,
    Measured,
    NoData,
    Number,
    is_one,
    matchers,
    measured,
    measurement,
)
from fairlead.core.ask import Answer, Bad, Good, Http
from tests.builders import NOW, a_pod, a_zone, pods_of, seen
from tests.contracts.zones.decide.checking import a_check, scalar, value, vector

A, B = a_zone("a"), a_zone("b")


def test_whole_zones_are_named_by_one_expression_and_parts_of_zones_pod_by_pod() -> None:
    group = group_of(seen(A, B, pods_of(A, "new"), pods_of(B, _2="ready new")), NOW)

    assert matchers("test", group.zones, updated) == 'namespace="test",pod=~"ingester-zone-a-[0-9]+|ingester-zone-b-2"'
    assert matchers("test", group.zones, outdated) == 'namespace="test",pod=~"ingester-zone-b-0|ingester-zone-b-1"'


def test_a_pod_whose_name_has_no_ordinal_is_named() -> None:
    group = group_of(seen(A, pods_of(A), a_pod(A, name="a.debug", owner="")), NOW)

    expected = "a\\\\.debug|ingester-zone-a-0|ingester-zone-a-1|ingester-zone-a-2"
    assert matchers("test", group.zones, outdated) == f'namespace="test",pod=~"{expected}"'


def test_no_pods_give_no_matchers() -> None:
    group = group_of(seen(A, pods_of(A)), NOW)

    assert matchers("test", group.zones, updated) == ""


def test_a_query_may_be_answered_where_prometheus_points_to() -> None:
    of = a_check()

    asked = measurement(of.checks[0], of, 'pod="a"', "5m", NOW)

    assert isinstance(asked.to, Http)
    assert (asked.to.method, asked.to.follows, asked.to.sign_in, asked.effect) == ("GET", True, None, False)


def reply(kind: str, result: object) -> Answer:
    return Good(msgspec.json.encode({"status": "success", "data": {"resultType": kind, "result": result}}))


ANSWERS: dict[str, tuple[Answer, Measured]] = {
    "a scalar": (scalar("0.25"), Number("0.25")),
    "a vector of one": (value("1e-07"), Number("1e-07")),
    "infinity": (value("+Inf"), Number("+Inf")),
    "an empty vector": (vector(), NoData()),
    "not a number": (value("NaN"), NoData()),
    "a scalar that is not a number": (scalar("NaN"), NoData()),
    "several series": (vector("1", "2"), Failed("the query gives 2 series and must give one: sum them up")),
    "a word": (value("many"), Failed("'many' is not a number")),
    "no answer": (Bad("unreachable", "connection refused"), Failed("connection refused")),
    "no words": (Bad("timeout"), Failed("timeout")),
}
UNREADABLE = {
    "a matrix": reply("matrix", []),
    "a string": reply("string", [1.5, "x"]),
    "no JSON": Good(b"<html>"),
    "no text": Good(b"\xff"),
    "an error": Good(b'{"status":"error","error":"bad"}'),
    "an empty body": Good(b""),
    "a sample without value": reply("vector", [{"metric": {}}]),
}


@pytest.mark.parametrize(("answer", "wanted"), ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_is_a_number_or_none(answer: Answer, wanted: Measured) -> None:
    assert measured(answer) == wanted


@pytest.mark.parametrize("answer", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_is_no_number_is_a_failure(answer: Answer) -> None:
    assert isinstance(measured(answer), Failed)


@pytest.mark.parametrize(("answer", "good"), [("1", True), ("1.0", True), ("0", False), ("2", False), ("+Inf", False)])
def test_only_one_is_success(answer: str, good: bool) -> None:
    assert is_one(measured(value(answer))) is good


def test_an_empty_answer_is_no_success() -> None:
    assert not is_one(measured(vector()))
