"""What is sent to any Prometheus, and what becomes of its answers."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.core.ask import Answer, Bad, Good
from fairlead.core.prometheus import (
    LARGEST,
    Measured,
    NoData,
    Number,
    QueryFailed,
    address,
    escaped,
    is_one,
    matching,
    measured,
    query_call,
)
from tests.builders import NOW
from tests.prometheus_answers import reply, scalar, value, vector

ANSWERS: dict[str, tuple[Answer, Measured]] = {
    "a scalar": (scalar("0.25"), Number("0.25")),
    "a vector of one": (value("1e-07"), Number("1e-07")),
    "infinity": (value("+Inf"), Number("+Inf")),
    "an empty vector": (vector(), NoData()),
    "not a number": (value("NaN"), NoData()),
    "a scalar that is not a number": (scalar("NaN"), NoData()),
    "several series": (vector("1", "2"), QueryFailed("the query gives 2 series and must give one: sum them up")),
    "a word": (value("many"), QueryFailed("'many' is not a number")),
    "a number as Python writes it": (value("1_000"), QueryFailed("'1_000' is not a number")),
    "digits of another script": (value("\u0661"), QueryFailed("'\u0661' is not a number")),
    "a number without an end": (value("1" * 1000), QueryFailed(f"{'1' * 200!r} is not a number")),
    "a long word": (value("x" * 1000), QueryFailed(f"{'x' * 200!r} is not a number")),
    "no answer": (Bad("unreachable", "connection refused"), QueryFailed("connection refused")),
    "no words": (Bad("timeout"), QueryFailed("timeout")),
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
    assert isinstance(measured(answer), QueryFailed)


@pytest.mark.parametrize(("answer", "good"), [("1", True), ("1.0", True), ("0", False), ("2", False), ("+Inf", False)])
def test_only_one_is_success(answer: str, good: bool) -> None:
    assert is_one(measured(value(answer))) is good


def test_an_empty_answer_is_no_success() -> None:
    assert not is_one(measured(vector()))


@given(st.binary(max_size=200))
def test_no_garbage_becomes_a_number_or_an_exception(body: bytes) -> None:
    assert isinstance(measured(Good(body)), QueryFailed)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(), lambda one: st.lists(one) | st.dictionaries(st.text(), one)
    )
)
def test_no_result_of_another_shape_becomes_an_exception(result: object) -> None:
    for kind in ("vector", "scalar"):
        assert isinstance(measured(reply(kind, result)), QueryFailed | NoData)


@given(st.floats(allow_nan=False))
def test_a_number_is_kept_as_it_was_written(number: float) -> None:
    found = measured(value(repr(number)))

    assert found == Number(repr(number))
    assert found.value == number


def test_a_query_is_about_now_unless_it_names_a_moment() -> None:
    asked = query_call("http://prometheus:9090/base", 'up{job="a b"}', subject="s")
    dated = query_call("http://prometheus:9090/base", "up", moment=NOW)

    assert urlsplit(asked.url).path == "/base/api/v1/query"
    assert parse_qs(urlsplit(asked.url).query) == {"query": ['up{job="a b"}']}
    assert parse_qs(urlsplit(dated.url).query)["time"] == ["2026-03-01T12:00:00Z"]
    assert (asked.method, asked.follows, asked.subject, asked.credential) == ("GET", True, "s", None)


def test_little_is_read_of_an_answer() -> None:
    """Of servers that anybody may name, many of whom are asked at once."""
    assert query_call("http://p:9090", "up").largest == LARGEST == 2 * 2**20


def test_names_are_matched_as_they_are() -> None:
    assert matching("pod", f"{escaped('a.b')}-[0-9]+") == 'pod=~"a\\\\.b-[0-9]+"'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "begins with http"),
        ("prometheus:9090", "begins with http"),
        ("ftp://prometheus", "begins with http"),
        ("http://:9090", "begins with http"),
        ("http://prometheus:0", "begins with http"),
        ("http://prometheus:x", "begins with http"),
        ("http://[::1", "begins with http"),
        ("http://prometheus /", "begins with http"),
        ("http://prometheus?x=1", "with its path"),
        ("http://prometheus#x", "with its path"),
    ],
)
def test_an_address_that_cannot_be_asked_says_what_it_must_be(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        address(text)


def test_an_address_has_no_slash_at_its_end() -> None:
    assert address("https://me:secret@prometheus/base//") == "https://me:secret@prometheus/base"
