"""Whatever a Prometheus says in whatever order: the same as a naive reading of R-29 and X-3 over the looks so far."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.plans.decide.metrics.rules import outside
from fairlead.contracts.plans.kinds import CanaryMetric, IntOrText, MetricsRange
from fairlead.core.ask import Answer, Bad
from tests.contracts.plans.decide.metrics.measured import Prometheus, a_metric, measured_pair
from tests.examples import examples
from tests.prometheus_answers import value, vector

LOOKS: dict[str, Answer] = {
    "in": value("0.5"),
    "out": value("5"),
    "nothing": vector(),
    "failed": Bad("unreachable", "no connection"),
}


def naive(said: list[str], limit: int, wanted: int, *, is_dry: bool) -> tuple[str, int]:
    """What the batch comes to, and after how many looks."""
    failures = successes = 0
    for place, each in enumerate(said, 1):
        failures += each == "out"
        successes += each == "in"
        if is_dry:
            return "passed", place
        if failures > limit:
            return "refused", place
        if each == "in" and successes >= wanted:
            return "passed", place
    return "waiting", len(said)


@examples(40)
@given(
    st.lists(st.sampled_from([*LOOKS]), min_size=1, max_size=8),
    st.integers(0, 3),
    st.integers(1, 3),
    st.booleans(),
)
def test_a_batch_comes_to_what_its_looks_say(said: list[str], limit: int, wanted: int, is_dry: bool) -> None:
    prometheus = Prometheus()
    prometheus.put()
    metric = a_metric(failureLimit=limit, successCount=wanted, dryRun=is_dry)
    cluster = measured_pair(metric, prometheus=prometheus)
    cluster.play_to("batchVerifying", 0)
    cluster.settle()
    cluster.run()
    found = ("waiting", len(said))

    for place, each in enumerate(said, 1):
        answer = LOOKS[each]
        prometheus.answer = lambda _query, answer=answer: answer  # type: ignore[misc]
        cluster.now += timedelta(seconds=10)
        cluster.run()
        cluster.run()  # whatever else wakes it
        if cluster.rollout.batch_rolling_state != "batchVerifying":
            found = ("refused" if cluster.rollout.batch_rolling_state == "batchVerifyFailed" else "passed", place)
            break

    assert found == naive(said, limit, wanted, is_dry=is_dry)


@pytest.mark.parametrize(
    ("low", "high", "good", "bad"),
    [
        (None, 1, ["-5", "0", "1", "-Inf"], ["1.0000001", "+Inf"]),
        (99, None, ["99", "100", "+Inf"], ["98.99", "-Inf"]),
        ("99%", None, ["99.0"], ["98.9"]),
        ("0.5", "0.5", ["0.5", "5e-1"], ["0.51", "0.49"]),
        ("-1.5", "+2%", ["-1.5", "2"], ["2.1", "-1.6"]),
    ],
)
def test_bounds_are_inside(low: IntOrText | None, high: IntOrText | None, good: list[str], bad: list[str]) -> None:
    metric = CanaryMetric("a", metrics_range=MetricsRange(low, high))

    assert [each for each in good if outside(float(each), metric)] == []
    assert [each for each in bad if not outside(float(each), metric)] == []


def test_a_broken_bound_is_named_as_it_was_written() -> None:
    metric = CanaryMetric("a", metrics_range=MetricsRange("99%", "100%"))

    assert outside(98, metric) == "below its min 99%"
    assert outside(101, metric) == "above its max 100%"
