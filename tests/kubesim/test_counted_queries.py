"""The queries that a stand-in gateway answers where there is no Prometheus."""

from __future__ import annotations

from math import inf, isnan

import pytest

from kubesim.standins.counted_queries import Labels, QueryError, Vector, evaluated

SERIES: dict[str, dict[Labels, float]] = {
    "requests": {
        (("code", "200"), ("to", "new")): 90.0,
        (("code", "503"), ("to", "new")): 30.0,
        (("code", "200"), ("to", "old")): 60.0,
    },
    "slow": {
        (("le", "10"),): 50.0,
        (("le", "20"),): 100.0,
        (("le", "+Inf"),): 100.0,
    },
}


def asked(query: str) -> Vector:
    return evaluated(query, lambda name, _seconds: SERIES.get(name, {}))


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("vector(1)", 1.0),
        ("2 + 3 * 4 - 6 / 2", 11.0),
        ("(2 + 3) * 4", 20.0),
        ("sum(increase(requests[1m]))", 180.0),
        ("sum(rate(requests[1m]))", 3.0),
        ('sum(rate(requests{to="new",code!~"5.*"}[30s]))', 3.0),
        ('100 * sum(rate(requests{to="new",code!~"5.*"}[1m])) / sum(rate(requests{to="new"}[1m]))', 75.0),
        ('sum(rate(requests{to=~"n.w", code!="200",}[1m]))', 0.5),
        ('100 * (sum(rate(requests{to="gone"}[1m])) or vector(0)) / sum(rate(requests{to="new"}[1m]))', 0.0),
        ("histogram_quantile(0.5, sum by (le) (rate(slow[1m])))", 10.0),
        ("histogram_quantile(0.75, sum(rate(slow[1m])) by (le))", 15.0),
    ],
)
def test_a_query_comes_to_a_number(query: str, number: float) -> None:
    assert asked(query) == {(): pytest.approx(number)}


def test_sums_may_keep_labels() -> None:
    assert asked("sum by (to) (increase(requests[1m]))") == {(("to", "new"),): 120.0, (("to", "old"),): 60.0}


def test_what_was_never_counted_is_no_number() -> None:
    assert asked("sum(rate(nothing[1m]))") == {}
    (value,) = asked("vector(0) / vector(0)").values()
    assert isnan(value)
    assert asked("vector(1) / vector(0)") == {(): inf}


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("", "needs more"),
        ("avg(requests)", "avg is not known here"),
        ("sum(rate(requests[1 minute]))", "needs ]"),
        ("sum(rate(requests[soon]))", "soon is not a duration such as 1m"),
        ("sum(rate(requests{to=new}[1m]))", "new must be in quotes"),
        ("vector(1) vector(1)", "unexpected vector"),
        ("vector(1) or 2", "`or` is between vectors"),
        ("sum(2)", "`sum` is of a vector"),
        ("sum(rate(requests[1m])) > 2", "unexpected >"),
    ],
)
def test_what_is_not_known_is_refused_in_a_sentence(query: str, sentence: str) -> None:
    with pytest.raises(QueryError, match=r".*") as refused:
        asked(query)

    assert sentence in str(refused.value)
