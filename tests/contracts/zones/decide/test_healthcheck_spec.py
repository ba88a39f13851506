"""Reading a RolloutHealthCheck: defaults, and the one sentence for each mistake."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.contracts.zones.configuration_kinds import ConfigurationMeta
from fairlead.contracts.zones.decide.configurations import InvalidConfiguration
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import QueryCheck, Then, filled, read

META = ConfigurationMeta(name="errors", uid="uid", resource_version="1", namespace="test", generation=4)
QUERY = "sum(rate(errors{${targetMatchers}}[${range}]))"
SUCCESS = "${current} <= bool ${baseline} * 2"


def a_spec(check: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    given = {"name": "errors", "query": QUERY, "successQuery": SUCCESS, **(check or {})}
    return {
        "selector": {"matchLabels": {"app": "x"}},
        "prometheusURL": "http://prometheus:9090/",
        "checks": [{key: value for key, value in given.items() if value is not None}],
        **fields,
    }


def test_defaults_are_those_of_the_contract() -> None:
    found = read(META, a_spec())

    assert (found.name, found.namespace, found.uid, found.generation) == ("errors", "test", "uid", 4)
    assert (found.url, found.labels) == ("http://prometheus:9090", {"app": "x"})
    assert found.checks == (QueryCheck("errors", QUERY, SUCCESS, "5m", "10m", 10.0, 3, Then.PAUSE, Then.PAUSE),)


def test_what_is_given_counts() -> None:
    given = {
        "currentRange": "1m30s",
        "baselineRange": "1h",
        "queryTimeout": "500ms",
        "queryRetries": 0,
        "onFailure": "Warn",
        "onNoData": "Disabled",
    }

    (check,) = read(META, a_spec(given)).checks

    assert check == QueryCheck("errors", QUERY, SUCCESS, "1m30s", "1h", 0.5, 0, Then.WARN, Then.DISABLED)


def test_a_disabled_check_is_left_out_but_must_be_valid() -> None:
    assert read(META, a_spec({"disabled": True})).checks == ()
    with pytest.raises(InvalidConfiguration):
        read(META, a_spec({"disabled": True, "query": ""}))


def test_only_a_check_that_names_the_baseline_compares() -> None:
    (absolute,) = read(META, a_spec({"successQuery": "${current} < bool 5"})).checks

    assert not absolute.compares
    assert read(META, a_spec()).checks[0].compares


def test_labels_must_all_be_there() -> None:
    check = read(META, a_spec(selector={"matchLabels": {"app": "x", "tier": "y"}}))

    assert check.matches({"app": "x", "tier": "y", "more": "z"})
    assert not check.matches({"app": "x"})


TWICE = {"name": "errors", "query": QUERY, "successQuery": SUCCESS}
MISTAKES: dict[str, tuple[object, str]] = {
    "no spec": (None, "spec: "),
    "a list": ([], "spec: "),
    "no selector": (a_spec(selector=None), "spec.selector.matchLabels: is required"),
    "no labels": (a_spec(selector={}), "spec.selector.matchLabels: is required"),
    "expressions": (a_spec(selector={"matchLabels": {}, "matchExpressions": [{}]}), "spec.selector.matchExpressions: "),
    "labels that are numbers": (a_spec(selector={"matchLabels": {"app": 1}}), "spec: "),
    "no address": (a_spec(prometheusURL=""), "spec.prometheusURL: "),
    "an address without host": (a_spec(prometheusURL="http://"), "spec.prometheusURL: "),
    "an address of another kind": (a_spec(prometheusURL="ftp://prometheus"), "spec.prometheusURL: "),
    "an address with a port that is none": (a_spec(prometheusURL="http://prometheus:port"), "spec.prometheusURL: "),
    "an address with a query": (a_spec(prometheusURL="http://prometheus/?a=b"), "spec.prometheusURL: "),
    "an address with a space": (a_spec(prometheusURL="http://prome theus"), "spec.prometheusURL: "),
    "no checks": (a_spec(checks=[]), "spec.checks: "),
    "too many checks": (a_spec(checks=[{**TWICE, "name": str(n)} for n in range(51)]), "spec.checks: "),
    "two of a name": (a_spec(checks=[TWICE, TWICE]), "spec.checks[1].name: 'errors' is the name of another"),
    "no name": (a_spec({"name": ""}), "spec.checks[0].name: is required"),
    "no query": (a_spec({"query": None}), "spec.checks[0].query: is required"),
    "a query without pods": (a_spec({"query": "up"}), "spec.checks[0].query: must contain ${targetMatchers}"),
    "a query with a stranger": (a_spec({"query": QUERY + "${zone}"}), "spec.checks[0].query: ${zone} is unknown here"),
    "a query with the baseline": (a_spec({"query": QUERY + "${baseline}"}), "spec.checks[0].query: ${baseline} "),
    "no success query": (a_spec({"successQuery": " "}), "spec.checks[0].successQuery: is required"),
    "a success without current": (a_spec({"successQuery": "vector(1)"}), "spec.checks[0].successQuery: must contain"),
    "a range with a fraction": (a_spec({"currentRange": "1.5m"}), "spec.checks[0].currentRange: "),
    "a range of nothing": (a_spec({"baselineRange": "0"}), "spec.checks[0].baselineRange: must be more than 0"),
    "a timeout that is none": (a_spec({"queryTimeout": "soon"}), "spec.checks[0].queryTimeout: "),
    "a timeout too long": (a_spec({"queryTimeout": "1h"}), "spec.checks[0].queryTimeout: must be at most 5m"),
    "retries below nothing": (a_spec({"queryRetries": -1}), "spec.checks[0].queryRetries: must be from 0 to 10"),
    "too many retries": (a_spec({"queryRetries": 11}), "spec.checks[0].queryRetries: must be from 0 to 10"),
    "retries as text": (a_spec({"queryRetries": "3"}), "spec: "),
    "an outcome that is none": (a_spec({"onFailure": "pause"}), "spec.checks[0].onFailure: must be Pause, Warn or"),
    "another that is none": (a_spec({"onNoData": ""}), "spec.checks[0].onNoData: must be Pause, Warn or"),
}


@pytest.mark.parametrize(("spec", "begins"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_named_with_its_field(spec: object, begins: str) -> None:
    with pytest.raises(InvalidConfiguration) as caught:
        read(META, spec)

    assert str(caught.value).startswith(begins)


_JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False) | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=2) | some.dictionaries(some.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)
_FIELDS = ("selector", "prometheusURL", "checks")
_CHECK_FIELDS = (
    "name",
    "query",
    "successQuery",
    "currentRange",
    "queryTimeout",
    "queryRetries",
    "onFailure",
    "disabled",
)


@given(
    some.dictionaries(some.sampled_from(_FIELDS), _JSON, max_size=2),
    some.dictionaries(some.sampled_from(_CHECK_FIELDS), _JSON, max_size=3),
)
def test_any_json_is_read_or_refused_with_a_sentence(fields: dict[str, object], check: dict[str, object]) -> None:
    spec = a_spec(check, **fields)

    assert outcome_of(spec).startswith(("spec", "http"))


def outcome_of(spec: object) -> str:
    """The address of a valid object, or the sentence about one that is not."""
    try:
        return read(META, spec).url
    except InvalidConfiguration as error:
        return str(error)


def test_what_is_filled_in_is_not_looked_at_again() -> None:
    assert filled("a ${current} ${baseline}", {"current": "${baseline}", "baseline": "2"}) == "a ${baseline} 2"
