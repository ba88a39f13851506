"""Bounds of histograms, spelled as Go spells them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.engine.go_numbers import go_float, with_go_bounds
from fairlead.engine.metrics import Metrics
from kubeloop.request import Request

SPELLED = {
    0.0: "0",
    1.0: "1",
    -1.0: "-1",
    0.005: "0.005",
    0.01: "0.01",
    0.025: "0.025",
    2.5: "2.5",
    10.0: "10",
    100.0: "100",
    100000.0: "100000",
    262144.0: "262144",
    999999.0: "999999",
    1e6: "1e+06",
    1048576.0: "1.048576e+06",
    1073741824.0: "1.073741824e+09",
    1e21: "1e+21",
    0.0001: "0.0001",
    0.00001: "1e-05",
    0.000012345: "1.2345e-05",
    123456.789: "123456.789",
    1234567.5: "1.2345675e+06",
    5e-324: "5e-324",
    1.7976931348623157e308: "1.7976931348623157e+308",
    float("inf"): "+Inf",
    float("-inf"): "-Inf",
    float("nan"): "NaN",
}


@pytest.mark.parametrize(("number", "text"), SPELLED.items(), ids=SPELLED.values())
def test_as_go_prints_it(number: float, text: str) -> None:
    """Recorded from `strconv.FormatFloat(number, 'g', -1, 64)`."""
    assert go_float(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_spelling_means_the_number(number: float) -> None:
    assert float(go_float(number)) == number


def test_every_bound_of_a_page_is_spelled_so_and_nothing_else_changes() -> None:
    metrics = Metrics()
    metrics.observe_call(Request("GET", "/api/v1/pods"), 200, 0.2)

    bounds = re.findall(r'le="([^"]*)"', metrics.exposition().decode())

    assert bounds
    assert {"0.005", "1", "10", "+Inf"} <= set(bounds)
    assert all(bound == go_float(float(bound)) for bound in bounds)


def test_what_only_looks_like_a_bound_stays() -> None:
    page = 'a_bucket{x="a,le=\\"1.0\\"",le="1.0"} 1.0\nb{title="1.0",role="1.0"} 1.0\n'

    assert with_go_bounds(page) == 'a_bucket{x="a,le=\\"1.0\\"",le="1"} 1.0\nb{title="1.0",role="1.0"} 1.0\n'
